#!/usr/bin/env python3
"""The coherence checker: no answer is older than was promised.

    coherence.py LARDER READER [--newer ROOT] [--changes N] [--modes leases,watch,neither] [--writers mount,smbclient,disk,self]

A mount and the library look at a tree of 200 directories while somebody changes it in another way: another mount,
smbclient, the server's own disk, or programs on the very mount. N changes in all; runs.py has how,
checker.py what is allowed.
"""
import argparse
import sys

from runs import BOTH, MODES, WRITERS, run
from bed import Samba, check, finish, newer_samba

parser = argparse.ArgumentParser()
parser.add_argument("larder")
parser.add_argument("reader")
parser.add_argument("--newer", metavar="ROOT")
parser.add_argument("--changes", type=int, default=2000)
parser.add_argument("--modes", default="watch,neither", help="of leases, both, watch, neither")
parser.add_argument("--writers", default=",".join(WRITERS))
parser.add_argument("--rate", type=float, default=120, help="changes a second")
options = parser.parse_args()
modes, writers = options.modes.split(","), options.writers.split(",")


def look(samba, mode, writer, changes, who):
    result = run(samba, options.reader, MODES[mode], writer, changes, options.rate, who=who)
    what = f"{MODES[mode].name}, changed by {writer}" + (f", seen by the {who[0]}" if len(who) == 1 else "")
    print(f"   {what}: {result.changes} changes ({result.refused} refused), "
          f"{result.announced} announced, {result.unannounced} not; {result.answers} answers {dict(result.asked)}; "
          f"the CPU came up to {result.late:.1f} ms too late", flush=True)
    check(f"{what}: no answer is older than promised", not result.violations,
          f"{len(result.violations)} of {result.answers} are\n" +
          "\n".join(f"{name}: {why}" for name, why in result.violations[:5]))
    if writer != "disk" and mode != "neither":  # of what nobody holds a lease on a server says nothing
        enough = 20 * result.unannounced if mode == "watch" else result.unannounced / 4
        check("and what was changed was announced", result.announced > enough, (result.announced, result.unannounced))
    return result.older if result.unannounced and writer == "disk" or mode == "neither" else None


def looks(mode, writer):
    """Who looks, at a time: Samba tells of a file that somebody has open, as kept handles are, the times that it had when it
    was first opened, whatever is done on its own disk meanwhile, and does so to everybody. What one larder keeps the other
    one cannot see through."""
    return [(who,) for who in BOTH] if writer == "disk" and mode in ("leases", "both") else [BOTH]


def modes_on(samba, which):
    for mode in which:
        changes = options.changes // (len(modes) * len(writers))
        older = [look(samba, mode, w, max(1, changes // len(looks(mode, w))), who) for w in writers for who in looks(mode, w)]
        if set(older) != {None}:  # something changed without a word
            check(f"{MODES[mode].name}: held against a fifth of the time that is promised, answers are too old", any(older), older)


older = [m for m in modes if m in ("watch", "neither")]
if older:
    with Samba() as samba:
        samba.start()
        modes_on(samba, older)
if len(older) < len(modes):
    if options.newer and newer_samba(options.newer):
        with Samba(root=options.newer) as samba:
            samba.start()
            modes_on(samba, [m for m in modes if m not in older])
    elif not older:
        sys.exit(77)
finish()
