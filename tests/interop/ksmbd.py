#!/usr/bin/python3
"""The kernel's server, ksmbd, as a second one that shares no code with Samba: what works with it has not been fitted to one
server. Beside that, what it cannot: each line of docs/ksmbd.md is held here, so that a kernel in which it has changed
is noticed.

    ksmbd.py LARDER DIR [--cuts N]       DIR: ksmbd-root.sh makes it
"""
import argparse
import contextlib
import errno
import fcntl
import os
import subprocess
import sys
import tempfile
import time
import types

import reconnect
from bed import PASSWORD, Ksmbd, check, equal, finish, larder, made, mounted, stats, tool, user_name, wait_until

NAMES = 1000
LIFETIME, MOST = 10, 15  # seconds: DirectoryCacheLifetime; CacheMaxAge where it is waited for


def cannot(what, still, detail=""):
    """A line of docs/ksmbd.md."""
    check(f"ksmbd cannot: {what} (docs/ksmbd.md)", still, detail or "it can now")


def smbclient(ksmbd, *commands, options=()):
    return subprocess.run(["smbclient", "-p", str(ksmbd.port), f"-U{user_name()}%{PASSWORD}", *options, "//127.0.0.1/share", "-c",
                           "; ".join(commands)], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          timeout=120)


def is_error(number, call, *args, **more):
    try:
        call(*args, **more)
    except OSError as e:
        return e.errno == number
    return False


def write(path, data=b"some\n"):
    with open(path, "wb") as f:
        f.write(data)


def read(path):
    with open(path, "rb") as f:
        return f.read()


# ---- logon, dialects, signing, encryption ----

def refused(what, ksmbd, options, *words, **more):
    run = tool("ls", ksmbd, options=options, **more)
    return check(f"{what}: refused in one line that names {', '.join(words)}", run.returncode == 1 and run.stderr.count("\n") == 1
                 and all(word in run.stderr for word in words), (run.returncode, run.stderr))


def speaks(ksmbd, options, **says):
    """A mount with these options says so, and carries data both ways."""
    with mounted(ksmbd, *options) as place:
        told = stats(place)["connection"]
        equal(f"{' '.join(options) or 'by default'}: the connection", {k: told[k] for k in says}, says)
        data = os.urandom((1 << 20) + 17)
        write(f"{place}/data", data)
        equal("   what is written is on the server", ksmbd.say("sha256sum data").split()[:1],
              subprocess.run(["sha256sum"], input=data, stdout=subprocess.PIPE).stdout.decode().split()[:1])
        ksmbd.say("cp data other; chmod 666 other")
        equal("   what is read is the server's", read(f"{place}/other"), data)


def connections(ksmbd):
    refused("a wrong password", ksmbd, (), "127.0.0.1", "password", password="wrong")
    refused("an unknown user", ksmbd, ("user=nobody-of-that-name",), "127.0.0.1")
    refused("a guest", ksmbd, ("guest",), "127.0.0.1")
    speaks(ksmbd, (), dialect="3.1.1", logon="NTLM", signing="AES-CMAC", encryption="none", guest=False)
    speaks(ksmbd, ("vers=2.1",), dialect="2.1", signing="HMAC-SHA256")
    for dialect in ("3.0", "3.0.2"):
        speaks(ksmbd, (f"vers={dialect}",), dialect=dialect, signing="AES-CMAC")
        speaks(ksmbd, (f"vers={dialect}", "seal"), dialect=dialect, encryption="AES-128-CCM", signing="none")
    for cipher in ("AES-128-GCM", "AES-128-CCM", "AES-256-GCM", "AES-256-CCM"):
        speaks(ksmbd, ("seal", f"EncryptionCiphers={cipher.replace('-', '_')}"), dialect="3.1.1", encryption=cipher, signing="none")
    cannot("SMB 2.0.2", refused("2.0.2", ksmbd, ("vers=2.0.2",), "Smb2DialectMin", "STATUS_NOT_SUPPORTED"))
    cannot("sign by AES-GMAC", refused("AES-GMAC alone", ksmbd, ("sign", "SigningAlgorithms=AES_GMAC"), "SigningAlgorithms", "AES-CMAC"))
    cannot("sign by HMAC-SHA256 under 3.1.1", refused("HMAC-SHA256 alone", ksmbd, ("sign", "SigningAlgorithms=HMAC_SHA256"),
                                                      "SigningAlgorithms", "not offered"))


