"""What the interop tests share: a private Samba, the larder under test, a mount, and counted checks.

Every test file is a program: `NAME.py LARDER`, prints a line a check and a closing line
"N passed, N failed", and leaves nothing behind. It needs root or a FUSE that users may mount.
"""
import atexit
import contextlib
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
PASSWORD = f"Pw-{os.getpid()}-{os.urandom(4).hex()}"  # of this test alone
# what a sanitizer has to say, also of daemons whose stderr nobody reads, is collected and looked at in finish()
REPORTS = tempfile.mkdtemp(prefix="larder-sanitizer-")
os.environ["LSAN_OPTIONS"] = f"suppressions={HERE}/../fault/lsan.supp:print_suppressions=0:log_path={REPORTS}/report"
os.environ["ASAN_OPTIONS"] = f"fast_unwind_on_malloc=1:log_path={REPORTS}/report"
os.environ["UBSAN_OPTIONS"] = f"print_stacktrace=1:log_path={REPORTS}/report"
os.environ["TSAN_OPTIONS"] = f"log_path={REPORTS}/report"
os.environ["KRB5_CONFIG"] = os.path.join(HERE, "krb5.conf")
signal.signal(signal.SIGINT, signal.default_int_handler)  # where it was ignored (a job in the background), children would ignore it, too
LARDER = os.path.abspath(sys.argv[1]) if len(sys.argv) > 1 else ""
passed = failed = 0


def whole_stacks():
    """AddressSanitizer walks the whole stack at each allocation: it takes twice the time, and sees what leaks by way of libcrypto."""
    os.environ["LSAN_OPTIONS"] = os.environ["LSAN_OPTIONS"].replace("/../fault/", "/../")
    os.environ["ASAN_OPTIONS"] = os.environ["ASAN_OPTIONS"].replace("fast_unwind_on_malloc=1", "fast_unwind_on_malloc=0")


def check(what, good, detail=""):
    """Counts one check; `detail` is shown where it fails."""
    global passed, failed
    if good:
        passed += 1
    else:
        failed += 1
    print(f"{'ok  ' if good else 'FAIL'} {what}" + ("" if good or detail == "" else f": {str(detail)[:2000]}"), flush=True)
    return good


def equal(what, got, want):
    return check(what, got == want, f"{got!r}, not {want!r}")


def data_goes_both_ways(samba, place):
    """3 MiB and a piece through a mount, written and read."""
    data = os.urandom((3 << 20) + 17)
    with open(os.path.join(place, "file"), "wb") as f:
        f.write(data)
    equal("3 MiB that were written are on the server", open(os.path.join(samba.share, "file"), "rb").read() == data, True)
    with open(os.path.join(samba.share, "other"), "wb") as f:
        f.write(data[::-1])
    equal("3 MiB that are read are the server's", open(os.path.join(place, "other"), "rb").read() == data[::-1], True)


def report():
    """What a sanitizer has said first, if anything."""
    reports = sorted(os.listdir(REPORTS))
    return open(os.path.join(REPORTS, reports[0]), errors="replace").read()[:4000] if reports else ""


@atexit.register
def _unfinished(who=os.getpid()):
    """Behind an exception, or a skip, too: a larder that died of what a sanitizer found may well be why."""
    if os.getpid() == who and os.path.exists(REPORTS):
        sys.stderr.write(report())
        shutil.rmtree(REPORTS)


def finish():
    if report():
        check("no sanitizer report", False, report())
    shutil.rmtree(REPORTS)
    print(f"{passed} passed, {failed} failed")
    sys.exit(1 if failed or not passed else 0)


