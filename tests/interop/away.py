#!/usr/bin/python3
"""The server goes away and comes back, or ends what it had with us: transfers bring the right bytes, git works on, who
waits is told what decides for how long, locks that somebody else took are lost to their programs alone, and a mount can
be ended at any time.

`away.py LARDER [--only git|others] [--seconds N] [--every N]`
"""
import argparse
import contextlib
import errno
import fcntl
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import tempfile
import threading
import time

from bed import LARDER, PASSWORD, Samba, check, equal, finish, larder, mounted, stats, user_name, wait_until
from reconnect import Line, Restarter, line_to, mounted_by

USER = f"user={user_name()}"
ENV = {**os.environ, "LARDER_PASSWORD": PASSWORD}
MIB = 1 << 20
SOME = 64 * MIB
LONG = 60  # seconds that nothing here may take, on however slow a machine


class Gate(Line):
    """A line that may be shut for a while, or is cut by itself behind so many bytes."""

    def __init__(self, samba):
        self.nobody = socket.socket()
        self.nobody.bind(("127.0.0.1", 0))  # a port at which nobody listens
        self.server, self.passed, self.act_at, self.act = samba.port, 0, None, None
        super().__init__(samba.port)

    def shut(self):
        self.port = self.nobody.getsockname()[1]
        self.cut()

    def open_again(self):
        self.port = self.server

    def behind(self, count, act):
        """Calls `act` once, when so many bytes more have passed."""
        self.act_at, self.act = self.passed + count, act

    def carry(self, source, sink):
        with contextlib.suppress(OSError):
            while data := source.recv(65536):
                sink.sendall(data)
                with self.lock:
                    self.passed += len(data)
                    due = self.act_at is not None and self.passed >= self.act_at
                    self.act_at = None if due else self.act_at
                if due:
                    self.act()
        self.end({source, sink})

    def close(self):
        super().close()
        self.nobody.close()


@contextlib.contextmanager
def gate_to(samba):
    gate = Gate(samba)
    try:
        yield gate
    finally:
        gate.close()


@contextlib.contextmanager
def in_foreground(target, work, *options):
    """A mount whose process and log are at hand: (directory, process, log as a function)."""
    place = tempfile.mkdtemp(prefix="larder-mnt-")
    log = f"{work}/log-{os.path.basename(place)}"
    with open(log, "w") as f:
        daemon = subprocess.Popen([LARDER, "mount", "-f", target, place, "-o", ",".join((USER, *options))],
                                  stdin=subprocess.DEVNULL, stderr=f, env=ENV)
    try:
        if not wait_until(lambda: os.path.ismount(place) or daemon.poll() is not None, LONG) or daemon.poll() is not None:
            raise RuntimeError(f"mount failed: {open(log).read()}")
        yield place, daemon, lambda: open(log).read()
    finally:
        daemon.terminate()
        with contextlib.suppress(subprocess.TimeoutExpired):
            daemon.wait(LONG)
        if daemon.poll() is None:
            check("the mount ends", False, open(log).read())
            daemon.kill()
        if os.path.ismount(place):
            larder("umount", "--lazy", place)
        os.rmdir(place)


def error_of(call, *args):
    """What the call fails with, by name; None where it does not."""
    try:
        call(*args)
    except OSError as e:
        return errno.errorcode[e.errno]
    return None


def put(path, data):
    with open(path, "wb") as f:
        f.write(data)


def put_there(samba, name, data):
    put(f"{samba.share}/{name}", data)
    if os.getuid() == 0:
        shutil.chown(f"{samba.share}/{name}", user_name())


# ---- what the server ends by itself ----

