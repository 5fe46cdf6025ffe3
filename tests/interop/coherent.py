#!/usr/bin/env python3
"""The kernel's view of a mount is right although it is believed for a minute: after each own change at once, with the parent's
listing and the name's absence in the kernel's memory; after another client's as soon as the server has told of it; and for what
is to be made, whatever is believed. While nothing changes nothing is asked, not even of the daemon."""
import argparse
import glob
import os
import signal
import subprocess
import sys
import time

from bed import Samba, check, equal, finish, larder, mounted, newer_samba, stats, user_name, wait_until

MINUTE = "actimeo=60,CacheMaxAge=60"
SOON = 20  # seconds, on however slow a machine; what nobody tells of is seen after a minute


def view(place):
    """All that a program can see of a directory: names, and of each what stat tells of it but the times of reading. What was
    removed while another client keeps it is listed until that one has closed it."""
    seen = {}
    for name in sorted(os.listdir(place)):
        try:
            st = os.lstat(f"{place}/{name}")
        except FileNotFoundError:
            continue
        seen[name] = (st.st_mode, st.st_size if not os.path.isdir(f"{place}/{name}") else 0, st.st_mtime_ns)
    return seen


def content(path):
    with open(path, "rb") as f:
        return f.read()


def put(path, data=b"", how="wb"):
    with open(path, how) as f:
        f.write(data)


# Samba tells of what is written only where that sets a file's archive bit, as the first write here does.
# What is done in a directory that holds file, other, gone, empty/ and sub/: the call, and what of the names is different then.
CHANGES = {
    "touch": (lambda d: put(f"{d}/new"), {"new": True}),
    "mkdir": (lambda d: os.mkdir(f"{d}/new"), {"new": True}),
    "unlink": (lambda d: os.unlink(f"{d}/gone"), {"gone": False}),
    "rmdir": (lambda d: os.rmdir(f"{d}/empty"), {"empty": False}),
    "rename": (lambda d: os.rename(f"{d}/file", f"{d}/new"), {"file": False, "new": True}),
    "rename over": (lambda d: os.rename(f"{d}/file", f"{d}/other"), {"file": False, "other": True}),
    "rename across": (lambda d: os.rename(f"{d}/file", f"{d}/sub/new"), {"file": False, "sub/new": True}),
    "rename of a directory": (lambda d: os.rename(f"{d}/sub", f"{d}/new"), {"sub": False, "new/deep": True, "sub/deep": False}),
    "link": (lambda d: os.link(f"{d}/file", f"{d}/new"), {"new": True}),
    "set times": (lambda d: os.utime(f"{d}/file", (1e9, 1e9)), {"file": True}),
    "truncate": (lambda d: os.truncate(f"{d}/file", 3), {"file": True}),
    "append": (lambda d: put(f"{d}/file", b"more", "ab"), {"file": True}),
    "write over": (lambda d: put(f"{d}/file", b"other content"), {"file": True}),
}


def fill(top):
    os.makedirs(f"{top}/sub")
    os.mkdir(f"{top}/empty")
    for name in ("file", "other", "gone", "sub/deep"):
        put(f"{top}/{name}", b"what was written before")


def prime(d):
    """Everything is in the kernel's memory: listings, attributes, contents, absences."""
    for _ in range(2):
        view(d), view(f"{d}/sub")
        [content(f"{d}/{n}") for n in ("file", "other", "gone")]
        [os.path.lexists(f"{d}/{n}") for n in ("new", "sub/new", "new/deep")]


def is_right(d, names, want, want_sub, attributes=True):
    """Whether names, attributes and contents are those of the server."""
    same = (lambda a, b: a == b) if attributes else (lambda a, b: sorted(a) == sorted(b))
    if any(os.path.lexists(f"{d}/{n}") != there for n, there in names.items()) or set(os.listdir(d)) != set(want):
        return False
    if not same(view(d), want) or (os.path.isdir(f"{d}/sub") and not same(view(f"{d}/sub"), want_sub)):
        return False
    return not attributes or all(content(f"{d}/{n}") == content(f"{DISK}/{os.path.basename(d)}/{n}") for n in want if os.path.isfile(f"{d}/{n}"))


def shown(d):
    return {n: (m, s, t) for n, (m, s, t) in view(d).items()}


def expected(d, fresh):
    """What a client that keeps nothing sees."""
    e = f"{fresh}/{os.path.basename(d)}"
    return view(e), view(f"{e}/sub") if os.path.isdir(f"{e}/sub") else None


