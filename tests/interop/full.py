#!/usr/bin/python3
"""What a share says no to: no room, read-only, not permitted, gone. The right errno reaches the program that asked, in
bounded time, and the rest of the mount goes on.
"""
import concurrent.futures
import errno
import mmap
import os
import signal
import subprocess
import sys
import threading
import time

from bed import Samba, check, equal, finish, larder, mounted, stats, user_name

MIB = 1 << 20


def outcome(call):
    """"ok", or the name of the errno."""
    try:
        call()
        return "ok"
    except OSError as e:
        return errno.errorcode[e.errno]


def write_file(path, data, flags=os.O_WRONLY | os.O_CREAT | os.O_TRUNC):
    """All of `data`, as programs write: what was taken counts, the rest is tried again. The bytes that went."""
    fd = os.open(path, flags, 0o644)
    try:
        went = 0
        while went < len(data):
            went += os.write(fd, data[went:went + MIB])
        return went
    finally:
        os.close(fd)


def read_file(path):
    with open(path, "rb") as f:
        return f.read()


def goes_on(place, what):
    """Another directory of the same mount, right now."""
    data = os.urandom(300_000)
    path = f"{place}/other/{what.replace(' ', '-')}"
    equal(f"{what}: another file is written meanwhile", outcome(lambda: write_file(path, data)), "ok")
    check(f"{what}: and read", read_file(path) == data)
    os.rename(path, path + "-renamed")
    check(f"{what}: and listed", os.path.basename(path) + "-renamed" in os.listdir(f"{place}/other"))
    os.unlink(path + "-renamed")
    check(f"{what}: the connection stands", stats(place)["faults"] == [], stats(place)["faults"])


class Beside:
    """Somebody who works in another directory of the mount for all that time, and must not notice."""

    def __init__(self, place, what):
        self.path, self.what = f"{place}/other/beside", what
        self.rounds, self.wrong, self.end = 0, [], threading.Event()
        self.thread = threading.Thread(target=self.work)

    def work(self):
        while not self.end.wait(.01):
            data = os.urandom(50_000)
            try:
                write_file(self.path, data)
                if read_file(self.path) != data:
                    self.wrong.append("other content")
                os.unlink(self.path)
            except OSError as e:
                self.wrong.append(str(e))
            self.rounds += 1

    def __enter__(self):
        self.thread.start()

    def __exit__(self, *_):
        self.end.set()
        self.thread.join()
        check(f"{self.what}: somebody beside it noticed nothing", self.rounds > 0 and not self.wrong, (self.rounds, self.wrong[:3]))


# ---- no room ----

def mapped(path, size):
    """Fills the file by its pages; msync tells what came of it."""
    with open(path, "r+b") as f, mmap.mmap(f.fileno(), size) as m:
        m[:] = b"m" * size
        m.flush()


