"""Who changes the share: by a path (another mount, this very mount, the server's own disk), or as smbclient does."""
import errno
import os
import subprocess
import tempfile
import time

from bed import PASSWORD, user_name
from world import content

DONE = b"Current directory is "  # the answer to pwd, which follows each command: there is no prompt without a terminal


class ByPath:
    def __init__(self, root):
        self.root = root

    def at(self, path):
        return os.path.join(self.root, path)

    def _write(self, path, flags, file, data, offset=0):
        fd = os.open(self.at(path), os.O_WRONLY | flags, 0o666)
        try:
            if data:
                os.pwrite(fd, data, offset)
        finally:
            os.close(fd)
        os.utime(self.at(path), (file.mtime, file.mtime))

    def create(self, path, new):
        self._write(path, os.O_CREAT | os.O_EXCL, new, content(new.version, new.size))

    def rewrite(self, path, new, _old):
        self._write(path, os.O_TRUNC, new, content(new.version, new.size))

    def append(self, path, new, old):
        self._write(path, 0, new, content(new.version, new.size)[old.size:], old.size)

    def truncate(self, path, new, _old):
        os.truncate(self.at(path), new.size)
        os.utime(self.at(path), (new.mtime, new.mtime))

    def touch(self, path, new, _old):
        os.utime(self.at(path), (new.mtime, new.mtime))

    def unlink(self, path):
        os.unlink(self.at(path))

    def mkdir(self, path):
        os.mkdir(self.at(path))

    def rmdir(self, path):
        os.rmdir(self.at(path))

    def rename(self, path, to):
        os.rename(self.at(path), self.at(to))

    def close(self):
        pass


class OnDisk(ByPath):
    """What is made belongs to whom it would belong if a client had made it."""

    def __init__(self, samba):
        super().__init__(samba.share)
        owner = os.stat(samba.share)
        self.ids = (owner.st_uid, owner.st_gid)

    def create(self, path, new):
        super().create(path, new)
        os.chown(self.at(path), *self.ids)

    def mkdir(self, path):
        super().mkdir(path)
        os.chown(self.at(path), *self.ids)


class Smbclient:
    """One smbclient, fed with commands. It knows no append and no truncate: a file is put whole."""

    def __init__(self, samba):
        self.place = tempfile.mkdtemp(prefix="larder-smbclient-")
        self.data = os.path.join(self.place, "data")
        self.run = subprocess.Popen(["stdbuf", "-i0", "-oL", "smbclient", "-p", str(samba.port), f"-U{user_name()}%{PASSWORD}", "//127.0.0.1/share"],
                                    stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, bufsize=0)
        self._do("lcd", "/")

    def _answer(self):
        said = b""
        while not (said.endswith(b"\n") and DONE in said):
            more = os.read(self.run.stdout.fileno(), 65536)
            if not more:
                raise OSError(errno.EIO, f"smbclient ended: {said.decode(errors='replace')}")
            said += more
        return said

    def _do(self, *words):
        self.run.stdin.write(b" ".join(w.encode() for w in words) + b"\npwd\n")
        said = self._answer()
        if b"NT_STATUS_" in said:
            raise OSError(errno.EACCES, f"{' '.join(words)}: {said.decode(errors='replace').strip()}")

    def _put(self, path, new):
        with open(self.data, "wb") as f:
            f.write(content(new.version, new.size))
        self._do("put", self.data, path.replace("/", "\\"))
        self.touch(path, new, None)

    def touch(self, path, new, _old):
        at = time.strftime("%y:%m:%d-%H:%M:%S", time.localtime(new.mtime))
        self._do("utimes", path.replace("/", "\\"), "-1", "-1", at, "-1")

    def create(self, path, new):
        self._put(path, new)

    def rewrite(self, path, new, _old):
        self._put(path, new)

    append = truncate = rewrite

    def unlink(self, path):
        self._do("del", path.replace("/", "\\"))

    def mkdir(self, path):
        self._do("mkdir", path.replace("/", "\\"))

    def rmdir(self, path):
        self._do("rmdir", path.replace("/", "\\"))

    def rename(self, path, to):
        self._do("rename", path.replace("/", "\\"), to.replace("/", "\\"), "-f")

    def close(self):
        self.run.stdin.close()
        self.run.wait(10)
        self.run.stdout.close()
        if os.path.exists(self.data):
            os.unlink(self.data)
        os.rmdir(self.place)
