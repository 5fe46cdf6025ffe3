#!/usr/bin/python3
"""larder's own counts of a compare run equal tshark's, per command and direction, for every profile.

The loopback traffic of the run is captured whole; each profile is one TCP connection, the warm-up
before them another. In the captured packets the server's port is changed to 445, since tshark reads
NetBIOS lengths of more than 17 bits only there. A packet that tshark calls malformed fails the test,
but for one kind: its BER dissector stumbles over the SPNEGO hint in Samba's NEGOTIATE response, whoever
the client is.
"""
import collections
import json
import os
import subprocess
import tempfile

from bed import Samba, check, equal, finish, larder, user_name
from loopback import captured, move_port

COMMANDS = ["NEGOTIATE", "SESSION_SETUP", "LOGOFF", "TREE_CONNECT", "TREE_DISCONNECT", "CREATE", "CLOSE", "FLUSH",
            "READ", "WRITE", "LOCK", "IOCTL", "CANCEL", "ECHO", "QUERY_DIRECTORY", "CHANGE_NOTIFY", "QUERY_INFO",
            "SET_INFO", "OPLOCK_BREAK"]
PROFILES = ["23h2", "25h2", "larder", "off"]
NEGOTIATE_HINT_ONLY = "smb2.cmd == 0 && smb2.flags.response == 1"


def fill(share):
    for d in range(6):
        os.makedirs(f"{share}/dir{d}/sub")
        for i in range(30):
            with open(f"{share}/dir{d}/file{i}.py", "w") as f:
                f.write(f"# {d} {i}\n" * (1 + i * 20))
    os.mkdir(f"{share}/large")
    for i in range(1500):
        open(f"{share}/large/name-that-is-not-short-{i:06}", "w").close()
    with open(f"{share}/big", "wb") as f:
        f.write(os.urandom(3 << 20))


WORK = """
import os, sys
top = sys.argv[1]
for turn in range(2):
    for base, dirs, files in os.walk(top):
        for name in files[:40]:
            path = os.path.join(base, name)
            os.stat(path)
            open(path, 'rb').read()
            os.path.exists(path + '.missing')
"""


def tshark(capture, *args):
    run = subprocess.run(["tshark", "-r", capture, "-o", "tcp.desegment_tcp_streams:TRUE",
                          "-o", "tcp.reassemble_out_of_order:TRUE", *args],
                         stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=True)
    return run.stdout


def counted(capture):
    """Per TCP stream, in order of their beginning: {(command, is_response): messages}."""
    streams = collections.OrderedDict()
    out = tshark(capture, "-Y", "smb2", "-T", "fields", "-E", "occurrence=a", "-E", "separator=;",
                 "-e", "tcp.stream", "-e", "smb2.cmd", "-e", "smb2.flags.response")
    for line in out.splitlines():
        stream, commands, responses = line.split(";")
        counts = streams.setdefault(stream, collections.Counter())
        for command, response in zip(commands.split(","), responses.split(",")):
            counts[COMMANDS[int(command)], response in ("1", "True")] += 1
    return list(streams.values())


def compare(samba, results):
    return larder("compare", samba.target, "-o", f"user={user_name()}", *[arg for p in PROFILES for arg in ("--profile", p)],
                  "--json", results, "--", "/usr/bin/python3", "-S", "-B", "-c", WORK, "{mnt}", timeout=300)


def both_counts(run, seen):
    """(what, ours, tshark's) of every command and direction."""
    for command in COMMANDS:
        ours = run["requests"].get(command, 0)
        yield f"{command}: requests", ours, seen[command, False]
        yield f"{command}: responses", run["commands"].get(command, 0) - ours, seen[command, True]
    yield "messages", run["messages"], sum(seen.values())


with Samba() as samba, tempfile.TemporaryDirectory() as work:
    os.chmod(work, 0o777)
    fill(samba.share)
    samba.start()
    capture, results = f"{work}/run.pcap", f"{work}/run.json"
    run = captured(samba.port, capture, lambda: compare(samba, results))
    if equal("the compare run succeeds", run.returncode, 0):
        move_port(capture, samba.port, 445)
        runs, streams = json.load(open(results))["runs"], counted(capture)
        if equal("a connection for the warm-up and one for each profile", len(streams), 1 + len(PROFILES)):
            for one, seen in zip(runs, streams[1:]):
                for what, ours, theirs in both_counts(one, seen):
                    equal(f"{one['profile']}: {what}", ours, theirs)
        malformed = tshark(capture, "-Y", f"_ws.malformed && !({NEGOTIATE_HINT_ONLY})")
        equal("no malformed packet", malformed, "")
        hints = tshark(capture, "-Y", f"_ws.malformed && {NEGOTIATE_HINT_ONLY}").splitlines()
        check("nothing but one NEGOTIATE response a connection is excepted", len(hints) <= len(streams), hints)
    else:
        print(run.stdout, run.stderr)

finish()
