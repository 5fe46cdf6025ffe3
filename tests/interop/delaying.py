#!/usr/bin/python3
"""What is written to a mount under a WRITE lease waits in the daemon. Another client, another mount and the program
itself see no difference but the time that it takes; and what cannot be written is told.

Whoever starts a program while he has a file open has it written: the child closes its copy of the descriptor. So what
waits is looked at on the server's disk, where it is missing.
"""
import errno
import os
import signal
import subprocess
import tempfile
import threading

from bed import LARDER, PASSWORD, Samba, check, equal, finish, larder, mounted, stats, user_name, wait_until

MIB = 1 << 20
AN_HOUR = "WriteDelay=3600"  # nothing leaves by itself


def get(samba, name):
    """As another client reads it."""
    with tempfile.TemporaryDirectory() as local:
        subprocess.run(["smbclient", "-p", str(samba.port), f"-U{user_name()}%{PASSWORD}", "//127.0.0.1/share", "-c",
                        f"get {name} {local}/copy"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True, timeout=60)
        with open(f"{local}/copy", "rb") as f:
            return f.read()


def disk(samba, name):
    """As it is on the server's disk at this moment."""
    with open(f"{samba.share}/{name}", "rb") as f:
        return f.read()


def made(place, name):
    return os.open(f"{place}/{name}", os.O_RDWR | os.O_CREAT | os.O_TRUNC, 0o644)


def requests(place):
    return stats(place)["requests"].get("WRITE", 0)


def delayed(place):
    return stats(place)["delayed"]


def few_requests(samba, place):
    block = os.urandom(4096)
    before = requests(place)
    fd = made(place, "small")
    for _ in range(700):
        os.write(fd, block)
    check("2.7 MiB in writes of 4 KiB: what is full leaves", wait_until(lambda: len(disk(samba, "small")) == 2 * MIB), len(disk(samba, "small")))
    os.close(fd)
    equal("3 requests in all", requests(place) - before, 3)
    equal("all of it is there after close", disk(samba, "small"), block * 700)
    equal("nothing waits", delayed(place)["waiting"], 0)


def seen_by_others(samba, place):
    data = os.urandom(300_000)
    fd = made(place, "shared")
    os.write(fd, data)
    equal("it waits", disk(samba, "shared"), b"")
    equal("another client that opens it reads all of it", get(samba, "shared") == data, True)
    os.pwrite(fd, b"once more", 1000)
    equal("and what is written afterwards", get(samba, "shared")[990:1015], data[990:1000] + b"once more" + data[1009:1015])
    os.close(fd)


def seen_by_the_program(samba, place):
    fd = made(place, "own")
    os.write(fd, b"x" * 5000)
    equal("fstat knows the size", os.fstat(fd).st_size, 5000)
    os.write(fd, b"y" * 5000)
    equal("stat too", os.stat(f"{place}/own").st_size, 10000)
    os.write(fd, b"z" * 5000)
    with os.scandir(place) as all_names:
        equal("a listing too", [e.stat().st_size for e in all_names if e.name == "own"], [15000])
    os.write(fd, b"z" * 5000)
    try:
        made_anew = os.open(f"{place}/own", os.O_RDWR | os.O_CREAT | os.O_EXCL)
    except FileExistsError:
        made_anew = None
    equal("it is not made again", made_anew, None)
    equal("what the kernel looked up before has the size", os.stat(f"{place}/own").st_size, 20000)
    os.pwrite(fd, b"!", 0)
    equal("and it is read", os.pread(fd, 2, 0), b"!x")
    os.pwrite(fd, b"?", 1)
    os.fsync(fd)
    equal("fsync: the server has it", disk(samba, "own")[:3], b"!?x")
    os.write(fd, b"end")
    os.utime(fd, (1e9, 1e9))
    os.close(fd)
    equal("a time that was set stays", os.stat(f"{place}/own").st_mtime, 1e9)
    equal("the size is right", os.stat(f"{place}/own").st_size, 20003)


def seen_by_other_names(samba, place):
    """Links that the server alone knows of: only the answer says that a name is one more of the file."""
    names = ("one", "two")
    os.mkdir(f"{place}/more")
    for name in names:
        os.close(made(place, name))
        os.link(f"{samba.share}/{name}", f"{samba.share}/more/{name}")
    with mounted(samba, AN_HOUR) as anew:
        fds = [os.open(f"{anew}/{name}", os.O_WRONLY) for name in names]
        for fd in fds:
            os.write(fd, b"x" * 5000)
        equal("it waits", [len(disk(samba, name)) for name in names], [0, 0])
        equal("another name of it, looked up for the first time, has the size", os.stat(f"{anew}/more/one").st_size, 5000)
        with os.scandir(f"{anew}/more") as all_names:
            equal("and all in a listing", {e.name: e.stat().st_size for e in all_names}, dict.fromkeys(names, 5000))
        for fd in fds:
            os.close(fd)


def by_itself(samba, place):
    fd = made(place, "late")
    os.write(fd, b"late")
    check("it is sent after WriteDelay by itself", wait_until(lambda: disk(samba, "late") == b"late", 30))
    os.close(fd)


def not_at_all(samba, place):
    fd = made(place, "now")
    os.write(fd, b"now")
    equal("WriteDelay=0: it is there at once", disk(samba, "now"), b"now")
    os.close(fd)
    equal("nothing was delayed", delayed(place)["writes"], 0)


def by_turns(samba, one, other):
    """Two mounts, a record each after the other's; each opens the file anew or keeps it open."""
    for keeps in (False, True):
        name = f"turns-{keeps}"
        places, want = (one, other), b""
        fds = [os.open(f"{p}/{name}", os.O_RDWR | os.O_CREAT, 0o644) for p in places] if keeps else None
        for i in range(40):
            record = f"{i:7}\n".encode() * 50
            fd = fds[i % 2] if keeps else os.open(f"{places[i % 2]}/{name}", os.O_RDWR | os.O_CREAT, 0o644)
            os.pwrite(fd, record, len(want))
            want += record
            if keeps and i % 8 == 7:
                os.fsync(fd)
            if not keeps:
                os.close(fd)
                with open(f"{places[(i + 1) % 2]}/{name}", "rb") as f:
                    if f.read() != want:
                        check(f"turn {i}: the other mount reads all of it", False)
        for fd in fds or ():
            os.close(fd)
        equal(f"two mounts wrote by turns ({'both open' if keeps else 'opened each time'})", disk(samba, name) == want, True)


def both_at_once(samba, one, other):
    """Each its own half of one file, while the other opens it again and again."""
    size, block = 4 * MIB, 8192
    os.close(made(one, "halves"))

    def write(place, at, byte):
        for offset in range(at, at + size, block):
            fd = os.open(f"{place}/halves", os.O_WRONLY | os.O_CREAT, 0o644)
            os.pwrite(fd, byte * block, offset)
            os.close(fd)

    threads = [threading.Thread(target=write, args=(one, 0, b"1")), threading.Thread(target=write, args=(other, size, b"2"))]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    equal("two mounts wrote a half each at once", disk(samba, "halves") == b"1" * size + b"2" * size, True)


def server_gone():
    """A mount in the foreground, whose log is read."""
    with Samba() as samba, tempfile.TemporaryFile("w+") as log:
        samba.start()
        place = tempfile.mkdtemp(prefix="larder-mnt-")
        daemon = subprocess.Popen([LARDER, "mount", "-f", samba.target, place, "-o", f"user={user_name()},{AN_HOUR}"],
                                  env={**os.environ, "LARDER_PASSWORD": PASSWORD}, stdout=log, stderr=log)
        try:
            check("mounted", wait_until(lambda: os.path.ismount(place)))
            fd, server = made(place, "lost"), samba.processes()
            os.write(fd, b"never arrives")
            for process in server:
                os.kill(process, signal.SIGKILL)
            subprocess.run(["true"], check=True)  # it closes a copy of the descriptor, and looks at no error
            try:
                os.close(fd)
                check("close says that it is lost", False)
            except OSError as e:
                check("close says that it is lost", e.errno != errno.EBADF, e)
        finally:
            larder("umount", place)
            daemon.wait(30)
            os.rmdir(place)
        log.seek(0)
        said = [line for line in log if "lost" in line and "what was written" in line]
        check("the log names the file, once", len(said) == 1, said)


def main():
    with Samba() as samba:
        samba.start()
        with mounted(samba, AN_HOUR) as place:
            few_requests(samba, place)
            seen_by_others(samba, place)
            seen_by_the_program(samba, place)
            seen_by_other_names(samba, place)
            equal("no fault", stats(place)["faults"], [])
            said = [line for line in larder("stats", place).stdout.splitlines() if line.startswith("delayed writes")]
            check("larder stats says how many writes became how few requests", len(said) == 1 and "requests; 0 bytes wait" in said[0], said)
            with mounted(samba, AN_HOUR) as other:
                by_turns(samba, place, other)
                both_at_once(samba, place, other)
            fd = made(place, "left")
            os.write(fd, b"until the end")
            equal("it waits until the end", disk(samba, "left"), b"")
            os.close(fd)
        with mounted(samba) as place:
            by_itself(samba, place)
        with mounted(samba, "WriteDelay=0") as place:
            not_at_all(samba, place)
    server_gone()
    finish()


main()
