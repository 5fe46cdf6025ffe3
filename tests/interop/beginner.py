#!/usr/bin/python3
"""What a beginner does wrong: each gives one line, which says what failed and what to do, and the right exit code; what is
no mistake (another case, backslashes) works. usage: beginner.py LARDER"""
import os
import pwd
import socket
import subprocess

import machine

machine.enter()

from bed import LARDER, PASSWORD, Samba, check, equal, finish, user_name  # noqa: E402
from machine import NOBODY, Machine, mount_line, run  # noqa: E402

FAILED, USAGE = 1, 2
NOBODY_ID = pwd.getpwnam("nobody").pw_uid


class Person:
    def __init__(self, m, samba):
        self.m, self.samba = m, samba
        self.place = m.directory("mnt")
        self.logon = f"username={user_name()},password={PASSWORD}"

    def mount(self, target=None, place=None, options=None, as_user=()):
        env = {k: v for k, v in os.environ.items() if k != "LARDER_PASSWORD"}
        return run(*as_user, self.m.larder, "mount", target or self.samba.target, place or self.place, "-o", options or self.logon,
                   env=env, start_new_session=True)

    def told(self, what, code, *says, **how):
        """Fails with this exit code and one line that has all of it; nothing is mounted."""
        self.judge(what, self.mount(**how), code, *says)
        equal(f"{what}: nothing is mounted", mount_line(how.get("place") or self.place), None)

    @staticmethod
    def judge(what, done, code, *says):
        lines = done.stderr.splitlines()
        equal(f"{what}: exit code", done.returncode, code)
        check(f"{what}: one line, with {says}", done.stdout == "" and len(lines) == 1 and lines[0].startswith("larder: ")
              and all(s in lines[0] for s in says), done.stderr)
        print(f"     {done.stderr.strip()[:300]}")

    def works(self, what, *says, **how):
        done = self.mount(**how)
        lines = done.stderr.splitlines()
        check(f"{what} works", done.returncode == 0 and len(lines) == bool(says) and all(s in done.stderr for s in says), done.stderr)
        equal(f"{what}: it is the share", os.path.exists(os.path.join(how.get("place") or self.place, "file")), True)
        run(self.m.larder, "umount", how.get("place") or self.place)


def the_target(p):
    host = p.samba.target[2:].split("/")[0]
    p.works("another case of the share", target=f"//{host}/SHARE")
    p.works("another case of a directory in it", target=f"//{host}/Share/DIR")
    p.works("backslashes", target=f"\\\\{host}\\share")
    p.told("backslashes that the shell took", USAGE, "did you mean //srv/share?", target="\\srv\\share")
    p.told("no slashes", USAGE, f"did you mean //{host}/share?", target=f"{host}/share")
    p.told("one slash", USAGE, "did you mean //srv/share?", target="/srv/share")
    p.told("as NFS has it", USAGE, "did you mean //srv/export?", target="srv:/export")
    p.told("no share", USAGE, "no share; a target is //HOST", target=f"//{host}")
    p.told("a share that is not there", FAILED, "nope", "no such share there?", "larder shares", target=f"//{host}/nope")
    p.told("a directory that is not in the share", FAILED, "there is no away", "larder mkdir", target=f"//{host}/share/away")
    p.told("a file in the share", FAILED, "file", "not a directory", target=f"//{host}/share/file")
    p.told("a host that nobody knows", FAILED, "no-such-host.invalid", "spelled right", "ip=", target="//no-such-host.invalid/share")
    with socket.socket() as closed:  # bound, and nobody listens
        closed.bind(("127.0.0.1", 0))
        p.told("a port where nobody listens", FAILED, "refused", "port=", target=f"//127.0.0.1:{closed.getsockname()[1]}/share")
    p.told("the pipes, not a share of files", FAILED, "IPC$", "not files", target=f"//{host}/IPC$")


def the_logon(p):
    p.told("no credentials file", FAILED, "/nope", "No such file", "make it", options="credentials=/nope")
    is_open = p.m.credentials("open", user_name(), PASSWORD, mode=0o644)
    p.told("one that is too open", FAILED, is_open, "0644", f"chmod 600 {is_open}", options=f"credentials={is_open}")
    p.told("a directory in its place", FAILED, "it is a directory", options=f"credentials={p.m.dir}")
    p.told("one without =", USAGE, ":1: no `=`", options=f"credentials={write(p.m.path('bad'), 'larder')}")
    p.told("a wrong password", FAILED, "wrong user or password?", options=f"username={user_name()},password=no")
    p.told("a user that nobody knows", FAILED, "stranger", "is the user known there?", options="username=stranger,password=no")
    p.told("no password, and nobody to ask", FAILED, "no password", "credentials=FILE", options=f"username={user_name()}")


