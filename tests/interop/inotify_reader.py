"""inotify by ctypes: what a program that watches directories is told, with the time at which it was."""
import ctypes
import os
import select
import struct
import time

MODIFY, ATTRIB, MOVED_FROM, MOVED_TO, CREATE, DELETE = 0x2, 0x4, 0x40, 0x80, 0x100, 0x200
IGNORED, ISDIR, Q_OVERFLOW = 0x8000, 0x40000000, 0x4000
NAMES = {MODIFY: "MODIFY", MOVED_FROM: "MOVED_FROM", MOVED_TO: "MOVED_TO", CREATE: "CREATE", DELETE: "DELETE"}
libc = ctypes.CDLL(None, use_errno=True)


class Watcher:
    """Watches directories. events: (time, "DELETE" or "DELETE,ISDIR" ..., path), as they came."""

    def __init__(self, *paths):
        self.fd = libc.inotify_init1(os.O_CLOEXEC | os.O_NONBLOCK)
        self.paths = {}
        self.events = []
        for path in paths:
            self.add(path)

    def add(self, path):
        wd = libc.inotify_add_watch(self.fd, os.fsencode(path), MODIFY | MOVED_FROM | MOVED_TO | CREATE | DELETE)
        if wd < 0:
            raise OSError(ctypes.get_errno(), "inotify_add_watch", path)
        self.paths[wd] = path

    def read(self, seconds=0):
        """Takes what there is, waiting at most so long for the first."""
        if not select.select([self.fd], [], [], seconds)[0]:
            return
        now, data, at = time.monotonic(), os.read(self.fd, 1 << 20), 0
        while at < len(data):
            wd, mask, cookie, length = struct.unpack_from("iIII", data, at)
            name = data[at + 16:at + 16 + length].rstrip(b"\0").decode(errors="surrogateescape")
            at += 16 + length
            if mask & Q_OVERFLOW:
                self.events.append((now, "OVERFLOW", ""))
            for bit, kind in NAMES.items():
                if mask & bit:
                    self.events.append((now, kind + (",ISDIR" if mask & ISDIR else ""), f"{self.paths.get(wd, '?')}/{name}"))

    def wait_for_any(self, ways, seconds):
        """Until all of one of these lists of (kind, path) were told, in whatever order."""
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0:
            told = {(kind, path) for _, kind, path in self.events}
            if any(told.issuperset(way) for way in ways):
                return
            self.read(left)

    def settle(self, seconds=1.5):
        """Reads until nothing has come for so long."""
        while True:
            before = len(self.events)
            self.read(seconds)
            if len(self.events) == before:
                return

    def take(self):
        """What was told so far, without the times; forgets it."""
        told = [(kind, path) for _, kind, path in self.events]
        self.events = []
        return told

    def close(self):
        os.close(self.fd)
