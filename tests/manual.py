#!/usr/bin/python3
"""manual.py LARDER: the help of every subcommand fits a screen and leads with an example that is one of its own."""
import re
import subprocess
import sys

LARDER = sys.argv[1]
passed = failed = 0


def check(what, good, detail=""):
    global passed, failed
    passed, failed = passed + bool(good), failed + (not good)
    if not good:
        print(f"FAIL {what}: {str(detail)[:2000]}")


def larder(*args):
    run = subprocess.run([LARDER, *args], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    check(f"larder {' '.join(args)} works", run.returncode == 0 and not run.stderr, run.stderr)
    return run.stdout


def check_help(name, text):
    lines = text.split("\n")
    check(f"the help of {name} fits 80x24", 3 < len(lines) < 25 and max(map(len, lines)) <= 80, text)
    check(f"and leads with an example", re.match(rf"{name} [^\n]*\S\n", text), lines[0])


names = [line.split("\t")[0] for line in larder("complete", "--", "larder", "").splitlines() if not line.startswith("-")]
check("there are subcommands", len(names) > 20, names)
check_help("larder", larder("--help"))
for name in names:
    check_help(f"larder {name}", larder(name, "--help"))
print(f"{passed} passed, {failed} failed")
sys.exit(1 if failed else 0)
