#!/usr/bin/python3
"""Writing through a mount of a real Samba: every operation and what it says when it fails; that the kernel shows each
change at once, also under other spellings; locks between processes and between two mounts; data by write, append,
mapping, hole and copy; files that lose their names while they are open."""
import errno
import fcntl
import mmap
import os
import signal
import stat
import time

from bed import Samba, check, equal, finish, mounted, stats, wait_until, whole_stacks

PROFILES = ("larder", "23h2", "off")
LIFETIME = 20  # seconds
LONG = 30  # seconds that nobody waits for a signal or a lock on however slow a machine


def code(call, *args, **more):
    """The name of the error that a call ends in; "" where it succeeds."""
    try:
        got = call(*args, **more)
        if isinstance(got, int) and call is os.open:
            os.close(got)
        return ""
    except OSError as e:
        return errno.errorcode[e.errno]


def put(path, data):
    with open(path, "wb") as f:
        f.write(data)


def get(path):
    with open(path, "rb") as f:
        return f.read()


def in_child(run):
    """What run() gives in another process, 0 to 255."""
    pid = os.fork()
    if pid == 0:
        try:
            os._exit(run())
        finally:
            os._exit(255)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def names(tag, here, share):
    equal(f"{tag}: an empty directory", os.listdir(here), [])
    check(f"{tag}: a name is missing", not os.path.exists(f"{here}/new"))
    put(f"{here}/new", b"text")
    equal(f"{tag}: ls, touch, ls", os.listdir(here), ["new"])
    equal(f"{tag}: it has its size", os.stat(f"{here}/new").st_size, 4)
    equal(f"{tag}: the server has it", get(f"{share}/new"), b"text")
    os.mkdir(f"{here}/dir")
    os.rename(f"{here}/new", f"{here}/dir/moved")
    equal(f"{tag}: a move is shown in both directories", (os.listdir(here), os.listdir(f"{here}/dir")), (["dir"], ["moved"]))
    check(f"{tag}: and not under its old name", not os.path.exists(f"{here}/new"))
    os.rename(f"{here}/dir", f"{here}/dir2")
    equal(f"{tag}: a renamed directory keeps what is in it", get(f"{here}/dir2/moved"), b"text")
    for what, got, want in (
            ("O_EXCL on a file", code(os.open, f"{here}/dir2/moved", os.O_CREAT | os.O_EXCL | os.O_RDWR), "EEXIST"),
            ("mkdir on a file", code(os.mkdir, f"{here}/dir2/moved"), "EEXIST"),
            ("rmdir of a full directory", code(os.rmdir, f"{here}/dir2"), "ENOTEMPTY"),
            ("rename over a full directory", (os.mkdir(f"{here}/e"), code(os.rename, f"{here}/e", f"{here}/dir2"))[1], "ENOTEMPTY"),
            ("rmdir of a file", code(os.rmdir, f"{here}/dir2/moved"), "ENOTDIR"),
            ("unlink of a directory", code(os.unlink, f"{here}/dir2"), "EISDIR"),
            ("unlink of nothing", code(os.unlink, f"{here}/nothing"), "ENOENT"),
            ("rename of nothing", code(os.rename, f"{here}/nothing", f"{here}/x"), "ENOENT"),
            ("a directory opened for writing", code(os.open, f"{here}/dir2", os.O_RDWR), "EISDIR"),
            ("a file as a directory", code(os.open, f"{here}/dir2/moved/x", os.O_CREAT | os.O_RDWR), "ENOTDIR"),
            ("a file in no directory", code(os.open, f"{here}/nothing/x", os.O_CREAT | os.O_RDWR), "ENOENT"),
            ("a FIFO", code(os.mkfifo, f"{here}/fifo"), "EPERM"),
            ("a name that is too long", code(os.mkdir, f"{here}/{'x' * 256}"), "ENAMETOOLONG")):
        equal(f"{tag}: {what}", got, want)
    put(f"{here}/over", b"another")
    os.rename(f"{here}/over", f"{here}/dir2/moved")
    equal(f"{tag}: a rename replaces", get(f"{here}/dir2/moved"), b"another")
    os.unlink(f"{here}/dir2/moved")
    equal(f"{tag}: what is removed is gone", (code(os.stat, f"{here}/dir2/moved"), os.listdir(f"{here}/dir2")), ("ENOENT", []))
    os.rmdir(f"{here}/dir2")
    os.rmdir(f"{here}/e")
    equal(f"{tag}: nothing is left", (os.listdir(here), os.listdir(share)), ([], []))