def ended_by_the_server(samba, work):
    events = f"{work}/events"
    with in_foreground(samba.target, work, "timeo=150", f"events={events}") as (place, _, log):
        put(f"{place}/open", b"before")
        fd = os.open(f"{place}/open", os.O_RDWR)
        for n in range(3):
            subprocess.run(["smbcontrol", "-s", f"{samba.dir}/smb.conf", "smbd", "close-share", "share"], check=True)
            # the server says so to the next who asks
            check(f"close-share {n + 1}: a program goes on", wait_until(lambda: (
                os.pwrite(fd, b"round %d" % n, 0), os.fsync(fd), stats(place)["network"]["reconnected"] > n)[-1], LONG))
            put(f"{place}/made-{n}", b"%d" % n)
            equal(f"close-share {n + 1}: names and data are right",
                  (sorted(x for x in os.listdir(place) if x.startswith("made")), open(f"{samba.share}/open", "rb").read()),
                  ([f"made-{i}" for i in range(n + 1)], b"round %d" % n))
            check(f"close-share {n + 1}: the log tells of it at once", wait_until(
                lambda: log().count("the server is back") == n + 1, 5), log())
        os.close(fd)
        network = stats(place)["network"]
        equal("it was lost as often as it was made again", network["lost"], network["reconnected"])
        equal("each loss has its line in the log", log().count("the server is away: the server has ended the connection to the share "
                                                             "(STATUS_NETWORK_NAME_DELETED)"), network["lost"])
        text = larder("stats", place).stdout
        check("stats tells of it as text", re.search(rf"connection +{network['lost']} times lost, {network['lost']} times made again", text) and
              re.search(r"opens on it +\d+ opened again", text), text)
    lines = [e for e in map(json.loads, open(events)) if e["class"] == "network"]
    equal("each loss and return is an event", [e["id"] for e in lines], [30805, 30806] * network["lost"])
    equal("which says why", {(e["name"], e.get("status")) for e in lines},
          {("SmbSessionLost", "STATUS_NETWORK_NAME_DELETED"), ("SmbSessionReestablished", None)})


# ---- transfers ----

