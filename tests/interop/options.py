#!/usr/bin/python3
"""The table in docs/mount-options.md against the program: it has every option of mount.cifs' manual and no other, what it
calls same or different is taken and has its effect (or, where it says so, none), and what it calls refused is refused by
name in one line. usage: options.py LARDER"""
import os
import re
import time

import machine

machine.enter()

import bed  # noqa: E402
from bed import HERE, LARDER, PASSWORD, Samba, check, equal, finish, user_name, wait_until  # noqa: E402
from machine import NOBODY, Machine, run  # noqa: E402

TABLE = os.path.join(HERE, "..", "..", "docs", "mount-options.md")
# All that stands in bold at the beginning of a paragraph of mount.cifs(8), section OPTIONS, version 7.0.
MANUAL = set("""username user password pass credentials cred uid forceuid cruid gid forcegid idsfromsid port netbiosname servern file_mode
dir_mode ip addr domain dom workgroup domainauto guest iocharset ro rw setuids nosetuids perm noperm dynperm cache nostrictsync
handlecache nohandlecache handletimeout rwpidforward mapchars nomapchars mapposix intr nointr hard soft noacl cifsacl backupuid
backupgid nocase ignorecase sec seal rdma resilienthandles noresilienthandles persistenthandles nopersistenthandles snapshot nobrl
forcemandatorylock locallease nolease sfu mfsymlinks echo_interval serverino noserverino posix unix linux noposix nounix nolinux
nouser_xattr nodfs noautotune nosharesock noblocksend rsize wsize bsize max_credits fsc multiuser actimeo noposixpaths posixpaths vers
--verbose""".split())


def table():
    """{option: (verdict, text, the value it is tried with or None)}"""
    rows = {}
    for line in open(TABLE):
        row = re.match(r"\| (`[^|]*`) \| (\w+) \| ([^|]*) \| `([^`|]*)` \|$", line)
        for name in re.findall(r"`([^`]+)`", row[1]) if row else []:
            check(f"{name} stands in the table once", name not in rows)
            rows[name] = (row[2], row[3], row[4].partition("=")[2] or None)
    return rows


class Share:
    """One mount after the other of the same share, each by mount -t larder."""

    def __init__(self, m, samba):
        self.m, self.samba = m, samba
        self.place = m.directory("place")
        self.logon = f"username={user_name()},password={PASSWORD}"

    def mount(self, options, target=None, logon=None, flags=()):
        self.unmount()
        logon = self.logon if logon is None else logon
        return run("mount", *flags, "-t", "larder", target or self.samba.target, self.place, "-o", ",".join(filter(None, (logon, options))))

    def unmount(self):
        if os.path.ismount(self.place):
            run(self.m.larder, "umount", self.place)

    def mounts(self, what, options, **more):
        done = self.mount(options, **more)
        return equal(f"{what}: mounts", (done.returncode, done.stderr), (0, ""))

    def stats(self):
        return bed.json.loads(run(self.m.larder, "stats", "--json", self.place).stdout)

    def setting(self, what, name, value):
        equal(f"{what}: {name}", self.stats()["settings"][name], value)

    def at(self, name):
        return os.path.join(self.place, name)


# ---- effects: a name below says which of them it is for ----

def who_logs_on(s):
    for user, password in (("username", "password"), ("user", "pass")):
        s.mounts(f"{user}, {password}", f"{user}={user_name()},{password}={PASSWORD}", logon="")
    s.mounts("password with a comma in quotes", f'password="{PASSWORD}"', logon=f"username={user_name()}")
    for name in ("credentials", "cred"):
        s.mounts(name, f"{name}={s.m.credentials('cred', user_name(), PASSWORD)}", logon="")
    done = s.mount(f"credentials={s.m.credentials('open', user_name(), PASSWORD, mode=0o644)}", logon="")
    check("credentials that others may read are refused", done.returncode == 32 and "chmod 600" in done.stderr, done.stderr)
    for n, name in enumerate(("domain", "dom", "workgroup")):
        s.mounts(name, f"{name}=HOUSE{n}")
        logs = [os.path.join(at, f) for at, _, files in os.walk(f"{s.samba.dir}/log") for f in files]
        check(f"{name}: the server hears of it", any(f"HOUSE{n}" in open(f, errors="replace").read() for f in logs))
    s.mounts("guest", "guest", logon="")
    check("guest: what is to be signed is not", "no key to sign" in s.mount("guest,sign", logon="").stderr)
    s.mounts("sec=ntlmssp", "sec=ntlmssp")
    for bad in ("ntlm", "ntlmi", "ntlmv2", "ntlmv2i"):
        check(f"sec={bad} is refused", f"sec={bad}" in s.mount(f"sec={bad}").stderr)


def where_it_goes(s):
    host, port = s.samba.target[2:].split("/")[0].split(":")
    s.mounts("port", f"port={port}", target=f"//{host}/share")
    for name in ("ip", "addr"):
        s.mounts(name, f"{name}={host}", target=f"//no-such-host.invalid:{port}/share")


def whose_it_is(s):
    s.mounts("uid, gid, modes", "uid=7,gid=9,file_mode=0640,dir_mode=0750")
    st, top = os.stat(s.at("file")), os.stat(s.place)
    equal("uid, gid, file_mode", (st.st_uid, st.st_gid, oct(st.st_mode & 0o777)), (7, 9, "0o640"))
    equal("dir_mode", oct(top.st_mode & 0o777), "0o750")
    s.mounts("perm", "perm")
    check("perm: another user may not write", run(*NOBODY, "touch", s.at("other")).returncode != 0)
    s.mounts("noperm", "noperm")
    equal("noperm: another user writes", run(*NOBODY, "touch", s.at("other")).returncode, 0)


