#!/usr/bin/python3
"""What `larder analyze --what-if` predicts, held against what the other client really asked.

The same program runs under 23h2, 25h2 and larder, each in a capture of its own. What-if 23h2 on the
capture of 25h2 must come within 10 % of the real 23h2 run, and a what-if that has nothing to offer must
claim nothing. The programs: a Python tool of the shape that the report measured, and one that walks
a tree, reads its files and asks for names that are not there.
"""
import json
import os
import subprocess
import tempfile

from bed import HERE, Samba, check, equal, finish, larder, user_name
from loopback import by_connection, captured

PROFILES = ["23h2", "25h2", "larder:Leases=false,Watches=false"]  # what-if goes by time
CONNECTION = ("NEGOTIATE", "SESSION_SETUP", "TREE_CONNECT", "TREE_DISCONNECT", "LOGOFF")
WALK = """
import os, sys
for turn in range(2):
    for base, dirs, files in os.walk(sys.argv[1]):
        for name in files:
            path = os.path.join(base, name)
            os.stat(path)
            open(path, 'rb').read()
            os.path.exists(path + '.missing')
"""


def fill(share):
    subprocess.run([os.path.join(HERE, "..", "..", "tools", "make-pytool.py"), f"{share}/tool"], check=True)
    for d in range(6):
        os.makedirs(f"{share}/tree/dir{d}/sub")
        for i in range(30):
            with open(f"{share}/tree/dir{d}/file{i}.py", "w") as f:
                f.write(f"# {d} {i}\n" * (1 + i * 20))
    os.mkdir(f"{share}/tree/large")  # over DirectoryCacheEntrySizeMax
    for i in range(800):
        open(f"{share}/tree/large/name-that-is-not-short-{i:06}", "w").close()


def what_if(port, capture, profile):
    run = larder("analyze", "--json", "--port", str(port), "--what-if", profile, capture)
    equal(f"what-if {profile} on {os.path.basename(capture)}", (run.returncode, run.stderr), (0, ""))
    return json.loads(run.stdout)["what_if"][0]


def near(what, predicted, real, percent=10):
    check(f"{what}: {predicted} predicted, {real} in truth", abs(predicted - real) * 100 <= real * percent)


def predicts(port, capture, profile, real):
    """The requests that the profile was predicted to need are those that it needed."""
    w = what_if(port, capture, profile)
    for command in ("QUERY_DIRECTORY", "CREATE", "CLOSE"):
        near(f"{profile}: {command}", w["predicted"]["requests"][command], real["requests"][command])
    near(f"{profile}: round trips", w["predicted"]["round_trips"], real["round_trips"])
    check(f"{profile}: and fewer of them", w["saved"]["requests_total"] > 0, w["saved"])
    equal(f"{profile}: what is seen, less what is predicted, is what is saved",
          w["seen"]["requests_total"] - w["predicted"]["requests_total"], w["saved"]["requests_total"])


def claims_nothing(port, capture, profile):
    saved = what_if(port, capture, profile)["saved"]
    check(f"{profile}: nothing to be saved", saved["requests_total"] <= 0 and saved["messages"] <= 0 and saved["round_trips"] <= 0, saved)


def same_as_itself(port, capture, real):
    """The profile that made the capture is predicted to need what it needed."""
    w = what_if(port, capture, real["profile"])
    seen = {c: n for c, n in real["requests"].items() if c not in CONNECTION and n}
    equal("the requests of operations are the client's", {c: w["seen"]["requests"].get(c) for c in seen}, seen)
    equal("the same profile asks the same", w["predicted"], w["seen"])


def run_of(samba, work, name, *command):
    capture, results = f"{work}/{name}.pcap", f"{work}/{name}.json"
    run = captured(samba.port, capture, lambda: larder(
        "compare", samba.target, "-o", f"user={user_name()}", *[arg for p in PROFILES for arg in ("--profile", p)],
        "--json", results, "--", "/usr/bin/python3", "-S", "-B", *command, timeout=300))
    equal(f"{name}: the compare run succeeds", run.returncode, 0)
    runs = json.load(open(results))["runs"]
    captures = by_connection(capture, samba.port)
    equal(f"{name}: a connection for the warm-up and one for each profile", len(captures), 1 + len(PROFILES))
    return captures[1:], runs


with Samba() as samba, tempfile.TemporaryDirectory() as work:
    os.chmod(work, 0o777)
    fill(samba.share)
    samba.start()
    for name, command in (("tool", ["{mnt}/tool/tool.py"]), ("walk", ["-c", WALK, "{mnt}/tree"])):
        captures, runs = run_of(samba, work, name, *command)
        on_23h2, on_25h2, _ = captures
        predicts(samba.port, on_25h2, "23h2", runs[0])
        predicts(samba.port, on_25h2, "larder", runs[2])
        claims_nothing(samba.port, on_23h2, "25h2")
        same_as_itself(samba.port, on_25h2, runs[1])

finish()