def demands(root):
    with Ksmbd("signing=mandatory", "smb3 encryption=mandatory", root=root) as ksmbd:
        ksmbd.start()
        speaks(ksmbd, (), encryption="AES-128-GCM", signing="none")
        speaks(ksmbd, ("vers=3.0",), encryption="AES-128-CCM", signing="none")
        run = tool("ls", ksmbd, options=("vers=2.1",))
        cannot("keep 2.1 out where it demands encryption", run.returncode == 0, run.stderr)
        refused("2.1 where we demand it", ksmbd, ("vers=2.1", "seal"), "RequireEncryption")
    with Ksmbd("signing=mandatory", "protocol_max=SMB3_00", root=root) as ksmbd:
        ksmbd.start()
        speaks(ksmbd, (), dialect="3.0", signing="AES-CMAC")
        refused("3.1.1 of a server without", ksmbd, ("vers=3.1.1",), "Smb2DialectM")


# ---- what is in a directory, and what is done there ----

def listings(ksmbd, place):
    ksmbd.say(f"mkdir -m 777 many; cd many; for i in $(seq {NAMES}); do : >\"a file with the number $i\"; done")
    want = sorted(f"a file with the number {i + 1}" for i in range(NAMES))
    equal(f"a listing of {NAMES:,} names", sorted(os.listdir(f"{place}/many")), want)
    run = tool("ls", f"{ksmbd.target}/many", options=("vers=2.1",))
    equal("by 2.1", sorted(run.stdout.splitlines()), want)
    with mounted(ksmbd, "profile=off", "seal") as other:
        equal("encrypted, and without a cache", sorted(os.listdir(f"{other}/many")), want)
    names = sorted(["Uml\u00e4ut", "\U0001d11e clef", "a:b?c*", "dot.", "space ", "n" * 255])
    os.mkdir(f"{place}/names")
    for name in names:
        write(f"{place}/names/{name}", name.encode())
    equal("names that SMB forbids, or that are long", sorted(os.listdir(f"{place}/names")), names)
    with mounted(ksmbd) as other:
        equal("as another client sees them", {n: read(f"{other}/names/{n}").decode() for n in os.listdir(f"{other}/names")}, dict(zip(names, names)))
        check("another spelling leads there", os.path.samefile(f"{other}/names/DOT.", f"{other}/names/dot."))


def changes(ksmbd, place):
    top = f"{place}/changes"
    os.mkdir(top)
    write(f"{top}/file", b"first")
    os.link(f"{top}/file", f"{top}/link")
    equal("a hard link: one file of two names", (os.stat(f"{top}/link").st_ino, os.stat(f"{top}/link").st_nlink),
          (os.stat(f"{top}/file").st_ino, 2))
    write(f"{top}/link", b"by the other name")
    equal("what is written by one name is read by the other", read(f"{top}/file"), b"by the other name")
    write(f"{top}/new", b"second")
    with open(f"{top}/file", "rb") as f:
        os.rename(f"{top}/new", f"{top}/file")
        equal("a file that was replaced is read on by who has it open", f.read(), b"by the other name")
    equal("and is the new one for all others", (read(f"{top}/file"), sorted(os.listdir(top))), (b"second", ["file", "link"]))
    with open(f"{top}/link", "rb") as f:
        os.unlink(f"{top}/link")
        equal("one that was removed, too", (f.read(), os.path.exists(f"{top}/link")), (b"by the other name", False))
    os.truncate(f"{top}/file", 100000)
    os.utime(f"{top}/file", ns=(10 ** 18 + 100, 10 ** 18 + 200))
    told = ksmbd.say("stat -c '%s %Y' changes/file").split()
    equal("size and time are on the server's disk", told, ["100000", str(10 ** 9)])
    equal("and here, to 100 ns", os.stat(f"{top}/file").st_mtime_ns, 10 ** 18 + 200)
    os.mkdir(f"{top}/dir")
    write(f"{top}/dir/in")
    os.rename(f"{top}/dir", f"{top}/renamed")
    equal("a directory is renamed", (read(f"{top}/renamed/in"), sorted(os.listdir(top))), (b"some\n", ["file", "renamed"]))
    with open(f"{top}/renamed/in", "rb"):
        cannot("rename a directory in which a file is open", is_error(errno.EACCES, os.rename, f"{top}/renamed", f"{top}/again"))
    cannot("keep a symbolic link as a reparse point", is_error(errno.EOPNOTSUPP, os.symlink, "nowhere", f"{top}/symbolic"))
    with mounted(ksmbd, "mfsymlinks") as other:
        os.symlink("nowhere", f"{other}/changes/symbolic")
        equal("a symbolic link as a file of its own form", os.readlink(f"{other}/changes/symbolic"), "nowhere")
    with open(f"{top}/file", "rb") as source, open(f"{top}/copy", "wb") as sink:
        equal("a copy within the server", os.copy_file_range(source.fileno(), sink.fileno(), 100000), 100000)
    equal("and it is the same", read(f"{top}/copy"), read(f"{top}/file"))
    room = os.statvfs(place)
    equal("the room that there is", [str(room.f_blocks), str(room.f_bsize)], ksmbd.say("stat -f -c '%b %S' .").split())