def own_changes(place, fresh, what):
    for i, (name, (change, names)) in enumerate(CHANGES.items()):
        d = f"{place}/own{i}"
        prime(d)
        change(d)
        for n, there in names.items():
            equal(f"{what}: after an own {name} {n} is there", os.path.lexists(f"{d}/{n}"), there)
        listed = {n for n, there in names.items() if there and "/" not in n}
        check(f"{what}: and listed", listed <= set(os.listdir(d)) and not {n for n, t in names.items() if not t} & set(os.listdir(d)),
              os.listdir(d))
        want, sub = expected(d, fresh)
        check(f"{what}: and all is as the server has it", wait_until(lambda: is_right(d, names, *expected(d, fresh)), SOON), (shown(d), want))


def others_changes(place, fresh, what, but, attributes=True):
    for i, (name, (change, names)) in enumerate(CHANGES.items()):
        if name in but:
            continue
        d = f"{place}/other{i}"
        prime(d)
        change(f"{fresh}/other{i}")
        good = wait_until(lambda: is_right(d, names, *expected(d, fresh), attributes), SOON)
        check(f"{what}: another's {name} is seen soon", good, (shown(d), expected(d, fresh)))


def attempt(call, *args):
    try:
        call(*args)
        return 0
    except OSError as e:
        return e.errno


def exclusive(path):
    os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY))


def intents(place, fresh, what):
    """Without waiting: the server's answer counts."""
    from errno import EEXIST
    os.mkdir(f"{fresh}/making")
    for i, (name, make, take) in enumerate((("mkdir", os.mkdir, os.rmdir), ("O_EXCL", exclusive, os.unlink))):
        for round in range(5):
            path, theirs = (f"{top}/making/{i} {round}" for top in (place, fresh))
            make(theirs)
            wait_until(lambda: os.path.lexists(path), SOON)
            view(f"{place}/making")
            take(theirs)
            equal(f"{what}: {name} of what another has just removed", attempt(make, path), 0)
            take(path)
            os.path.lexists(path)
            make(theirs)
            equal(f"{what}: {name} of what another has just made", attempt(make, path), EEXIST)


LOOKER = """
import os, sys
print("looks", flush=True)
while True:
    for n in "01":
        try:
            for e in os.scandir(f"{sys.argv[1]} {n}/sub"):
                e.stat()
            os.stat(f"{sys.argv[1]} {n}/sub/none")
        except OSError:  # it is the other one now
            pass
"""


def looked_at(place, what):
    """Whoever lists or stats has something open on the server meanwhile, which is no reason for another's rename to fail."""
    os.makedirs(f"{place}/looked 0/sub", exist_ok=True)
    for i in range(100):
        put(f"{place}/looked 0/sub/{i}")
    lookers = [subprocess.Popen([sys.executable, "-c", LOOKER, f"{place}/looked"], stdout=subprocess.PIPE) for _ in range(2)]
    for looker in lookers:
        looker.stdout.readline()
    refused = [n for n in range(100) if attempt(os.rename, f"{place}/looked {n % 2}", f"{place}/looked {1 - n % 2}")]
    for looker in lookers:
        looker.kill()
        looker.communicate()
    equal(f"{what}: a directory is renamed while others look into it", refused, [])


def upcalls(place):
    """But for those that read a directory: the kernel keeps no listings, and the daemon's cost no request."""
    return {k: v for k, v in stats(place)["mount"]["upcalls"].items() if k in ("LOOKUP", "GETATTR", "READ")}


def requests(place):
    """But for what opens: without a lease each open is the server's to allow."""
    return {k: v for k, v in stats(place)["requests"].items() if k not in ("ECHO", "CHANGE_NOTIFY", "CREATE", "CLOSE")}


def nothing_is_asked(place, what):
    d = f"{place}/quiet"
    for _ in range(3):
        view(d), view(f"{d}/sub"), content(f"{d}/file"), os.path.lexists(f"{d}/none")
    before, asked = upcalls(place), requests(place)
    for _ in range(10):
        view(d), view(f"{d}/sub"), content(f"{d}/file"), os.path.lexists(f"{d}/none")
    after = upcalls(place)
    equal(f"{what}: while nothing changes the server is asked nothing but to open", requests(place), asked)
    # the kernel holds a directory's own access time to be old once it was read
    equal(f"{what}: and the daemon nothing but the two directories", {k: after[k] - before[k] for k in after}, {"LOOKUP": 0, "GETATTR": 20, "READ": 0})


def daemon_of(place):
    for path in glob.glob("/proc/[0-9]*/cmdline"):
        try:
            with open(path, "rb") as f, open(os.path.dirname(path) + "/comm") as comm:
                words = f.read().split(b"\0")
                if b"mount" in words and place.encode() in words and "watchdog" not in comm.read():
                    return int(path.split("/")[2])
        except OSError:
            pass
    return None


