#!/usr/bin/python3
"""What goes wrong between us and a server ends in one line that names what was tried and what came back, exit 1,
no mount and no process left behind: for every tool, against servers that refuse, hang up, babble or say nothing."""
import os
import socket
import subprocess
import tempfile
import threading

from bed import LARDER, PASSWORD, Samba, check, finish, larder, user_name, wait_until


class Odd:
    """A server that answers every connection with these bytes after what it is sent, then hangs up (or not)."""

    def __init__(self, answer, hang_up=True):
        self.socket = socket.create_server(("127.0.0.1", 0))
        self.answer, self.hang_up = answer, hang_up
        self.target = f"//127.0.0.1:{self.socket.getsockname()[1]}/share"
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self):
        kept = []
        while True:
            connection, _ = self.socket.accept()
            connection.recv(4096)
            connection.sendall(self.answer)
            if self.hang_up:
                connection.close()
            else:
                kept.append(connection)


def processes():
    run = subprocess.run(["pgrep", "-f", f"^{LARDER} (mount|compare)"], stdout=subprocess.PIPE, text=True)
    return set(run.stdout.split())


def each_tool(what, target, place, says, options="", password=PASSWORD, code=1):
    user = f"user={user_name()}" + options
    for tool in (["ls", "-o", user, target], ["stat", "-o", user, target, "x"], ["cat", "-o", user, target, "x"],
                 ["mount", target, place, "-o", user], ["compare", target, "-o", user, "--", "true"]):
        run = larder(*tool, password=password, timeout=60)
        good = run.returncode == code and run.stderr.count("\n") == 1 and any(s in run.stderr for s in says)
        check(f"{what}: {tool[0]}", good, (run.returncode, run.stderr))
        check(f"{what}: {tool[0]} leaves no mount", not os.path.ismount(place))


before = processes()
with Samba() as samba, tempfile.TemporaryDirectory() as work:
    samba.start()
    place = f"{work}/mnt"
    os.mkdir(place)
    nobody = socket.socket()
    nobody.bind(("127.0.0.1", 0))  # a port at which nobody listens, and which nobody else gets
    port = nobody.getsockname()[1]
    each_tool("wrong password", samba.target, place, ["STATUS_LOGON_FAILURE"], password="wrong")
    each_tool("unknown share", samba.target + "x", place, ["STATUS_BAD_NETWORK_NAME"])
    each_tool("unknown host", "//no-such-host.invalid/share", place, ["no-such-host.invalid"])
    each_tool("refused connection", f"//127.0.0.1:{port}/share", place, ["refused"])
    each_tool("no password", samba.target, place, ["LARDER_PASSWORD"], password=None)
    each_tool("hangs up at once", Odd(b"").target, place, ["hung up", "closed"])
    each_tool("hangs up in the middle of a reply", Odd(b"\0\0\0\xf0\xfeSMB@\0").target, place, ["hung up", "closed"])
    each_tool("answers garbage", Odd(b"HTTP/1.1 400 Bad Request\r\n\r\n" * 9).target, place, ["not SMB2", "frame"])
    each_tool("answers SMB1", Odd(b"\0\0\0\x45\xffSMB" + b"\0" * 65, False).target, place, ["SMB1"])
    each_tool("announces too much", Odd(b"\0\xff\xff\xff" + b"\xfeSMB" + b"\0" * 99, False).target, place, ["frame"])
    run = larder("stat", "-o", f"user={user_name()}", samba.target, "n" * 256)
    check("a name that is too long", run.returncode == 1 and "255" in run.stderr and run.stderr.count("\n") == 1, run.stderr)
    run = larder("stat", "-o", f"user={user_name()}", samba.target, "../x")
    check("a path that leaves the share", run.returncode == 1 and run.stderr.count("\n") == 1, run.stderr)
    run = larder("mount", samba.target, f"{work}/absent", "-o", f"user={user_name()}")
    check("a mount point that is not there", run.returncode == 1 and f"{work}/absent" in run.stderr, run.stderr)

    silent = Odd(b"", hang_up=False)
    run = larder("ls", "-o", f"user={user_name()}", silent.target, timeout=40)
    check("a server that says nothing: an error within the deadline", run.returncode == 1 and run.stderr.count("\n") == 1, run.stderr)
check("no process is left", wait_until(lambda: not processes() - before, 30), processes() - before)
finish()
