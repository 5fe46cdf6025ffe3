#!/usr/bin/python3
"""Files that are open while the server changes or falls silent: reading goes on by the open, also without a
name or the right to open it; an older open brings no old pages; who waits for a silent server can be killed, and nobody else waits."""
import os
import signal
import subprocess
import sys
import time

from bed import Samba, check, equal, finish, larder, mounted, wait_until

PROFILES = ("larder", "23h2", "25h2", "off")
LIFETIME = 1
AT_ONCE = 10  # seconds; a call gives up by itself after 30


def put(path, data):
    with open(path, "wb") as f:
        f.write(data)


def replace(path, data):
    put(path + ".tmp", data)
    os.rename(path + ".tmp", path)


def attempt(call):
    """What came back, short enough to be shown; or the error."""
    try:
        got = call()
        return (got[:2], len(got)) if isinstance(got, bytes) else got
    except OSError as e:
        return str(e)


def without_a_name(profile, top, here):
    big, small = bytes(range(256)) * 12000, b"small " * 50
    kinds = {"replaced": lambda p: replace(p, b"another"), "removed": os.unlink,
             "moved": lambda p: os.rename(p, p + "-away"), "followed by a directory": lambda p: (os.unlink(p), os.mkdir(p))}
    names = {f"{profile}-{size}-{kind}": (f"a {size} file {kind}", change, data)
             for kind, change in kinds.items() for size, data in (("large", big), ("small", small))}
    for name, (_, _, data) in names.items():
        put(f"{top}/{name}", data)
    opened = [(what, data, open(f"{here}/{name}", "rb", buffering=0)) for name, (what, _, data) in names.items()]
    for name, (_, change, _) in names.items():
        change(f"{top}/{name}")
    time.sleep(LIFETIME + .2)
    for what, data, f in opened:
        with f:
            equal(f"{profile}: {what} while it is open is read to its end", attempt(f.readall), (data[:2], len(data)))
            equal(f"{profile}: and has its size", attempt(lambda: os.fstat(f.fileno()).st_size), len(data))


def without_rights(profile, top, here):
    name, data = f"{profile}-refused", b"open " * 100000
    put(f"{top}/{name}", data)
    time.sleep(LIFETIME + .2)  # what is believed of the directory does not know it
    with open(f"{here}/{name}", "rb", buffering=0) as f:
        os.chmod(f"{top}/{name}", 0)
        time.sleep(LIFETIME + .2)
        equal(f"{profile}: a file that nobody may open any more is read by who has it open", attempt(f.readall), (data[:2], len(data)))
        equal(f"{profile}: and has its size", attempt(lambda: os.fstat(f.fileno()).st_size), len(data))
    equal(f"{profile}: nobody else opens it", attempt(lambda: open(f"{here}/{name}", "rb").read()), "[Errno 13] Permission denied" + f": '{here}/{name}'")


def old_pages(profile, top, here):
    """Other content of the same size, while an older open still has what came along with it."""
    name = f"{profile}-pages"
    put(f"{top}/{name}", b"a" * 5000)
    with open(f"{here}/{name}", "rb", buffering=0) as old:
        put(f"{top}/{name}", b"b" * 5000)
        os.utime(f"{top}/{name}", (1e9, 1e9))  # the clock of a disk is coarse
        with open(f"{here}/{name}", "rb", buffering=0) as new:
            old.read(100)
            equal(f"{profile}: an open after the change reads what is there", attempt(new.readall), (b"bb", 5000))
    for _ in range(2):
        with open(f"{here}/{name}", "rb", buffering=0) as again:
            equal(f"{profile}: and so do later ones", attempt(again.readall), (b"bb", 5000))


def silence(samba, profile, top, here):
    for name in ("cold", "warm", "data"):
        put(f"{top}/{name}", b"x" * 1000000)
    os.makedirs(f"{top}/dir", exist_ok=True)
    time.sleep(LIFETIME + .2)  # what is believed of the directory does not know them
    data = open(f"{here}/data", "rb", buffering=0)
    pids = samba.processes()
    for pid in pids:
        os.kill(pid, signal.SIGSTOP)
    programs = [[sys.executable, "-c", "import os,sys\n" + code, here] for code in (
        "os.stat(sys.argv[1] + '/cold')", "os.listdir(sys.argv[1] + '/dir')",
        "os.statvfs(sys.argv[1])", "open(sys.argv[1] + '/cold')")]
    programs.append(["dd", f"if={here}/warm", "of=/dev/null", "iflag=direct", "status=none"])
    waiting = [subprocess.Popen(p, stderr=subprocess.DEVNULL) for p in programs]
    reader = os.fork()
    if reader == 0:
        os.pread(data.fileno(), 100, 700000)
        os._exit(1)
    time.sleep(1)
    said = larder("stats", f"{here}/dir", timeout=20)  # the server would be waited for longer
    check(f"{profile}: what is beneath a mount is told to be none, without a question", said.returncode == 1 and "nothing is mounted" in said.stderr, said)
    begin = time.monotonic()
    for p in waiting:
        p.kill()
    os.kill(reader, signal.SIGKILL)
    check(f"{profile}: who waits for a silent server can be killed",
          wait_until(lambda: all(p.poll() is not None for p in waiting), AT_ONCE), [p.poll() for p in waiting])
    os.waitpid(reader, 0)
    check(f"{profile}: at once", time.monotonic() - begin < AT_ONCE)
    for pid in pids:
        os.kill(pid, signal.SIGCONT)
    equal(f"{profile}: and the mount goes on", len(open(f"{here}/cold", "rb").read()), 1000000)
    equal(f"{profile}: and the open too", len(data.readall()), 1000000)
    data.close()


with Samba() as samba:
    top = os.path.join(samba.share, "top")
    os.mkdir(top)
    samba.start()
    for profile in PROFILES:
        with mounted(samba, f"profile={profile}", "Leases=false", "Watches=false", f"actimeo={LIFETIME}") as place:
            without_a_name(profile, top, f"{place}/top")
            old_pages(profile, top, f"{place}/top")
            without_rights(profile, top, f"{place}/top")
            silence(samba, profile, top, f"{place}/top")

finish()