def time_to(end):
    """How long it took, SOON at most, and how late this program came to look at the worst."""
    began, late = time.monotonic(), 0
    while not end() and time.monotonic() - began < SOON:
        asleep = time.monotonic()
        time.sleep(0.02)
        late = max(late, time.monotonic() - asleep - 0.02)
    return time.monotonic() - began, late


def killed_daemon(samba):
    """The server is silent, so that a stat, a READ and, behind it, the daemon's own notification wait; then the daemon dies."""
    with mounted(samba, "Watches=true," + MINUTE) as place:
        pid = daemon_of(place)
        check("the daemon is found", pid)
        os.stat(f"{place}/quiet/file")
        data = open(f"{place}/big", "rb", buffering=0)
        data.read(4096)
        servers = samba.processes()
        for server in servers:
            os.kill(server, signal.SIGSTOP)
        users = [subprocess.Popen([sys.executable, "-c", "import os,sys\n" + code, place], stderr=subprocess.DEVNULL) for code in (
            "os.stat(sys.argv[1] + '/own1/file')", "os.listdir(sys.argv[1] + '/own0')", "os.mkdir(sys.argv[1] + '/made')",
            "os.pread(os.open(sys.argv[1] + '/big', os.O_RDONLY), 4096, 40 << 20)")]
        reader = os.fork()
        if reader == 0:
            try:
                os.pread(data.fileno(), 4096, 30 << 20)
            finally:
                os._exit(0)
        data.close()
        waits = lambda: stats(place)["mount"]["upcalls"]["READ"] >= 2 and stats(place)["mount"]["upcalls"]["MKDIR"] >= 1
        check("they wait", wait_until(waits), upcalls(place))
        larder("drop", place)  # the kernel is told to forget, which waits for the page that is being read
        time.sleep(0.3)
        check("all of them", all(u.poll() is None for u in users), [u.poll() for u in users])
        os.kill(pid, signal.SIGKILL)
        took, late = time_to(lambda: all(u.poll() is not None for u in users) and os.waitid(os.P_PID, reader, os.WEXITED | os.WNOHANG | os.WNOWAIT))
        check("the daemon killed, every user ends", took < SOON, [u.poll() for u in users])
        check("within 2 s, on a machine that is on time", took < 2 + 20 * late, (took, late))
        for user in users:
            user.kill()
            user.wait()
        os.waitpid(reader, 0)
        for server in servers:
            os.kill(server, signal.SIGCONT)
        subprocess.run(["umount", "-l", place], stderr=subprocess.DEVNULL)


def begin(samba):
    global DISK
    DISK = samba.share
    for i in range(len(CHANGES)):
        fill(f"{DISK}/own{i}")
        fill(f"{DISK}/other{i}")
    fill(f"{DISK}/quiet")
    with open(f"{DISK}/big", "wb") as f:
        f.truncate(64 << 20)
    if os.getuid() == 0:
        subprocess.run(["chown", "-R", user_name(), DISK], check=True)


def watching(place):
    return wait_until(lambda: stats(place)["watch"]["state"] == "watching")


parser = argparse.ArgumentParser()
parser.add_argument("larder")
parser.add_argument("--newer")
args = parser.parse_args()
if args.newer:
    version = newer_samba(args.newer)
    if not version:
        sys.exit(77)
    # Leases of directories; the attributes of what is in them nobody promises, so names only.
    with Samba("smb3 directory leases=yes", root=args.newer) as samba:
        samba.start()
        begin(samba)
        with mounted(samba, "Leases=true," + MINUTE) as place, mounted(samba, "profile=off") as fresh:
            own_changes(place, fresh, "leases")
            others_changes(place, fresh, "leases", but=["set times", "truncate", "append", "write over"], attributes=False)
        with mounted(samba, "Leases=true,actimeo=1,CacheMaxAge=60") as place, mounted(samba, "profile=off") as fresh:
            intents(place, fresh, "leases")
            looked_at(place, "leases")
else:
    with Samba() as samba:
        samba.start()
        begin(samba)
        with mounted(samba, "Watches=true,Leases=false," + MINUTE) as place, mounted(samba, "profile=off") as fresh:
            check("the server tells of changes", watching(place), stats(place)["watch"])
            own_changes(place, fresh, "watch")
            others_changes(place, fresh, "watch", but=["link"])  # Samba tells of no links
            intents(place, fresh, "watch")
            nothing_is_asked(place, "watch")
            looked_at(place, "watch")
            looked_at(fresh, "no cache")
        killed_daemon(samba)
finish()
