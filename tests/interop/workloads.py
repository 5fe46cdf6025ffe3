"""What people do with a file system, each as one function on a directory: git, sqlite, fio, make, rsync, tar.

A workload takes the directory to work in (`place`), a local one beside it (`local`), and its size; it makes its
own data by a seeded generator, so that two runs ask for the same. It checks through bed.check, and compares
what came back with what was made, never only exit codes. None knows what it works on: on a local
directory each has to pass as well.
"""
import hashlib
import json
import os
import random
import shutil
import sqlite3
import stat
import subprocess
import sys
import textwrap

from bed import check, equal

ENVIRONMENT = {"PATH": os.environ["PATH"], "HOME": "/nonexistent", "LC_ALL": "C.UTF-8", "TZ": "UTC",
               "GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": "/dev/null", "GIT_AUTHOR_NAME": "A", "GIT_AUTHOR_EMAIL": "a@test",
               "GIT_COMMITTER_NAME": "A", "GIT_COMMITTER_EMAIL": "a@test", "GIT_ADVICE": "0"}
LIMIT = 900  # seconds for any one command


def run(*command, where=None, text=True):
    """What came of a command; `where` is the directory it runs in."""
    return subprocess.run(command, cwd=where, env=ENVIRONMENT, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=text, timeout=LIMIT)


def done(what, ran, output=None):
    """It ended well; with `output`, and said just that."""
    said = (ran.stdout + ran.stderr)[-600:]
    return check(what, ran.returncode == 0 and (output is None or ran.stdout.strip() == output), f"{ran.returncode}: {said}")


def text_of(rng, size):
    return "".join(rng.choices("abcdefgh \n", k=size)) if size else ""


