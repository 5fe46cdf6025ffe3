#!/usr/bin/python3
"""manual.py LARDER PAGES: the manual says what the program says of itself.

Every subcommand has a help that fits a screen and leads with an example of its own, and a page with just the options of
that help; larder(1) names them all. larder-options(5) has every option and every setting, and no other; the figures in
docs/settings.md are the code's; larder-events(5) has every event and every reason of the code; what pages refer to is
there. No page gives mandoc or groff, as far as they are installed, anything to warn of."""
import json
import os
import re
import shutil
import subprocess
import sys

LARDER = sys.argv[1]
TOP = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
PAGES = {os.path.basename(path): open(path).read() for path in sys.argv[2:]}
passed = failed = 0


def check(what, good, detail=""):
    global passed, failed
    passed, failed = passed + bool(good), failed + (not good)
    if not good:
        print(f"FAIL {what}: {str(detail)[:2000]}")


def equal(what, got, want):
    """Both are sets: what one has and the other has not is shown."""
    check(what, got == want and got, f"too many: {sorted(got - want)}, missing: {sorted(want - got)}")


def larder(*args):
    run = subprocess.run([LARDER, *args], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    check(f"larder {' '.join(args)} works", run.returncode == 0 and not run.stderr, run.stderr)
    return run.stdout


def words(*line):
    return [line.split("\t")[0] for line in larder("complete", "--", "larder", *line).splitlines()]


# ---- help ----

def check_help(name, text):
    lines = text.split("\n")
    check(f"the help of {name} fits 80x24", 3 < len(lines) < 25 and max(map(len, lines)) <= 80, text)
    check(f"the help of {name} leads with an example", re.match(rf"{name} [^\n]*\S\n", text), lines[0])


def help_options(text):
    """{flag: whether it takes a value}, of what stands in front of the descriptions, behind the example."""
    options = {}
    for line in text.partition("\n\n")[2].split("\n"):
        names = []
        while found := re.match(r" {0,4}(--?[a-zA-Z][\w-]*)(?: ([^- \n]\S*))?,? ?", line):
            names.append(found[1])
            if found[2] or not re.match(r"-", line[found.end():]):
                options.update(dict.fromkeys(names, bool(found[2])))
                names = []
            line = line[found.end():]
    return options


# ---- pages ----

def section(page, title):
    found = re.search(rf"^\.Sh {title}\n(.*?)(?=^\.Sh |\Z)", page, re.M | re.S)
    return found[1] if found else ""


def flags(line):
    return ["-" + name.replace("\\", "") for name in re.findall(r"\bFl (\S+)", line)]


def page_options(page):
    options = {}
    for item in re.findall(r"^\.It (.*\bFl .*)", page, re.M):
        options.update(dict.fromkeys(flags(item), " Ar " in item))
    return options


def check_command(name, text):
    page = PAGES.get(f"larder-{name}.1", "")
    check(f"{name} has a page", page)
    told, documented = help_options(text), page_options(page)
    check(f"larder-{name}(1) has the options of larder {name} --help, and no others", told == documented,
          f"help {sorted(told.items())}, page {sorted(documented.items())}")
    synopsis = set(flags(section(page, "SYNOPSIS")))
    for item in re.findall(r"^\.It (.*\bFl .*)", page, re.M):
        check(f"the synopsis of {name} has {item}", synopsis & set(flags(item)), synopsis)
    for flag in synopsis - {"--"}:
        check(f"{flag} of the synopsis of {name} is explained", flag in documented or flag == "--help", documented)


def check_options():
    """Every option that is completed, or that a mount takes without effect, is in the page, and no other."""
    page = PAGES["larder-options.5"]
    told = {name for item in re.findall(r"^\.It (.*\bCm .*)", page, re.M) for name in re.findall(r"(?:^|, )Cm (\w+)", item)}
    equal("larder-options(5) has every option and setting", told, {word.rstrip("=") for word in words("mount", "-o", "")})
    idle = re.search(r"^\.Ss Taken, and without effect\n(.*?)^\.S[sh] ", page, re.M | re.S)[1]
    table = open(f"{TOP}/src/cli/mount_options.c").read()
    equal("larder-options(5) has every option without effect", set(re.findall(r"\w+", " ".join(re.findall(r"^\.Cm (.*)", idle, re.M)))) - {"x"},
          set(re.findall(r'^    \{"(\w+)", (?:FLAG|NUMBER|ANYTHING)\},', table, re.M)))


def figure(text):
    """64 MiB, 10, true, as the table in the docs has them and as settings --json does."""
    found = re.fullmatch(r"(\d+)(?: (KiB|MiB|GiB))?", text)
    if found:
        return int(found[1]) << {"KiB": 10, "MiB": 20, "GiB": 30}.get(found[2], 0)
    return {"true": True, "false": False}.get(text, text)


def check_docs():
    """The figures of docs/settings.md; a column that is left empty is no other than the first."""
    profiles = {p: {s["name"]: s["value"] for s in json.loads(larder("settings", "--json", p))["settings"]} for p in ("larder", "23h2")}
    rows = re.findall(r"^\| (`[A-Z]\w+`(?:, `\w+`)*) \|[^|\n]*\| *([^|\n]*?) *\| *([^|\n]*?) *\|", open(f"{TOP}/docs/settings.md").read(), re.M)
    check("docs/settings.md has a table of settings", len(rows) > 20, rows)
    for names, own, windows in rows:
        names = re.findall(r"\w+", names)
        for profile, text in (("larder", own), ("23h2", windows or own)):
            values = text.split(", ") if len(names) > 1 else [text]
            for name, value in zip(names, values, strict=True):
                check(f"docs/settings.md has {name} of {profile}", figure(value) == profiles[profile].get(name), (value, profiles[profile].get(name)))


def check_mount_helper():
    run = subprocess.run(["mount.larder", "--help"], executable=LARDER, stdout=subprocess.PIPE, text=True)
    told, documented = help_options(run.stdout), page_options(PAGES["mount.larder.8"])
    check("mount.larder(8) has the options of its help", told and told.items() <= documented.items(), (told, documented))


def check_events():
    page = PAGES["larder-events.5"]
    header = open(f"{TOP}/src/observe/observe.h").read()
    code = open(f"{TOP}/src/observe/names.c").read()
    numbers, last = {}, 0
    for name, number in re.findall(r"^    (EVENT_\w+)(?: = (\d+))?,", header, re.M):
        last = numbers[name] = int(number) if number else last + 1
    names = dict(re.findall(r"case (EVENT_\w+):\s*return \"(\w+)\"", code))
    equal("every event has a name", set(names), set(numbers))
    equal("larder-events(5) has every event", set(re.findall(r"^\.It Ev (\d+ \w+)", page, re.M)),
          {f"{number} {names.get(name)}" for name, number in numbers.items()})
    reasons = set(re.findall(r"\[MISS_\w+\] = \"([\w-]+)\"", code))
    equal("larder-events(5) has every reason", set(re.findall(r"^\.It Li (\S+)", page, re.M)), reasons)
    for word in re.findall(r"\[(?:CLASS)_\w+\] = \"([\w-]+)\"", code):
        check(f"larder-events(5) has the class {word}", re.search(rf"\b{word}\b", section(page, "DESCRIPTION")))


def check_library():
    header = open(f"{TOP}/include/larder/larder.h").read()
    page = PAGES["larder.3"].replace("\\-", "-")
    functions = set(re.findall(r"^[a-z][\w ]*[ *]+(larder_\w+)\(", header, re.M))
    equal("larder(3) has every function", {f for f in functions if f"{f}(" in page}, functions)


def check_references():
    own = {tuple(name.rsplit(".", 1)) for name in PAGES}
    for name, page in PAGES.items():
        for other, number in re.findall(r"\bXr (\S+) (\d)", page):
            if "larder" in other:
                check(f"{name} refers to {other}({number})", (other, number) in own)


def check_form():
    checkers = [c for c in (["mandoc", "-T", "lint", "-W", "warning"], ["groff", "-m", "mandoc", "-T", "utf8", "-ww", "-z"])
                if shutil.which(c[0]) or print(f"skipped: {c[0]} is not installed")]
    for path in sys.argv[2:]:
        for command in checkers:
            run = subprocess.run([*command, path], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
            check(f"{command[0]} has nothing to say of {path}", run.returncode == 0 and not run.stdout, run.stdout)


subcommands = [word for word in words("") if not word.startswith("-")]
check("there are subcommands", len(subcommands) > 20, subcommands)
check_help("larder", larder("--help"))
for subcommand in subcommands:
    shown = larder(subcommand, "--help")
    check_help(f"larder {subcommand}", shown)
    check_command(subcommand, shown)
equal("larder(1) names every subcommand", set(re.findall(r"^\.It Cm (\w+)", section(PAGES["larder.1"], "DESCRIPTION"), re.M)), set(subcommands))
equal("every page is installed", {p for p in os.listdir(f"{TOP}/man") if re.search(r"\.\d$", p)}, set(PAGES) - {"larder-options.5", "larder.3"})
check_options()
check_docs()
check_mount_helper()
check_events()
check_library()
check_references()
check_form()
print(f"{passed} passed, {failed} failed")
sys.exit(1 if failed else 0)
