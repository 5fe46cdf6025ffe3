#!/usr/bin/env python3
"""Three hundred directories of a mount are watched, more than have a watch of their own on the server: the others hear what
other clients change in them, too, once and within a second. Where the server is not to tell of the whole tree, what nobody
tells of is counted, and said in the log once.

inotify_many.py LARDER [--newer ROOT]
"""
import argparse
import contextlib
import os
import subprocess
import sys
import tempfile

from bed import LARDER, PASSWORD, Samba, check, equal, finish, larder, newer_samba, user_name, wait_until
from inotify_bed import Smbclient, both_ways, delays, inotify, told
from inotify_reader import Watcher

parser = argparse.ArgumentParser()
parser.add_argument("larder")
parser.add_argument("--newer")
args = parser.parse_args()
if args.newer and not newer_samba(args.newer):
    sys.exit(77)
COUNT, OWN = 300, 256
WARNING = "local inotify does not hear what others change in some"


@contextlib.contextmanager
def in_foreground(samba, work, *options):
    """The share on a directory, whose path is given, and the file that has the log."""
    place, log = f"{work}/mnt", f"{work}/log"
    os.makedirs(place, exist_ok=True)
    with open(log, "w") as out:
        daemon = subprocess.Popen([LARDER, "mount", "-f", samba.target, place, "-o", ",".join((f"user={user_name()}", *options))],
                                  stdin=subprocess.DEVNULL, stdout=out, stderr=out, env={**os.environ, "LARDER_PASSWORD": PASSWORD})
    try:
        check("the mount comes up", wait_until(lambda: os.path.ismount(place)))
        yield place, log
    finally:
        larder("umount", place)
        equal("the daemon ends well", daemon.wait(20), 0)


def watch_all(place, told_of, riding):
    watcher = Watcher(*[f"{place}/many/{i}" for i in range(COUNT)])  # who came first has a watch of its own
    want = {"watched": COUNT, "told": told_of, "riding": riding}
    check(f"all are found, {told_of} are told of, {riding} of them by the tree-wide watch",
          wait_until(lambda: {k: inotify(place)[k] for k in want} == want, 30), inotify(place))
    return watcher


def others_change(samba, place, watcher, directory):
    smb, d = Smbclient(samba), f"many/{directory}"
    written = [("CREATE", f"{d}/file"), ("MODIFY", f"{d}/file")]
    told(f"a file in the {directory}th", watcher, lambda: smb.put("one", f"{d}/file"), place, written[:1], written)
    told("written", watcher, lambda: smb.put("another", f"{d}/file"), place, written[1:])
    equal("which a reader sees", open(f"{place}/{d}/file").read(), "another")
    told("renamed", watcher, lambda: smb.do(f"rename {d}/file {d}/moved"), place, *both_ways(f"{d}/file", f"{d}/moved"))
    told("removed, and a directory made", watcher, lambda: smb.do(f"del {d}/moved", f"mkdir {d}/new"), place,
         [("DELETE", f"{d}/moved"), ("CREATE,ISDIR", f"{d}/new")])
    told("which is removed, too", watcher, lambda: smb.do(f"rmdir {d}/new"), place, [("DELETE,ISDIR", f"{d}/new")])


def own_changes(place, watcher, directories):
    """The kernel tells them; what the server echoes is not told again."""
    before = inotify(place)["raised"]
    watcher.take()
    for directory in directories:
        d = f"{place}/many/{directory}"
        for i in range(20):
            with open(f"{d}/own {i}", "w") as f:
                f.write("x")
            os.rename(f"{d}/own {i}", f"{d}/renamed {i}")
            os.unlink(f"{d}/renamed {i}")
        os.mkdir(f"{d}/dir")
        os.rmdir(f"{d}/dir")
    watcher.settle(1)
    equal("own changes are told by the kernel alone", inotify(place)["raised"], before)
    names = len(directories)
    counted = [kind for kind, _ in watcher.take()]
    equal("each once", [counted.count(k) for k in ("CREATE", "MOVED_FROM", "MOVED_TO", "DELETE", "CREATE,ISDIR", "DELETE,ISDIR")],
          [20 * names] * 4 + [names] * 2)


def moved_between(samba, place, watcher):
    """Neither of the two has a watch of its own."""
    smb = Smbclient(samba)
    told("a directory to move", watcher, lambda: smb.do("mkdir many/270/d"), place, [("CREATE,ISDIR", "many/270/d")])
    went, came = ("DELETE,ISDIR", "many/270/d"), ("CREATE,ISDIR", "many/299/d")
    told("moved from one to another", watcher, lambda: smb.do("rename many/270/d many/299/d"), place, [went, came], [came, went])
    told("and removed", watcher, lambda: smb.do("rmdir many/299/d"), place, [("DELETE,ISDIR", "many/299/d")])


def own_renaming(samba, place, watcher):
    """Nothing of a riding directory is in the way, and it goes on to be told of."""
    paths = watcher.paths
    os.rename(f"{place}/many/280", f"{place}/many/now")
    equal("a riding directory is renamed", inotify(place)["riding"], COUNT - OWN)
    watcher.paths = {wd: p.replace("/many/280", "/many/now") for wd, p in paths.items()}
    told("and is told of still", watcher, lambda: Smbclient(samba).do("mkdir many/now/new"), place, [("CREATE,ISDIR", "many/now/new")])
    os.rename(f"{place}/many/now", f"{place}/many/280")
    watcher.paths = paths


with Samba(root=args.newer) as samba, tempfile.TemporaryDirectory() as work:
    samba.start()
    for i in range(COUNT):
        os.makedirs(f"{samba.share}/many/{i}")
    if os.getuid() == 0:
        subprocess.run(["chown", "-R", user_name(), samba.share], check=True)

    with in_foreground(samba, work) as (place, log):
        watcher = watch_all(place, COUNT, COUNT - OWN)
        said = larder("stats", place).stdout
        check("stats says so", "300 directories watched; told of by a watch of their own 256, by that of the whole tree 44, by nobody 0" in said, said[-600:])
        for directory in 10, 270, 299:
            others_change(samba, place, watcher, directory)
        check("each within a second", max(delays) < 1, delays)
        own_changes(place, watcher, (10, 270, 299))
        moved_between(samba, place, watcher)
        own_renaming(samba, place, watcher)
        watcher.close()
        check("all are given back", wait_until(lambda: inotify(place)["told"] + inotify(place)["riding"] == 0, 30), inotify(place))
    check("nothing was missing", WARNING not in open(log).read(), open(log).read())

    with in_foreground(samba, work, "Watches=false") as (place, log):
        watcher = watch_all(place, OWN, 0)
        said = larder("stats", place).stdout
        check("stats says so", "by that of the whole tree 0, by nobody 44" in said, said[-600:])
        check("the log says what to do", wait_until(lambda: WARNING in open(log).read(), 15) and "Watches=false" in open(log).read(), open(log).read())
        wait_until(lambda: False, 1.5)  # another round of refusals
        equal("once", open(log).read().count(WARNING), 1)
        watcher.close()
finish()
