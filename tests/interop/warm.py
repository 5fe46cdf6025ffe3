#!/usr/bin/env python3
"""What nobody changes costs next to nothing: find, ls -lR, git status and a Python start, again and again.

    warm.py LARDER [--newer ROOT] [--seconds N] [--age N]

Under leases, and under the watch for what opens no file (an open without a lease asks the server). Names are believed for
a second without a promise, so that a client who ignores his asks again and again; with it until the maximum age, which is
also how long attributes live, of which nobody promises anything. In each such period a directory may cost two round trips,
one that verifies its names and one that lists it for its entries' attributes, and a file that is opened may cost one, if
its attributes have just run out. No file is read: its pages outlive all that. Nothing that was believed before the look began runs out more often
than periods end in it. Beside that an open may overtake the release of the one before, which it would go on with.
"""
import argparse
import os
import subprocess
import sys
import time

from bed import Samba, check, finish, mounted, newer_samba, stats, user_name, wait_until

parser = argparse.ArgumentParser()
parser.add_argument("larder")
parser.add_argument("--newer", metavar="ROOT")
parser.add_argument("--seconds", type=float, default=6)
parser.add_argument("--age", type=int, default=5)
options = parser.parse_args()
OPENED = 12  # files in a round: 7 by git, 5 by Python
OVERTAKEN = 0.02  # of all opens
MAY_BE_SENT = {"CREATE", "CLOSE", "QUERY_DIRECTORY", "QUERY_INFO", "ECHO", "CHANGE_NOTIFY"}


def fill(samba):
    share = samba.share
    for i in range(6):
        os.makedirs(f"{share}/tree/d{i}")
        for j in range(5):
            with open(f"{share}/tree/d{i}/f{j}", "w") as f:
                f.write("x" * 100)
    os.makedirs(f"{share}/python/package")
    for name in ("one", "two", "package/__init__", "package/a", "package/b"):
        with open(f"{share}/python/{name}.py", "w") as f:
            f.write("x = 1\n")
    git = ["git", "-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "init.defaultBranch=main", "-C", f"{share}/repository"]
    os.mkdir(f"{share}/repository")
    for i in range(5):
        with open(f"{share}/repository/f{i}", "w") as f:
            f.write(f"{i}\n")
    for args in (["init", "-q"], ["add", "."], ["commit", "-qm", "one"]):
        subprocess.run(git + args, check=True, stdout=subprocess.DEVNULL)
    if os.getuid() == 0:
        subprocess.run(["chown", "-R", user_name(), share], check=True)
    old = time.time() - 100
    for where, names, _ in os.walk(share, topdown=False):
        os.utime(where, (old, old))
    return sum(1 for _ in os.walk(share))


def visit(samba):
    """Samba gives a file that was made on its own disk another time of creation once a client has opened it."""
    with mounted(samba, "profile=off") as place:
        for where, _, files in os.walk(place):
            for name in files:
                with open(os.path.join(where, name), "rb") as f:
                    f.read(1)


def commands(place, opens):
    some = [["find", place], ["ls", "-lR", place]]
    return some + opens * [["git", "-c", "safe.directory=*", "-C", f"{place}/repository", "status"],
                           [sys.executable, "-S", "-c", "import one, two, package.a, package.b"]]


def look(samba, directories, what, mount_options, opens):
    lifetimes = f"DirectoryCacheLifetime=1,FileNotFoundCacheLifetime=1,FileInfoCacheLifetime={options.age},CacheMaxAge={options.age}"
    with mounted(samba, mount_options, lifetimes) as place:
        env = {**os.environ, "PYTHONPATH": f"{place}/python", "PYTHONDONTWRITEBYTECODE": "1", "GIT_OPTIONAL_LOCKS": "0"}

        def once():
            for command in commands(place, opens):
                subprocess.run(command, env=env, stdout=subprocess.DEVNULL, check=True)
        if "Watches=true" in mount_options:
            wait_until(lambda: stats(place)["watch"]["state"] == "watching")
        first = time.monotonic()
        once()
        once()
        before, began, rounds = stats(place), time.monotonic(), 0
        while time.monotonic() < began + options.seconds or rounds < 3:
            once()
            rounds += 1
        after, ended = stats(place), time.monotonic()
    sent = {c: n - before["requests"].get(c, 0) for c, n in after["requests"].items() if n != before["requests"].get(c, 0)}
    trips, opened = after["round_trips"] - before["round_trips"], OPENED if opens else 0
    periods, overtaken = int((ended - first) / options.age), OVERTAKEN * rounds * opened
    bound = periods * (2 * directories + opened) + overtaken
    print(f"   {what}: {rounds} rounds in {ended - began:.1f} s, {periods} periods, {directories} directories: "
          f"{trips} round trips of {bound:.0f}, {sent}", flush=True)
    check(f"{what}: nothing is asked but what verifies", set(sent) <= MAY_BE_SENT, sent)
    check(f"{what}: no more is asked than runs out", trips <= bound, f"{trips}, not {bound:.0f}")


with Samba() as samba:
    count = fill(samba)
    samba.start()
    visit(samba)
    look(samba, count, "leases of files and the watch", "Leases=true,Watches=true", True)
    look(samba, count, "the watch", "Leases=false,Watches=true", False)
if options.newer and newer_samba(options.newer):
    with Samba(root=options.newer) as samba:
        count = fill(samba)
        samba.start()
        visit(samba)
        look(samba, count, "leases", "Leases=true,Watches=false", True)
finish()
