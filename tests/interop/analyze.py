#!/usr/bin/python3
"""larder analyze on captures of larder itself, whose counters say what must come out.

One compare run of the profiles 23h2, 25h2 and larder is captured on the loopback interface and cut into
its connections: the warm-up, then one a profile. Requests and responses per command must equal the
client's own counters, the verdict must name the directory cache for 25h2 and nothing for 23h2, and two
captures side by side must repeat the compare table. Then what is not a capture, or not a whole one.
"""
import csv
import gzip
import io
import json
import os
import re
import subprocess
import tempfile

from bed import Samba, check, equal, finish, larder, tool, user_name
from loopback import by_connection, captured, packets

PROFILES = ["23h2", "25h2", "larder"]
WORK = """
import os, sys
top = sys.argv[1]
for turn in range(2):
    for base, dirs, files in os.walk(top):
        for name in files:
            path = os.path.join(base, name)
            os.stat(path)
            open(path, 'rb').read()
            os.path.exists(path + '.missing')
"""
# C1 escape and a turn of the direction of writing: what a name on a real server can have. The unit tests have worse.
HOSTILE = "\u009b2J `a` [b](c) \u202egnp.exe"


def fill(share):
    for d in range(5):
        os.makedirs(f"{share}/dir{d}/sub")
        for i in range(30):
            with open(f"{share}/dir{d}/file{i}.py", "w") as f:
                f.write(f"# {d} {i}\n" * (1 + i * 20))


def analyze(*args, **more):
    return larder("analyze", *args, **more)


def as_json(*args, code=0):
    run = analyze("--json", *args)
    equal(f"analyze {' '.join(os.path.basename(a) for a in args)}: exit {code}", run.returncode, code)
    return json.loads(run.stdout)


def counts_equal(capture, run):
    name = run["profile"]
    requests = {c: v["requests"] for c, v in capture["commands"].items() if v["requests"]}
    messages = {c: v["requests"] + v["responses"] + v["interims"] for c, v in capture["commands"].items()}
    equal(f"{name}: requests per command are the client's", requests, {c: n for c, n in run["requests"].items() if n})
    equal(f"{name}: messages per command are the client's", messages, {c: n for c, n in run["commands"].items() if n})
    equal(f"{name}: all messages", capture["messages"], run["messages"])
    for command, v in capture["commands"].items():
        if command == "CANCEL":  # has none
            continue
        equal(f"{name}: {command}: every request has its response", v["responses"], v["requests"])
    equal(f"{name}: nothing is missing", (capture["gaps"]["count"], capture["unanswered_requests"], capture["cut_off"]), (0, 0, False))


def findings(result, file):
    return {f["finding"] for f in result["verdict"] if f["file"] == file}


def table(text):
    """{metric: cells} of the table whose header begins with "metric"."""
    lines = text.splitlines()
    begin = next(i for i, line in enumerate(lines) if line.startswith("metric"))
    rows = {}
    for line in lines[begin + 2:]:
        if not line.strip():
            break
        cells = re.split(r"  +", line.strip())
        rows[cells[0]] = cells[1:]
    return rows


def fits(what, text):
    wide = [line for line in text.splitlines() if len(line) > 80]
    check(f"{what} fits 80 columns", not wide, wide)


def check_profiles(port, parts, runs, compared):
    files = dict(zip(PROFILES, parts))
    for name, run in zip(PROFILES, runs):
        result = as_json("--port", port, files[name])
        equal(f"{name}: one capture", len(result["captures"]), 1)
        counts_equal(result["captures"][0], run)
        found = findings(result, files[name])
        text = analyze("--port", port, files[name]).stdout
        fits(f"the page of {name}", text)
        if name == "25h2":
            check("25h2: the directory cache is named", "directory-cache-inactive" in found, result["verdict"])
            check("25h2: in words", "directory cache inactive" in text and "searched one by one" in text, text)
            e = result["captures"][0]["enumerations"]
            check("25h2: nearly every enumeration is a repeat", e["repeats"] + e["distinct"] == e["count"] and e["distinct"] == 11, e)
        else:
            equal(f"{name}: no finding", found, set())
            check(f"{name}: all is well, in words", "all is well" in text and "fault" not in text, text)
    check_against(port, files, runs, compared)


def check_against(port, files, runs, compared):
    run = analyze("--port", port, files["25h2"], "--against", files["23h2"])
    fits("two captures side by side", run.stdout)
    ours, theirs = table(run.stdout), table(compared)
    for metric in ("SMB2 messages", *sorted(set(runs[0]["commands"]) | set(runs[1]["commands"]))):
        equal(f"--against: {metric} as compare has it", ours[metric][:3], theirs[metric][:3])
    check("--against: what is new is named", "new: directory cache inactive" in run.stdout and "QUERY_DIRECTORY has grown most" in run.stdout)
    result = as_json("--port", port, files["25h2"], "--against", files["23h2"])
    equal("--against: both captures are in the JSON", [c["file"] for c in result["captures"]], [files["25h2"], files["23h2"]])
    rows = {r["metric"]: r for r in result["against"][0]["rows"]}
    query = rows["QUERY_DIRECTORY"]
    equal("--against: figures", (query["base"], query["value"]), tuple(r["commands"]["QUERY_DIRECTORY"] for r in runs[:2]))
    equal("--against: and for each READ", query["value_per_read"], query["value"] / runs[1]["requests"]["READ"])
    run = analyze("--port", port, files["23h2"], "--against", files["23h2"])
    check("against itself: all is well", "all is well: no command has grown" in run.stdout, run.stdout)


