#!/usr/bin/env python3
"""The log of session keys: with it tshark and larder analyze read our encrypted sessions, without it they see none of them.

    keylog.py LARDER

One capture of one session a cipher. In the captured packets the server's port is changed to 445, where tshark expects SMB.
"""
import collections
import json
import os
import stat
import subprocess
import tempfile

from bed import Samba, check, equal, finish, larder, tool, user_name
from loopback import captured, move_port

SESSIONS = [("seal", "EncryptionCiphers=" + name) for name in ("AES_128_GCM", "AES_128_CCM", "AES_256_GCM", "AES_256_CCM")]
SESSIONS += [("seal", "vers=3.0"), ("vers=3.1.1",)]  # the last one is signed only
LOGON = {"0", "1"}  # NEGOTIATE, SESSION_SETUP


def commands_seen(capture, *options):
    """Per TCP stream, in order: (how often each command was seen, packets that stayed encrypted)."""
    run = subprocess.run(["tshark", "-r", capture, "-o", "tcp.desegment_tcp_streams:TRUE", *options, "-Y", "smb2", "-T", "fields",
                          "-E", "occurrence=a", "-E", "separator=;", "-e", "tcp.stream", "-e", "smb2.cmd", "-e", "smb2.header.transform.nonce"],
                         stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if run.returncode:
        check("tshark reads the capture", False, run.stderr)
    streams = collections.OrderedDict()
    for line in run.stdout.splitlines():
        stream, commands, nonces = line.split(";")
        seen = streams.setdefault(stream, [collections.Counter(), 0])
        seen[0].update(c for c in commands.split(",") if c)
        seen[1] += bool(nonces and not commands)
    return list(streams.values())


def sessions_are_read_with_their_keys(samba, work):
    capture, keys = f"{work}/sealed.pcap", f"{work}/keys"

    def sessions():
        if os.path.exists(keys):
            os.unlink(keys)  # of a capture that was not whole
        for options in SESSIONS:
            run = larder("cat", "-o", f"user={user_name()}", *[a for o in options for a in ("-o", o)], "--keylog", keys, samba.target, "file")
            equal(f"{' '.join(options)}: the file comes", (run.returncode, run.stdout), (0, "what is in it\n" * 5000))
            check("with one line that warns", run.stderr.count("\n") == 1 and "warning" in run.stderr and keys in run.stderr, run.stderr)

    captured(samba.port, capture, sessions)
    move_port(capture, samba.port, 445)

    equal("the file is its owner's alone", stat.S_IMODE(os.stat(keys).st_mode), 0o600)
    lines = open(keys).read().splitlines()
    equal("a line a session", len(lines), len(SESSIONS))
    sealed = len(SESSIONS) - 1

    seen = commands_seen(capture)
    equal("a connection a session", len(seen), len(SESSIONS))
    for options, (commands, encrypted) in zip(SESSIONS[:sealed], seen):
        check(f"{' '.join(options)}: no plain message behind the logon", set(commands) == LOGON and encrypted > 6, (commands, encrypted))
    check("what is only signed is seen", "5" in seen[-1][0] and seen[-1][1] == 0, seen[-1])

    uat = []
    for line in lines:
        fields = ",".join(f'"{f}"' if not f else f for f in line.split(","))
        uat += ["-o", f"uat:smb2_seskey_list:{fields}"]
    with_keys = commands_seen(capture, *uat)
    for options, (commands, encrypted), (before, _) in zip(SESSIONS[:sealed], with_keys, seen):
        check(f"{' '.join(options)}: tshark decrypts all of it", encrypted == 0 and {"3", "5", "8", "4", "2"} <= set(commands),
              (commands, encrypted))

    run = larder("analyze", "--keys", keys, "--json", capture)
    equal("larder analyze reads it", run.returncode, 0)
    read = json.loads(run.stdout)["captures"][0]
    check("and all of it", read["encrypted_messages"] == 0 and read["encrypted"]["decrypted"] > 6 * sealed, read["encrypted"])
    for command in ("TREE_CONNECT", "CREATE", "READ", "CLOSE"):
        check(f"with a {command} of each session", read["commands"][command]["requests"] >= len(SESSIONS), read["commands"])
    closed = json.loads(larder("analyze", "--json", capture).stdout)["captures"][0]
    equal("without the keys as many stay closed", closed["encrypted_messages"], read["encrypted"]["decrypted"])


def only_a_private_file_gets_keys(samba, work):
    open(f"{work}/wide", "w").close()
    os.chmod(f"{work}/wide", 0o640)
    open(f"{work}/target", "w").close()
    os.chmod(f"{work}/target", 0o600)
    os.symlink("target", f"{work}/link")
    os.mkfifo(f"{work}/fifo", 0o600)
    for name, says in (("wide", "0640"), ("link", "symbolic link"), ("fifo", ""), (".", ""), ("nowhere/keys", "No such file")):
        run = tool("ls", samba, options=(f"keylog={work}/{name}",))
        check(f"keylog={name} is refused, and says why", run.returncode == 1 and "keylog" in run.stderr and says in run.stderr, run.stderr)
        check(f"keylog={name}: nothing is listed", run.stdout == "", run.stdout)
    equal("nothing is written where it is refused", [os.path.getsize(f"{work}/{n}") for n in ("wide", "target")], [0, 0])
    run = tool("ls", samba)
    check("nobody asks, nobody is warned", run.returncode == 0 and run.stderr == "", run.stderr)


with Samba() as samba, tempfile.TemporaryDirectory() as work:
    os.chmod(work, 0o777)
    with open(os.path.join(samba.share, "file"), "w") as f:
        f.write("what is in it\n" * 5000)
    samba.start()
    sessions_are_read_with_their_keys(samba, work)
    only_a_private_file_gets_keys(samba, work)
finish()
