#!/usr/bin/python3
"""`larder shares`: what a Samba's pipe tells, many shares in many fragments, hidden ones, and those who may not ask.

shares.py LARDER [--newer DIRECTORY]; tests/fault/test_client_shares.c has the bad answers.
"""
import json

from bed import Samba, check, equal, finish, larder, root_after, user_name

MANY = 300


def shares(samba, *args, user=None, **more):
    host = samba.target.rsplit("/", 1)[0]
    return larder("shares", "-o", user or f"user={user_name()}", *args, host, **more)


def with_many(root):
    with Samba(root=root) as samba:
        text = "".join(f"[bulk{i:03}]\n  path = {samba.share}\n  comment = {'long ' * 20}{i}\n" for i in range(MANY))
        text += f"[hidden$]\n  path = {samba.share}\n[Grüße 東京]\n  path = {samba.share}\n  comment = Ünïcode\n" \
                f"[unlisted]\n  path = {samba.share}\n  browseable = no\n"
        samba.keys = ("share:comment=the first\n" + text,)  # smbd.sh ends its configuration with the keys of the share
        samba.start()
        run = shares(samba, "--json")
        listed = {s["name"]: s for s in json.loads(run.stdout)}
        equal("every share is listed, of a list in many fragments", sum(n.startswith("bulk") for n in listed), MANY)
        equal("with its comment", listed["bulk007"]["comment"], "long " * 20 + "7")
        equal("names are any characters", listed["Grüße 東京"]["comment"], "Ünïcode")
        check("hidden and special ones are left out", "hidden$" not in listed and "IPC$" not in listed, list(listed)[-5:])
        check("and what the server does not tell of", "unlisted" not in listed)
        everything = {s["name"]: s for s in json.loads(shares(samba, "-a", "--json").stdout)}
        equal("-a shows the hidden", (everything["hidden$"]["hidden"], everything["hidden$"]["kind"]), (True, "disk"))
        equal("and the pipes", (everything["IPC$"]["kind"], everything["IPC$"]["special"]), ("pipes", True))
        equal("nothing else", set(everything) - set(listed), {"hidden$", "IPC$"})
        lines = shares(samba).stdout.split("\n")
        check("as a table", lines[0].split() == ["share", "kind", "comment"] and any(line.split()[:3] == ["bulk299", "disk", "long"] for line in lines), lines[:4])
        as_typed(samba)


def as_typed(samba):
    host = samba.target.rsplit("/", 1)[0]
    for args, code, text in (((samba.target,), 2, "the server alone"), ((), 2, "one server"), ((host, host), 2, "one server"),
                             (("//",), 2, "no host"), (("server",), 2, "not a share"), (("//127.0.0.1:1",), 1, "refused"),
                             (("//no-such-host.invalid",), 1, "cannot resolve")):
        run = larder("shares", "-o", f"user={user_name()}", *args)
        check(f"shares {' '.join(args)}: one line, exit {code}", run.returncode == code and text in run.stderr
              and run.stderr.count("\n") == 1 and run.stdout == "", (run.returncode, run.stderr))
    run = shares(samba, password="wrong")
    check("a wrong password", run.returncode == 1 and "LOGON_FAILURE" in run.stderr and run.stderr.count("\n") == 1, run.stderr)
    for target in (f"smb:{host}", f"{host}/", host.replace("/", "\\")):
        run = larder("shares", "-o", f"user={user_name()}", target)
        check(f"{target} is a server, too", run.returncode == 0 and "bulk000" in run.stdout, run.stderr)
    for options in ("vers=2.0.2", "vers=3.0,seal"):
        run = shares(samba, user=f"user={user_name()},{options}")
        check(f"with {options}", run.returncode == 0 and "bulk299" in run.stdout, run.stderr)


def demands(root):
    with Samba("server smb encrypt=required", root=root) as samba:
        samba.start()
        run = shares(samba)
        check("a server that insists on encryption", run.returncode == 0 and "share  disk" in run.stdout, run.stderr)
    with Samba("signing=mandatory", "restrict anonymous=2", root=root) as samba:
        samba.start()
        run = shares(samba)
        check("one that insists on signatures", run.returncode == 0 and "share  disk" in run.stdout, run.stderr)
        run = shares(samba, user="sec=none", password=None)
        check("who may not ask is told so in one line", run.returncode == 1 and "DENIED" in run.stderr.upper()
              and run.stderr.count("\n") == 1, run.stderr)


def main():
    root = root_after("--newer", "newer-samba.sh")
    with_many(root)
    demands(root)
    finish()


main()
