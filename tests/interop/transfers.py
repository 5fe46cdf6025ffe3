#!/usr/bin/python3
"""get, put and cp: files and trees come whole and with their times, several at once; what is cut off is gone on with;
no half file ever stands under the final name."""
import filecmp
import hashlib
import json
import os
import pty
import re
import shutil
import signal
import stat
import subprocess
import tempfile
import threading
import time

from bed import LARDER, PASSWORD, Samba, check, equal, finish, larder, user_name
from relay import Relay

USER = f"user={user_name()}"
MIB = 1 << 20
ENV = {**os.environ, "LARDER_PASSWORD": PASSWORD}


def write(path, data=b"", mtime=None):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as f:
        f.write(data)
    if mtime:
        os.utime(path, ns=(mtime, mtime))


def digest(path):
    return hashlib.blake2b(open(path, "rb").read()).hexdigest() if os.path.exists(path) else None


def tree_of(top):
    """{path: (kind, content or target, mtime in 100 ns)} of everything below; of a directory without its content."""
    found = {}
    for here, dirs, files in os.walk(top):
        for name in dirs + files:
            path = os.path.join(here, name)
            st = os.lstat(path)
            what = os.readlink(path) if os.path.islink(path) else "" if os.path.isdir(path) else digest(path)
            found[os.path.relpath(path, top)] = (os.path.isdir(path), what, 0 if os.path.islink(path) else st.st_mtime_ns // 100)
    return found


def parts(directory):
    return [n for n in os.listdir(directory) if n.endswith(".part")]


def own(samba):
    if os.getuid() == 0:
        subprocess.run(["chown", "-R", user_name(), samba.share], check=True)


def figures(run):
    return json.loads(run.stdout) if run.stdout.startswith("{") else {}


def one_line(what, run, *says, code=1):
    check(what, run.returncode == code and run.stderr.count("\n") == 1 and all(s in run.stderr for s in says),
          (run.returncode, run.stderr))


def run_beside(act, *args):
    """The command, while `act(process)` runs beside it."""
    p = subprocess.Popen([LARDER, *args], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                         text=True, env=ENV)
    act(p)
    out, err = p.communicate(timeout=120)
    return subprocess.CompletedProcess(args, p.returncode, out, err)


def make_tree(top):
    for i in range(40):
        write(f"{top}/many/file {i}", os.urandom(i * 997), 1_000_000_000_123_456_700 + i)
    write(f"{top}/empty")
    write(f"{top}/exactly one piece", os.urandom(4 * MIB))
    write(f"{top}/one byte more", os.urandom(4 * MIB + 1))
    write(f"{top}/some pieces", os.urandom(19 * MIB + 12345))
    write(f"{top}/caf\u00e9/\u30d5 \U0001f600.txt", b"names")
    write(f"{top}/{'x' * 255}", b"a long name")
    write(f"{top}/reserved: a*b?.txt", b"mapped")
    os.makedirs(f"{top}/no/thing/in/it")
    os.chmod(f"{top}/many/file 7", 0o444)
    for d in ("many", "no/thing", "caf\u00e9"):
        os.utime(f"{top}/{d}", ns=(10 ** 18, 10 ** 18))


def there_and_back(samba, work):
    source, back = f"{work}/source", f"{work}/back"
    make_tree(source)
    run = larder("put", "-r", "--json", "-o", USER, source, samba.target)
    equal("put -r of a tree", (run.returncode, run.stderr), (0, ""))
    equal("its figures", [figures(run).get(k) for k in ("files", "directories", "skipped", "resumed")], [47, 7, 0, 0])
    equal("nothing partial stays", parts(f"{samba.share}/source"), [])
    equal("the server has the pieces", digest(f"{samba.share}/source/some pieces"), digest(f"{source}/some pieces"))
    run = larder("get", "-r", "-o", USER, f"{samba.target}/source", back)
    equal("get -r of it into a directory that is made", (run.returncode, run.stderr), (0, ""))
    want = tree_of(source)
    got = tree_of(f"{back}/source")
    equal("everything is the same, with its times", {k: (want.get(k), got.get(k)) for k in want.keys() | got.keys()
                                                     if want.get(k) != got.get(k)}, {})
    equal("read-only stays read-only", oct(os.stat(f"{back}/source/many/file 7").st_mode & 0o777), "0o444")
    run = larder("get", "-r", "-u", "--json", "-o", USER, f"{samba.target}/source", back)
    equal("again with -u: nothing is copied", [figures(run).get(k) for k in ("files", "skipped", "bytes")], [0, 47, 0])
    equal("and no data was asked for", figures(run)["requests"]["READ"], 0)
    run = larder("put", "-r", "-u", "--json", "-o", USER, source, samba.target)
    equal("put -u: the same", [figures(run).get(k) for k in ("files", "skipped", "bytes")], [0, 47, 0])
    run = larder("get", "-r", "-o", USER, f"{samba.target}/source/", f"{work}/content")
    equal("a / at the end: what is in it", sorted(os.listdir(f"{work}/content")), sorted(os.listdir(source)))
    larder("get", "-r", "-o", USER, f"{samba.target}/source/many", f"{samba.target}/source/no/", f"{work}/two")
    equal("two sources into one directory", sorted(os.listdir(f"{work}/two")), ["many", "thing"])


def single_files(samba, work):
    data = os.urandom(3 * MIB)
    write(f"{work}/a.bin", data, 1_234_567_890_123_456_700)
    equal("put a file under a new name", larder("put", "-o", USER, f"{work}/a.bin", f"{samba.target}/b.bin").returncode, 0)
    equal("its time is the source's", os.stat(f"{samba.share}/b.bin").st_mtime_ns, 1_234_567_890_123_456_700)
    equal("get it under a third", larder("get", "-o", USER, f"{samba.target}/b.bin", f"{work}/c.bin").returncode, 0)
    check("it is the same", filecmp.cmp(f"{work}/a.bin", f"{work}/c.bin", shallow=False))
    run = subprocess.run([LARDER, "get", "-o", USER, f"{samba.target}/b.bin"], cwd=work, env=ENV)
    check("without a last argument: into the current directory", filecmp.cmp(f"{work}/b.bin", f"{work}/a.bin", shallow=False))
    run = larder("get", "-o", USER, f"{samba.target}/b.bin", "-", text=False)
    equal("get to standard output", run.stdout, data)
    run = subprocess.run([LARDER, "put", "-o", USER, "-", f"{samba.target}/in.bin"], input=data * 5, env=ENV)
    equal("put from standard input", (run.returncode, digest(f"{samba.share}/in.bin")), (0, hashlib.blake2b(data * 5).hexdigest()))
    os.mkfifo(f"{work}/pipe")
    writer = threading.Thread(target=lambda: write(f"{work}/pipe", data))
    writer.start()
    equal("put from a pipe", larder("put", "-o", USER, f"{work}/pipe", f"{samba.target}/pipe.bin").returncode, 0)
    writer.join()
    equal("is whole", digest(f"{samba.share}/pipe.bin"), hashlib.blake2b(data).hexdigest())
    write(f"{work}/-dash", b"dash")
    run = subprocess.run([LARDER, "put", "-o", USER, "--", "-dash", samba.target], cwd=work, env=ENV)
    check("a name with a dash, behind --", os.path.exists(f"{samba.share}/-dash"))
    env = {**ENV, "LARDER_PASSWORD": PASSWORD}
    run = subprocess.run(["sh", "-c", '"$@" >/dev/full', "sh", LARDER, "get", "-o", USER, f"{samba.target}/b.bin", "-"],
                         stderr=subprocess.PIPE, text=True, env=env)
    one_line("a full standard output", run, "standard output")


def requests(samba, work):
    write(f"{work}/big", os.urandom(64 * MIB))
    run = larder("put", "--json", "-o", USER, f"{work}/big", samba.target)
    put = figures(run)
    run = larder("get", "--json", "-o", USER, f"{samba.target}/big", f"{work}/big.back")
    got = figures(run)
    check("put: requests within 1.1 of bytes / MaxWriteSize", put["max_write"] >= 65536 and
          put["requests"]["WRITE"] <= 1.1 * 64 * MIB / put["max_write"], put)
    check("get: requests within 1.1 of bytes / MaxReadSize", got["max_read"] >= 65536 and
          got["requests"]["READ"] <= 1.1 * 64 * MIB / got["max_read"] + 1, got)
    check("and all is there", filecmp.cmp(f"{work}/big", f"{work}/big.back", shallow=False))
    run = larder("cp", "--json", "-o", USER, f"{samba.target}/big", f"{samba.target}/big copy")
    copied = figures(run)
    equal("cp on one share: no data comes through here", (copied["bytes"], copied["requests"]["WRITE"]), (64 * MIB, 0))
    check("but a look at the beginning", copied["requests"]["READ"] <= 1, copied["requests"])
    check("the copy is the same", filecmp.cmp(f"{work}/big", f"{samba.share}/big copy", shallow=False))


def many_small(samba, work):
    """At 40 ms a round trip, 160 files one after the other would need 160 x 2 round trips at the least. So far away, the way
    takes longer than a busy machine."""
    for i in range(160):
        write(f"{samba.share}/small/{i}", b"%d" % i * 100)
    own(samba)
    relay = Relay(samba, delay=0.02)
    for command, args in (("get", (f"{relay.target}/small", f"{work}/small")), ("put", (f"{work}/small/small", f"{relay.target}/small2"))):
        begun = time.monotonic()
        run = larder(command, "-r", "-o", USER, *args)
        took = time.monotonic() - begun
        equal(f"{command} of 160 small files from far away", (run.returncode, run.stderr), (0, ""))
        check(f"{command} does not wait for them one by one", took < 160 * 2 * 0.04, took)
    equal("and back again", tree_of(f"{samba.share}/small2/small"), tree_of(f"{samba.share}/small"))
    relay.cut()


def cut_off(samba, work):
    """Whatever ends a copy: the old file stays under the final name, the part is gone on with."""
    size = 80 * MIB
    write(f"{work}/long", os.urandom(size))
    shutil.copy(f"{work}/long", f"{samba.share}/long")
    own(samba)

    def stop_with(number):
        def act(relay, process):
            process.send_signal(number)
            time.sleep(0.5)  # until its handler has run
            relay.release()
        return act

    ways = {"SIGINT": stop_with(signal.SIGINT), "SIGKILL": stop_with(signal.SIGKILL),
            "a lost connection": lambda relay, process: relay.cut()}
    for what, end in ways.items():
        for command in ("get", "put"):
            if command == "get":
                where, final = f"{work}/in", f"{work}/in/long"
                args = lambda target: (f"{target}/long", f"{work}/in")
            else:
                where, final = f"{samba.share}/in", f"{samba.share}/in/long"
                args = lambda target: (f"{work}/long", f"{target}/in")
            shutil.rmtree(where, ignore_errors=True)
            write(final, b"the old one")
            own(samba)
            relay = Relay(samba, hold_at=48 * MIB)

            def act(process):
                relay.held.wait(60)
                end(relay, process)

            run = run_beside(act, command, "-o", f"{USER},timeo=20", *args(relay.target))
            name = f"{command} ended by {what}"
            if what == "SIGINT":
                check(f"{name}: as a signal ends a program", run.returncode == -signal.SIGINT, run.returncode)
                check(f"{name}: a line says that it can go on", ".part" in run.stderr and run.stderr.count("\n") == 1, run.stderr)
            elif what == "a lost connection":
                one_line(f"{name}: one line", run)
            equal(f"{name}: the old file stays", open(final, "rb").read(), b"the old one")
            equal(f"{name}: one part", len(parts(where)), 1)
            run = larder(command, "--json", "-o", USER, *args(samba.target))
            check(f"{name}: goes on", run.returncode == 0 and figures(run)["resumed"] >= MIB and
                  figures(run)["resumed"] + figures(run)["bytes"] == size, (run.stderr, figures(run)))
            equal(f"{name}: and is whole", digest(final), digest(f"{work}/long"))
            equal(f"{name}: no part is left", parts(where), [])
            relay.cut()


def changing_sources(samba, work):
    write(f"{work}/changing", os.urandom(40 * MIB))
    write(f"{work}/other", os.urandom(40 * MIB))
    for command, source, target in (("get", f"{samba.share}/changing", f"{work}/out"), ("put", f"{work}/changing", f"{samba.share}/out")):
        for what in ("grows", "shrinks", "is written to"):
            write(f"{samba.share}/changing", os.urandom(40 * MIB), 10 ** 18)
            own(samba)
            os.utime(f"{work}/changing", ns=(10 ** 18, 10 ** 18))
            write(f"{work}/changing", os.urandom(40 * MIB), 10 ** 18)
            shutil.rmtree(target, ignore_errors=True)
            os.mkdir(target)
            own(samba)
            relay = Relay(samba, hold_at=10 * MIB)

            def act(process):
                relay.held.wait(60)
                if what == "is written to" and command == "get":  # by another client: of that a server tells
                    subprocess.run(["smbclient", "-p", str(samba.port), f"-U{user_name()}%{PASSWORD}", "//127.0.0.1/share", "-c",
                                    f"put {work}/other changing"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)
                else:
                    with open(source, "r+b") as f:
                        if what == "grows":
                            f.seek(0, 2)
                            f.write(b"more")
                        elif what == "shrinks":
                            f.truncate(MIB)
                        else:
                            f.write(b"other")
                relay.release()

            args = (f"{relay.target}/changing", target) if command == "get" else (source, f"{relay.target}/out")
            # under a lease the other client would wait for the acknowledgement of one whose connection is held
            run = run_beside(act, command, "-o", f"{USER},Leases=false", *args)
            one_line(f"{command}: a source that {what} is named", run, "changing", "changed")
            equal(f"{command}: nothing of it is kept", os.listdir(target), [])
            relay.cut()


def no_room(samba, work):
    """A full disk here and on the server, as far as root can make small ones."""
    if os.getuid() != 0:
        return
    small = f"{work}/disk"
    os.mkdir(small)
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=20m", "tmpfs", small], check=True)
    try:
        write(f"{samba.share}/too large", os.urandom(32 * MIB))
        own(samba)
        run = larder("get", "-o", USER, f"{samba.target}/too large", small)
        one_line("a disk that fills during get", run, "No space left", "12.0 MiB are missing", ".part")
        equal("only a part is there", (len(parts(small)), len(os.listdir(small))), (1, 1))
        subprocess.run(["mount", "-o", "remount,size=60m", small], check=True)
        run = larder("get", "--json", "-o", USER, f"{samba.target}/too large", small)
        equal("with room the same command goes on", (run.returncode, figures(run).get("resumed")), (0, 20 * MIB))
        check("and it is whole", filecmp.cmp(f"{small}/too large", f"{samba.share}/too large", shallow=False))
    finally:
        subprocess.run(["umount", small], check=True)
    with Samba() as full:
        subprocess.run(["mount", "-t", "tmpfs", "-o", "size=20m", "tmpfs", full.share], check=True)
        try:
            full.start()
            write(f"{work}/too large", os.urandom(32 * MIB))
            run = larder("put", "-o", USER, f"{work}/too large", full.target)
            one_line("a server's disk that fills during put", run, "No space left", ".part")
            check("nothing stands under the final name", not os.path.exists(f"{full.share}/too large"))
        finally:
            subprocess.run(["umount", full.share], check=True)


def on_a_terminal(samba, work):
    """What get shows while it stands still half way, and at the end; with -q nothing."""
    write(f"{samba.share}/shown", os.urandom(64 * MIB))
    own(samba)
    for flags in ((), ("-q",)):
        relay = Relay(samba, hold_at=40 * MIB)
        child, terminal = pty.fork()
        if child == 0:
            os.environ["LARDER_PASSWORD"] = PASSWORD
            os.execv(LARDER, [LARDER, "get", *flags, "-o", USER, f"{relay.target}/shown", f"{work}/shown"])
        relay.held.wait(60)
        threading.Timer(2, relay.release).start()
        shown = b""
        try:
            while data := os.read(terminal, 4096):
                shown += data
        except OSError:  # the other end is closed
            pass
        name = "progress" + (" with -q" if flags else "")
        equal(f"{name}: done", os.waitpid(child, 0)[1], 0)
        text = shown.decode()
        if flags:
            equal(f"{name}: nothing is shown", text, "")
        else:
            check(f"{name}: share, bytes, rate and the name", re.search(r"\r *[1-9]\d* %  [\d.]+ MiB of 64.0 MiB  \d.*/s.*shown", text), text)
            check(f"{name}: the line goes, a sum stays", re.search(r"\r\x1b\[K1 file, 64.0 MiB in [\d.]+ s, .*/s\r\n$", text), text)
        relay.cut()


def links(samba, work):
    top = f"{work}/linked"
    write(f"{top}/file", b"content")
    os.symlink("file", f"{top}/link")
    os.symlink("/nowhere/at/all", f"{top}/broken")
    run = larder("put", "-r", "-o", USER, top, samba.target)
    check("links that a server cannot keep are named, the rest is copied", run.returncode == 1 and run.stderr.count("\n") == 2
          and "-L" in run.stderr and os.listdir(f"{samba.share}/linked") == ["file"], run.stderr)
    run = larder("put", "-r", "-o", f"{USER},mfsymlinks", top, f"{samba.target}/m")
    equal("with mfsymlinks they are kept", (run.returncode, run.stderr), (0, ""))
    run = larder("get", "-r", "-o", f"{USER},mfsymlinks", f"{samba.target}/m/linked", f"{work}/m")
    equal("and come back as links", (run.returncode, tree_of(f"{work}/m/linked")), (0, tree_of(top)))
    os.symlink("..", f"{top}/loop")
    run = larder("put", "-r", "-L", "-o", USER, top, f"{samba.target}/f")
    check("-L follows them, but not round in circles", run.returncode == 1 and "loop" in run.stderr
          and open(f"{samba.share}/f/linked/link").read() == "content", run.stderr)
    os.mkdir(f"{work}/into")
    os.symlink("/etc", f"{work}/into/m")
    run = larder("get", "-r", "-o", USER, f"{samba.target}/m", f"{work}/into")
    check("no tree is written through a link here", run.returncode == 1 and not os.path.exists("/etc/linked"), run.stderr)


def names_that_meet(samba, work):
    """Two sources, one file there: the second would replace the first without a word."""
    write(f"{work}/meet/Name", b"upper")
    write(f"{work}/meet/name", b"lower")
    write(f"{work}/meet/D/1", b"1")
    write(f"{work}/meet/d/2", b"2")
    os.mkdir(f"{work}/home")
    for again in ("", " again"):
        one_line(f"two names that the server takes for one{again}", larder("put", "-r", "-o", USER, f"{work}/meet", samba.target), "meet/name")
        equal(f"the first stays{again}", {p: digest(f"{samba.share}/meet/{p}") for p in ("Name", "D/1", "D/2")},
              {p: digest(f"{work}/meet/{p}") for p in ("Name", "D/1")} | {"D/2": digest(f"{work}/meet/d/2")})
    one_line("two files of one name", larder("put", "-o", USER, f"{work}/meet/D/1", f"{work}/meet/../meet/D/1", samba.target), "D/1")
    write(f"{samba.share}/meet/other/1", b"other")
    own(samba)
    one_line("two files of one name to here", larder("get", "-o", USER, f"{samba.target}/meet/D/1", f"{samba.target}/meet/other/1", f"{work}/home"),
             "other/1")
    equal("and the first is what is there", open(f"{work}/home/1", "rb").read(), b"1")


def streams(samba, work):
    os.mkfifo(f"{work}/fifo")
    threading.Thread(target=lambda: write(f"{work}/fifo", b"through"), daemon=True).start()
    run = larder("put", "-o", USER, f"{work}/fifo", samba.target)
    equal("a FIFO is read to its end", (run.returncode, open(f"{samba.share}/fifo", "rb").read()), (0, b"through"))
    run = run_beside(lambda p: (time.sleep(0.5), p.terminate()), "put", "-o", USER, f"{work}/fifo", f"{samba.target}/never")
    check("one signal ends the wait for somebody to write it", run.returncode == -signal.SIGTERM, run)
    check("and nothing is left", not [n for n in os.listdir(samba.share) if n.startswith("never")])
    run = larder("put", "-o", USER, "/proc/version", f"{samba.target}/version")
    equal("a file that says it is empty and is not is read all the same",
          (run.returncode, open(f"{samba.share}/version").read()), (0, open("/proc/version").read()))


def targets_that_are_no_file(samba, work):
    place = f"{work}/kinds"
    write(f"{samba.share}/one", b"what is in it")
    write(f"{samba.share}/tree-of-kinds/pipe", b"x")
    own(samba)
    write(f"{place}/led/to", b"before")
    os.mkfifo(f"{place}/pipe")
    os.symlink("led/to", f"{place}/link")
    os.symlink("pipe", f"{place}/to-pipe")
    for name in ("pipe", "to-pipe"):
        run = larder("get", "-o", USER, f"{samba.target}/one", f"{place}/{name}")
        one_line(f"a FIFO is not replaced ({name})", run, "pipe", "standard output")
        check("and is there", stat.S_ISFIFO(os.stat(f"{place}/{name}").st_mode))
    run = larder("get", "-o", USER, f"{samba.target}/one", f"{place}/link")
    equal("a link to a file is followed", (run.returncode, open(f"{place}/led/to", "rb").read()), (0, b"what is in it"))
    check("and stays a link", os.path.islink(f"{place}/link"))
    one_line("nor by one of a tree", larder("get", "-r", "-o", USER, f"{samba.target}/tree-of-kinds/", place), "pipe")
    check("and is there, and no part", stat.S_ISFIFO(os.stat(f"{place}/pipe").st_mode) and not parts(place), os.listdir(place))


def refusals(samba, work):
    write(f"{work}/file", b"x")
    one_line("a directory without -r", larder("get", "-o", USER, f"{samba.target}/source", work), "source", "-r")
    one_line("put of one", larder("put", "-o", USER, f"{work}/source", samba.target), "source", "-r")
    one_line("a file that is not there", larder("get", "-o", USER, f"{samba.target}/absent", work), "absent", "NOT_FOUND")
    one_line("put of one", larder("put", "-o", USER, f"{work}/absent", samba.target), "absent")
    one_line("a file where a directory is meant", larder("get", "-o", USER, f"{samba.target}/b.bin", f"{samba.target}/in.bin", f"{work}/file"),
             "file", "not a directory")
    one_line("a target's directory that is not there", larder("get", "-o", USER, f"{samba.target}/b.bin", f"{work}/no/such/x"), "no/such")
    one_line("a target directory that is not there", larder("put", "-o", USER, f"{work}/file", f"{samba.target}/no/such/"), "no/such")
    one_line("a directory into itself", larder("cp", "-r", "-o", USER, f"{samba.target}/source", f"{samba.target}/SOURCE/many"), "itself")
    one_line("a file onto itself", larder("cp", "-o", USER, f"{samba.target}/b.bin", f"{samba.target}/B.BIN"), "same file")
    one_line("two files to standard output", larder("get", "-o", USER, f"{samba.target}/b.bin", f"{samba.target}/in.bin", "-"), "one file", code=2)
    one_line("no target", larder("put", "-o", USER, f"{work}/file"), "//HOST/SHARE", code=2)
    one_line("nothing at all", larder("get"), "//HOST/SHARE", code=2)
    one_line("an unknown option", larder("get", "-o", USER, "--fast", samba.target), "--fast", code=2)
    bad = os.fsencode(f"{work}/bad/") + b"no\xffutf8"
    os.makedirs(f"{work}/bad/sub")
    open(bad, "wb").close()
    write(f"{work}/bad/sub/good", b"good")
    run = larder("put", "-r", "-o", USER, f"{work}/bad", samba.target, text=False)
    check("a name that the server cannot hold is named", run.returncode == 1 and b"utf8" in run.stderr, run.stderr)
    check("and the others are copied", os.path.exists(f"{samba.share}/bad/sub/good"))


with Samba() as samba, tempfile.TemporaryDirectory() as work:
    samba.start()
    for scene in (there_and_back, single_files, requests, many_small, cut_off, changing_sources, no_room,
                  on_a_terminal, links, names_that_meet, streams, targets_that_are_no_file, refusals):
        scene(samba, work)

with Samba("share:read only=yes") as samba, Samba() as other, tempfile.TemporaryDirectory() as work:
    write(f"{samba.share}/t/a", os.urandom(5 * MIB))
    write(f"{samba.share}/t/b", b"b")
    samba.start()
    other.start()
    one_line("put to a read-only share", larder("put", "-o", USER, f"{samba.share}/t/b", samba.target), "STATUS_ACCESS_DENIED")
    run = larder("cp", "-r", "-o", USER, f"{samba.target}/t", other.target)
    equal("cp from one server to another", (run.returncode, tree_of(f"{other.share}/t")), (0, tree_of(f"{samba.share}/t")))

finish()
