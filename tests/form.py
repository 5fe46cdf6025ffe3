#!/usr/bin/python3
"""The tree's own form: clang-format (where it is installed), includes along the arrows of
docs/architecture.md only, no file past 800 lines, no promise in place of a part, links that lead somewhere."""
import os
import re
import shutil
import subprocess
import sys

TOP = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
os.chdir(TOP)
FILES = subprocess.run(["git", "ls-files"], stdout=subprocess.PIPE, text=True, check=True).stdout.split("\n")
SOURCES = [f for f in FILES if f.startswith(("src/", "include/", "tests/", "examples/")) and f.endswith((".c", ".h")) and os.path.exists(f)]
problems = []


def rooms():
    """The table of docs/architecture.md: {room: rooms it may use}."""
    allowed = {}
    for line in open("docs/architecture.md"):
        row = re.match(r"\| `(\w+)/` \|.*\| ([^|]*) \|$", line.strip())
        if row:
            allowed[row[1]] = set(re.findall(r"\w+", row[2]))
    for room, below in allowed.items():
        below |= {"base", "observe", room} if room not in ("base", "wire", "secure", "report") else {"base", room}
    return allowed


def check_arrows():
    allowed = rooms()
    for path in SOURCES:
        room = path.split("/")[1]
        if not path.startswith("src/"):
            continue
        if room not in allowed:
            problems.append(f"{path}: room {room} is not in docs/architecture.md")
            continue
        for number, line in enumerate(open(path), 1):
            include = re.match(r'#include "(\w+)/', line)
            if include and include[1] in allowed and include[1] not in allowed[room]:
                problems.append(f"{path}:{number}: {room} -> {include[1]}")


def check_texts():
    for path in SOURCES:
        lines = open(path, errors="replace").read().split("\n")
        if len(lines) > 800:
            problems.append(f"{path}: {len(lines)} lines, probably two ideas")
        for number, line in enumerate(lines, 1):
            if re.search(r"\b(TODO|FIXME|XXX|HACK)\b", line):
                problems.append(f"{path}:{number}: a promise")


def check_links():
    for path in FILES:
        if not path.endswith(".md"):
            continue
        for link in re.findall(r"\]\(([^)#]+)\)", open(path).read()):
            if not link.startswith("http") and not os.path.exists(os.path.join(os.path.dirname(path), link)):
                problems.append(f"{path}: link to {link} leads nowhere")
        for name in re.findall(r"`((?:src|tests|tools|bench|docs|include)/[\w./-]+)`", open(path).read()):
            if "NAME" not in name and not os.path.exists(name):
                problems.append(f"{path}: {name} does not exist")


def check_format():
    if shutil.which("clang-format"):
        run = subprocess.run(["clang-format", "--dry-run", "-Werror", *SOURCES], stderr=subprocess.PIPE, text=True)
        problems.extend(line for line in run.stderr.split("\n") if "error:" in line)


check_arrows()
check_texts()
check_links()
check_format()
print("\n".join(problems) or f"{len(SOURCES)} files in form")
sys.exit(1 if problems else 0)