def spellings(tag, here):
    """The revocation comes a moment after the call that made it necessary, and long before what was believed runs out."""
    soon = lambda condition: wait_until(condition, LIFETIME / 2)
    check(f"{tag}: NEW is missing", not os.path.exists(f"{here}/NEW"))
    put(f"{here}/new", b"1")
    check(f"{tag}: NEW is there once new is", soon(lambda: os.path.exists(f"{here}/NEW")))
    equal(f"{tag}: and is the same file", get(f"{here}/NEW"), b"1")
    check(f"{tag}: MOVED is missing", not os.path.exists(f"{here}/MOVED"))
    os.rename(f"{here}/NEW", f"{here}/moved")
    check(f"{tag}: MOVED is there after a rename to moved", soon(lambda: os.path.exists(f"{here}/MOVED")))
    check(f"{tag}: and new is not", soon(lambda: not os.path.exists(f"{here}/new")))
    os.unlink(f"{here}/MOVED")
    check(f"{tag}: moved is gone once MOVED was removed", soon(lambda: not os.path.exists(f"{here}/moved")))
    equal(f"{tag}: and no longer listed", os.listdir(here), [])


def attributes(tag, here):
    path = f"{here}/file"
    put(path, b"12345")
    os.utime(path, ns=(1000000000123456700, 1500000000987654300))
    st = os.stat(path)
    equal(f"{tag}: times to 100 ns", (st.st_atime_ns, st.st_mtime_ns), (1000000000123456700, 1500000000987654300))
    before = time.time()
    os.utime(path)
    check(f"{tag}: the time now", abs(os.stat(path).st_mtime - before) < 5)
    os.truncate(path, 3)
    equal(f"{tag}: cut", (os.stat(path).st_size, get(path)), (3, b"123"))
    os.truncate(path, 6)
    equal(f"{tag}: made longer", (os.stat(path).st_size, get(path)), (6, b"123\0\0\0"))
    os.chmod(path, 0o444)
    equal(f"{tag}: read-only", (stat.S_IMODE(os.stat(path).st_mode) & 0o222, code(os.open, path, os.O_WRONLY)), (0, "EACCES"))
    check(f"{tag}: and access(2) says so", not os.access(path, os.W_OK))
    os.chmod(path, 0o644)
    equal(f"{tag}: writable again", code(os.open, path, os.O_WRONLY), "")
    os.chmod(path, 0o444)
    os.unlink(path)
    fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o444)
    equal(f"{tag}: who makes a read-only file may write it", os.write(fd, b"git"), 3)
    os.close(fd)
    os.unlink(path)
    os.chown(here, 1, 1)
    equal(f"{tag}: an owner is accepted and without effect", os.stat(here).st_uid, os.getuid())


def data(tag, here, share):
    path = f"{here}/data"
    block = os.urandom(1 << 20)
    before = stats(here)["mount"]["upcalls"]
    fd = os.open(path, os.O_RDWR | os.O_CREAT)
    for _ in range(8):
        os.write(fd, block)
    after = stats(here)["mount"]["upcalls"]
    equal(f"{tag}: 8 MiB are 8 requests", after["WRITE"] - before["WRITE"], 8)
    os.fsync(fd)
    equal(f"{tag}: the server has them", get(f"{share}/data"), block * 8)
    os.close(fd)
    before = stats(here)["mount"]["upcalls"]["READ"]
    equal(f"{tag}: read back", get(path), block * 8)
    if os.getuid() == 0:
        check(f"{tag}: in some 8 requests", stats(here)["mount"]["upcalls"]["READ"] - before <= 10,
              stats(here)["mount"]["upcalls"]["READ"] - before)
    with open(path, "r+b", buffering=0) as f:
        f.seek(12345)
        f.write(b"in the middle")
        f.seek(12340)
        equal(f"{tag}: a write in the middle is read", f.read(23), block[12340:12345] + b"in the middle" + block[12358:12363])
    with open(path, "wb") as f:
        check(f"{tag}: O_TRUNC", os.stat(path).st_size == 0)
        f.write(b"short")
    equal(f"{tag}: and nothing of the old content", get(path), b"short")
    with open(path, "ab", buffering=0) as f:
        f.write(b" one")
        os.fsync(f.fileno())  # what is delayed lands later than a change behind the server's back
        put(f"{share}/data", b"other content on the server")
        f.write(b" two")
    equal(f"{tag}: O_APPEND goes to the end that the server has", get(path), b"other content on the server two")
    with open(path, "r+b") as f:
        f.truncate(100000)
        with mmap.mmap(f.fileno(), 100000) as m:
            m[50000:50006] = b"mapped"
            m.flush()
            equal(f"{tag}: a mapping is written", get(f"{share}/data")[50000:50006], b"mapped")
            m[99990:99996] = b"no msy"
    equal(f"{tag}: also when it is given up without msync", get(f"{share}/data")[99990:99996], b"no msy")
    os.unlink(path)


