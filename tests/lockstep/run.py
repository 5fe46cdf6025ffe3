#!/usr/bin/python3
"""Random operations on a mount and on a local directory in step, against private Sambas (lockstep.c).

    run.py LARDER LOCKSTEP [COUNT [SEED]]

COUNT operations (5000) are shared out over the variants below, each with seeds of its own from SEED (1) on, which
are printed; SEED `today` is another one each day. What was found once is kept in found/*.ops and is replayed first, on two local
directories too: those must agree whatever the list. Last, things done wrong on purpose must be found and made short."""
import contextlib
import os
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "interop"))
from bed import Samba, check, equal, finish, mounted  # noqa: E402

LOCKSTEP = os.path.abspath(sys.argv[2])
COUNT = int(sys.argv[3]) if len(sys.argv) > 3 else 5000
SEED = sys.argv[4] if len(sys.argv) > 4 else "1"
SEED = int(time.strftime("%Y%j")) * 10000 if SEED == "today" else int(SEED)
FOUND = sorted(os.path.join(HERE, "found", f) for f in os.listdir(os.path.join(HERE, "found")))
NO_LINKS = "--without=symlink,readlink"  # without mfsymlinks this Samba has no symbolic links

# name: share of the operations, Samba's keys, mount options, options of lockstep
VARIANTS = {
    "larder": (.35, [], ["mfsymlinks"], []),
    "larder, looked at meanwhile": (.25, [], ["mfsymlinks"], ["--onlooker"]),
    "larder, signed": (.1, ["signing=mandatory"], ["sign"], [NO_LINKS]),
    "larder, short lifetimes": (.1, [], ["actimeo=1", "mfsymlinks"], []),
    "23h2": (.1, [], ["profile=23h2", "mfsymlinks"], []),
    "off": (.1, [], ["profile=off"], [NO_LINKS]),
}


def lockstep(*args):
    run = subprocess.run([LOCKSTEP, *args], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                         timeout=600 + COUNT // 20)
    return run.returncode, run.stdout.strip()


@contextlib.contextmanager
def local():
    with tempfile.TemporaryDirectory(prefix="larder-local-") as place:
        yield place


def two_local_directories():
    with local() as a, local() as b:
        rc, said = lockstep(a, b, str(SEED), str(min(COUNT, 20000)))
        check(f"two local directories are the same: {said}", rc == 0)
        for found in FOUND:
            rc, said = lockstep(f"--replay={found}", a, b)
            check(f"local: {os.path.basename(found)}", rc == 0, said)


def faults():
    """Each fault shows, and in few operations."""
    for fault, most in (("lost-write", 4), ("kept-name", 6), ("short-file", 4), ("old-time", 4)):
        with local() as a, local() as b:
            rc, said = lockstep(f"--fault={fault}", "--shrink=10", a, b, "1", "20000")
        script = [line for line in said.split("\n") if " look=" in line]
        check(f"{fault} is found, and made short", rc == 1 and 0 < len(script) <= most, said)


def variant(name, share, keys, options, flags):
    with Samba(*keys) as samba, local() as here:
        samba.start()
        with mounted(samba, *options) as mount:
            for found in FOUND:
                if NO_LINKS in flags and "symlink " in open(found).read():
                    continue
                rc, said = lockstep(f"--replay={found}", here, mount)
                check(f"{name}: {os.path.basename(found)}", rc == 0, said)
            rc, said = lockstep(*flags, here, mount, str(SEED), str(int(COUNT * share)))
            check(f"{name}: {said}", rc == 0)
        equal(f"{name}: nothing is left on the server", os.listdir(samba.share), [])


two_local_directories()
faults()
for name, settings in VARIANTS.items():
    SEED += 1000
    variant(name, *settings)
finish()
