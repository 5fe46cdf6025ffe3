"""One run: a mount and the library look at a share while somebody changes it; what they said is judged afterwards."""
import collections
import contextlib
import mmap
import os
import random
import shutil
import struct
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "interop"))
import bed  # noqa: E402
from bed import PASSWORD, check, equal, mounted, stats, user_name, wait_until  # noqa: E402
from checker import MS, QUIET, S, Announcements, Judge, read_answers  # noqa: E402
from world import DIRS, World, directory  # noqa: E402
from writers import ByPath, OnDisk, Smbclient  # noqa: E402

HOT, LIFETIME, MAX_AGE = 16, 1, 2
BOTH = ("mount", "library")
WRITERS = ("mount", "smbclient", "disk", "self")
Mode = collections.namedtuple("Mode", "name options limit")  # limit: s that what nobody tells of may be believed
MODES = {
    "leases": Mode("leases", "Leases=true,Watches=false", MAX_AGE),
    "both": Mode("leases and the watch", "Leases=true,Watches=true", MAX_AGE),
    "watch": Mode("the watch", "Leases=false,Watches=true", MAX_AGE),
    "neither": Mode("neither", "Leases=false,Watches=false", LIFETIME),
}


def changeable(samba):
    """The share belongs to whom its clients act as."""
    if os.getuid() == 0:
        subprocess.run(["chown", "-R", user_name(), samba.share], check=True)


class Readers:
    """A process of reader.c."""

    def __init__(self, program, kind, place, hot, out, threads, pause_us):
        self.out = out
        self.run = subprocess.Popen([program, kind, place, hot, out, str(os.getpid()), str(threads), str(pause_us)],
                                    stdin=subprocess.PIPE, env={**os.environ, "LARDER_PASSWORD": PASSWORD})

    def end(self):
        self.run.stdin.close()
        return self.run.wait(60)


class Hot:
    """Where the readers look: at what changes next, at what has just changed or a while ago, so that it has to be known if it
    was announced, and at what has changed so long ago that it has to be known in any case."""

    def __init__(self, path, limit):
        with open(path, "wb") as f:
            f.write(bytes(4 * HOT))
        self.file = open(path, "r+b")
        self.map = mmap.mmap(self.file.fileno(), 4 * HOT)
        self.limit = limit
        self.random = random.Random(1)
        self.changed = collections.deque()  # (when, directory), the newest last

    def tell(self, coming):
        now = time.monotonic()
        while self.changed and self.changed[0][0] < now - self.limit - 1:
            self.changed.popleft()
        recent = [d for _, d in self.changed][-2:]
        known = [d for at, d in self.changed if now - 0.8 < at < now - 0.1]
        known = self.random.sample(known, min(6, len(known)))
        old = [d for at, d in self.changed if at < now - self.limit][-4:]
        shown = list(coming)[:HOT - len(recent + known + old)] + recent + known + old
        self.map[:] = struct.pack(f"={HOT}I", *(shown[i % len(shown)] for i in range(HOT)))

    def close(self):
        self.map.close()
        self.file.close()


def change_world(world, writer, hot, count, rate):
    """Makes `count` changes. How many were refused (a directory that somebody has open is not renamed), and what was wrongly
    said not to be there, or to be, which ends it."""
    coming = collections.deque(world.random.sample(range(DIRS), 8))
    free_at = collections.Counter()
    refused = made = 0
    due = time.monotonic()
    while made < count:
        hot.tell(coming)
        due = max(due + 1 / rate, time.monotonic() - 0.2)
        time.sleep(max(0, due - time.monotonic()))
        here, other = coming.popleft(), coming[0]
        time.sleep(max(0, max(free_at[here], free_at[other]) - time.monotonic()))
        while len(coming) < 8:
            next_one = world.random.randrange(DIRS)
            if next_one not in coming and time.monotonic() >= free_at[next_one]:
                coming.append(next_one)
        change = world.any_change(directory(here), directory(other))
        try:
            if change.prepare:
                writer.create(*change.prepare)
            change.begin = time.monotonic_ns()
            getattr(writer, change.op)(*change.args)
            change.end = time.monotonic_ns()
        except PermissionError:
            if change.flux:  # it may be half made
                raise
            refused += 1
        except (FileNotFoundError, FileExistsError, NotADirectoryError) as e:
            return refused, f"{change!r}: {e}"
        else:
            world.made(change)
            made += 1
        now = time.monotonic()
        moved = any(p.startswith(directory(other) + "/") for p in change.named)
        for d in (here, coming.popleft()) if moved else (here,):
            free_at[d] = now + QUIET / S
            hot.changed.append((now, d))
    return refused, None


