#!/usr/bin/env python3
"""A tree that is walked once under leases: all of it is listed, and at most DormantFileLimit handles stay open.

    dormant.py LARDER --newer ROOT [--directories N] [--limit N]

The server's own table of open files counts them (smbstatus), so it needs the newer Samba, which leases directories.
"""
import argparse
import os
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "interop"))
from bed import Samba, check, equal, finish, mounted, newer_samba, stats, user_name  # noqa: E402

parser = argparse.ArgumentParser()
parser.add_argument("larder")
parser.add_argument("--newer", metavar="ROOT", required=True)
parser.add_argument("--directories", type=int, default=2000)
parser.add_argument("--limit", type=int, default=100)
options = parser.parse_args()


def open_on_server(samba):
    """Lines of the table of open files, by what smbd itself says."""
    pid = samba.processes()[0]
    run = subprocess.run(["nsenter", f"--target={pid}", "--mount", "chroot", options.newer, "smbstatus", "-s", f"{samba.dir}/smb.conf", "-L"],
                         stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=60)
    if run.returncode:
        raise RuntimeError(run.stderr)
    return [line for line in run.stdout.splitlines() if "DENY_" in line]


if not newer_samba(options.newer):
    sys.exit(77)
with Samba(root=options.newer) as samba:
    made = {f"d{i // 100}/e{i}" for i in range(options.directories)}
    for path in made:
        os.makedirs(f"{samba.share}/{path}")
    samba.start()
    with mounted(samba, f"Leases=true,Watches=false,DormantFileLimit={options.limit}") as place:
        seen, worst = set(), 0
        for number, (path, names, files) in enumerate(os.walk(place)):
            seen.update(os.path.relpath(f"{path}/{n}", place) for n in names)
            if number % (options.directories // 4) == options.directories // 8:
                worst = max(worst, len(open_on_server(samba)))
        tops = {os.path.dirname(p) for p in made}
        check("every directory was listed", seen == made | tops, f"{len(seen)} of {len(made | tops)}")
        at_end = len(open_on_server(samba))
        leases = stats(place)["leases"]
        print(f"   {at_end} handles are open at the end, {worst} at most on the way; {leases}")
        check("the server counts what is kept", at_end > 0, at_end)
        check("no more are open than may be kept", at_end <= options.limit, at_end)
        check("on the way, too, but for what is in use", worst <= options.limit + 20, worst)
finish()