def is_had(f, start, kind=fcntl.LOCK_EX):
    try:
        fcntl.lockf(f, kind | fcntl.LOCK_NB, 10, start)
    except BlockingIOError:
        return False
    return True


def locks(ksmbd, place, beside):
    write(f"{place}/locks", b"x" * 100)
    with open(f"{place}/locks", "r+b", buffering=0) as one, open(f"{beside}/locks", "r+b", buffering=0) as other:
        check("a lock is taken", is_had(one, 0))
        check("then not by another mount", not is_had(other, 0))
        check("but beside it", is_had(other, 50))
        check("who waits for it", is_error(errno.EAGAIN, os.pread, other.fileno(), 10, 0))
        waiter = subprocess.Popen([sys.executable, "-c", f"import fcntl; f = open({beside + '/locks'!r}, 'r+b'); fcntl.lockf(f, fcntl.LOCK_EX, 10, 0)"])
        time.sleep(1)
        equal("waits", waiter.poll(), None)
        fcntl.lockf(one, fcntl.LOCK_UN, 10, 0)
        equal("and gets it when it is free", waiter.wait(30), 0)
        check("a shared one both have", is_had(one, 20, fcntl.LOCK_SH) and is_had(other, 20, fcntl.LOCK_SH))


# ---- what others change ----

def seen_after(condition, most):
    began = time.monotonic()
    return time.monotonic() - began if wait_until(condition, most) else None


def another_adds(ksmbd, place, beside, options, most):
    """What another client adds, a mount and smbclient, is seen in time."""
    with tempfile.NamedTemporaryFile() as f:
        f.write(b"by smbclient\n")
        f.flush()
        for number, put in enumerate((lambda name: write(f"{beside}/fresh/{name}"),
                                      lambda name: smbclient(ksmbd, "cd fresh", f"put {f.name} {name}"))):
            name = f"{number}-{time.monotonic_ns()}"
            os.listdir(f"{place}/fresh")
            put(name)
            after = seen_after(lambda: name in os.listdir(f"{place}/fresh"), most + 5)
            check(f"{options}: what {('another mount', 'smbclient')[number]} adds is seen in {most} s", after is not None and after <= most + 1, after)


def watch_of(place):
    return stats(place)["watch"]


def is_not_believed(ksmbd, place, beside, how):
    """The watch, from here on."""
    equal(f"which is found out {how}", (watch_of(place)["state"], watch_of(place)["notices"]), ("silent", 0))
    another_adds(ksmbd, place, beside, f"found out {how}", LIFETIME)
    told = larder("explain", f"{place}/fresh")
    check("explain does not take its word", told.returncode == 0 and " watch " not in told.stdout and " time " in told.stdout, told.stdout + told.stderr)


def silent_watch(ksmbd, beside):
    with mounted(ksmbd, "Leases=false") as place:
        check("CHANGE_NOTIFY is taken", wait_until(lambda: watch_of(place)["state"] == "watching"), watch_of(place))
        os.mkdir(f"{place}/fresh/own")
        time.sleep(10.5)
        os.rmdir(f"{place}/fresh/own")
        cannot("tell of changes: CHANGE_NOTIFY gets STATUS_PENDING and never an answer", watch_of(place)["notices"] == 0, watch_of(place))
        is_not_believed(ksmbd, place, beside, "by our own changes")
    with mounted(ksmbd, f"Leases=false,CacheMaxAge={MOST}") as place:
        check("by another client, too", wait_until(lambda: watch_of(place)["state"] == "watching"), watch_of(place))
        another_adds(ksmbd, place, beside, "with a watch that is believed", MOST)
        is_not_believed(ksmbd, place, beside, "by what others have changed")