def check_questions(port, files, runs):
    result = as_json("--port", port, files["25h2"], "--what-if", "23h2", "--what-if", "larder:FileInfoCacheLifetime=60",
                     "--sweep", "DirectoryCacheEntriesMax")
    one, two = result["what_if"]
    equal("what-ifs in the JSON, each with its file", [(w["file"], w["profile"]) for w in (one, two)],
          [(files["25h2"], "23h2"), (files["25h2"], "larder")])
    equal("what was seen is what the client counted", one["seen"]["requests"]["QUERY_DIRECTORY"], runs[1]["requests"]["QUERY_DIRECTORY"])
    check("what-if 23h2 saves most of it", one["saved"]["requests"]["QUERY_DIRECTORY"] * 10 > 9 * runs[1]["requests"]["QUERY_DIRECTORY"], one)
    equal("a sweep in the JSON", (result["sweep"][0]["setting"], result["sweep"][0]["file"]), ("DirectoryCacheEntriesMax", files["25h2"]))
    text = analyze("--port", port, files["25h2"], "--what-if", "23h2", "--sweep", "FileInfoCacheLifetime").stdout
    fits("a page with estimates", text)
    check("estimates are called so, with their assumptions", "what if 23h2 (estimate)" in text and "\nassumptions\n" in text, text)
    equal("without questions there are none", as_json("--port", port, files["25h2"])["what_if"], [])
    for bad in ("24h2", "23h2:Nonsense=1", "23h2:DirectoryCacheLifetime=x"):
        refused(f"--what-if {bad}", 2, "--what-if", bad, files["25h2"], says="")
    refused("--sweep of no cache's setting", 2, "--sweep", "RequireSecuritySignature", files["25h2"], says="")


def check_formats(port, parts):
    run = analyze("--port", port, "--csv", parts[0], parts[1])
    rows = list(csv.DictReader(io.StringIO(run.stdout)))
    equal("--csv: both captures, one header", {r["capture"] for r in rows}, {parts[0], parts[1]})
    check("--csv: numbers", all(int(r["messages"]) == int(r["requests"]) + int(r["responses"]) + int(r["interims"]) for r in rows))
    rows = list(csv.DictReader(io.StringIO(analyze("--port", port, "--csv", parts[1], "--against", parts[0]).stdout)))
    check("--csv --against: the table of ratios", any(r["metric"] == "QUERY_DIRECTORY" and float(r["ratio"]) > 10 for r in rows), rows)
    text = analyze("--port", port, "--markdown", parts[1]).stdout
    check("--markdown: tables", "\n| CREATE " in text and "| command " in text, text[:2000])
    result = as_json("--port", port, *parts)
    equal("several files are several captures", [c["file"] for c in result["captures"]], list(parts))