class Result:
    def __init__(self):
        self.violations, self.answers, self.announced, self.unannounced, self.late = [], 0, 0, 0, 0
        self.older = 0  # answers that a fifth of the promised time would not have allowed on a CPU that is never late
        self.asked = collections.Counter()


@contextlib.contextmanager
def mounted_by(larder, *args):
    """By another larder than the one under test, if one is given."""
    honest, bed.LARDER = bed.LARDER, larder or bed.LARDER
    try:
        with mounted(*args) as place:
            bed.LARDER = honest
            yield place
    finally:
        bed.LARDER = honest


def judge(result, world, name, stem, events, late, mode, writer):
    answers, _ = read_answers(stem)
    announcements = Announcements(events)
    own = name == "mount" and writer == "self"
    j = Judge(world, announcements, late, mode.limit * S, own, "Leases=true" not in mode.options)
    result.answers += len(answers)
    result.announced += j.announced
    result.unannounced += j.unannounced
    result.violations += [(name, j.explain(a)) for a in answers if not j.allows(a)]
    stricter = Judge(world, announcements, collections.Counter(), mode.limit * S // 5, own)
    result.older += sum(not stricter.allows(a) for a in answers)
    for kind, what in (("S", "stat"), ("L", "list"), ("R", "read")):
        result.asked[what] += sum(a.kind == kind for a in answers)


def run_in(work, samba, reader, mode, writer_name, count, rate, faulty, threads, seed, who):
    options = f"{mode.options},actimeo={LIFETIME},CacheMaxAge={MAX_AGE}"
    world = World(f"{writer_name} {mode.name} {count} {seed}")
    for name in os.listdir(samba.share):
        shutil.rmtree(os.path.join(samba.share, name))
    world.make(samba.share)
    changeable(samba)
    hot = Hot(f"{work}/hot", mode.limit)
    result = Result()
    with mounted_by(faulty, samba, options, f"events={work}/mount.events") as place, mounted(samba, "profile=off") as other:
        by_library = f"{samba.target},user={user_name()},{options},events={work}/library.events"
        hot.tell(range(HOT))
        if "Watches=true" in mode.options:
            check("the server tells the mount of changes",
                  wait_until(lambda: stats(place)["watch"]["state"] == "watching"), stats(place).get("watch"))
        kinds = {"mount": (place, threads, 500 * threads), "library": (by_library, 2, 1500)}
        readers = [Readers(reader, w, kinds[w][0], f"{work}/hot", f"{work}/{w}", *kinds[w][1:]) for w in who]
        try:
            writer = {"mount": lambda: ByPath(other), "self": lambda: ByPath(place), "disk": lambda: OnDisk(samba),
                      "smbclient": lambda: Smbclient(samba)}[writer_name]()
            time.sleep(0.3)  # something is believed
            result.refused, wrong = change_world(world, writer, hot, count, rate)
            if wrong:
                result.violations.append(("mount" if writer_name == "self" else "writer", wrong))
            last = collections.deque([d for _, d in hot.changed], 8)
            end = time.monotonic() + mode.limit + 0.3
            while time.monotonic() < end:  # what was changed last is asked for until it has to be known
                hot.tell(last)
                time.sleep(0.1)
            writer.close()
        finally:
            ended = [r.end() for r in readers]
            hot.close()
        equal("the readers have written down what they were told", ended, [0] * len(who))
        different = world.differences(samba.share)
        check("what was to be changed is changed on the server", wrong or not different, different)
    late = collections.Counter()
    for w in who:
        for second, worst in read_answers(f"{work}/{w}")[1].items():
            late[second] = max(late[second], worst)
    result.late = max(late.values(), default=0) / MS
    for w in who:
        judge(result, world, w, f"{work}/{w}", f"{work}/{w}.events", late, mode, writer_name)
    result.changes = len(world.changes)
    return result


def run(samba, reader, mode, writer_name, count, rate, faulty=None, threads=3, seed=0, who=BOTH):
    """`samba` is started; `faulty`: the larder whose mount is looked at, if it is not the one under test; `who` looks.
    Gives a Result. With COHERENCE_KEEP=1 what was written down stays."""
    work = tempfile.mkdtemp(prefix="larder-coherence-")
    try:
        return run_in(work, samba, reader, mode, writer_name, count, rate, faulty, threads, seed, who)
    finally:
        if os.environ.get("COHERENCE_KEEP"):
            print("kept:", work)
        else:
            shutil.rmtree(work)