def holes(tag, here, share):
    path = f"{here}/sparse"
    with open(path, "w+b", buffering=0) as f:
        f.write(b"x" * (1 << 20))
        os.posix_fallocate(f.fileno(), 0, 2 << 20)
        equal(f"{tag}: fallocate makes it long", os.fstat(f.fileno()).st_size, 2 << 20)
        fallocate(f.fileno(), 3, 65536, 131072)  # KEEP_SIZE | PUNCH_HOLE
        f.seek(65536)
        equal(f"{tag}: a hole reads as zeros", f.read(131072), bytes(131072))
        equal(f"{tag}: and what is beside it is left", (os.pread(f.fileno(), 1, 65535), os.pread(f.fileno(), 1, 196608)), (b"x", b"x"))
        equal(f"{tag}: SEEK_HOLE finds it", os.lseek(f.fileno(), 0, os.SEEK_HOLE), 65536)
        equal(f"{tag}: SEEK_DATA finds its end", os.lseek(f.fileno(), 65536, os.SEEK_DATA), 196608)
        equal(f"{tag}: behind the end is nothing", code(os.lseek, f.fileno(), 3 << 20, os.SEEK_DATA), "ENXIO")
        check(f"{tag}: other modes are refused", code(fallocate, f.fileno(), 16, 0, 4096) in ("EOPNOTSUPP", "ENOTSUP"))
        os.ftruncate(f.fileno(), 1 << 20)
        with open(f"{here}/copy", "wb") as to:
            n = 0
            while n < 1 << 20:
                n += os.copy_file_range(f.fileno(), to.fileno(), (1 << 20) - n, n, n)
    equal(f"{tag}: a copy by copy_file_range", get(f"{here}/copy"), get(path))
    check(f"{tag}: made by the server", stats(here)["requests"].get("IOCTL", 0) > 0)
    os.unlink(path)
    os.unlink(f"{here}/copy")


def fallocate(fd, mode, offset, length):
    import ctypes
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.fallocate(fd, mode, ctypes.c_long(offset), ctypes.c_long(length)) < 0:
        raise OSError(ctypes.get_errno(), "fallocate")


def without_names(tag, here, share):
    path = f"{here}/open"
    put(path, b"before")
    with open(path, "r+b", buffering=0) as f:
        os.unlink(path)
        equal(f"{tag}: an open file has no name any more", (code(os.stat, path), os.listdir(here)), ("ENOENT", []))
        f.write(b"AFTER!")
        f.seek(0)
        equal(f"{tag}: and is written and read", (f.read(), os.fstat(f.fileno()).st_size), (b"AFTER!", 6))
        equal(f"{tag}: without any link", os.fstat(f.fileno()).st_nlink, 0)
        put(path, b"its successor")
        f.seek(0)
        equal(f"{tag}: beside another of its name", (f.read(), get(path)), (b"AFTER!", b"its successor"))
        put(f"{here}/next", b"the next")
        with open(path, "rb", buffering=0) as g:
            os.rename(f"{here}/next", path)
            equal(f"{tag}: one that was replaced is read on", (g.read(), get(path)), (b"its successor", b"the next"))
    os.unlink(path)
    check(f"{tag}: nothing hidden is left", wait_until(lambda: os.listdir(share) == [], 5), os.listdir(share))


def links(tag, here, share):
    put(f"{here}/one", b"data")
    if code(os.link, f"{here}/one", f"{here}/two") == "":
        if tag != "23h2":  # which answers from listings, and those do not tell the number of links
            equal(f"{tag}: a hard link counts", os.stat(f"{here}/one").st_nlink, 2)
        put(f"{here}/two", b"by the other name")
        equal(f"{tag}: and shows what is written by the other name", get(f"{here}/one"), b"by the other name")
        os.stat(f"{here}/one"), os.stat(f"{here}/two")
        os.unlink(f"{share}/two")  # by somebody else, as the last one found
        equal(f"{tag}: a file is truncated by the name that it still has", code(os.truncate, f"{here}/one", 3), "")
        equal(f"{tag}: and has its new size", os.stat(f"{here}/one").st_size, 3)
    os.unlink(f"{here}/one")


def try_lock(path, kind):
    with open(path, "r+b") as f:
        try:
            fcntl.lockf(f, kind | fcntl.LOCK_NB, 10, 5)
            return 0
        except OSError as e:
            return e.errno


