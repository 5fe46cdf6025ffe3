#!/usr/bin/python3
"""What changes on the server behind our back: an open shows the file as it is at that moment, whole and
with its right length, also while older attributes are still believed; the rest is stale for no longer than
the lifetime that was set. Whoever gets a lock sees the file as its last holder has left it, by opens from before, too; and
a name that is believed and gone can be made."""
import fcntl
import mmap
import os
import time

from bed import Samba, check, equal, finish, mounted

PROFILES = ("larder", "23h2", "25h2", "off")


def put(path, text):
    with open(path, "w") as f:
        f.write(text)


def outcome(call):
    try:
        return call()
    except OSError as e:
        return type(e).__name__


def locked(profile, path, here):
    """Opens from before, pages that are mapped, a size that is believed; then a lock of either kind."""
    kinds = {"fcntl, shared": lambda f: fcntl.lockf(f, fcntl.LOCK_SH, 1), "fcntl": lambda f: fcntl.lockf(f, fcntl.LOCK_EX, 1),
             "flock, shared": lambda f: fcntl.flock(f, fcntl.LOCK_SH), "flock": lambda f: fcntl.flock(f, fcntl.LOCK_EX)}
    for kind, lock in kinds.items():
        put(path, "before " * 1000)
        os.chmod(path, 0o666)
        with open(here, "r+b", buffering=0) as f, mmap.mmap(f.fileno(), 7000) as m:
            equal(f"{profile}, {kind}: read before", (f.read(), m[:7], os.fstat(f.fileno()).st_size), (b"before " * 1000, b"before ", 7000))
            put(path, "AFTER! " * 2000)
            lock(f)
            f.seek(0)
            equal(f"{profile}, {kind}: who gets the lock sees what was written", (f.read(), m[:7], os.fstat(f.fileno()).st_size),
                  (b"AFTER! " * 2000, b"AFTER! ", 14000))


def gone_or_made(profile, path, here):
    calls = {"cannot be opened": (lambda p: open(p).read(), "FileNotFoundError"),
             "can be made": (lambda p: os.close(os.open(p, os.O_RDWR | os.O_CREAT)), None)}
    for what in calls:
        put(f"{path} {what}", "there")
    for what, (call, then) in calls.items():
        name = f"{here} {what}"
        equal(f"{profile}: a name that is there", os.stat(name).st_size, 5)
        os.unlink(f"{path} {what}")
        equal(f"{profile}: once it is gone it {what}", outcome(lambda: call(name)), then)
        equal(f"{profile}: and that is so on the server", (os.path.exists(f"{path} {what}"), os.path.exists(name)), (then is None,) * 2)


with Samba() as samba:
    top = os.path.join(samba.share, "top")
    os.mkdir(top)
    samba.start()
    for profile in PROFILES:
        names = [f"{profile}-{what}" for what in ("grows", "shrinks", "replaced", "gone", "same-size")]
        grows, shrinks, replaced, gone, same_size = (os.path.join(top, n) for n in names)
        for path in (grows, shrinks, replaced, gone, same_size):
            put(path, "before " * 10)
        # what is changed on the server's own disk breaks no lease, and not all is told of: leases.py and watch.py have what holds then
        with mounted(samba, f"profile={profile}", "Leases=false", "Watches=false", "DirectoryCacheLifetime=2", "FileInfoCacheLifetime=2",
                     "FileNotFoundCacheLifetime=2") as place:
            def here(path):
                return f"{place}/top/{os.path.basename(path)}"

            os.listdir(f"{place}/top")
            for path in (grows, shrinks, replaced, gone, same_size):
                equal(f"{profile}: read before", open(here(path)).read(), "before " * 10)
                os.stat(here(path))
            check(f"{profile}: missing before", not os.path.exists(here("new")))
            put(grows, "after " * 1000)
            put(shrinks, "after")
            put(same_size, "AFTER! " * 10)
            put(replaced + ".tmp", "another file " * 100)
            os.rename(replaced + ".tmp", replaced)
            os.unlink(gone)
            put(os.path.join(top, "new"), "new")
            equal(f"{profile}: an open right after shows a file that grew, whole", open(here(grows)).read(), "after " * 1000)
            equal(f"{profile}: one that shrank", open(here(shrinks)).read(), "after")
            equal(f"{profile}: one that changed within its size", open(here(same_size)).read(), "AFTER! " * 10)
            equal(f"{profile}: one that was replaced by another file", open(here(replaced)).read(), "another file " * 100)
            try:
                open(here(gone)).read()
                check(f"{profile}: one that is gone is gone", False)
            except FileNotFoundError:
                check(f"{profile}: one that is gone is gone", True)
            time.sleep(2.2)
            check(f"{profile}: after the lifetime a new name is there", os.path.exists(here("new")))
            check(f"{profile}: and the listing has it", "new" in os.listdir(f"{place}/top"))
            check(f"{profile}: and not the one that is gone", os.path.basename(gone) not in os.listdir(f"{place}/top"))
            equal(f"{profile}: and sizes are right", os.stat(here(grows)).st_size, 6000)
        os.unlink(os.path.join(top, "new"))
        for test, name in ((locked, "locked"), (gone_or_made, "gone-or-made")):
            with mounted(samba, f"profile={profile}", "actimeo=60") as place:
                test(profile, f"{top}/{profile}-{name}", f"{place}/top/{profile}-{name}")
    # Samba tells the time of what is written by somebody who keeps the file open 2 s late, once, and then when he closes it
    put(f"{top}/in-place", "00000000")
    os.chmod(f"{top}/in-place", 0o666)
    age = ["Leases=false", "Watches=false", "CacheMaxAge=2", "FileInfoCacheLifetime=1"]
    with mounted(samba) as asks, mounted(samba, *age) as trusts, mounted(samba) as other:
        open(f"{asks}/top/in-place").read(), open(f"{trusts}/top/in-place").read()
        with open(f"{other}/top/in-place", "r+b", buffering=0) as f:
            for text in ("00000001", "00000002", "00000003"):
                os.pwrite(f.fileno(), text.encode(), 0)
                equal("written in place by somebody who keeps it open: the next open shows it", open(f"{asks}/top/in-place").read(), text)
                time.sleep(2.2)
                equal("without leases after CacheMaxAge", open(f"{trusts}/top/in-place").read(), text)

finish()
