#!/usr/bin/python3
"""`larder doctor` says the truth: on Sambas that have things and on such as had them switched off, one after the other.

doctor.py LARDER [--newer DIRECTORY | --ksmbd DIRECTORY]; tests/fault/test_doctor.c has what no Samba can be told to do: promises that are
given and not kept, refused compounds, a clock that is wrong.
"""
import glob
import json
import os
import pty
import signal
import subprocess
import sys
import tempfile
import time

from bed import LARDER, PASSWORD, Ksmbd, Samba, check, equal, finish, larder, root_after, user_name, wait_until
from relay import Relay

MADE = ".larder-doctor-"


def doctor(target, *args, options="", password=PASSWORD):
    return larder("doctor", "-o", f"user={user_name()}{options}", *args, target, password=password)


def examine(target, *args, options="", code=0):
    """The JSON form; its exit code is checked, too."""
    run = doctor(target, "--json", *args, options=options)
    if not check(f"doctor of {target.rsplit('/', 1)[1]} {options}: exit {code}", run.returncode == code and run.stderr == "",
                 (run.returncode, run.stdout, run.stderr)):
        sys.exit(1)
    report = json.loads(run.stdout)
    equal("well or not, as the exit code has it", report["well"], code == 0)
    return report


def says(report, key, state, **facts):
    found = report["findings"].get(key, {})
    wrong = {name: found.get(name) for name, value in {"state": state, **facts}.items() if found.get(name) != value}
    check(f"{key}: {state} {facts or ''}", not wrong, (wrong, found))
    if state == "note":
        check(f"{key}: what to do about it is said", len(found.get("advice", "")) > 20, found)


def promised(report, directories, files):
    equal("what a mount will have", report["promises"], {"directories": directories, "files": files})


def state_of(tree):
    """All that is there; of directories no times, since entries come and go while it is tried."""
    return {path: (os.stat(path).st_mtime_ns, open(path, "rb").read()) if os.path.isfile(path) else None
            for path in glob.glob(f"{tree}/**", recursive=True, include_hidden=True)}


def nothing_left(samba):
    equal("nothing is left behind", glob.glob(f"{samba.dir}/*/**/{MADE}*", recursive=True), [])


def filled(root, *keys, extra=""):
    """A Samba that is entered, with some files, and further shares of the same kind: NAME: settings."""
    samba = Samba(root=root).__enter__()
    for i in range(120):
        with open(f"{samba.share}/file{i}", "w") as f:
            f.write("content")
    os.makedirs(f"{samba.share}/sub/dir")
    more = ""
    for line in filter(None, extra.split("\n")):
        name, settings = line.split(": ")
        os.mkdir(f"{samba.dir}/{name}")
        with open(f"{samba.dir}/{name}/Existing", "w") as f:
            f.write("content")
        more += f"[{name}]\n  path = {samba.dir}/{name}\n  read only = no\n  force user = {user_name()}\n  " + \
                settings.replace("; ", "\n  ") + "\n"
        if os.getuid() == 0:
            subprocess.run(["chown", "-R", user_name(), f"{samba.dir}/{name}"], check=True)
    samba.keys = (*keys, "share:comment=first\n" + more)
    return samba.start()


# ---- what it has ----