def made(script, directory):
    """Makes the root of a server (newer-samba.sh, ksmbd-root.sh) where there is none yet; its version, or None where it cannot be had."""
    run = subprocess.run([os.path.join(HERE, script), directory], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if run.returncode == 77:
        print(f"skipped: {run.stdout.strip()}", flush=True)
        return None
    run.check_returncode()
    return run.stdout.strip()


def newer_samba(directory):
    return made("newer-samba.sh", directory)


def root_after(flag, script):
    """The root of another server where the command line has `flag ROOT`, else None; ends with 77 where it cannot be had."""
    if flag not in sys.argv:
        return None
    root = sys.argv[sys.argv.index(flag) + 1]
    version = made(script, root)
    if not version:
        sys.exit(77)
    print(f"{os.path.basename(root)}: {version}", flush=True)
    return root


def user_name():
    import pwd
    return "larder" if os.getuid() == 0 else pwd.getpwuid(os.getuid()).pw_name


class Samba:
    """A private smbd; `share` is its directory on the local disk. With `root` the one in there (newer-samba.sh)."""

    def __init__(self, *keys, root=None):
        self.keys = keys
        self.env = dict(os.environ, SMBD_ROOT=root) if root else dict(os.environ)

    def __enter__(self):
        self.dir = tempfile.mkdtemp(prefix="larder-test-")
        self.share = os.path.join(self.dir, "share")
        os.mkdir(self.share)
        return self

    def start(self):
        run = subprocess.run([os.path.join(HERE, "smbd.sh"), "start", self.dir, f"user={user_name()}",
                              f"password={PASSWORD}", *self.keys], stdout=subprocess.PIPE, check=True, text=True, env=self.env)
        self.port = int(run.stdout)
        self.target = f"//127.0.0.1:{self.port}/share"
        return self

    def stop(self):
        subprocess.run([os.path.join(HERE, "smbd.sh"), "stop", self.dir], stdout=subprocess.DEVNULL)

    def processes(self):
        """smbd and all that it has started for its clients."""
        with open(os.path.join(self.dir, "smbd.pid")) as f:
            session = f.read().strip()
        out = subprocess.run(["ps", "-o", "pid=", "-s", session], stdout=subprocess.PIPE, text=True).stdout
        return [int(pid) for pid in out.split()]

    def kill(self):
        """In the middle of whatever they do."""
        for pid in self.processes():
            os.kill(pid, signal.SIGKILL)
        self.stop()

    def __exit__(self, *_):
        self.stop()
        shutil.rmtree(self.dir, ignore_errors=True)


class Ksmbd:
    """ksmbd in an emulated machine, out of `root` (ksmbd-root.sh). `keys` are those of ksmbd.sh. Its disk is over there: say()."""

    def __init__(self, *keys, root):
        self.keys = keys
        self.env = dict(os.environ, KSMBD_ROOT=root)

    def __enter__(self):
        self.dir = tempfile.mkdtemp(prefix="larder-test-")
        return self

    def start(self):
        run = subprocess.run([os.path.join(HERE, "ksmbd.sh"), "start", self.dir, f"user={user_name()}",
                              f"password={PASSWORD}", *self.keys], stdout=subprocess.PIPE, check=True, text=True, env=self.env)
        self.port, self.shell = map(int, run.stdout.split())
        self.target = f"//127.0.0.1:{self.port}/share"
        return self

    def say(self, command, seconds=60):
        """What a shell over there, in the directory of the share, answers to that."""
        with socket.create_connection(("127.0.0.1", self.shell), timeout=seconds) as s:
            s.sendall(f"cd /srv/share; {command}\nexit\n".encode())
            return b"".join(iter(lambda: s.recv(65536), b"")).decode(errors="surrogateescape")

    def complaints(self):
        """What its kernel has written down since it was ready: warnings, oopses, what ksmbd finds wrong."""
        with open(os.path.join(self.dir, "console"), errors="replace") as f:
            lines = f.read().splitlines()
        return lines[next(i for i, line in enumerate(lines) if line.startswith("READY")) + 1:]

    def stop(self):
        subprocess.run([os.path.join(HERE, "ksmbd.sh"), "stop", self.dir], stdout=subprocess.DEVNULL)

    def __exit__(self, *_):
        self.stop()
        shutil.rmtree(self.dir, ignore_errors=True)


def larder(*args, password=PASSWORD, timeout=120, text=True, **more):
    env = dict(os.environ)
    env.pop("LARDER_PASSWORD", None)
    if password is not None:
        env["LARDER_PASSWORD"] = password
    return subprocess.run([LARDER, *args], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, env=env, timeout=timeout, text=text, **more)


def tool(command, samba, *args, options=(), **more):
    """larder ls, cat or stat on the Samba's share."""
    flags = [f"-o{o}" for o in (f"user={user_name()}", *options)]
    target = samba if isinstance(samba, str) else samba.target
    before = [a for a in args if a.startswith("-")]
    return larder(command, *flags, *before, target, *[a for a in args if not a.startswith("-")], **more)


@contextlib.contextmanager
def mounted(samba, *options):
    """The share on a directory, whose path is given."""
    place = tempfile.mkdtemp(prefix="larder-mnt-")
    run = larder("mount", samba.target, place, "-o", ",".join((f"user={user_name()}", *options)))
    if run.returncode != 0:
        os.rmdir(place)
        raise RuntimeError(f"mount failed: {run.stderr}")
    try:
        yield place
    finally:
        run = larder("umount", place)
        if run.returncode != 0 and os.path.ismount(place):
            check("the mount ends", False, run.stderr)
            larder("umount", "--lazy", place)  # a test that failed in the middle leaves none behind
        os.rmdir(place)


def stats(place):
    run = larder("stats", place, "--json")
    if run.returncode != 0:
        raise RuntimeError(f"stats failed: {run.stderr}")
    return json.loads(run.stdout)


def wait_until(condition, seconds=10):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if condition():
            return True
        time.sleep(0.05)
    return False