def what_is_done(s):
    s.mounts("ro", "ro")
    check("ro: nothing is written", "Read-only" in run("touch", s.at("new")).stderr)
    s.mounts("rw", "ro,rw")
    equal("rw: something is", run("touch", s.at("new")).returncode, 0)
    for option, flushes in (("rw", 1), ("nostrictsync", 0)):
        s.mounts(option, option)
        with open(s.at("synced"), "wb") as f:
            f.write(b"x")
            f.flush()
            os.fsync(f.fileno())
        equal(f"{option}: requests for the server's disk", s.stats()["requests"].get("FLUSH", 0), flushes)
    s.mounts("mfsymlinks", "mfsymlinks")
    os.symlink("file", s.at("link"))
    equal("mfsymlinks: a file of that form", open(f"{s.samba.share}/link", "rb").read(5), b"XSym\n")
    s.mounts("mapposix", "mapposix")
    open(s.at("a:b"), "w").close()
    check("mapposix: its character", "a\uf022b" in os.listdir(s.samba.share), os.listdir(s.samba.share))


def what_is_kept(s):
    s.mounts("cache=none", "cache=none")
    equal("cache=none", s.stats()["profile"], "off")
    s.mounts("cache=strict", "cache=strict")
    equal("cache=strict", s.stats()["profile"], "larder")
    check("cache=loose is refused", "cache=loose" in s.mount("cache=loose").stderr)
    s.mounts("nohandlecache, nolease, actimeo", "nohandlecache,nolease,actimeo=3")
    s.setting("nohandlecache", "DormantFileLimit", "0")
    s.setting("nolease", "Leases", "false")
    s.setting("actimeo", "FileInfoCacheLifetime", "3")


def how_it_connects(s):
    for version, dialect in (("2.0", "2.0.2"), ("2.1", "2.1"), ("3.0", "3.0"), ("3.02", "3.0.2"), ("3.11", "3.1.1"), ("3", "3.1.1"), ("default", "3.1.1")):
        s.mounts(f"vers={version}", f"vers={version}")
        check(f"vers={version}: SMB {dialect}", f'"{dialect}"' in run(s.m.larder, "stats", "--json", s.place).stdout)
    check("vers=1.0 is refused", "vers=1.0" in s.mount("vers=1.0").stderr)
    s.mounts("seal", "seal")
    s.setting("seal", "RequireEncryption", "true")
    s.mounts("echo_interval", "echo_interval=1,Watches=false")
    check("echo_interval: the server is asked", wait_until(lambda: s.stats()["requests"].get("ECHO", 0) > 0, 15))
    done = s.mount("", flags=["--verbose"])
    check("--verbose tells", "is mounted on" in done.stdout, done.stdout)


def only_utf8(s):
    check("iocharset=latin1 is refused", "iocharset=latin1" in s.mount("iocharset=latin1").stderr)


EFFECTS = {who_logs_on: "username user password pass credentials cred domain dom workgroup guest sec", where_it_goes: "port ip addr",
           whose_it_is: "uid gid file_mode dir_mode perm noperm", what_is_done: "ro rw nostrictsync mfsymlinks mapposix",
           what_is_kept: "cache nohandlecache nolease actimeo", how_it_connects: "vers seal echo_interval --verbose", only_utf8: "iocharset"}
# Those that take a test of their own to see.
ELSEWHERE = {"hard": "away.py", "soft": "away.py", "cruid": "kerberos.py", "nobrl": "work.py"}


def try_all(s, rows):
    """Without connecting: what is taken and what is refused."""
    for name, (verdict, text, value) in rows.items():
        if name.startswith("--"):
            continue
        if name in ("credentials", "cred"):
            value = s.m.credentials("tried", user_name(), PASSWORD)
        option = name if value is None else f"{name}={'445' if value == 'PORT' else value}"
        done = run("mount", "-f", "-t", "larder", s.samba.target, s.place, "-o", option)
        lines = done.stderr.splitlines()
        if verdict == "refused":
            check(f"{option} is refused by name, in one line", done.returncode == 1 and len(lines) == 1 and f"option {name} is refused: " in lines[0], done)
        else:
            equal(f"{option} is taken", (done.returncode, done.stderr), (0, ""))
            shown = [e.__name__ for e, names in EFFECTS.items() if name in names.split()] or ELSEWHERE.get(name)
            check(f"{name}: its effect is shown, or the table says that it has none", bool(shown) != text.startswith("no effect"), (shown, text))
    for name, test in ELSEWHERE.items():
        check(f"{test} has {name}", re.search(rf"\b{name}\b", open(os.path.join(HERE, test)).read()))


began = time.monotonic()
rows = table()
equal("the table has the options of the manual", (sorted(MANUAL - set(rows)), sorted(set(rows) - MANUAL)), ([], []))
check("each is same, different or refused", {row[0] for row in rows.values()} == {"same", "different", "refused"})
with Machine(LARDER) as m, Samba("loglevel=3", "share:guest ok=yes") as samba:
    os.chmod(samba.dir, 0o755)
    samba.start()
    with open(f"{samba.share}/file", "w") as f:
        f.write("hello\n")
    share = Share(m, samba)
    try_all(share, rows)
    for effect in EFFECTS:
        effect(share)
    share.unmount()
print(f"{time.monotonic() - began:.1f} s")
finish()
