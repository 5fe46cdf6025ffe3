#!/usr/bin/env python3
"""The checker finds faults: each of these larders has one (planted_NAME.c), and the mount is caught with answers that
are too old. The last one has none, and only gets the CPU late.

    planted.py LARDER LATE UNPATCHED TICKETS SLOW READER [--newer ROOT]
"""
import argparse
import os

from runs import MODES, run
import bed
from bed import Samba, check, finish

parser = argparse.ArgumentParser()
for name in ("larder", "late", "unpatched", "tickets", "slow", "reader"):
    parser.add_argument(name)
parser.add_argument("--newer", metavar="ROOT")
options = parser.parse_args()


TRIES = 6


def look(samba, larder, mode, writer, is_faulty, fault, changes=60, rate=120, threads=3):
    """Whether a fault shows depends on who asks when: where one run did not catch it, other changes may."""
    what = f"{fault}, {MODES[mode].name}"
    for seed in range(TRIES if is_faulty else 1):
        result = run(samba, options.reader, MODES[mode], writer, changes, rate, os.path.abspath(larder), threads, seed)
        by = [name for name, _ in result.violations]
        print(f"   {what}: {len(by)} of {result.answers} answers are too old; "
              f"the CPU came up to {result.late:.1f} ms too late", flush=True)
        check("the library, which has no fault, is not suspected", "library" not in by, by_whom(result, "library"))
        if "mount" in by:
            break
    if is_faulty:
        check(f"{what}: found", "mount" in by, by)
    else:
        check(f"{what}: no answer is too old", not by, result.violations[:3])


def by_whom(result, who):
    return [why for name, why in result.violations if name == who][:3]


with Samba() as samba:
    samba.start()
    look(samba, options.unpatched, "neither", "self", True, "own changes are not patched in")
    look(samba, options.late, "watch", "mount", True, "what the server tells is believed half a second later")
    look(samba, options.tickets, "watch", "mount", True, "the ticket rule is off", 100, 80, 16)
    look(samba, options.slow, "watch", "mount", False, "the CPU comes late", 200, 80, 16)
if options.newer and bed.newer_samba(options.newer):
    with Samba(root=options.newer) as samba:
        samba.start()
        look(samba, options.late, "leases", "mount", True, "a break is acknowledged before the belief goes")
finish()