def everything(samba, newer):
    before = state_of(samba.share)
    report = examine(samba.target)
    equal("what was there is as it was", state_of(samba.share), before)
    nothing_left(samba)
    says(report, "reach", "good", address="127.0.0.1", addresses=1)
    says(report, "logon", "good", by="NTLM", guest=False)
    says(report, "dialect", "good", name="3.1.1")
    says(report, "signing", "good", active=True, algorithm="AES-GMAC", required_by_server=False)
    says(report, "encryption", "good", active="none", cipher="AES-128-GCM")
    says(report, "buffers", "good", max_read=8 << 20, max_write=8 << 20, max_transact=8 << 20)
    says(report, "credits", "good")
    says(report, "compounds", "good", answered=True)
    says(report, "listing", "good", entries=121, all=True, round_trips=1)
    says(report, "file_leases", "good", offered=True, granted="read, handle, write", kept=True)
    says(report, "durable", "good", granted=True)
    says(report, "change_notify", "good", accepted=True, kept=True)
    says(report, "case", "good", sensitive=False)
    says(report, "names", "good", reserved=True, trailing=True, composed=True, decomposed=True, beyond_16_bits=True, longest=True)
    check("the clocks of one machine are the same", abs(report["findings"]["clock"]["ahead_s"]) < 2)
    check("a round trip was measured", 0 < report["findings"]["round_trip"]["median_ms"] < 1000)
    space, fs = report["findings"]["space"], os.statvfs(samba.share)
    check("the room is the file system's", abs(space["available"] - fs.f_bavail * fs.f_frsize) < 1 << 30, space)
    if newer:
        says(report, "directory_leases", "good", offered=True, granted="read, handle", kept=True)
    else:
        says(report, "directory_leases", "note", offered=False)
    promised(report, "lease" if newer else "watch", "lease")
    for key in ("mount", "mount_directories", "mount_files"):
        says(report, key, "good")


def in_a_path(samba):
    report = examine(f"{samba.target}/sub/dir")
    says(report, "file_leases", "good", kept=True)
    says(report, "change_notify", "good", kept=True)
    says(report, "mount_directories", "good")
    equal("the target is told", report["target"], f"{samba.target}/sub/dir")
    nothing_left(samba)


def for_people(samba):
    run = doctor(samba.target)
    lines = run.stdout.split("\n")
    check("a table for people, as wide as a screen", run.returncode == 0 and max(map(len, lines)) <= 80
          and any(line.startswith("ok    leases of files") for line in lines), run.stdout)
    check("and advice below it", ("What to change" in run.stdout) == any(line.startswith("note") for line in lines), run.stdout)


def options_count(samba):
    report = examine(samba.target, options=",profile=off")
    promised(report, "nothing", "nothing")
    report = examine(samba.target, options=",profile=23h2")
    promised(report, "time", "time")
    says(report, "mount_directories", "note")
    report = examine(samba.target, options=",vers=3.0,seal")
    says(report, "encryption", "good", active="AES-128-CCM")
    says(report, "dialect", "good", name="3.0")


def makes_nothing(samba):
    seen = []
    run = subprocess.Popen([LARDER, "doctor", "-r", "--json", "-o", f"user={user_name()}", samba.target], stdout=subprocess.PIPE,
                           text=True, env={**os.environ, "LARDER_PASSWORD": PASSWORD})
    while run.poll() is None:
        seen += glob.glob(f"{samba.share}/{MADE}*")
    report = json.loads(run.stdout.read())
    equal("with -r nothing is made", (run.returncode, seen), (0, []))
    says(report, "file_leases", "untried", offered=True, granted="read, handle")
    says(report, "change_notify", "untried", accepted=True)
    says(report, "case", "good", sensitive=False)
    says(report, "names", "untried")


# ---- what single shares have not ----

def single_shares(samba, newer):
    base = samba.target.rsplit("/", 1)[0]
    report = examine(f"{base}/ro")
    says(report, "file_leases", "untried", granted="read, handle")
    says(report, "change_notify", "untried", accepted=True)
    check("a share that is read-only is said to be", "read-only" in report["findings"]["names"]["text"], report["findings"]["names"])
    says(report, "case", "good", sensitive=False)
    promised(report, "lease" if newer else "watch", "lease")
    report = examine(f"{base}/nooplocks")
    says(report, "file_leases", "note", offered=True, granted="")
    says(report, "durable", "note", granted=False)
    promised(report, "watch", "time")
    says(report, "mount_files", "note")
    report = examine(f"{base}/casesensitive")
    says(report, "case", "good", sensitive=True)
    report = examine(f"{base}/undurable")
    says(report, "durable", "note", granted=False)
    says(report, "file_leases", "good", kept=True)
    report = examine(f"{base}/encrypted")
    says(report, "encryption", "good", active="AES-128-GCM")
    says(report, "signing", "good", active=False)
    nothing_left(samba)