def tree_of(place):
    """{path: what can be told of it} of everything below; times in the 100 ns that SMB has."""
    told = {}
    for top, dirs, files in os.walk(place):
        for name in dirs + files:
            path = os.path.join(top, name)
            s = os.lstat(path)
            kind = stat.S_IFMT(s.st_mode)
            content = ""
            if kind == stat.S_IFREG:
                with open(path, "rb") as f:
                    content = hashlib.sha256(f.read()).hexdigest()
            elif kind == stat.S_IFLNK:
                content = os.readlink(path)
            regular = kind == stat.S_IFREG
            told[os.path.relpath(path, place)] = (kind, regular and s.st_size, regular and stat.S_IMODE(s.st_mode),
                                                  s.st_mtime_ns // 100, content)
    return told


def differences(a, b):
    """At most three, for a person."""
    return [(name, a.get(name), b.get(name)) for name in sorted(a.keys() | b.keys()) if a.get(name) != b.get(name)][:3]


def settle(top, seconds):
    """Gives all directories one time, which every copy can have."""
    for directory, _, _ in os.walk(top, topdown=False):
        os.chmod(directory, 0o755)
        os.utime(directory, (seconds, seconds))


def make_tree(top, count, rng, per_directory=50, largest=4096):
    """`count` files with content of every size, names of several kinds, old times and some read-only."""
    kinds = ("{}.c", "{}.txt", "{} with space", "grüße-{}", "q?{}:*", ".hidden{}", "{}.", "UPPER-{}.H")
    for i in range(count):
        directory = os.path.join(top, f"d{i // per_directory:03}", *(["deeper"] if i % 7 == 0 else []))
        if i % per_directory < 8:
            os.makedirs(directory, exist_ok=True)
        path = os.path.join(directory, kinds[i % len(kinds)].format(i))
        with open(path, "w") as f:
            f.write(text_of(rng, rng.choice((0, 1, 100, rng.randrange(largest)))))
        os.chmod(path, 0o555 if i % 31 == 0 else 0o755)
        when = 1_600_000_000_000_000_000 + i * 1_234_567_800
        os.utime(path, ns=(when, when))
    os.makedirs(os.path.join(top, "empty"))
    settle(top, 1_500_000_000)


# ---- git ----

def git(place, local, size):
    """Clone, status, fsck, a commit, gc; and a clone of that back."""
    rng = random.Random(4)
    origin, clone = f"{local}/origin", f"{place}/clone"
    os.makedirs(origin)
    for i in range(size):
        directory = f"{origin}/src{i // 100:02}/part{i % 10}"
        os.makedirs(directory, exist_ok=True)
        with open(f"{directory}/file {i}.c", "w") as f:
            f.write(text_of(rng, rng.randrange(3000)))
    with open(f"{origin}/what: why?", "w") as f:
        f.write("a name that Windows has not\n")
    os.symlink("src00", f"{origin}/link")
    run("git", "init", "-q", "-b", "main", where=origin)
    run("git", "add", ".", where=origin)
    done("git: the repository is made", run("git", "commit", "-q", "-m", "first", where=origin))

    done("git clone", run("git", "clone", "-q", f"file://{origin}", clone))
    done("git status is clean", run("git", "status", "--porcelain", where=clone), "")
    done("git fsck is clean", run("git", "fsck", "--full", "--strict", where=clone), "")
    changed = sorted(rng.sample(range(size), size // 10))
    for i in changed:
        with open(f"{clone}/src{i // 100:02}/part{i % 10}/file {i}.c", "a") as f:
            f.write("changed\n")
    listed = run("git", "status", "--porcelain", where=clone).stdout.splitlines()
    equal("git status shows what was changed", len(listed), len(changed))
    done("git commit", run("git", "commit", "-q", "-a", "-m", "second", where=clone))
    done("git mv of a directory", run("git", "mv", "src00", "moved", where=clone))
    done("git commit again", run("git", "commit", "-q", "-m", "third", where=clone))
    done("git checkout of the first commit", run("git", "checkout", "-q", "HEAD~2", where=clone))
    done("git checkout back", run("git", "checkout", "-q", "main", where=clone))
    done("git gc", run("git", "gc", "-q", where=clone))
    done("git status is clean after it", run("git", "status", "--porcelain", where=clone), "")
    done("git fsck is clean after it", run("git", "fsck", "--full", where=clone), "")
    done("git clone back", run("git", "clone", "-q", f"file://{clone}", f"{local}/back"))
    equal("and the trees are the same", run("git", "rev-parse", "HEAD^{tree}", where=f"{local}/back").stdout,
          run("git", "rev-parse", "HEAD^{tree}", where=clone).stdout)
    done("git: what came back is whole", run("git", "fsck", "--full", "--strict", where=f"{local}/back"), "")
    done("rm -r of the clone", run("rm", "-r", clone), "")


# ---- sqlite ----

# One writer of several: each transaction adds a row and moves an amount between two accounts, so that the sum
# tells whether any was lost or applied twice.
WRITER = textwrap.dedent("""
    import random, sqlite3, sys
    path, who, count = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    rng = random.Random(who)
    db = sqlite3.connect(path, timeout=120, isolation_level=None)
    db.execute("PRAGMA busy_timeout=120000")
    for i in range(count):
        db.execute("BEGIN IMMEDIATE")
        a, b = rng.sample(range(20), 2)
        before = db.execute("SELECT sum(amount) FROM account").fetchone()[0]
        if before != 2000:
            sys.exit(f"writer {who} saw a sum of {before} at its transaction {i}")
        db.execute("UPDATE account SET amount = amount - 1 WHERE id = ?", (a,))
        db.execute("UPDATE account SET amount = amount + 1 WHERE id = ?", (b,))
        db.execute("INSERT INTO entry (who, number, text) VALUES (?, ?, ?)", (who, i, "x" * rng.randrange(2000)))
        db.execute("ROLLBACK" if i % 10 == 9 else "COMMIT")
""")


def asked(path, question):
    """The rows, or the error."""
    db = sqlite3.connect(path, timeout=60)
    try:
        return db.execute(question).fetchall()
    except sqlite3.Error as e:
        return str(e)
    finally:
        db.close()


def writers(what, paths, count):
    """A process a path, at the same time; all of one database. Then it has to be whole, by every path."""
    running = [subprocess.Popen([sys.executable, "-c", WRITER, path, str(who), str(count)], env=ENVIRONMENT, text=True,
                                stdout=subprocess.PIPE, stderr=subprocess.STDOUT) for who, path in enumerate(paths)]
    for who, process in enumerate(running):
        said = process.communicate(timeout=LIMIT)[0]
        check(f"sqlite, {what}: writer {who} ends well", process.returncode == 0, said[-600:])
    for path in sorted(set(paths)):
        equal(f"sqlite, {what}: integrity_check", asked(path, "PRAGMA integrity_check"), [("ok",)])
        equal(f"sqlite, {what}: no transaction is lost, none half done",
              asked(path, "SELECT who, count(*), max(number) FROM entry GROUP BY who ORDER BY who"),
              [(who, count - count // 10, count - 2) for who in range(len(paths))])
        equal(f"sqlite, {what}: the sum", asked(path, "SELECT sum(amount) FROM account"), [(2000,)])


def new_database(path, journal):
    db = sqlite3.connect(path)
    equal(f"sqlite: a database with journal {journal}", db.execute(f"PRAGMA journal_mode={journal}").fetchone()[0], journal)
    db.executescript("CREATE TABLE account (id INTEGER PRIMARY KEY, amount INTEGER);"
                     "CREATE TABLE entry (id INTEGER PRIMARY KEY, who INTEGER, number INTEGER, text TEXT);"
                     "CREATE INDEX entry_by_text ON entry (text);")
    db.executemany("INSERT INTO account VALUES (?, 100)", [(i,) for i in range(20)])
    db.commit()
    db.close()


def sqlite(place, local, size, journals=("delete", "truncate", "persist")):
    """Two processes, with a rollback journal that is put away in each of the ways there are."""
    for journal in journals:
        path = f"{place}/{journal}.db"
        new_database(path, journal)
        writers(f"{journal}, two processes", [path, path], size)
        equal(f"sqlite, {journal}: VACUUM", asked(path, "VACUUM"), [])
        equal(f"sqlite, {journal}: integrity_check after it", asked(path, "PRAGMA integrity_check"), [("ok",)])


def sqlite_wal(place, size):
    """With a write-ahead log its processes share memory, one page of which has the locks in it. A server's locks are
    mandatory: this is for mounts that keep them to themselves (nobrl)."""
    sqlite(place, None, size, ("wal",))


def sqlite_two_mounts(place, other, size):
    """The same database by two mounts of the share: locks and fresh pages have to come from the server."""
    new_database(f"{place}/both.db", "delete")
    writers("two mounts", [f"{place}/both.db", f"{other}/both.db"], size)


# ---- fio ----

FIO = {  # job: options. Each writes, then reads all of it and compares checksums
    "sequential 1 MiB": ("--rw=write", "--bs=1M"),
    "sequential 4 KiB": ("--rw=write", "--bs=4k"),
    "sequential 64 KiB, direct": ("--rw=write", "--bs=64k", "--direct=1"),
    "random 4 KiB": ("--rw=randwrite", "--bs=4k"),
    "random 4 KiB to 1 MiB": ("--rw=randwrite", "--bsrange=4k-1M"),
    "random 4 KiB to 1 MiB, direct, 8 at once": ("--rw=randwrite", "--bsrange=4k-1M", "--direct=1", "--ioengine=libaio", "--iodepth=8"),
    "random read and write": ("--rw=randrw", "--bs=16k", "--fsync=64"),
    "mmap, sequential 64 KiB": ("--rw=write", "--bs=64k", "--ioengine=mmap"),
    "mmap, random 4 KiB": ("--rw=randwrite", "--bs=4k", "--ioengine=mmap"),
    "with holes, 3 processes": ("--rw=randwrite", "--bs=8k", "--numjobs=3", "--io_size={third}"),
}


def fio_jobs(place, size, only_verify):
    for number, (name, options) in enumerate(FIO.items()):
        third = f"{size * 1024 // 3}k"
        ran = run("fio", f"--name=job{number}", f"--directory={place}", f"--size={size}M", "--ioengine=psync", "--verify=crc32c",
                  "--verify_fatal=1", "--verify_dump=0", "--end_fsync=1", "--output-format=json", f"--verify_only={int(only_verify)}",
                  *[o.format(third=third) for o in options], where=place)
        try:
            errors = [job["error"] for job in json.loads(ran.stdout[ran.stdout.index("{"):])["jobs"]]
        except ValueError:
            errors = ["no answer"]
        check(f"fio, {name}{', again by a fresh mount' if only_verify else ''}", ran.returncode == 0 and set(errors) == {0},
              f"{ran.returncode}, {errors}: {(ran.stderr or ran.stdout)[-600:]}")


def fio(place, local, size):
    """`size` MiB a job; verified by who wrote it."""
    if not shutil.which("fio"):
        return "fio is not installed"
    os.mkdir(f"{place}/fio")
    fio_jobs(f"{place}/fio", size, False)


def fio_verify(place, size):
    """The same by somebody who has none of it in his pages."""
    fio_jobs(f"{place}/fio", size, True)


# ---- make ----

MAKEFILE = textwrap.dedent("""\
    CFLAGS = -O0 -MMD
    objects = $(patsubst %.c,build/%.o,$(wildcard part*.c))
    program: build/main.o libparts.a
    \t$(CC) -o $@ $^
    libparts.a: $(objects)
    \trm -f $@
    \t$(AR) rcs $@ $^
    build/%.o: %.c
    \t@mkdir -p build
    \t$(CC) $(CFLAGS) -c -o $@ $<
    -include build/*.d
""")


def build(place, local, size):
    """A program of `size` files with make -j4: it runs, and make sees from the times what is to be done again."""
    top = f"{place}/project"
    os.mkdir(top)
    with open(f"{top}/Makefile", "w") as f:
        f.write(MAKEFILE)
    for i in range(size):
        with open(f"{top}/part{i}.h", "w") as f:
            f.write(f"#pragma once\nint part{i}(int x);\n")
        with open(f"{top}/part{i}.c", "w") as f:
            f.write(f'#include <stdio.h>\n#include "part{i}.h"\n#include "part{(i + 1) % size}.h"\n'
                    f"int part{i}(int x) {{ return x + {i}; }}\n")
    with open(f"{top}/main.c", "w") as f:
        f.write("#include <stdio.h>\n" + "".join(f'#include "part{i}.h"\n' for i in range(size)) +
                "int main(void) { int x = 0;\n" + "".join(f"x = part{i}(x);\n" for i in range(size)) + 'printf("%d\\n", x); }\n')
    done("make -j4", run("make", "-s", "-j4", where=top))
    done("the program that was built runs", run("./program", where=top), str(size * (size - 1) // 2))
    equal("make has nothing to do again", run("make", "-q", where=top).returncode, 0)
    before = {name: os.stat(f"{top}/build/{name}").st_mtime_ns for name in os.listdir(f"{top}/build") if name.endswith(".o")}
    os.utime(f"{top}/part1.h")
    done("make after a header was touched", run("make", "-s", "-j4", where=top))
    equal("and builds what includes it, and no more",
          sorted(n for n, t in before.items() if os.stat(f"{top}/build/{n}").st_mtime_ns != t), ["main.o", "part0.o", "part1.o"])
    equal("and then has nothing to do", run("make", "-q", where=top).returncode, 0)


# ---- rsync, tar ----

def rsync(place, local, size):
    """There and back; then nothing is left to do, by checksum; the same after changes."""
    if not shutil.which("rsync"):
        return "rsync is not installed"
    rng = random.Random(5)
    source, there, back = f"{local}/rsync", f"{place}/rsync", f"{local}/rsync-back"
    make_tree(source, size, rng)
    os.symlink("empty/nowhere", f"{source}/dangling")
    os.utime(f"{source}/dangling", (1_400_000_000, 1_400_000_000), follow_symlinks=False)
    settle(source, 1_500_000_000)

    def around(what):
        done(f"rsync -a there{what}", run("rsync", "-a", "--delete", f"{source}/", f"{there}/"))
        done(f"rsync finds nothing to do{what}", run("rsync", "-a", "-n", "--checksum", "-i", "--delete", f"{source}/", f"{there}/"), "")
        done(f"rsync -a back{what}", run("rsync", "-a", "--delete", f"{there}/", f"{back}/"))
        done(f"rsync finds nothing to do back{what}", run("rsync", "-a", "-n", "--checksum", "-i", "--delete", f"{source}/", f"{back}/"), "")
        equal(f"what came back is the same{what}", differences(tree_of(source), tree_of(back)), [])

    around("")
    files = [os.path.join(top, name) for top, _, names in os.walk(source) for name in names if name != "dangling"]
    for path in rng.sample(sorted(files), max(3, size // 20)):
        if rng.random() < .5:
            os.unlink(path)
        else:
            os.chmod(path, 0o755)
            with open(path, "a") as f:
                f.write("more\n")
    os.rename(f"{source}/d000", f"{source}/renamed")
    settle(source, 1_550_000_000)
    around(", after changes")


def tar(place, local, size):
    """Out of one archive and into another."""
    source, there, back = f"{local}/tar", f"{place}/tar", f"{local}/tar-back"
    make_tree(source, size, random.Random(6))
    os.mkdir(there)
    os.mkdir(back)
    archive = ("tar", "--format=posix", "--sort=name")
    done("tar: the archive", run(*archive, "-cf", f"{local}/one.tar", "-C", source, "."))
    done("tar -x", run("tar", "-xpf", f"{local}/one.tar", "-C", there), "")
    equal("tar: what is there is the same", differences(tree_of(source), tree_of(there)), [])
    done("tar -c", run(*archive, "-cf", f"{place}/two.tar", "-C", there, "."), "")
    done("tar -x of that", run("tar", "-xpf", f"{place}/two.tar", "-C", back), "")
    equal("tar: what came back is the same", differences(tree_of(source), tree_of(back)), [])
    done("rm -r", run("rm", "-r", there), "")
    check("and it is gone", not os.path.exists(there))