def leases(ksmbd, beside):
    with mounted(ksmbd, f"CacheMaxAge={MOST}") as place:
        names = lambda: sorted(os.listdir(f"{place}/leased"))
        os.mkdir(f"{beside}/leased")
        for name in "abcd":
            write(f"{beside}/leased/{name}")
        equal("a listing under a lease", names(), list("abcd"))
        check("was asked for with one", stats(place)["leases"]["granted"] >= 1, stats(place)["leases"])
        write(f"{beside}/leased/e")
        check("what another client makes breaks it", wait_until(lambda: names() == list("abcde"), 2), names())
        with mounted(ksmbd) as leased:
            os.rename(f"{leased}/leased/e", f"{leased}/leased/f")
            check("so does a new name by one with leases", wait_until(lambda: names() == list("abcdf"), 2), names())
            os.unlink(f"{leased}/leased/f")
            check("and that one is gone", wait_until(lambda: names() == list("abcd"), 2), names())
        equal("a file under a lease", read(f"{place}/leased/a"), b"some\n")
        write(f"{beside}/leased/a", b"changed\n")
        check("what another client writes breaks it", wait_until(lambda: read(f"{place}/leased/a") == b"changed\n", 2), read(f"{place}/leased/a"))
        names()
        smbclient(ksmbd, "cd leased", "del d", "rename c c2")
        cannot("break a directory's lease when a client without leases removes or renames a name",
               not wait_until(lambda: names() != list("abcd"), 2), names())
        after = seen_after(lambda: names() == ["a", "b", "c2"], MOST + 5)
        check(f"which is seen when the listing has its age of {MOST} s", after is not None, after)


# ---- a connection that is cut ----

def cuts(ksmbd, beside, count):
    with reconnect.line_to(ksmbd) as line, mounted(ksmbd, "profile=off") as disk:
        view = types.SimpleNamespace(share=disk, target=ksmbd.target, port=ksmbd.port)
        network = reconnect.storm("cuts", view, line, line.cut, count)
        check("opens are held by the server, or opened anew", network["durable"] + network["reopened"] > 0, network)
    cut_with_locks(ksmbd, beside)


def opened(path):
    """And how long it took: until it is seen, and the server has waited for whoever has it."""
    began = time.monotonic()
    while True:
        try:
            return open(path, "r+b", buffering=0), time.monotonic() - began
        except (TimeoutError, FileNotFoundError):
            if time.monotonic() - began > 120:
                raise


def cut_with_locks(ksmbd, beside):
    """Whether the server gives an open back depends on whether it has noticed that its connection is gone."""
    with reconnect.line_to(ksmbd) as line, reconnect.mounted_by(line.target) as place:
        write(f"{place}/held", b"x" * 20)
        with open(f"{place}/held", "r+b", buffering=0) as holder:
            check("a lock is taken", is_had(holder, 0))
            check("the connection comes back", reconnect.cut_and_back(place, line))
            works, network = reconnect.works(holder.fileno()), stats(place)["network"]
            check("the file is written on where its open was given back", works or not network["durable"], network)
            rival, after = opened(f"{beside}/held")
            with rival:
                had = is_had(rival, 0)
                check("never both have the lock", not (works and had), (works, had))
            refused = stats(place)["failed"].get("OPLOCK_BREAK", 0)
            print(f"     {network}, another client's open took {after:.1f} s, acknowledgements refused: {refused}", flush=True)
            if network["durable"] and after > 20:
                cannot("take the acknowledgement of a break of a lease that it has given back", refused > 0, after)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("larder")
    parser.add_argument("root")
    parser.add_argument("--cuts", type=int, default=5)
    args = parser.parse_args()
    version = made("ksmbd-root.sh", args.root)
    if not version:
        sys.exit(77)
    print(version, flush=True)
    with Ksmbd(root=args.root) as ksmbd:
        ksmbd.start()
        connections(ksmbd)
        with contextlib.ExitStack() as both:
            place, beside = both.enter_context(mounted(ksmbd)), both.enter_context(mounted(ksmbd, "Leases=false,Watches=false"))
            listings(ksmbd, place)
            changes(ksmbd, place)
            locks(ksmbd, place, beside)
            os.mkdir(f"{beside}/fresh")
            another_adds(ksmbd, place, beside, "Leases=true", 2)
            silent_watch(ksmbd, beside)
            leases(ksmbd, beside)
            cuts(ksmbd, beside, args.cuts)
        told = ksmbd.complaints()
        check("its kernel has met no bug of its own", not [l for l in told if "BUG" in l or "Oops" in l or "WARNING" in l], told)
        print("its kernel says:", *told, sep="\n     ", flush=True)
    demands(args.root)


main()
finish()
