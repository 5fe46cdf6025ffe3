"""The tree that is changed, what can be done to it, and what it was when.

200 directories stand still; in each of them names come and go: four files, two directories with two files each. A file
is its size, its time (whole seconds, another one after each change) and the version of its content, which is a stream
of blocks that say version and place (reader.c checks them), so that a file that grows or shrinks stays one version.

A Change has the moments between which it was made, and for every path that it touches what was there before and
after. What takes several steps (a file is written, then its time is set) shows states in between: those paths are in
flux from its beginning to its end.
"""
import collections
import os
import random

TOPS, DIRS, BLOCK = 20, 200, 16
FILES, SUBDIRS = ("f0", "f1", "f2", "f3"), ("s0", "s1")
OLD_TIME = 1_000_000_000  # and a second later with each change: nothing that a server's clock says

File = collections.namedtuple("File", "size mtime version")
DIRECTORY = "directory"


def directory(number):
    """As reader.c numbers them."""
    return f"t{number:02}" if number < TOPS else f"t{(number - TOPS) % TOPS:02}/u{(number - TOPS) // TOPS}"


def content(version, size):
    blocks = b"".join(b"%07d %07d\n" % (version, i) for i in range((size + BLOCK - 1) // BLOCK))
    return blocks[:size]


class Change:
    def __init__(self, op, args, effects, flux=(), prepare=None):
        self.op, self.args = op, args  # of a writer
        self.effects = effects  # path: what is there afterwards, None for nothing
        self.flux = frozenset(flux)
        self.prepare = prepare  # a file that is made before, for create()
        self.begin = self.end = 0
        self.named = [a for a in args if isinstance(a, str)]

    def names(self):
        """Whether it changes which names there are, or only what a file is."""
        return self.op in ("create", "unlink", "mkdir", "rmdir", "rename")

    def __repr__(self):
        return f"{self.op} {' '.join(self.named)}"


class World:
    def __init__(self, seed):
        self.random = random.Random(seed)
        self.state = {}  # path: File or DIRECTORY; the directories that stand still are not in it
        self.count = 0
        self.history = collections.defaultdict(list)  # path: [(Change, before, after)]
        self.changes = []

    # ---- the beginning ----

    def make(self, root):
        for number in range(DIRS):
            os.makedirs(os.path.join(root, directory(number)), exist_ok=True)
        for number in range(DIRS):
            where = directory(number)
            for name in SUBDIRS:
                if self.random.random() < 0.5:
                    os.mkdir(os.path.join(root, where, name))
                    self.state[f"{where}/{name}"] = DIRECTORY
            for path in self.possible_files(where):
                if self.random.random() < 0.5 and self.has_parent(path):
                    self.make_file(root, path, self.new_file())
        self.initial = dict(self.state)

    def make_file(self, root, path, file):
        full = os.path.join(root, path)
        with open(full, "wb") as f:
            f.write(content(file.version, file.size))
        os.utime(full, (file.mtime, file.mtime))
        self.state[path] = file

    def differences(self, root):
        """What on the server's disk is not as it should be by now."""
        there = {}
        for where in map(directory, range(DIRS)):
            for path in [f"{where}/{s}" for s in SUBDIRS] + self.possible_files(where):
                full = os.path.join(root, path)
                if os.path.isdir(full):
                    there[path] = DIRECTORY
                elif os.path.exists(full):
                    with open(full, "rb") as f:
                        data = f.read()
                    version = int(data[:7]) if data else 0
                    there[path] = File(len(data), int(os.stat(full).st_mtime), version)
        return {p: (there.get(p), self.state.get(p)) for p in set(there) | set(self.state) if there.get(p) != self.state.get(p)}

    # ---- names ----

    def possible_files(self, where):
        return [f"{where}/{f}" for f in FILES] + [f"{where}/{s}/{f}" for s in SUBDIRS for f in FILES[:2]]

    def has_parent(self, path):
        parent = os.path.dirname(path)
        return os.path.basename(parent) not in SUBDIRS or parent in self.state

    def beneath(self, path):
        return [p for p in self.state if p.startswith(path + "/")]

    # ---- what can be done ----

    def new_file(self, **what):
        self.count += 1
        what = {"size": BLOCK * self.random.randint(1, 250), "version": self.count, **what}
        return File(mtime=OLD_TIME + self.count, **what)

    def of_file(self, path, op):
        """A change of the file `path`, which is there."""
        old = self.state[path]
        same = {"size": old.size} if self.random.random() < 0.5 else {}  # what only the times tell of, if they do
        sizes = {"rewrite": same, "touch": {"size": old.size, "version": old.version},
                 "append": {"size": old.size + BLOCK * self.random.randint(1, 20), "version": old.version},
                 "truncate": {"size": BLOCK * self.random.randint(1, old.size // BLOCK), "version": old.version}}
        new = self.new_file(**sizes[op])
        return Change(op, (path, new, old), {path: new}, {path})

    def renaming(self, path, to):
        effects = {}
        for p in self.beneath(to) + [to]:
            effects[p] = None
        for p in self.beneath(path) + [path]:
            effects[p] = None
        for p in self.beneath(path) + [path]:
            effects[to + p[len(path):]] = self.state[p]
        return Change("rename", (path, to), effects)

    def any_change(self, where, other):
        """A random change in `where`; names may move to `other`."""
        files = [p for p in self.possible_files(where) if self.has_parent(p)]
        path = self.random.choice(files)
        there = path in self.state
        sub = f"{where}/{self.random.choice(SUBDIRS)}"
        dice = self.random.random()
        if dice < 0.12:
            if sub not in self.state:
                return Change("mkdir", (sub,), {sub: DIRECTORY})
            if not self.beneath(sub):
                return Change("rmdir", (sub,), {sub: None})
            to = f"{self.random.choice((where, other))}/{self.random.choice(SUBDIRS)}"
            if to not in self.state:
                return self.renaming(sub, to)
        if not there:
            new = self.new_file()
            return Change("create", (path, new), {path: new}, {path})
        if dice < 0.40:
            return Change("unlink", (path,), {path: None})
        if dice < 0.60:
            to = f"{self.random.choice((where, other))}/{self.random.choice(FILES)}"
            if to != path:
                return self.renaming(path, to)
        if dice < 0.68:
            new, made = self.new_file(), f"{where}/made-{self.count}"
            return Change("rename", (made, path), {path: new}, prepare=(made, new))
        return self.of_file(path, self.random.choice(("rewrite", "append", "truncate", "touch")))

    def made(self, change):
        """It has been made: from now on it is so."""
        self.changes.append(change)
        for path, after in change.effects.items():
            self.history[path].append((change, self.state.get(path), after))
            if after is None:
                self.state.pop(path, None)
            else:
                self.state[path] = after
