"""A machine of a test's own: a mount namespace in which mount.larder is installed, everybody may use /dev/fuse, and
/etc/fstab and /dev/log are the test's. Nothing of it is seen outside, and all of it goes with the test.

`enter()` comes before `bed` is imported, since it starts the test again in there.
"""
import atexit
import os
import shutil
import subprocess
import sys
import tempfile

NOBODY = ["setpriv", "--reuid", "nobody", "--regid", "nogroup", "--clear-groups", "--inh-caps", "-all"]
INSIDE = "LARDER_TEST_MACHINE"


def skip(why):
    print(f"skipped: {why}")
    sys.exit(77)


def enter():
    if os.environ.get(INSIDE):
        return
    if os.getuid() != 0:
        skip("only root can make mount namespaces")
    if subprocess.run(["unshare", "-m", "--propagation", "slave", "true"], stderr=subprocess.DEVNULL).returncode != 0:
        skip("mount namespaces cannot be made here")
    os.environ[INSIDE] = "1"
    os.execvp("unshare", ["unshare", "-m", "--propagation", "slave", sys.executable, *sys.argv])


def run(*command, stdin=subprocess.DEVNULL, **more):
    return subprocess.run(command, stdin=stdin, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=120, **more)


def leave_others():
    """Mounts of tests that run beside this one: as long as they are here, too, they would not end there."""
    for line in open("/proc/self/mounts").readlines():
        place, kind = line.split()[1:3]
        if kind.startswith("fuse"):
            subprocess.run(["umount", "-l", "-i", "--no-canonicalize", place.encode().decode("unicode_escape")], stderr=subprocess.DEVNULL)


class Machine:
    """`dir` is a directory that everybody may look into, `larder` a copy of the binary there."""

    def __init__(self, larder):
        self.built = larder

    def __enter__(self):
        leave_others()
        self.dir = tempfile.mkdtemp(prefix="larder-machine-")
        atexit.register(self._leave)
        subprocess.run(["mount", "-t", "tmpfs", "-o", "mode=755", "none", self.dir], check=True)
        self.larder = self.path("larder")
        shutil.copy(self.built, self.larder)
        self._helpers()
        self._devices()
        open(self.path("fstab"), "w").close()
        subprocess.run(["mount", "--bind", self.path("fstab"), "/etc/fstab"], check=True)
        return self

    def path(self, name):
        return os.path.join(self.dir, name)

    def _helpers(self):
        """/sbin with what the installation puts there (on some systems a link to /usr/sbin)."""
        sbin = os.path.realpath("/sbin")
        for name in ("upper", "work"):
            os.mkdir(self.path(name))
        layers = f"lowerdir={sbin},upperdir={self.path('upper')},workdir={self.path('work')}"
        if subprocess.run(["mount", "-t", "overlay", "-o", layers, "none", sbin], stderr=subprocess.DEVNULL).returncode != 0:
            skip("there is no overlayfs to install a helper of mount(8) in")
        for name in ("mount.larder", "mount.fuse.larder"):
            if os.path.lexists(f"{sbin}/{name}"):
                os.remove(f"{sbin}/{name}")
            os.symlink(self.larder, f"{sbin}/{name}")

    def _devices(self):
        """Those of the system, but for a /dev/fuse that everybody may use and a /dev/log that is not there yet."""
        real = self.path("devices")
        os.mkdir(real)
        subprocess.run(["mount", "--rbind", "/dev", real], check=True)
        subprocess.run(["mount", "-t", "tmpfs", "-o", "mode=755", "none", "/dev"], check=True)
        for name in os.listdir(real):
            if name not in ("fuse", "log"):
                os.symlink(f"{real}/{name}", f"/dev/{name}")
        os.mknod("/dev/fuse", 0o20666, os.makedev(10, 229))
        os.chmod("/dev/fuse", 0o666)

    def fstab(self, *lines):
        with open("/etc/fstab", "w") as f:
            f.write("".join(line + "\n" for line in lines))

    def credentials(self, name, user, password, owner=0, mode=0o600):
        with open(self.path(name), "w") as f:
            f.write(f"username={user}\npassword={password}\n")
        os.chown(self.path(name), owner, -1)
        os.chmod(self.path(name), mode)
        return self.path(name)

    def directory(self, name, owner=0):
        os.mkdir(self.path(name))
        os.chown(self.path(name), owner, -1)
        return self.path(name)

    def _leave(self):
        """All else ends with the namespace; the directory is outside as well, and empty there."""
        subprocess.run(["umount", "-l", self.dir], stderr=subprocess.DEVNULL)
        os.rmdir(self.dir)

    def __exit__(self, *_):
        pass


def mount_line(place):
    """source, type and options of what is mounted there last, or None."""
    found = None
    for line in open("/proc/self/mounts"):
        source, where, kind, options = line.split()[:4]
        if where == place:
            found = (source, kind, options.split(","))
    return found