SHARES = """ro: read only = yes
nooplocks: oplocks = no; level2 oplocks = no
casesensitive: case sensitive = yes
undurable: durable handles = no
encrypted: smb encrypt = required"""


# ---- what a whole server has not ----

def without_promises(root):
    samba = filled(root, "change notify=no", "smb2 leases=no", "signing=mandatory", "smb2 max credits=16", "smb2 max read=65536",
                   "smb2 max write=65536", "smb2 max trans=65536")
    try:
        report = examine(samba.target)
        says(report, "change_notify", "note", accepted=False)
        says(report, "file_leases", "note", offered=False)
        says(report, "directory_leases", "note", offered=False)
        says(report, "durable", "note", granted=False)
        says(report, "signing", "good", active=True, required_by_server=True)
        says(report, "credits", "note")
        check("credits as granted", report["findings"]["credits"]["granted"] <= 16, report["findings"]["credits"])
        says(report, "buffers", "note", max_read=65536, max_write=65536, max_transact=65536)
        promised(report, "time", "time")
        says(report, "mount_directories", "note")
        says(report, "mount_files", "note")
        nothing_left(samba)
    finally:
        samba.__exit__()


def old_dialects(root):
    for protocol, name, leases in (("SMB2_02", "2.0.2", False), ("SMB2_10", "2.1", True)):
        samba = filled(root, f"protocol_max={protocol}")
        try:
            report = examine(samba.target)
            says(report, "dialect", "note", name=name)
            says(report, "encryption", "note", cipher="none")
            says(report, "file_leases", "good" if leases else "note", offered=leases)
            says(report, "directory_leases", "note", offered=False)
            says(report, "buffers", "good" if leases else "note")
            promised(report, "watch", "lease" if leases else "time")
        finally:
            samba.__exit__()


# ---- another server ----

def of_ksmbd(root):
    """Its directory leases are kept, its watches never tell; and an emulated machine's clock goes as it likes."""
    with Ksmbd(root=root) as ksmbd:
        ksmbd.start()
        ksmbd.say("echo content > file; mkdir sub; chmod 777 .")
        before = ksmbd.say("find . -type f | xargs cat; find .")
        run = doctor(ksmbd.target, "--json")
        ahead = int(ksmbd.say("date +%s").split()[0]) - time.time()
        report = json.loads(run.stdout)
        says(report, "dialect", "good", name="3.1.1")
        says(report, "file_leases", "good", offered=True, granted="read, handle, write", kept=True)
        says(report, "directory_leases", "good", offered=True, granted="read, handle", kept=True)
        says(report, "durable", "good", granted=True)
        says(report, "change_notify", "wrong", accepted=True, kept=False)
        says(report, "compounds", "good", answered=True)
        says(report, "case", "good", sensitive=False)
        promised(report, "lease", "lease")
        clock = report["findings"]["clock"]
        check("its clock is as it is over there", abs(clock["ahead_s"] - ahead) < 60, (clock, ahead))
        equal("something is wrong", (run.returncode, report["well"]), (1, False))
        equal("what was there is as it was, and nothing else is", ksmbd.say("find . -type f | xargs cat; find ."), before)
    with Ksmbd("protocol_max=SMB2_10", "signing=mandatory", root=root) as ksmbd:
        ksmbd.start()
        ksmbd.say("echo content > file; chmod 777 .")
        report = json.loads(doctor(ksmbd.target, "--json").stdout)
        says(report, "dialect", "note", name="2.1")
        says(report, "signing", "good", active=True, required_by_server=True)
        says(report, "directory_leases", "note", offered=False)
        says(report, "change_notify", "wrong", accepted=True, kept=False)
        says(report, "mount_directories", "wrong")  # a mount would believe the watch until it finds it out
        promised(report, "watch", "lease")


# ---- how it ends, and what it looks like ----

def started(target, **more):
    return subprocess.Popen([LARDER, "doctor", "-o", f"user={user_name()}", target], env={**os.environ, "LARDER_PASSWORD": PASSWORD}, **more)


