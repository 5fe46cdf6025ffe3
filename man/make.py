#!/usr/bin/python3
"""make.py options LARDER TEMPLATE: larder-options(5), whose settings are what this larder's own table says.
make.py library HEADER: larder(3), which is the public header, with its comments as text.
Either goes to standard output."""
import json
import re
import subprocess
import sys


def escaped(text):
    text = text.replace("\\", "\\e").replace("-", "\\-").replace('"', "\\(dq").replace("~", "\\(ti").replace("^", "\\(ha").replace("`", "\\(ga")
    return re.sub(r"^([.'])", r"\\&\1", text, flags=re.M)


def settings_of(larder, *profile):
    run = subprocess.run([larder, "settings", "--json", *profile], stdout=subprocess.PIPE, check=True, text=True)
    return json.loads(run.stdout)


def shown(value):
    return str(value).lower() if isinstance(value, bool) else str(value)


def defaults(name, by_profile):
    """Each value once, with the profiles that have it, the default profile's first."""
    profiles = {}
    for profile in sorted(by_profile, key=lambda p: p != "larder"):
        value = next(s["value"] for s in by_profile[profile]["settings"] if s["name"] == name)
        profiles.setdefault(shown(value), []).append(profile)
    if len(profiles) == 1:
        return escaped(next(iter(profiles)))
    return "; ".join(f"{escaped(value)} ({', '.join(names)})" for value, names in profiles.items())


def options(larder, template):
    own = settings_of(larder)
    by_profile = {p: settings_of(larder, p) for p in own["profiles"]}
    out = []
    for s in own["settings"]:
        unit = {"s": "seconds"}.get(s["unit"], s["unit"])
        takes = f"{unit}, {s['min']} to {s['max']}" if unit else ", ".join(s["values"])
        out += [f".It Cm {s['name']}", escaped(s["meaning"][0].upper() + s["meaning"][1:]) + ".", ".Pp",
                f"Value: {escaped(takes)}.", ".br", f"Default: {defaults(s['name'], by_profile)}.", ".br",
                f"Windows: {escaped(s['windows'] or 'has none')}."]
    sys.stdout.write(open(template).read().replace("@SETTINGS@\n", "\n".join(out) + "\n"))


def paragraph(comment):
    """A comment without its frame, a sentence a line."""
    lines = [re.sub(r"^\s*(/\*+|\*/|\*)? ?", "", line).replace("*/", "").rstrip() for line in comment.split("\n")]
    parts = re.split(r"\n\n+", "\n".join(lines).strip())
    return "\n.Pp\n".join(re.sub(r"(?<=[^. ]\.) +", "\n", escaped(part.replace("\n", " "))) for part in parts)


def blocks(text):
    """(comment, declarations): a comment at the margin, and what stands beneath it."""
    for piece in re.split(r"\n(?=/\*)|\n\n", text):
        found = re.match(r"\s*(/\*.*?\*/)\n?(.*)", piece, re.S)
        comment, declarations = found.groups() if found else ("", piece)
        yield comment, declarations.strip("\n")


HEAD = """.Dd November 30, 2026
.Dt LARDER 3
.Os larder
.Sh NAME
.Nm larder
.Nd an SMB 2/3 share as a file tree, with metadata caches
.Sh LIBRARY
liblarder (\\-llarder, pkg\\-config larder)
.Sh SYNOPSIS
.In larder/larder.h
.Sh DESCRIPTION"""
FOOT = """.Sh EXAMPLES
.Dl cc list.c \\-o list $(pkg\\-config \\-\\-cflags \\-\\-libs larder)
.Sh SEE ALSO
.Xr larder 1 ,
.Xr larder-events 5 ,
.Xr larder-json 5 ,
.Xr larder-options 5"""


def library(header):
    text = open(header).read()
    text = re.sub(r"#ifdef __cplusplus\n.*?#endif\n", "", text, flags=re.S)
    text = re.sub(r"^#(ifndef|define|include|endif).*\n", "", text, flags=re.M)
    intro, rest = re.match(r"(/\*.*?\*/)(.*)", text, re.S).groups()
    print(HEAD)
    print(paragraph(intro).removeprefix("liblarder: an").replace("", "An", 1))
    for comment, declarations in blocks(rest):
        title = re.match(r"/\* -+ (.*?) -+ \*/", comment)
        if title:
            print(f".Ss {escaped(title[1].capitalize())}")
        if declarations:
            print(f".Bd -literal\n{escaped(declarations)}\n.Ed")
        if comment and not title:
            print(f".Bd -ragged -offset indent{' -compact' if declarations else ''}\n{paragraph(comment)}\n.Ed")
    print(FOOT)


if sys.argv[1] == "options":
    options(*sys.argv[2:])
else:
    library(*sys.argv[2:])
