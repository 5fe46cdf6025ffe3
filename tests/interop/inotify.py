#!/usr/bin/env python3
"""Local inotify on a mount tells what others change: each change once, within a second, and no own change a second time.

inotify.py LARDER [--changes N] [--newer ROOT]

N (1,000) is the number of remote changes of the storm, which six busy users of the mount live through. ROOT: the newer Samba
(newer-samba.sh), instead of the system's.
"""
import argparse
import os
import random
import subprocess
import sys
import threading
import time

from bed import Samba, check, equal, finish, mounted, newer_samba, stats, user_name, wait_until
from inotify_bed import Smbclient, both_ways, delays, inotify, stands, told
from inotify_reader import Watcher

parser = argparse.ArgumentParser()
parser.add_argument("larder")
parser.add_argument("--changes", type=int, default=1000)
parser.add_argument("--newer")
args = parser.parse_args()
if args.newer and not newer_samba(args.newer):
    sys.exit(77)


def remote_changes(samba, place, watcher):
    disk, smb = samba.share, Smbclient(samba)

    def disk_write(name, content):
        with open(f"{disk}/{name}", "w") as f:
            f.write(content)

    make, change, remove = [("CREATE", "dir/file")], [("MODIFY", "dir/file")], [("DELETE", "dir/moved")]
    written = [("CREATE", "dir/file"), ("MODIFY", "dir/file")]
    told("a file made on the server's disk", watcher, lambda: disk_write("dir/file", ""), place, make)
    told("changed there", watcher, lambda: disk_write("dir/file", "content"), place, change)
    equal("which a reader sees", open(f"{place}/dir/file").read(), "content")
    told("renamed there", watcher, lambda: os.rename(f"{disk}/dir/file", f"{disk}/dir/moved"), place, *both_ways("dir/file", "dir/moved"))
    told("removed there", watcher, lambda: os.unlink(f"{disk}/dir/moved"), place, remove)
    told("a directory made there", watcher, lambda: os.mkdir(f"{disk}/dir/new"), place, [("CREATE,ISDIR", "dir/new")])
    told("and removed", watcher, lambda: os.rmdir(f"{disk}/dir/new"), place, [("DELETE,ISDIR", "dir/new")])
    told("a file deep down", watcher, lambda: disk_write("dir/sub/deep", ""), place, [("CREATE", "dir/sub/deep")])
    told("moved to another directory", watcher, lambda: os.rename(f"{disk}/dir/sub/deep", f"{disk}/dir/up"), place,
         [("DELETE", "dir/sub/deep"), ("CREATE", "dir/up")], [("CREATE", "dir/up"), ("DELETE", "dir/sub/deep")])
    told("gone as soon as it came", watcher, lambda: (disk_write("dir/brief", ""), os.unlink(f"{disk}/dir/brief")), place,
         [("CREATE", "dir/brief"), ("DELETE", "dir/brief")])
    told("a file by smbclient", watcher, lambda: smb.put("one", "dir/file"), place, written, make)
    told("written by it", watcher, lambda: smb.put("another", "dir/file"), place, change)
    equal("which a reader sees, too", open(f"{place}/dir/file").read(), "another")
    told("renamed by it", watcher, lambda: smb.do("rename dir/file dir/moved"), place, *both_ways("dir/file", "dir/moved"))
    told("removed by it", watcher, lambda: smb.do("del dir/moved"), place, remove)
    told("a directory by it", watcher, lambda: smb.do("mkdir dir/new"), place, [("CREATE,ISDIR", "dir/new")])
    told("renamed by it, too", watcher, lambda: smb.do("rename dir/new dir/newer"), place, *both_ways("dir/new", "dir/newer", ",ISDIR"))
    told("and removed", watcher, lambda: smb.do("rmdir dir/newer"), place, [("DELETE,ISDIR", "dir/newer")])
    check("within a second", sorted(delays)[len(delays) // 2] < 1, delays)
    print(f"     delays from the end of a change: median {1000 * sorted(delays)[len(delays) // 2]:.0f} ms, longest {1000 * max(delays):.0f} ms")


def own_changes(place, watcher):
    """What the kernel tells by itself, and nothing else: what the server echoes is not told again."""
    def write(name, content, mode="w"):
        with open(f"{place}/{name}", mode) as f:
            f.write(content)

    def replace():
        write("dir/temporary", "new")
        os.rename(f"{place}/dir/temporary", f"{place}/dir/own")

    def many():
        for i in range(100):
            write(f"dir/own {i}", "x")
            os.rename(f"{place}/dir/own {i}", f"{place}/dir/renamed {i}")
            os.unlink(f"{place}/dir/renamed {i}")

    def open_and_gone():
        with open(f"{place}/dir/own", "a") as f:
            os.unlink(f"{place}/dir/own")
            f.write("nobody reads this")

    before = inotify(place)["raised"]
    watcher.take()
    write("dir/own", "content")
    write("dir/own", "more", "a")
    os.utime(f"{place}/dir/own")
    os.truncate(f"{place}/dir/own", 2)
    replace()
    os.mkdir(f"{place}/dir/own dir")
    os.rename(f"{place}/dir/own dir", f"{place}/dir/own dir 2")
    os.rmdir(f"{place}/dir/own dir 2")
    try:
        os.mkdir(f"{place}/dir/sub")  # which fails
    except FileExistsError:
        pass
    open_and_gone()
    many()
    watcher.settle(1.5)
    got = watcher.take()
    equal("own changes are told by the kernel alone", inotify(place)["raised"], before)
    counted = {}
    for kind, _ in got:
        counted[kind] = counted.get(kind, 0) + 1
    equal("each once", {k: n for k, n in counted.items() if k != "MODIFY"},
          {"CREATE": 102, "MOVED_FROM": 101, "MOVED_TO": 101, "DELETE": 101, "CREATE,ISDIR": 1, "MOVED_FROM,ISDIR": 1, "MOVED_TO,ISDIR": 1, "DELETE,ISDIR": 1})


# ---- the storm ----


def busy(place, stop, seed, failures):
    """A user of the mount. That a name is gone, or there, is life; anything else is a failure."""
    dice, expected = random.Random(seed), (FileNotFoundError, FileExistsError, IsADirectoryError, NotADirectoryError)
    mine = f"{place}/storm/user {seed}"
    os.makedirs(mine, exist_ok=True)
    while not stop.is_set():
        d = f"{place}/storm/d{dice.randrange(4)}"
        try:
            what = dice.randrange(6)
            if what == 0:
                os.listdir(d)
            elif what == 1:
                for e in os.scandir(d):
                    e.stat(follow_symlinks=False)
            elif what == 2:
                os.stat(f"{d}/f{dice.randrange(30)}")
            elif what == 3:
                with open(f"{d}/f{dice.randrange(30)}") as f:
                    f.read()
            elif what == 4:
                with open(f"{mine}/own", "w") as f:
                    f.write(str(dice.random()))
                os.rename(f"{mine}/own", f"{mine}/own too")
                os.unlink(f"{mine}/own too")
            else:
                os.mkdir(f"{mine}/dir")
                os.rmdir(f"{mine}/dir")
        except expected:
            pass
        except OSError as e:
            if e.errno != 116:  # ESTALE: replaced while it was being opened, twice
                failures.append(f"user {seed}: {e}")


def change_something(top, dice):
    """One change on the server's disk; nobody else changes anything there."""
    d = f"{top}/storm/d{dice.randrange(4)}"
    name, other = f"{d}/f{dice.randrange(30)}", f"{top}/storm/d{dice.randrange(4)}/f{dice.randrange(30)}"
    try:
        what = dice.randrange(10)
        if what < 4:
            with open(name, "w") as f:
                f.write("x" * dice.randrange(200))
        elif what < 6:
            os.unlink(name)
        elif what < 8:
            os.rename(name, other)
        elif what == 8:
            os.mkdir(f"{d}/s{dice.randrange(5)}")
        else:
            os.rmdir(f"{d}/s{dice.randrange(5)}")
    except OSError:
        pass


def view(top):
    """Names, kinds and sizes of all that is there."""
    seen = {}
    for here, dirs, files in os.walk(f"{top}/storm"):
        for name in dirs:
            seen[os.path.relpath(f"{here}/{name}", top)] = "dir"
        for name in files:
            seen[os.path.relpath(f"{here}/{name}", top)] = os.stat(f"{here}/{name}").st_size
    return seen


def storm(samba, place, changes):
    for i in range(4):
        os.makedirs(f"{samba.share}/storm/d{i}", exist_ok=True)
    if os.getuid() == 0:
        subprocess.run(["chown", "-R", user_name(), f"{samba.share}/storm"], check=True)
    watcher = Watcher(*[f"{place}/storm/d{i}" for i in range(4)])
    stands(place, 4)
    stop, failures = threading.Event(), []
    users = [threading.Thread(target=busy, args=(place, stop, i, failures), daemon=True) for i in range(6)]
    for u in users:
        u.start()
    dice, began, reading = random.Random(changes), time.monotonic(), True

    def read():
        while reading:
            watcher.read(0.2)

    reader = threading.Thread(target=read, daemon=True)
    reader.start()
    for i in range(changes):
        change_something(samba.share, dice)
        if i % 20 == 0:
            time.sleep(0.01)
    took = time.monotonic() - began
    counts = []

    def quiet():
        counts.append(inotify(place))
        return len(counts) > 20 and counts[-1] == counts[-20]

    check("the events come to an end", wait_until(quiet, 120), counts[-1:])
    stop.set()
    for u in users:
        u.join(30)
    check("no user hangs", not any(u.is_alive() for u in users))
    equal("no user's call failed", failures[:5], [])
    reading = False
    reader.join()
    want = view(samba.share)
    quiet_at = time.monotonic()
    check("the kernel's view is the server's", wait_until(lambda: view(place) == want, 30),
          [(k, want.get(k), v) for k, v in view(place).items() if want.get(k) != v][:5] + [k for k in want if k not in view(place)][:5])
    right_after, last = time.monotonic() - quiet_at, inotify(place)
    kinds = {}
    for kind, _ in watcher.take():
        kinds[kind] = kinds.get(kind, 0) + 1
    check("events were raised all the while", sum(last["raised"].values()) > changes / 4, last)
    print(f"     {changes} changes in {took:.1f} s, seen as they are {right_after:.1f} s after: {last}, {kinds}", flush=True)
    watcher.close()


# ---- who watches what ----


def only_what_is_watched(place):
    """The price of nobody watching is nothing on the wire."""
    wait_until(lambda: stats(place)["watch"]["state"] != "off" and stats(place)["requests"].get("CHANGE_NOTIFY"))  # the tree-wide one
    before = stats(place)["requests"]
    time.sleep(2.5)
    equal("nobody watches: nothing is asked for", {k: n for k, n in stats(place)["requests"].items() if n != before.get(k) and k != "ECHO"}, {})
    equal("and nothing is told", inotify(place)["told"], 0)


def renaming_what_is_watched(place):
    """Our own open directories on the server are not in our way."""
    os.makedirs(f"{place}/above/watched")
    watcher = Watcher(f"{place}/above/watched", f"{place}/above")
    stands(place, 2)
    os.rename(f"{place}/above", f"{place}/beside")
    check("a directory above a watched one is renamed", os.path.isdir(f"{place}/beside/watched"))
    stands(place, 2)
    os.rmdir(f"{place}/beside/watched")
    os.rmdir(f"{place}/beside")
    check("and removed while it is watched", not os.path.exists(f"{place}/beside"))
    watcher.close()


with Samba(root=args.newer) as samba:
    samba.start()
    os.makedirs(f"{samba.share}/dir/sub")
    if os.getuid() == 0:
        subprocess.run(["chown", "-R", user_name(), samba.share], check=True)
    with mounted(samba) as place:
        only_what_is_watched(place)
        watcher = Watcher(f"{place}/dir", f"{place}/dir/sub")
        stands(place, 2)
        remote_changes(samba, place, watcher)
        own_changes(place, watcher)
        watcher.close()
        check("who watches no more is not told any more", wait_until(lambda: inotify(place)["told"] == 0, 20), inotify(place))
        renaming_what_is_watched(place)
    with mounted(samba, "ro") as place:
        watcher = Watcher(f"{place}/dir")
        stands(place, 1)
        told("on a read-only mount", watcher, lambda: open(f"{samba.share}/dir/for readers", "w").close(), place, [("CREATE", "dir/for readers")])
        watcher.close()
    with mounted(samba, "Inotify=false") as place:
        check("it can be switched off", "inotify" not in stats(place)["mount"], stats(place)["mount"])
    with mounted(samba) as place:
        storm(samba, place, args.changes)
finish()