def write(path, text):
    with open(path, "w") as f:
        os.chmod(f.fileno(), 0o600)
        f.write(text + "\n")
    return path


def the_place(p):
    p.told("no mount point", FAILED, "away", "mkdir", place=p.m.path("away"))
    p.told("a file in its place", FAILED, "not a directory", "mkdir", place=p.m.path("bad"))
    full = p.m.directory("full")
    write(f"{full}/mine", "x")
    p.works("a mount point that is not empty", "warning", "not empty", "until you unmount", place=full)
    p.mount()
    p.judge("one that is taken", p.mount(), FAILED, "already", f"larder umount {p.place}")
    with open(f"{p.place}/file"):
        p.judge("unmounting what is in use", run(p.m.larder, "umount", p.place), FAILED, "busy", "--lazy")
    run(p.m.larder, "umount", p.place)
    p.judge("unmounting what is not mounted", run(p.m.larder, "umount", p.place), FAILED, "nothing is mounted there")
    p.told("somebody else's directory", FAILED, "write access", "directory of his own", as_user=NOBODY)
    p.told("allow_other, where users may not", FAILED, "user_allow_other", "/etc/fuse.conf", place=p.m.directory("his", NOBODY_ID),
           options=f"{p.logon},allow_other", as_user=NOBODY)


def the_machine(p):
    """Without root: no fusermount3. And no /dev/fuse, or one that is not for users."""
    his = p.m.path("his")
    program = os.path.realpath("/usr/bin/fusermount3")
    if os.path.exists(program):
        subprocess.run(["mount", "--bind", write(p.m.path("nothing"), ""), program], check=True)
        p.told("no fusermount3", FAILED, "fusermount3", "fuse3", place=his, as_user=NOBODY)
        subprocess.run(["umount", program], check=True)
    os.chmod("/dev/fuse", 0o600)
    p.told("a /dev/fuse for root alone", FAILED, "/dev/fuse", "chmod 666", place=his, as_user=NOBODY)
    os.rename("/dev/fuse", "/dev/fuse.away")
    p.told("no /dev/fuse", FAILED, "/dev/fuse", "modprobe fuse", "container")
    os.rename("/dev/fuse.away", "/dev/fuse")


def the_options(p):
    for wrong, near in (("credential=/x", "credentials"), ("pasword=x", "password"), ("usr=x", "user"), ("rszie=4096", "rsize"),
                        ("netdev", "_netdev"), ("DirectoryCacheLifetme=3", "DirectoryCacheLifetime")):
        p.told(wrong, USAGE, f"unknown option '{wrong.split('=')[0]}'", f"did you mean {near}?", options=wrong)
    p.told("an option like none", USAGE, "unknown option 'zzzzzzzzzz'", "--help", options="zzzzzzzzzz=3")
    for wrong, says in (("port=99999", "1 to 65535"), ("timeo=1", "10 to 36000"), ("echo_interval=0", "1 to 600"), ("uid=nobody-knows", "0 to"),
                        ("file_mode=999", "0 to 0777"), ("DirectoryCacheLifetime=long", "from 0 to"), ("vers=1.0", "3.1.1"), ("sec=ntlm", "ntlmssp"),
                        ("profile=fast", "23h2"), ("ro=yes", "no value"), ("uid", "uid=..."), ("max_threads=0", "1 to")):
        p.told(wrong, USAGE, wrong.split("=")[0], says, options=wrong)
    p.judge("no directory", run(p.m.larder, "mount", p.samba.target), USAGE, "and a directory", "--help")
    p.judge("a subcommand that is none", run(p.m.larder, "mont"), USAGE, "mont", "did you mean mount?")


with Machine(LARDER) as m, Samba() as samba:
    os.chmod(samba.dir, 0o755)
    samba.start()
    os.mkdir(f"{samba.share}/dir")
    for name in ("file", "dir/file"):
        write(f"{samba.share}/{name}", "hello")
        os.chmod(f"{samba.share}/{name}", 0o644)
    person = Person(m, samba)
    for part in (the_target, the_logon, the_place, the_machine, the_options):
        part(person)
finish()
