#!/usr/bin/python3
"""forms.py LARDER PAGE: what the commands print with --json has just the members that larder-json(5) names."""
import json
import os
import re
import sys
import tempfile

from bed import Samba, check, finish, larder, mounted, user_name

PAGE = open(sys.argv[2]).read()
COMMANDS = {"CREATE", "CLOSE", "READ", "WRITE", "IOCTL", "QUERY_DIRECTORY", "SET_INFO", "QUERY_INFO"}
# their members are named by commands, reasons, statuses or settings, which the page need not repeat
NAMED = {"commands", "requests", "responses", "interims", "unsolicited", "failed", "errors", "miss", "hit_by_trust", "upcalls", "findings"}
# what the page names and this test's server, or its good luck, leaves out; and the words of values
SELDOM = {
    "tree": {"error"},
    "stats": {"time", "lease", "watch", "durable", "dead"},
    "explain": {"why_not", "size", "last_miss", "reason", "ago_s", "verifiable"},
    "doctor": {"advice", "state", "text"},
}


def documented(*sections):
    text = "".join(re.search(rf"^\.Ss {s}\n(.*?)(?=^\.S[sh] |\Z)", PAGE, re.M | re.S)[1] for s in sections)
    words = set()
    for line in re.findall(r"^\.(?:It |Pq )?Cm (.*)", text, re.M):
        words |= set(re.findall(r"\b[A-Za-z_][\w]*\b", re.sub(r"\b(?:Cm|No|Ql|Pq|Fl)\b", "", line)))
    return words


def members(value):
    """All names of members, but those that are names of what was counted."""
    if isinstance(value, list):
        return set().union(*map(members, value))
    if not isinstance(value, dict):
        return set()
    names = set(value)
    for name, each in value.items():
        if name == "latency_ms":  # by command, and then by what is told of it
            names |= members(list(each.values()))
        elif name not in NAMED and (name, type(each)) != ("settings", dict):
            names |= members(each)
    return names


def form(section, *answers, also=()):
    got, told = set(), documented(section, *also)
    for run in answers:
        if not check(f"{section} answers", run.returncode in (0, 1) and run.stdout.lstrip().startswith(("{", "[")), run.stderr):
            return
        got |= members(json.loads(run.stdout))
    check(f"larder-json(5) names every member of {section}", got <= told, got - told)
    if not also:
        check(f"and {section} has every member that it names", told - SELDOM.get(section, set()) - COMMANDS <= got,
              told - SELDOM.get(section, set()) - COMMANDS - got)


with Samba() as samba, tempfile.TemporaryDirectory() as work:
    os.makedirs(f"{samba.share}/lib")
    for name in ("lib/a.txt", "b.txt"):
        with open(f"{samba.share}/{name}", "w") as f:
            f.write("x" * 100)
    samba.start()
    login, target = ("-o", f"user={user_name()}", "--json"), samba.target
    form("ls", larder("ls", *login, target))
    form("stat", larder("stat", *login, target, "b.txt"))
    form("tree", larder("tree", *login, target))
    form("df", larder("df", *login, target))
    form("shares", larder("shares", *login, target.rsplit("/", 1)[0]))
    form("get, put, cp", larder("get", "-r", *login, f"{target}/lib", work), larder("put", *login, f"{work}/lib/a.txt", f"{target}/new"),
         larder("cp", *login, f"{target}/new", f"{target}/copy"))
    form("settings", larder("settings", "--json"))
    form("doctor", larder("doctor", *login, target))
    with mounted(samba) as place:
        os.listdir(f"{place}/lib")
        open(f"{place}/lib/a.txt").read()
        check("a name that is not there", not os.path.exists(f"{place}/nowhere"))
        form("stats", larder("stats", place, "--json"))
        form("explain", *(larder("explain", f"{place}/{path}", "--json") for path in ("lib", "lib/a.txt", "nowhere", "lib/nowhere")))
        form("drop", larder("drop", f"{place}/lib", "--json"))
    form("compare", larder("compare", target, *login[:2], "-n", "1", "--profile", "larder", "--json", "-", "--", "ls", "{mnt}"), also=("stats",))

finish()
