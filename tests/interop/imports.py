#!/usr/bin/python3
"""sympy imported twice from the mount prints what a local copy prints, and profile larder keeps its bound of requests, which
is partly one of 23h2's. Second argument: the bench that does the work. With --full every profile is tried (two minutes)."""
import json
import os
import subprocess
import sys
import tempfile

from bed import LARDER, check, equal, finish

with tempfile.TemporaryDirectory() as work:
    results = os.path.join(work, "run.json")
    profiles = [] if "--full" in sys.argv else ["23h2", "larder"]
    run = subprocess.run([sys.argv[2], "--larder", LARDER, "--json", results, *profiles], stdout=subprocess.PIPE, text=True, timeout=900)
    print(run.stdout, end="")
    if equal("every profile prints what the local copy prints", run.returncode, 0):
        runs = {r["profile"]: r for r in json.load(open(results))["runs"]}
        requests = sum(runs["larder"]["requests"].values())
        check("profile larder needs fewer than 3,500 requests for both imports", requests < 3500, requests)
        check("and at most half of the round trips of 23h2",
              runs["larder"]["round_trips"] * 2 < runs["23h2"]["round_trips"], runs["larder"]["round_trips"])
finish()