def check_inputs(port, part, work):
    whole = as_json("--port", port, part)["captures"][0]
    data = open(part, "rb").read()
    with gzip.open(f"{work}/part.gz", "wb") as f:
        f.write(data)
    gz = as_json("--port", port, f"{work}/part.gz")["captures"][0]
    equal("gzip: the same commands", gz["commands"], whole["commands"])
    with open(part, "rb") as f:
        run = subprocess.run([os.environ["LARDER"], "analyze", "--json", "--port", port, "-"], stdin=f, stdout=subprocess.PIPE)
    equal("standard input: the same commands", json.loads(run.stdout)["captures"][0]["commands"], whole["commands"])
    equal("--any-port finds it, too", as_json("--any-port", part)["captures"][0]["commands"], whole["commands"])

    ends = [end for _, end in packets(data)]
    with open(f"{work}/cut", "wb") as f:
        f.write(data[:ends[len(ends) // 2] + 21])
    cut = as_json("--port", port, f"{work}/cut")
    one = cut["captures"][0]
    check("cut off: analysed up to there", one["cut_off"] and 0 < one["messages"] < whole["messages"], one["messages"])
    check("cut off: said so", "ends-early" in findings(cut, f"{work}/cut"))
    run = analyze("--port", port, f"{work}/cut")
    check("cut off: on the page, exit 0", run.returncode == 0 and "ends in the middle of a packet" in run.stdout, run.stderr)


def refused(what, code, *args, says=""):
    run = analyze(*args)
    check(f"{what}: exit {code} and one line", run.returncode == code and run.stderr.count("\n") == 1 and not run.stdout,
          (run.returncode, run.stdout[:200], run.stderr))
    check(f"{what}: says {says!r}", says in run.stderr, run.stderr)


def check_refusals(port, part, work):
    for name, data in (("text", b"hello, this is no capture\n" * 20), ("empty", b""), ("netmon", b"GMBU" + bytes(200)), ("bytes", os.urandom(500))):
        with open(f"{work}/{name}", "wb") as f:
            f.write(data)
        refused(name, 1, f"{work}/{name}", says=f"{work}/{name}")
    refused("a directory", 1, work, says="directory")
    refused("no such file", 1, f"{work}/nowhere", says="nowhere")
    refused("no SMB in it", 1, part, says=f"--port {port}")
    result = as_json(part, code=1)
    check("no SMB in it: the JSON says so", result["captures"][0]["messages"] == 0 and "no-smb" in findings(result, part))
    run = analyze("--port", port, f"{work}/text", part)
    check("one bad file of two: the other is analysed, exit 1", run.returncode == 1 and "QUERY_DIRECTORY" in run.stdout and run.stderr.count("\n") == 1)
    refused("no file", 2, says="--help")
    refused("a bad port", 2, "--port", "0", part, says="65535")
    refused("an unknown option", 2, "--nonsense", part, says="--nonsense")
    refused("two formats", 2, "--json", "--csv", part, says="one of")
    refused("standard input twice", 2, "-", "-", says="once")
    refused("--seconds alone", 2, "--seconds", "3", part, says="--live")
    refused("a missing key file", 1, "--keys", f"{work}/nowhere", part, says="nowhere")
    refused("--html to standard output", 2, "--html", "-", part, says="name of a file")
    refused("--html where nothing can be written", 1, "--html", f"{work}/nowhere/p.html", part, says="nowhere/p.html")
    refused("--csv with a question that it has no place for", 2, "--csv", "--what-if", "23h2", part, says="--json")
    refused("--html without a name", 2, "--html", "", part, says="name of a file")
    for flags in ([], ["--json"], ["--csv"], ["--markdown"]):
        with open("/dev/full", "w") as full:
            run = subprocess.run([LARDER, "analyze", "--port", port, *flags, part], stdout=full, stderr=subprocess.PIPE, text=True)
        check(f"a full disk is named {flags}", run.returncode == 1 and "No space left" in run.stderr, run.stderr)
    with open(f"{work}/none.pcap", "wb") as f:
        f.write(open(part, "rb").read(24))
    for flags in ([], ["--csv"], ["--json"]):
        run = analyze("--port", port, *flags, part, "--against", f"{work}/none.pcap")
        check(f"a capture without SMB is laid beside nothing {flags}", run.returncode == 1 and run.stderr.count("\n") == 1
              and "gone" not in run.stdout and "metric" not in run.stdout and "grown" not in run.stdout.replace("grown_", ""), run.stdout[-500:])
    rows = list(csv.DictReader(io.StringIO(analyze("--port", port, "--csv", part, part, "--against", part).stdout)))
    check("--csv --against of two captures: one header, the file in each row", rows and {row["file"] for row in rows} == {part}
          and [row["metric"] for row in rows].count("SMB2 messages") == 2, rows)


def check_hostile(samba, work):
    os.mkdir(f"{samba.share}/{HOSTILE}")
    capture = f"{work}/hostile.pcap"
    run = captured(samba.port, capture, lambda: tool("ls", samba, HOSTILE))
    equal("the hostile directory is listed", run.returncode, 0)
    for flags in ([], ["--markdown"], ["--csv"]):
        run = analyze("--port", str(samba.port), *flags, capture)
        check(f"no escape gets out {flags}", run.returncode == 0 and not set("\u009b\u202e\033") & set(run.stdout), run.stdout)
    names = [d["path"] for d in as_json("--port", str(samba.port), capture)["captures"][0]["directories"]]
    check("JSON has the name as it is", HOSTILE in names, names)


with Samba() as samba, tempfile.TemporaryDirectory() as work:
    from bed import LARDER
    os.environ["LARDER"] = LARDER
    os.chmod(work, 0o777)
    fill(samba.share)
    samba.start()
    port, capture, results = str(samba.port), f"{work}/run.pcap", f"{work}/run.json"
    run = captured(samba.port, capture, lambda: larder(
        "compare", samba.target, "-o", f"user={user_name()}", *[a for p in PROFILES for a in ("--profile", p)],
        "--json", results, "--", "/usr/bin/python3", "-S", "-B", "-c", WORK, "{mnt}", timeout=300))
    if equal("the compare run succeeds", run.returncode, 0):
        connections = by_connection(capture, samba.port)
        if equal("a connection for the warm-up and one for each profile", len(connections), 1 + len(PROFILES)):
            parts = connections[1:]
            check_profiles(port, parts, json.load(open(results))["runs"], run.stdout)
            check_formats(port, parts)
            check_questions(port, dict(zip(PROFILES, parts)), json.load(open(results))["runs"])
            check_inputs(port, parts[0], work)
            check_refusals(port, parts[0], work)
            check_hostile(samba, work)
    else:
        print(run.stdout, run.stderr)

finish()
