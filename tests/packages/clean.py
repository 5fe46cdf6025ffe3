"""A clean Debian that lasts as long as a `with`: a layer in memory over the root of clean-root.sh, in namespaces of its own.

Its mounts and processes are in a mount and a pid namespace, whose first process is ours: when that ends, however this
program ends, the kernel takes all of them away. The network is the machine's, so that it reaches a server there. dpkg finds
its database in the layer; nothing on the disk changes."""
import os
import subprocess

HERE = os.path.dirname(os.path.abspath(__file__))
LEAVE_MOUNTS = os.path.join(HERE, "../interop/leave-mounts.sh")

# Until the last line runs nobody may enter, so that line says so; there `wait` takes the orphans in, as init does.
SETUP = """
set -eu
mount -t tmpfs -o mode=755,size=2g layer /mnt
mkdir /mnt/upper /mnt/work /mnt/root
mount -t overlay -o lowerdir="$1",upperdir=/mnt/upper,workdir=/mnt/work clean /mnt/root
cd /mnt/root
mount -t proc proc proc
mount --rbind /sys sys
mount -t tmpfs -o mode=755 dev dev
for node in null:1:3 zero:1:5 full:1:7 random:1:8 urandom:1:9 tty:5:0 fuse:10:229; do
    IFS=: read -r name major minor <<END
$node
END
    mknod -m 666 "dev/$name" c "$major" "$minor"
done
mkdir dev/shm
mount -t tmpfs -o mode=1777 shm dev/shm
ln -s /proc/self/fd dev/fd
mount -t tmpfs -o mode=755 run run
mount -t tmpfs -o mode=1777 tmp tmp
cp /etc/resolv.conf /etc/hosts etc/
exec chroot . sh -c 'echo ready; sleep infinity & wait'
"""

# What may differ when a package is gone: dpkg's and apt's own records, caches that are made anew, what is no file of the disk.
OWN_RECORDS = ("/var/lib/dpkg/", "/var/lib/apt/", "/var/log/", "/var/cache/", "/etc/ld.so.cache", "/var/lib/systemd/", "/etc/passwd-",
               "/etc/group-", "/etc/shadow-", "/etc/gshadow-")


class Clean:
    def __init__(self, root):
        self.root = root

    def __enter__(self):
        self.first = subprocess.Popen(["unshare", "--mount", "--pid", "--fork", "--kill-child", LEAVE_MOUNTS, "sh", "-c", SETUP, "sh",
                                       self.root],
                                      stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
        if self.first.stdout.readline() != "ready\n":
            self.first.wait()
            raise RuntimeError("the clean system does not start")
        with open(f"/proc/{self.first.pid}/task/{self.first.pid}/children") as f:
            self.pid = f.read().split()[0]
        return self

    def __exit__(self, *_):
        self.first.kill()  # and with it, by --kill-child, the first process in there and all others
        self.first.wait()

    def run(self, *command, user=None, **more):
        """A command in there; its output and errors are one text."""
        become = ["setpriv", f"--reuid={user}", f"--regid={user}", "--init-groups"] if user else []
        env = dict(os.environ, DEBIAN_FRONTEND="noninteractive", LC_ALL="C.UTF-8", MANPAGER="cat", PATH="/usr/sbin:/usr/bin:/sbin:/bin")
        return subprocess.run(["nsenter", f"--target={self.pid}", "--mount", "--pid", "--root", "--wd", *become, *command], env=env,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=300, **more)

    def path(self, inside):
        """The file in there, seen from here."""
        return f"/proc/{self.pid}/root{inside}"

    def write(self, inside, text, mode=0o644):
        with open(os.open(self.path(inside), os.O_CREAT | os.O_TRUNC | os.O_WRONLY, mode), "w") as f:
            f.write(text)

    def files(self):
        """{path: (kind, mode, owner, content or target)} of the whole system but OWN_RECORDS."""
        listed = self.run("find", "/", "-xdev", "-printf", r"%p\t%y\t%m\t%U:%G\t%l\n")
        found = {}
        for line in listed.stdout.splitlines():
            path, kind, *rest = line.split("\t")
            if path.startswith(OWN_RECORDS):
                continue
            if kind == "f" and path.startswith("/etc/"):
                with open(self.path(path), "rb") as f:
                    rest.append(f.read())
            found[path] = (kind, *rest)
        return found