def locks(tag, here, other):
    path = f"{here}/locked"
    put(path, b"x" * 100)
    f = open(path, "r+b")
    fcntl.lockf(f, fcntl.LOCK_EX, 10, 5)
    for where, at in (("another process", path), ("another mount", f"{other}/locked")):
        equal(f"{tag}: a lock keeps {where} out", in_child(lambda: try_lock(at, fcntl.LOCK_EX)), errno.EAGAIN)
        equal(f"{tag}: beside it {where} may lock", in_child(lambda: try_lock_at(at, 50)), 0)
    asked = lambda: stats(other)["mount"]["upcalls"].get("SETLK", 0)
    before = asked()
    pid = os.fork()
    if pid == 0:
        signal.alarm(LONG)
        with open(f"{other}/locked", "r+b") as g:
            fcntl.lockf(g, fcntl.LOCK_EX, 10, 5)
        os._exit(0)
    check(f"{tag}: somebody asks for the lock", wait_until(lambda: asked() > before, LONG))
    time.sleep(.3)
    equal(f"{tag}: and waits", os.waitpid(pid, os.WNOHANG), (0, 0))
    f.close()
    equal(f"{tag}: who waits gets it when it is let go", os.waitpid(pid, 0)[1], 0)
    equal(f"{tag}: after the close it is free", in_child(lambda: try_lock(path, fcntl.LOCK_EX)), 0)

    f = open(path, "r+b")
    fcntl.flock(f, fcntl.LOCK_EX)
    equal(f"{tag}: flock keeps another process out", in_child(lambda: try_lock(path, fcntl.LOCK_EX)), errno.EAGAIN)
    pid = os.fork()
    if pid == 0:
        signal.signal(signal.SIGALRM, lambda *_: os._exit(7))
        signal.alarm(1)
        g = open(path, "r+b")
        fcntl.lockf(g, fcntl.LOCK_EX)
        os._exit(1)
    begin = time.monotonic()
    equal(f"{tag}: a signal ends the wait", os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), 7)
    check(f"{tag}: at once", time.monotonic() - begin < LONG)
    fcntl.flock(f, fcntl.LOCK_UN)
    equal(f"{tag}: flock is let go", in_child(lambda: try_lock(path, fcntl.LOCK_EX)), 0)
    f.close()
    os.unlink(path)


def try_lock_at(path, start):
    with open(path, "r+b") as f:
        fcntl.lockf(f, fcntl.LOCK_EX | fcntl.LOCK_NB, 10, start)
        return 0


def read_only(here):
    for what, call in (("create", lambda: open(f"{here}/new", "w")), ("write", lambda: open(f"{here}/file", "r+")),
                       ("mkdir", lambda: os.mkdir(f"{here}/new")), ("unlink", lambda: os.unlink(f"{here}/file")),
                       ("rename", lambda: os.rename(f"{here}/file", f"{here}/x")), ("chmod", lambda: os.chmod(f"{here}/file", 0o600)),
                       ("truncate", lambda: os.truncate(f"{here}/file", 0)), ("link", lambda: os.link(f"{here}/file", f"{here}/x")),
                       ("symlink", lambda: os.symlink("file", f"{here}/x")), ("utime", lambda: os.utime(f"{here}/file"))):
        equal(f"ro: {what}", code(call), "EROFS")
    equal("ro: reading", get(f"{here}/file"), b"text")
    check("ro: access(2) says so", not os.access(f"{here}/file", os.W_OK))


whole_stacks()
with Samba() as samba:
    samba.start()
    for profile in PROFILES:
        lifetimes = () if profile == "off" else (f"actimeo={LIFETIME}",)
        with mounted(samba, f"profile={profile}", *lifetimes) as here, mounted(samba) as other:
            names(profile, here, samba.share)
            spellings(profile, here)
            attributes(profile, here)
            data(profile, here, samba.share)
            holes(profile, here, samba.share)
            without_names(profile, here, samba.share)
            links(profile, here, samba.share)
            locks(profile, here, other)
            equal(f"{profile}: at the end nothing is left", os.listdir(samba.share), [])
    with mounted(samba, "nobrl") as here:
        put(f"{here}/locked", b"x" * 100)
        with open(f"{here}/locked", "r+b") as f:
            fcntl.lockf(f, fcntl.LOCK_EX, 10, 5)
            equal("nobrl: locks work within the mount", in_child(lambda: try_lock(f"{here}/locked", fcntl.LOCK_EX)), errno.EAGAIN)
            equal("nobrl: and ask the server for nothing", stats(here)["requests"].get("LOCK", 0), 0)
        os.unlink(f"{here}/locked")
    with mounted(samba, "mfsymlinks") as here:
        os.symlink("to/nowhere", f"{here}/link")
        equal("mfsymlinks: a link", (os.readlink(f"{here}/link"), os.path.islink(f"{here}/link")), ("to/nowhere", True))
        check("mfsymlinks: listed as one", [e.is_symlink() for e in os.scandir(here)] == [True])
        equal("mfsymlinks: in the form of Minshall and French", len(get(f"{samba.share}/link")), 1067)
        os.unlink(f"{here}/link")
    put(f"{samba.share}/file", b"text")
    with mounted(samba, "ro") as here:
        read_only(here)

finish()