def from_afar(samba):
    """Each round trip takes 22 ms, so that there is time to end it in the middle, and to look at it."""
    relay = Relay(samba, delay=0.011)
    for sig, file in ((signal.SIGINT, "leased"), (signal.SIGTERM, "seen")):
        run = started(relay.target, stdout=subprocess.DEVNULL)
        check(f"{sig.name} in the middle, when there is a file \"{file}\"", wait_until(lambda: glob.glob(f"{samba.share}/{MADE}*/{file}")))
        run.send_signal(sig)
        equal("ends it", run.wait(20), -sig)
        nothing_left(samba)
    master, slave = pty.openpty()
    with tempfile.TemporaryFile("w+") as out:
        run = subprocess.Popen([LARDER, "doctor", "--json", "-o", f"user={user_name()}", relay.target], stdout=out, stderr=slave,
                               env={**os.environ, "LARDER_PASSWORD": PASSWORD})
        os.close(slave)
        shown = b""
        while True:
            try:
                shown += os.read(master, 1000)
            except OSError:
                break
        equal("on a terminal it ends as well", run.wait(20), 0)
        out.seek(0)
        report = json.load(out)
    check("it shows what it is at, and takes that away", b"larder: doctor: " in shown and shown.endswith(b"\r\x1b[K"), shown)
    says(report, "round_trip", "note")
    check("the distance is told", 22 <= report["findings"]["round_trip"]["median_ms"] < 300, report["findings"]["round_trip"])
    says(report, "file_leases", "good", kept=True)
    nothing_left(samba)


def as_typed(samba):
    base = samba.target.rsplit("/", 1)[0]
    for target, key, text in (("//127.0.0.1:1/share", "reach", "refused"), ("//no-such-host.invalid/share", "reach", "cannot resolve"),
                              (f"{base}/nothere", "logon", "BAD_NETWORK_NAME"), (f"{base}/IPC$", "logon", "a pipe"),
                              (f"{samba.target}/nothere", "listing", "NOT_FOUND")):
        report = examine(target, code=1)
        check(f"{target}: {key} is wrong, in one line", report["findings"][key]["state"] == "wrong"
              and text in report["findings"][key]["text"] and "\n" not in report["findings"][key]["text"], report["findings"])
    run = doctor(samba.target, "--json", password="wrong")
    check("what to do about a share that is not there is said", "larder shares" in
          examine(f"{base}/nothere", code=1)["findings"]["logon"]["advice"])
    check("a wrong password is a failed logon", run.returncode == 1 and "LOGON_FAILURE" in json.loads(run.stdout)["findings"]["logon"]["text"],
          run.stdout)
    for args in ((), (samba.target, samba.target), ("share",), (base,)):
        run = larder("doctor", "-o", f"user={user_name()}", *args)
        check(f"usage: {args}", run.returncode == 2 and run.stderr.count("\n") == 1 and run.stdout == "", (run.returncode, run.stderr))
    nothing_left(samba)


def main():
    root = root_after("--ksmbd", "ksmbd-root.sh")
    if root:
        of_ksmbd(root)
        finish()
    root = root_after("--newer", "newer-samba.sh")
    begun = time.monotonic()
    samba = filled(root, extra=SHARES)
    try:
        everything(samba, root)
        in_a_path(samba)
        for_people(samba)
        options_count(samba)
        makes_nothing(samba)
        single_shares(samba, root)
        as_typed(samba)
        if not root:
            from_afar(samba)
    finally:
        samba.__exit__()
    without_promises(root)
    if root:
        samba = filled(root, "smb3 directory leases=no", "protocol_max=SMB3_00", "signing=disabled")
        try:
            report = examine(samba.target)
            says(report, "directory_leases", "note", offered=False)
            says(report, "dialect", "good", name="3.0")
            says(report, "signing", "good", active=True, algorithm="AES-CMAC", required_by_server=False)
            says(report, "encryption", "good", active="none", cipher="AES-128-CCM")
            promised(report, "watch", "lease")
        finally:
            samba.__exit__()
    else:
        old_dialects(root)
    print(f"{time.monotonic() - begun:.1f} s")
    finish()


main()
