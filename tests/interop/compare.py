#!/usr/bin/python3
"""larder compare against a real Samba: its table, its JSON (other programs rely on its shape), limits, runs,
overrides, and what it does when the command, the server or the caller is wrong."""
import glob
import json
import os
import subprocess
import tempfile

from bed import Samba, check, equal, finish, larder, user_name

MEMBERS = {"profile", "seconds", "messages", "round_trips", "commands", "requests", "metadata_requests_per_second",
           "events", "cache", "exit_status"}
LOOK = ["sh", "-c", 'for i in 1 2 3 4 5 6; do ls -l "$1/dir" > /dev/null; cat "$1/dir/file$i"; done', "sh", "{mnt}"]


def compare(samba, *args, command=LOOK, target=None):
    return larder("compare", target or samba.target, "-o", f"user={user_name()}", *args, "--", *command)


def rows(text):
    """{first column: the rest} of the table."""
    return {line[:27].strip(): line[27:].split() for line in text.splitlines()}


def leftovers(work):
    return glob.glob(f"{work}/larder-compare-*") + [line for line in open("/proc/self/mountinfo") if f"{work}/" in line]


with Samba() as samba, tempfile.TemporaryDirectory() as work:
    os.mkdir(f"{samba.share}/dir")
    for i in range(1, 30):
        with open(f"{samba.share}/dir/file{i}", "w") as f:
            f.write(f"content {i}\n")
    samba.start()
    os.environ["TMPDIR"] = work  # other tests compare, too

    run = compare(samba, "--profile", "23h2", "--profile", "25h2", "--profile", "larder", "--json", f"{work}/out.json")
    equal("three profiles are compared", run.returncode, 0)
    table = rows(run.stdout)
    for row in ("application start (s)", "SMB2 messages", "CREATE", "CLOSE", "READ", "QUERY_DIRECTORY", "QUERY_INFO", "IOCTL",
                "CHANGE_NOTIFY", "Metadata Requests/sec", 'trace events "file"', 'trace events "dir"',
                'trace events "performance"', "round trips", "dir cache hits"):
        check(f"the table has the row {row}", row in table, sorted(table))
    result = json.load(open(f"{work}/out.json"))
    check("JSON: larder, command, rtt_ms, runs", {"larder", "command", "rtt_ms", "runs"} <= set(result))
    equal("JSON: the command as given", result["command"], LOOK)
    equal("JSON: the profiles in order", [r["profile"] for r in result["runs"]], ["23h2", "25h2", "larder"])
    for one in result["runs"]:
        name = one["profile"]
        check(f"JSON: {name} has its members", MEMBERS <= set(one), MEMBERS - set(one))
        equal(f"JSON: {name}: messages are the commands' sum", one["messages"], sum(one["commands"].values()))
        check(f"JSON: {name}: each cache has its counters",
              all({"hit", "miss", "insert", "evict"} <= set(one["cache"][c]) for c in ("dir", "info", "notfound")))
        check(f"JSON: {name}: events by class", set(one["events"]) == {"file", "dir", "performance", "promise", "network"})
        equal(f"JSON: {name}: exit status", one["exit_status"], 0)
        check(f"the table says what the JSON says of {name}", f"{one['messages']:,}" in table["SMB2 messages"], table)
    by_name = {r["profile"]: r for r in result["runs"]}
    check("23h2 has dir events, 25h2 none", by_name["23h2"]["events"]["dir"] > 0 == by_name["25h2"]["events"]["dir"])
    check("25h2 and larder have performance events, 23h2 none",
          by_name["23h2"]["events"]["performance"] == 0 < by_name["larder"]["events"]["performance"])
    equal("one performance event a request", by_name["25h2"]["events"]["performance"], sum(by_name["25h2"]["requests"].values()))

    run = compare(samba, "--profile", "23h2", "--profile", "larder", "--max-ratio", "round_trips=0.01")
    equal("a limit that is exceeded: exit 3", run.returncode, 3)
    check("and names the figure", "round" in run.stderr and "larder" in run.stderr, run.stderr)
    run = compare(samba, "--profile", "larder", "--profile", "23h2", "--max-ratio", "messages=1000")
    equal("a limit that is kept: exit 0", run.returncode, 0)

    run = compare(samba, "--profile", "off", "--profile", "larder", "--runs", "3", "--json", f"{work}/runs.json", "--markdown")
    order = [r["profile"] for r in json.load(open(f"{work}/runs.json"))["runs"]]
    equal("runs alternate", order, ["off", "larder"] * 3)
    check("the table is Markdown when asked for", "| CREATE |" in run.stdout.replace("  ", "")
          or any(line.startswith("| CREATE") for line in run.stdout.splitlines()), run.stdout)

    run = compare(samba, "--profile", "larder:DirectoryCacheLifetime=60", "--profile", "larder:directorycache=false",
                  "--rtt", "3", "--json", f"{work}/over.json")
    result = json.load(open(f"{work}/over.json"))
    equal("an override: exit 0", run.returncode, 0)
    check("the settings that differ are shown", "DirectoryCacheLifetime" in run.stdout and "DirectoryCache " in run.stdout, run.stdout)
    equal("an override has its effect", result["runs"][1]["events"]["dir"], 0)
    equal("the round-trip delay is told", result["rtt_ms"], 3)
    check("and felt: every round trip took 3 ms or more",
          all(r["seconds"] * 1000 >= (r["round_trips"] - 8) * 3 for r in result["runs"]), [(r["seconds"], r["round_trips"]) for r in result["runs"]])

    run = compare(samba, "--profile", "larder", command=["sh", "-c", "echo to stdout; echo to stderr >&2; exit 7"])
    equal("a command that fails: exit 1", run.returncode, 1)
    check("its status and output are shown", all(s in run.stderr + run.stdout for s in ("7", "to stdout", "to stderr")), run.stderr)
    run = compare(samba, "--profile", "larder", command=["no-such-program"])
    check("a command that cannot be started: exit 1, named", run.returncode == 1 and "no-such-program" in run.stderr, run.stderr)

    for what, args, target in (("an unknown profile", ["--profile", "24h2"], None), ("an unknown setting", ["--profile", "larder:Nonsense=1"], None),
                               ("a bad value", ["--profile", "larder:DirectoryCacheLifetime=x"], None), ("a bad limit", ["--max-ratio", "x"], None),
                               ("no target", ["--profile", "larder"], "nonsense")):
        run = compare(samba, *args, target=target)
        check(f"{what}: exit 2 and one line", run.returncode == 2 and run.stderr.count("\n") == 1, (run.returncode, run.stderr))
    run = compare(samba, "--profile", "larder", target=samba.target + "x")
    check("an unknown share: exit 1 and its status by name", run.returncode == 1 and "STATUS_BAD_NETWORK_NAME" in run.stderr, run.stderr)
    run = compare(samba, "--profile", "larder", "--json", "/nonexistent/out.json")
    check("a JSON file that cannot be written is said", run.returncode == 1 and "/nonexistent/out.json" in run.stderr, run.stderr)
    run = compare(samba, "--profile", "larder", "--json", "-")
    result = json.loads(run.stdout) if run.stdout.startswith("{") else {}
    check("--json - prints the JSON in place of the table", run.returncode == 0 and len(result.get("runs", [])) == 1, run.stdout[:300])
    check("and makes no file of that name", not os.path.exists("-"))

    base = f"{work}/out.json"
    run = compare(samba, "--profile", "25h2", "--base", base, "--max-ratio", "messages=1.05", "--json", f"{work}/now.json")
    equal("an earlier comparison as the base, the same now: exit 0", (run.returncode, run.stderr), (0, ""))
    check("its column stands first, of the same profile", f"base: 25h2, out of {base}" in run.stdout
          and rows(run.stdout)["SMB2 messages"][0] == f"{by_name['25h2']['messages']:,}", run.stdout)
    equal("the JSON has what was run", [r["profile"] for r in json.load(open(f"{work}/now.json"))["runs"]], ["25h2"])
    less = json.load(open(base))
    for one in less["runs"]:
        one["commands"]["CREATE"] //= 2
    json.dump(less, open(f"{work}/less.json", "w"))
    run = compare(samba, "--base", f"{work}/less.json", "--max-ratio", "CREATE=1.5", "--max-ratio", "READ=1.05")
    check("where it has become more than allowed: exit 3, and the figure", run.returncode == 3 and "CREATE of larder" in run.stderr
          and "READ" not in run.stderr, (run.returncode, run.stderr))
    run = compare(samba, "--base", base, "--profile", "23h2", "--profile", "larder", "--rtt", "1", command=["true", "{mnt}"])
    check("one of another command is told of, and compared all the same", run.returncode == 0 and run.stderr.count("\n") == 1
          and "another command" in run.stderr and len(rows(run.stdout)["CREATE"]) == 5, (run.stderr, run.stdout))
    bad = {"that is not there": None, "that is no JSON": b"x", "of something else": b"[1, 2]", "with runs of nobody": b'{"runs": [1, {"profile": 2}]}',
           "with bytes in it": b'{"runs": "\0\xff"}', "cut off": open(base, "rb").read()[:-20], "": b""}
    for what, content in bad.items():
        path = f"{work}/bad.json"
        if content is not None:
            open(path, "wb").write(content)
        run = compare(samba, "--base", path)
        check(f"a base {what or 'that is empty'}: exit 1 and one line", run.returncode == 1 and run.stderr.count("\n") == 1
              and path in run.stderr, (run.returncode, run.stderr))
    run = compare(samba, "--base", base, "--profile", "off")
    check("a base without that profile names those it has", run.returncode == 1 and "23h2, 25h2, larder" in run.stderr, run.stderr)
    equal("nothing is left behind", leftovers(work), [])

finish()
