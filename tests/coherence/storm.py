#!/usr/bin/env python3
"""Break storms: two mounts rewrite one directory as fast as they can.

    storm.py LARDER [--newer ROOT] [--seconds N]

Nothing hangs, both get on, no break is acknowledged later than 1 s after it reached the socket, and all that the leases
cost is at most three times the round trips of profile `off` for as many operations.
"""
import argparse
import errno
import json
import multiprocessing
import os
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "interop"))
from bed import Samba, check, equal, finish, mounted, newer_samba, stats  # noqa: E402

S = 10**9
parser = argparse.ArgumentParser()
parser.add_argument("larder")
parser.add_argument("--newer", metavar="ROOT")
parser.add_argument("--seconds", type=float, default=3)
parser.add_argument("--least", type=int, default=5, help="rounds that each has to get through")
options = parser.parse_args()
DONE_WITHIN = 30  # s; after that it hangs


def rewrite(directory, who, seconds, most, result):
    """Rounds of six operations, until the time is over or `most` are done. That the other one has removed or replaced a name
    is no error: the kernel looks one up again that leads to a replaced file, but only once. Nor is it that the server does not
    replace a file which the other one has open."""
    rounds, errors, end = 0, [], time.monotonic() + seconds
    names = ["one", "two", "three"]
    while time.monotonic() < end and rounds < most:
        mine, name = f"{directory}/{who}", f"{directory}/{names[rounds % 3]}"
        try:
            with open(mine, "wb") as f:
                f.write(b"%d\n" % rounds)
            os.rename(mine, name)
            os.listdir(directory)
            with open(name, "rb") as f:
                f.read()
            os.stat(name)
            if rounds % 2:
                os.unlink(name)
        except OSError as e:
            if e.errno not in (errno.ENOENT, errno.ESTALE, errno.EACCES):
                errors.append(str(e))
        rounds += 1
    result.put((rounds, errors))


def storm(samba, mount_options, seconds, most=1 << 60):
    """(rounds of each, round trips of both, events of both)"""
    os.makedirs(f"{samba.share}/storm", exist_ok=True)
    os.chmod(f"{samba.share}/storm", 0o777)
    with tempfile.TemporaryDirectory() as work:
        with mounted(samba, *mount_options, f"events={work}/a") as a, mounted(samba, *mount_options, f"events={work}/b") as b:
            result = multiprocessing.Queue()
            runs = [multiprocessing.Process(target=rewrite, args=(f"{place}/storm", who, seconds, most, result))
                    for place, who in ((a, "a"), (b, "b"))]
            before = [stats(p)["round_trips"] for p in (a, b)]
            for r in runs:
                r.start()
            for r in runs:
                r.join(seconds + DONE_WITHIN if most == 1 << 60 else 10 * DONE_WITHIN)
            alive = [r.pid for r in runs if r.is_alive()]
            for r in runs:
                r.kill()
            if not check(f"{' '.join(mount_options)}: nobody hangs", not alive, alive):
                return [0, 0], 1, []
            ended = [result.get(timeout=5) for _ in runs]
            rounds, errors = [n for n, _ in ended], [e for _, errors in ended for e in errors]
            check(f"{' '.join(mount_options)}: no operation fails", not errors, (len(errors), errors[:3]))
            trips = sum(stats(p)["round_trips"] for p in (a, b)) - sum(before)
        events = [[json.loads(line) for line in open(f"{work}/{x}") if '"promise"' in line] for x in "ab"]
    return rounds, trips, events


def slowest(events):
    """ns from the arrival of a break that wants to be acknowledged until it was; and how many there were."""
    worst = count = 0
    waiting = {}
    for e in events:
        if e["name"] == "SmbBreakLease" and e.get("what") == "acknowledge":
            waiting.setdefault(e["key"], e["monotonic_ns"])
            count += 1
        elif e["name"] == "SmbAcknowledgeLease" and e["key"] in waiting:
            worst = max(worst, e["monotonic_ns"] - waiting.pop(e["key"]))
    return worst, count, len(waiting)


def look(samba, what):
    rounds, trips, events = storm(samba, ("Leases=true",), options.seconds)
    check(f"{what}: both get on", min(rounds) >= options.least, rounds)
    for worst, count, left in map(slowest, events):
        check(f"{what}: no acknowledgement comes later than 1 s", worst < S, f"{worst / S:.3f} s")
        check(f"{what}: none is left out", left <= 1, left)  # the last one may be under way
        print(f"   {count} breaks were to be acknowledged, the slowest took {worst / 10**6:.1f} ms")
    off_rounds, off_trips, _ = storm(samba, ("profile=off",), 10 * options.seconds, max(1, sum(rounds) // 4))
    cost, off_cost = trips / max(1, sum(rounds)), off_trips / max(1, sum(off_rounds))
    print(f"   {rounds} rounds, {cost:.1f} round trips each; with profile off {off_cost:.1f}", flush=True)
    check(f"{what}: at most three times the round trips of profile off", cost <= 3 * off_cost, (cost, off_cost))


with Samba() as samba:
    samba.start()
    look(samba, "leases of files")
if options.newer and newer_samba(options.newer):
    with Samba(root=options.newer) as samba:
        samba.start()
        look(samba, "leases of directories, too")
finish()