def no_room(samba, allocates):
    """8 MiB and 40 names under the share."""
    small = f"{samba.share}/small"
    os.mkdir(small)
    user = user_name()
    run = subprocess.run(["mount", "-t", "tmpfs", "-o", f"size=8m,nr_inodes=40,uid={user},mode=755", "tmpfs", small],
                         stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if run.returncode != 0:
        print(f"skipped: a small file system cannot be mounted here: {run.stdout.strip()}", flush=True)
        return
    try:
        with mounted(samba) as place, Beside(place, "no room"):
            no_room_in(place, f"{place}/small", small)
            (no_room_to_allocate if allocates else no_room_for_pages)(f"{place}/small/fits")
            goes_on(place, "no room later")
            no_names(f"{place}/small", small)
    finally:
        subprocess.run(["umount", small], check=True)


def no_room_in(place, here, small):
    equal("a file of 12 MiB where 8 MiB have room", outcome(lambda: write_file(f"{here}/big", b"b" * 12 * MIB)), "ENOSPC")
    # several requests are under way: behind one that found no room a later one may have
    there = os.stat(f"{small}/big")
    check("what fits was taken", 7 * MIB < there.st_blocks * 512 <= 8 * MIB, there.st_blocks * 512)
    equal("the mount tells the same size", os.stat(f"{here}/big").st_size, there.st_size)
    content = read_file(f"{here}/big")
    equal("and the content, but for what found no room", (len(content), content.count(b"b") + content.count(b"\0")), (there.st_size,) * 2)
    goes_on(place, "no room")
    equal("appending to it", outcome(lambda: write_file(f"{here}/big", b"x" * MIB, os.O_WRONLY | os.O_APPEND)), "ENOSPC")
    run = subprocess.run(["cp", f"{small}/big", f"{here}/copy"], stderr=subprocess.PIPE, text=True, env={"LC_ALL": "C", **os.environ})
    check("cp says it", run.returncode == 1 and "No space left on device" in run.stderr, run.stderr)
    run = subprocess.run(["dd", "if=/dev/zero", f"of={here}/copy", "bs=1M", "count=9", "conv=fsync"], stderr=subprocess.PIPE, text=True)
    check("dd says it", run.returncode == 1 and "No space left on device" in run.stderr, run.stderr)
    os.unlink(f"{here}/copy")
    os.unlink(f"{here}/big")
    equal("once there is room again a file is written", outcome(lambda: write_file(f"{here}/fits", b"f" * 4 * MIB)), "ok")
    check("and whole", read_file(f"{small}/fits") == b"f" * 4 * MIB)


def no_room_for_pages(path):
    """A server that takes the room when data comes: a file may be longer than that, its pages may not be."""
    os.truncate(path, 12 * MIB)
    equal("msync of pages that have no room", outcome(lambda: mapped(path, 12 * MIB)), "ENOSPC")


def no_room_to_allocate(path):
    """A server that takes it with the length: then lengths are refused."""
    equal("ftruncate to more than there is", outcome(lambda: os.truncate(path, 12 * MIB)), "ENOSPC")
    fd = os.open(path, os.O_RDWR)
    equal("posix_fallocate of more than there is", outcome(lambda: os.posix_fallocate(fd, 0, 12 * MIB)), "ENOSPC")
    equal("its size is as it was", os.fstat(fd).st_size, 4 * MIB)
    equal("posix_fallocate of what there is", outcome(lambda: os.posix_fallocate(fd, 0, 6 * MIB)), "ok")
    equal("its size is that", os.fstat(fd).st_size, 6 * MIB)
    os.close(fd)


def no_names(here, small):
    """Room, but only for so many files."""
    os.unlink(f"{here}/fits")
    errors = [outcome(lambda: write_file(f"{here}/name{i}", b"")) for i in range(50)]
    check("files until there is no name left", errors[0] == "ok" and set(errors) == {"ok", "ENOSPC"}, errors)
    equal("a directory then", outcome(lambda: os.mkdir(f"{here}/dir")), "ENOSPC")
    check("what was not made is not there", not os.path.exists(f"{here}/dir") and not os.path.exists(f"{here}/name49"))
    equal("the listing is the truth", sorted(os.listdir(here)), sorted(os.listdir(small)))
    for name in os.listdir(here):
        os.unlink(f"{here}/{name}")
    equal("a directory when they are gone", outcome(lambda: os.mkdir(f"{here}/dir")), "ok")


# ---- not permitted ----

def changes(here):
    """{what: a call that changes something}; there are `file`, `file2` and `dir`."""
    return {
        "open for writing": lambda: os.close(os.open(f"{here}/file", os.O_WRONLY)),
        "open for both": lambda: os.close(os.open(f"{here}/file", os.O_RDWR)),
        "open with O_TRUNC": lambda: os.close(os.open(f"{here}/file", os.O_WRONLY | os.O_TRUNC)),
        "truncate": lambda: os.truncate(f"{here}/file", 0),
        "create": lambda: os.close(os.open(f"{here}/new", os.O_WRONLY | os.O_CREAT | os.O_EXCL)),
        "mkdir": lambda: os.mkdir(f"{here}/newdir"),
        "symlink": lambda: os.symlink("target", f"{here}/newlink"),
        "link": lambda: os.link(f"{here}/file", f"{here}/newname"),
        "unlink": lambda: os.unlink(f"{here}/file"),
        "rmdir": lambda: os.rmdir(f"{here}/dir"),
        "rename": lambda: os.rename(f"{here}/file", f"{here}/renamed"),
        "rename over another": lambda: os.rename(f"{here}/file", f"{here}/file2"),
        "chmod": lambda: os.chmod(f"{here}/file", 0o444),
        "utime": lambda: os.utime(f"{here}/file", (1, 1)),
    }


def prepare(top):
    os.makedirs(f"{top}/dir")
    for name in ("file", "file2"):
        with open(f"{top}/{name}", "w") as f:
            f.write(f"content of {name}")


def unchanged(what, top, here):
    equal(f"{what}: nothing has changed on the server", (sorted(os.listdir(top)), read_file(f"{top}/file")),
          (["dir", "file", "file2"], b"content of file"))
    equal(f"{what}: nor through the mount", (sorted(os.listdir(here)), read_file(f"{here}/file")),
          (["dir", "file", "file2"], b"content of file"))


def belongs_to_root(foreign, out):
    for name in ("file", "file2", "dir"):
        os.chown(f"{foreign}/{name}", 0, 0)
        os.chmod(f"{foreign}/{name}", 0o755 if name == "dir" else 0o444)
    with open(f"{out}/secret", "w") as f:
        f.write("secret")
    os.chmod(f"{out}/secret", 0o600)
    os.makedirs(f"{out}/private/file", 0o700)
    os.chmod(f"{out}/private", 0o700)


def kept_out(here):
    """What the share's user may not even read."""
    equal("reading a file of another user", outcome(lambda: read_file(f"{here}/secret")), "EACCES")
    equal("its size is told", os.stat(f"{here}/secret").st_size, 6)
    equal("listing a directory of another user", outcome(lambda: os.listdir(f"{here}/private")), "EACCES")
    equal("looking into it", outcome(lambda: os.stat(f"{here}/private/file")), "EACCES")
    equal("making something in it", outcome(lambda: write_file(f"{here}/private/new", b"")), "EACCES")


def not_permitted(samba):
    """A directory 0555 of the share's own user; then, where root can make them, files and directories of another."""
    closed, foreign = f"{samba.share}/closed", f"{samba.share}/foreign"
    os.chmod(closed, 0o555)
    with mounted(samba, "mfsymlinks") as place, Beside(place, "not permitted"):
        here = f"{place}/closed"
        for what, call in changes(here).items():
            of_content = what in ("open for writing", "open for both", "chmod", "utime")
            if what not in ("open with O_TRUNC", "truncate"):
                equal(f"a directory that is 0555, {what}", outcome(call), "ok" if of_content else "EACCES")
        os.chmod(f"{here}/file", 0o644)
        unchanged("a directory that is 0555", closed, here)
        goes_on(place, "not permitted")
        if os.getuid() == 0:
            here = f"{place}/foreign"
            for what, call in changes(here).items():
                if what not in ("create", "mkdir", "symlink", "unlink", "rmdir", "rename", "rename over another"):
                    equal(f"a file 0444 of another user, {what}", outcome(call), "EACCES")
            unchanged("files of another user", foreign, here)
            kept_out(f"{place}/out")
            goes_on(place, "of another user")
    os.chmod(closed, 0o755)


def read_only():
    with Samba("share:read only=yes") as samba:
        prepare(f"{samba.share}/top")
        samba.start()
        with mounted(samba, "mfsymlinks") as place:
            here = f"{place}/top"
            for what, call in changes(here).items():
                if what != "link":  # Samba 4.17 makes hard links on a read-only share, for whoever asks
                    equal(f"a read-only share, {what}", outcome(call), "EACCES")
            unchanged("a read-only share", f"{samba.share}/top", here)
            equal("a read-only share: the connection stands", stats(place)["faults"], [])


# ---- gone ----

# Programs in the middle of something, for ever; each prints the errno that ended it.
BUSY = {
    "write": "fd = os.open(p, os.O_WRONLY | os.O_CREAT)\nwhile True: os.pwrite(fd, b'w' * 65536, 0); go()",
    "fsync": "fd = os.open(p, os.O_WRONLY | os.O_CREAT)\nwhile True: os.pwrite(fd, b'w', 0); os.fsync(fd); go()",
    "large writes": "fd = os.open(p, os.O_WRONLY | os.O_CREAT); b = b'w' * (8 << 20)\nwhile True: os.pwrite(fd, b, 0); go()",
    "msync": "fd = os.open(p, os.O_RDWR | os.O_CREAT); os.ftruncate(fd, 1 << 20); m = mmap.mmap(fd, 1 << 20)\n"
             "while True: m[:] = os.urandom(1) * (1 << 20); m.flush(); go()",
    "create": "for i in itertools.count(): os.close(os.open(f'{p}-{i % 50}', os.O_CREAT | os.O_WRONLY)); os.unlink(f'{p}-{i % 50}'); go()",
    "direct read": "os.close(os.open(p, os.O_CREAT)); os.truncate(p, 1 << 20); fd = os.open(p, os.O_RDONLY | os.O_DIRECT)\n"
                   "b = mmap.mmap(-1, 1 << 20)\nwhile True: os.preadv(fd, [b], 0); go()",
    "lock": "fd = os.open(p, os.O_RDWR | os.O_CREAT)\nwhile True: fcntl.lockf(fd, fcntl.LOCK_EX); fcntl.lockf(fd, fcntl.LOCK_UN); go()",
}
PROGRAM = """
import errno, fcntl, itertools, mmap, os, sys
p = sys.argv[1]
started = False
def go():
    global started
    if not started: print("going", flush=True)
    started = True
def work():
    exec(sys.argv[2], globals())
try:
    work()
except OSError as e:
    print(errno.errorcode[e.errno], flush=True)
"""
GONE = {"EHOSTDOWN", "EIO"}
TIMEO = 10  # tenths of a second that a call waits for a server that is gone
AT_ONCE = 5  # seconds, of a machine that is busy with other tests


def vanishes():
    """smbd is killed while programs are in the middle of writes."""
    with Samba() as samba:
        samba.start()
        prepare(f"{samba.share}/top")
        subprocess.run(["chown", "-R", user_name(), f"{samba.share}/top"])
        with mounted(samba, f"timeo={TIMEO}") as place:
            programs = {what: subprocess.Popen([sys.executable, "-c", PROGRAM, f"{place}/{what.replace(' ', '-')}", code],
                                               stdout=subprocess.PIPE, text=True) for what, code in BUSY.items()}
            for what, program in programs.items():
                equal(f"a share that vanishes: {what} goes on before", program.stdout.readline().strip(), "going")
            time.sleep(.3)
            samba.kill()
            end = time.monotonic() + TIMEO / 10 + AT_ONCE
            for what, program in programs.items():
                try:
                    said = program.communicate(timeout=max(.1, end - time.monotonic()))[0].strip()
                except subprocess.TimeoutExpired:
                    said = "hangs"
                    program.kill()
                # the kernel keeps no pages of a server that is gone: a mapping may end at the next page that is touched
                by_signal = what == "msync" and program.returncode == -signal.SIGBUS
                check(f"a share that vanishes ends {what}", said in GONE or by_signal, (said, program.returncode))
            calls = {w: c for w, c in changes(f"{place}/top").items() if w not in ("chmod", "rename over another")}
            calls["list"] = lambda: os.listdir(f"{place}/top")
            began = time.monotonic()
            with concurrent.futures.ThreadPoolExecutor(len(calls)) as pool:
                outcomes = list(pool.map(outcome, calls.values()))
            for what, came in zip(calls, outcomes):
                check(f"a share that is gone, {what}", came in GONE, came)
            took = time.monotonic() - began
            # some ask for several things and wait for each, and a directory is changed by one at a time
            check("and none of them waits much longer than timeo", took < 2 * len(calls) * TIMEO / 10 + AT_ONCE, took)
            check("the mount says so", any("the server is away" in fault for fault in stats(place)["faults"]), stats(place)["faults"])
            began = time.monotonic()
            equal("it is unmounted", (larder("umount", place).returncode, os.path.ismount(place)), (0, False))
            check("at once", time.monotonic() - began < AT_ONCE, time.monotonic() - began)
        samba.start()
        with mounted(samba) as place:
            unchanged("a share that is back", f"{samba.share}/top", f"{place}/top")


def main():
    for strict in ("no", "yes"):  # whether the server takes the room for a file at once
        with Samba(f"share:strict allocate={strict}") as samba:
            os.mkdir(f"{samba.share}/other")
            samba.start()
            no_room(samba, strict == "yes")
    with Samba() as samba:
        os.mkdir(f"{samba.share}/other")
        for name in ("closed", "foreign", "out"):
            prepare(f"{samba.share}/{name}")
        samba.start()
        if os.getuid() == 0:
            belongs_to_root(f"{samba.share}/foreign", f"{samba.share}/out")
        not_permitted(samba)
    read_only()
    vanishes()


main()
finish()