def transfers(samba, work):
    data = os.urandom(MIB) * (SOME // MIB - 1) + os.urandom(MIB)
    put_there(samba, "big", data)
    with gate_to(samba) as gate:
        gate.behind(SOME // 2, gate.cut)
        run = larder("get", "-o", USER, f"{gate.target}/big", f"{work}/big")
        check("get: goes on behind a cut", run.returncode == 0 and gate.act_at is None, run.stderr)
        check("get: the bytes are right", open(f"{work}/big", "rb").read() == data)
        gate.behind(SOME // 2, gate.cut)
        run = larder("put", "-o", USER, f"{work}/big", f"{gate.target}/back")
        check("put: goes on behind a cut", run.returncode == 0 and gate.act_at is None, run.stderr)
        check("put: the bytes are right", open(f"{samba.share}/back", "rb").read() == data)
        gate.behind(SOME // 2, gate.shut)
        run = larder("get", "-o", f"{USER},timeo=10", f"{gate.target}/big", f"{work}/half")
        check("get: a server that stays away is one line, with the server and the setting",
              run.returncode == 1 and run.stderr.count("\n") == 1 and "//127.0.0.1" in run.stderr and "soft, timeo=10" in run.stderr, run.stderr)
        check("get: half of it has not the name of all", not os.path.exists(f"{work}/half"))
    for path in (f"{samba.share}/big", f"{samba.share}/back", f"{work}/big"):
        os.unlink(path)


# ---- who waits ----

def soft_and_hard(samba):
    put_there(samba, "there", b"there")
    with gate_to(samba) as gate, mounted_by_options(gate, "timeo=10") as soft, mounted_by_options(gate, "timeo=10,hard") as hard:
        gate.shut()
        begun = time.monotonic()
        equal("soft: who waited as long as he is to gets EHOSTDOWN", error_of(os.stat, f"{soft}/there"), "EHOSTDOWN")
        check("soft: and that was not long", time.monotonic() - begun < 10, time.monotonic() - begun)
        answers = []
        waiter = threading.Thread(target=lambda: answers.append(os.stat(f"{hard}/there").st_size), daemon=True)
        waiter.start()
        waiter.join(3)
        equal("hard: he still waits", (waiter.is_alive(), answers), (True, []))
        gate.open_again()
        waiter.join(LONG)
        equal("hard: and has his answer when the server is back", answers, [5])
        check("soft: the server is there again", wait_until(lambda: error_of(os.stat, f"{soft}/there") is None, LONG))


def mounted_by_options(gate, options):
    return mounted(gate, *options.split(","))


# ---- a file that nobody may open for writing ----

def read_only(samba):
    """git makes its packs like that, and writes them."""
    with gate_to(samba) as gate, mounted_by(gate.target) as place:
        fd = os.open(f"{place}/read-only", os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o444)
        os.write(fd, b"before ")
        gate.cut()
        equal("read-only: whoever made it writes on behind a cut", (error_of(os.write, fd, b"after"), error_of(os.fsync, fd)), (None, None))
        equal("read-only: and reads", os.pread(fd, 20, 0), b"before after")
        os.close(fd)
        equal("read-only: it is as before", os.stat(f"{place}/read-only").st_mode & 0o222, 0)
        equal("read-only: no open was given up", stats(place)["network"]["dead"], 0)
    with mounted_by(samba.target) as place:
        equal("read-only: also on the server", os.stat(f"{place}/read-only").st_mode & 0o222, 0)
        os.unlink(f"{place}/read-only")


# ---- locks ----

def lock(fd):
    fcntl.lockf(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)


def lost_lock(samba):
    """Without durable handles the server lets the locks go with the connection."""
    for name in ("locked", "free"):
        put_there(samba, name, name.encode())
    with gate_to(samba) as gate, mounted_by_options(gate, "timeo=300") as ours, mounted_by(samba.target) as theirs:
        locked, free = (os.open(f"{ours}/{name}", os.O_RDWR) for name in ("locked", "free"))
        other = os.open(f"{theirs}/locked", os.O_RDWR)
        lock(locked)
        check("a lock keeps others out", error_of(lock, other) in ("EAGAIN", "EACCES"))
        gate.shut()
        check("another client has it when the connection is lost", wait_until(lambda: error_of(lock, other) is None, LONG))
        gate.open_again()
        equal("whoever had it gets EIO", [error_of(os.pread, locked, 6, 0), error_of(os.pwrite, locked, b"x", 0)], ["EIO", "EIO"])
        equal("another open goes on", (os.pread(free, 4, 0), os.pwrite(free, b"FREE", 0), error_of(os.fsync, free)), (b"free", 4, None))
        equal("names and other opens of the file, too", (sorted(os.listdir(ours)), open(f"{ours}/free", "rb").read()),
              (["free", "locked", "there"], b"FREE"))
        check("the other client still has the lock", error_of(lock, other) is None)
        equal("one open was given up", stats(ours)["network"]["dead"], 1)
        with contextlib.suppress(OSError):
            os.close(locked)
        os.close(free)
        os.close(other)
        with open(f"{ours}/locked", "r+b") as again:
            lock(again.fileno())
        check("who opens the file anew has it, and its lock", True)


# ---- the end of a mount ----

def owes(connection):
    """Whether the mount owes the kernel an answer."""
    with open(f"/sys/fs/fuse/connections/{connection}/waiting") as f:
        return int(f.read()) > 0


WAITER = "import os, sys\ntry:\n    os.stat(sys.argv[1])\nexcept OSError as e:\n    print(e.strerror)\n"


def end_one(samba, work, how, option, found):
    """Adds what is to be checked to `found`."""
    with gate_to(samba) as gate, in_foreground(gate.target, work, "timeo=300", option) as (place, daemon, log):
        put(f"{place}/known", b"known")
        connection = os.minor(os.stat(place).st_dev)
        gate.shut()
        # nobody keeps a mount from being ended that waits for an answer there; but `larder umount` wants it unused
        waiter = subprocess.Popen(["python3", "-c", WAITER, f"{place}/unknown"], stdout=subprocess.PIPE, text=True) if how == "SIGTERM" else None
        if waiter:
            found.append(("somebody waits", wait_until(lambda: owes(connection) or waiter.poll() is not None) and waiter.poll() is None))
        begun = time.monotonic()
        if how == "umount":
            run = larder("umount", place, timeout=LONG)
            found.append(("umount: done", (run.returncode, run.stderr) == (0, ""), run.stderr))
        else:
            daemon.send_signal(signal.SIGTERM)
        with contextlib.suppress(subprocess.TimeoutExpired):
            daemon.wait(LONG)
        took = time.monotonic() - begun
        found.append((f"{how} while the server is away: ends in time", daemon.poll() == 0 and took < 20, (daemon.poll(), took, log())))
        found.append((f"{how}: nothing is mounted", not os.path.ismount(place)))
        if waiter:
            said = waiter.communicate(timeout=LONG)[0]
            found.append(("whoever waited there has an error, and lives", waiter.returncode == 0 and said != "", (waiter.returncode, said)))


def ended_while_away(samba, work):
    found = {"umount": [], "SIGTERM": []}
    both = [threading.Thread(target=end_one, args=(samba, work, how, option, found[how]), daemon=True)
            for how, option in (("umount", "soft"), ("SIGTERM", "hard"))]
    for t in both:
        t.start()
    for t in both:
        t.join(3 * LONG)
    for results in found.values():
        for result in results:
            check(*result)
    equal("both came to their end", [len(r) for r in found.values()], [3, 4])


# ---- git ----

def git(samba, seconds, every):
    """While the server is killed and comes back every few seconds."""
    restart = Restarter(samba)
    over, restarts = threading.Event(), []

    def disturb():
        while not over.wait(every):
            restart()
            restarts.append(time.monotonic())

    with line_to(samba) as line, mounted_by(line.target) as place:
        def run(*args):
            done = subprocess.run(["git", "-C", f"{place}/repo", "-c", "user.name=x", "-c", "user.email=x@x", "-c", "gc.auto=0", *args],
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
            if done.returncode != 0:
                check(f"git {args[0]}", False, done.stdout)
            return done.stdout
        os.mkdir(f"{place}/repo")
        thread = threading.Thread(target=disturb, daemon=True)
        thread.start()
        run("init", "-q", "-b", "main")
        begun, commits, want = time.monotonic(), 0, {}
        while time.monotonic() - begun < seconds or len(restarts) < 2:
            for i in range(6):
                name, text = f"file-{(7 * commits + i) % 40}", f"commit {commits}, {i}\n" * 50
                put(f"{place}/repo/{name}", text.encode())
                want[name] = text
            run("add", "-A")
            run("commit", "-q", "-m", f"commit {commits}")
            commits += 1
            if commits % 10 == 0:
                run("gc", "-q")
        run("gc", "-q")
        over.set()
        thread.join(LONG)
        network = stats(place)["network"]
        print(f"     git: {commits} commits, {len(restarts)} restarts, {network}", flush=True)
        equal("git: every commit is there", run("rev-list", "--count", "HEAD").strip(), str(commits))
        equal("git: fsck finds nothing", run("fsck", "--full", "--strict").replace("notice: No default references\n", ""), "")
        equal("git: nothing is changed or left over", run("status", "--porcelain"), "")
        equal("git: no open was given up", network["dead"], 0)
    restart.end()
    here = f"{samba.share}/repo"
    equal("git: the files on the server are those that were committed", {n: open(f"{here}/{n}").read() for n in want}, want)
    equal("git: on the server fsck finds nothing", subprocess.run(
        ["git", "-c", "safe.directory=*", "-C", here, "fsck", "--full", "--strict"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        text=True).stdout, "")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("larder")
    parser.add_argument("--only", choices=("git", "others"))
    parser.add_argument("--seconds", type=float, default=6, help="of git")
    parser.add_argument("--every", type=float, default=3, help="so many seconds the server is killed")
    args = parser.parse_args()
    if args.only != "others":
        with Samba() as samba:
            git(samba.start(), args.seconds, args.every)
    if args.only != "git":
        with Samba() as samba, tempfile.TemporaryDirectory() as work:
            samba.start()
            ended_while_away(samba, work)
            soft_and_hard(samba)
            for name in os.listdir(samba.share):
                if name != "there":
                    os.unlink(f"{samba.share}/{name}")
            lost_lock(samba)
            read_only(samba)
            transfers(samba, work)
            ended_by_the_server(samba, work)
    finish()


if __name__ == "__main__":
    main()
