#!/usr/bin/env python3
"""Leases: what another client changes is seen at once, what nobody changes costs nothing for as long as it is promised, own
changes break nothing, and the handles that are kept stay within their bounds and in nobody's way.

    leases.py LARDER [NEWER]

NEWER: with the newer Samba that is in there (newer-samba.sh makes it), which leases directories, too."""
import os
import re
import shutil
import subprocess
import sys
import threading
import time

from bed import PASSWORD, Samba, check, equal, finish, larder, mounted, newer_samba, stats, user_name, wait_until

NEWER = sys.argv[2] if len(sys.argv) > 2 else None
OPTIONS = "Watches=false,actimeo=1,CacheMaxAge=60"  # by leases alone


def by_smbclient(samba, *commands):
    run = subprocess.run(["smbclient", "-p", str(samba.port), f"-U{user_name()}%{PASSWORD}", "//127.0.0.1/share", "-c", ";".join(commands)],
                         stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=60)
    return run.returncode, run.stdout


def requests(place):
    return {k: v for k, v in stats(place)["requests"].items() if v and k not in ("ECHO", "CHANGE_NOTIFY")}


def leases(place):
    return stats(place)["leases"]


def costs(place, call):
    before = requests(place)
    call()
    after = requests(place)
    return {k: v - before.get(k, 0) for k, v in after.items() if v > before.get(k, 0)}


def put(path, text):
    with open(path, "w") as f:
        f.write(text)


def get(path):
    with open(path) as f:
        return f.read()


def names(path):
    return sorted(os.listdir(path))


def fill(samba, directory, count):
    """Made on the server's disk, and old enough for its clock."""
    top = f"{samba.share}/{directory}"
    os.makedirs(f"{top}/sub")
    for i in range(count):
        put(f"{top}/f{i:03}", f"{i} " * 20)
    if os.getuid() == 0:
        subprocess.run(["chown", "-R", user_name(), samba.share], check=True)
    return [f"f{i:03}" for i in range(count)]


def opens_on_server(samba):
    """As smbstatus counts them."""
    command = ["smbstatus", f"--configfile={samba.dir}/smb.conf", "-L"]
    if NEWER:
        command = ["nsenter", "-m", "-t", str(samba.processes()[0]), "chroot", NEWER] + command
    out = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, timeout=60).stdout
    return sum(1 for line in out.splitlines() if re.match(r"\d+ ", line))


# ---- what nobody changes ----

def unchanged(samba):
    files = fill(samba, "still", 20)
    with mounted(samba, OPTIONS) as place:
        d = f"{place}/still"
        equal("leases are asked for", (leases(place)["files"], leases(place)["directories"]), (True, bool(NEWER)))
        before, text = names(d), get(f"{d}/f001")
        time.sleep(2.5)  # the lifetimes are over
        equal("a file that was read is read again without a request", (get(f"{d}/f001"), text), ("1 " * 20,) * 2)
        reopened = leases(place)["reopened"]
        for _ in range(3):
            wait_until(lambda: leases(place)["dormant"]["files"])  # a release comes after its close(2)
            get(f"{d}/f001")
        # what nobody promises, the attributes of the directories, may have to be asked for meanwhile
        equal("as often as one likes, by the handle that is kept", leases(place)["reopened"] - reopened, 3)
        if NEWER:
            for what, call in (("a listing is believed beyond its lifetime", lambda: equal("it is whole", names(d), before)),
                               ("and says what is missing", lambda: os.path.exists(f"{d}/none"))):
                time.sleep(1.1)  # then the directory's own attributes are asked for, and they alone
                equal(what, costs(place, lambda: (os.stat(d), call())), {"CREATE": 1, "QUERY_INFO": 1, "CLOSE": 1})
        equal("nothing was broken", leases(place)["broken"], 0)
        text = larder("stats", place).stdout
        check("larder stats tells of it", re.search(r"leases +asked \d+, granted \d+, broken 0", text) and "handles kept" in text, text)
    with mounted(samba, f"Leases=false,{OPTIONS}") as place:
        for _ in range(2):
            names(f"{place}/still"), get(f"{place}/still/f001")
        shown = leases(place)
        equal("with Leases=false none is asked for", (shown["files"], shown["directories"], shown["asked"]), (False, False, 0))
        check("and none is told of", "leases" not in larder("stats", place).stdout.split("\n\n")[-2])


# ---- what others change ----

def changed_by(samba, who, place, d, there, tag):
    """there(command, ...) changes the server by another way. Everything in d is listed and open here before."""
    files = [n for n in names(d) if n != "sub"]
    for n in files:
        get(f"{d}/{n}")
    names(f"{d}/sub")
    soon = (lambda call: wait_until(call, 5)) if NEWER else (lambda call: wait_until(call, 8))
    here = f"{samba.share}/{tag}"

    equal(f"{who}: a file that is kept open can be written", there("write", files[0]), 0)
    check(f"{who}: and is seen", soon(lambda: get(f"{d}/{files[0]}") == "written by another"), get(f"{d}/{files[0]}"))
    equal(f"{who}: removed", there("remove", files[1]), 0)
    check(f"{who}: it is gone at once", not os.path.exists(f"{here}/{files[1]}"))
    equal(f"{who}: and made anew", there("write", files[1]), 0)
    check(f"{who}: which is seen", soon(lambda: get(f"{d}/{files[1]}") == "written by another"))
    equal(f"{who}: renamed", there("rename", files[2], "renamed"), 0)
    check(f"{who}: which is seen by both names", soon(lambda: os.path.exists(f"{d}/renamed") and not os.path.exists(f"{d}/{files[2]}")))
    equal(f"{who}: what it was is read by its new name", get(f"{d}/renamed"), "2 " * 20)
    equal(f"{who}: a directory that is kept open can be removed", there("rmdir", "sub"), 0)
    check(f"{who}: which is seen", soon(lambda: "sub" not in names(d)), names(d))
    equal(f"{who}: and made anew", there("mkdir", "sub"), 0)
    check(f"{who}: which is seen, too", soon(lambda: "sub" in names(d)), names(d))
    equal(f"{who}: in the end both see the same", names(d), names(here))
    check(f"{who}: the server has told", leases(place)["broken"] >= 3, leases(place))
    equal(f"{who}: and no more is acknowledged than was broken", leases(place)["acknowledged"] <= leases(place)["broken"], True)


def others(samba):
    fill(samba, "smbclient", 10)
    fill(samba, "mount", 10)
    put(f"{samba.dir}/text", "written by another")
    with mounted(samba, OPTIONS) as place, mounted(samba, OPTIONS) as other:
        def client(command, name, to=""):
            said = {"write": f"put {samba.dir}/text smbclient/{name}", "remove": f"del smbclient/{name}",
                    "rename": f"rename smbclient/{name} smbclient/{to}", "rmdir": f"rmdir smbclient/{name}", "mkdir": f"mkdir smbclient/{name}"}
            code, text = by_smbclient(samba, said[command])
            return code if "NT_STATUS" not in text else text

        def second(command, name, to=""):
            path = f"{other}/mount/{name}"
            {"write": lambda: put(path, "written by another"), "remove": lambda: os.unlink(path), "mkdir": lambda: os.mkdir(path),
             "rename": lambda: os.rename(path, f"{other}/mount/{to}"), "rmdir": lambda: os.rmdir(path)}[command]()
            return 0

        changed_by(samba, "smbclient", place, f"{place}/smbclient", client, "smbclient")
        changed_by(samba, "a second mount", place, f"{place}/mount", second, "mount")
        equal("there is no fault", stats(place)["faults"] + stats(other)["faults"], [])


def behind_the_back(samba):
    """On the server's own disk, which breaks nothing: the maximum age holds."""
    files = fill(samba, "disk", 5)
    old = time.time() - 100
    os.utime(f"{samba.share}/disk", (old, old))
    with mounted(samba, "Watches=false,actimeo=1,CacheMaxAge=3") as place:
        d, there = f"{place}/disk", f"{samba.share}/disk"
        names(d)
        for n in files:
            get(f"{d}/{n}")
        put(f"{there}/{files[0]}.new", "another file")
        os.rename(f"{there}/{files[0]}.new", f"{there}/{files[0]}")
        put(f"{there}/new", "new")
        same = get(f"{there}/{files[1]}").upper().replace("1", "3")  # of the same size: only its time tells, once nobody has it open
        put(f"{there}/{files[1]}", same)
        began = time.monotonic()
        check("a file that was replaced on the server's disk is found by its age", wait_until(lambda: get(f"{d}/{files[0]}") == "another file", 10))
        check("and a new one", wait_until(lambda: "new" in names(d), 10))
        check("and one that was rewritten, though its handle is used all the time", wait_until(lambda: get(f"{d}/{files[1]}") == same, 10))
        changed = int(os.stat(f"{there}/{files[1]}").st_mtime)
        check("its time is the server's once its attributes are as old", wait_until(lambda: int(os.stat(f"{d}/{files[1]}").st_mtime) == changed, 10),
              (os.stat(f"{d}/{files[1]}").st_mtime, changed))
        check("in time", time.monotonic() - began < 8, time.monotonic() - began)


# ---- own changes ----

def own(samba):
    fill(samba, "own", 20)
    with mounted(samba, OPTIONS) as place:
        d = f"{place}/own"
        before = set(names(d))
        for n in before - {"sub"}:
            get(f"{d}/{n}")
        put(f"{d}/made", "made")
        os.mkdir(f"{d}/dir")
        os.rename(f"{d}/made", f"{d}/moved")
        os.rename(f"{d}/dir", f"{d}/directory")
        os.unlink(f"{d}/f000")
        os.truncate(f"{d}/f001", 3)
        os.utime(f"{d}/f002", (1e9, 1e9))
        os.chmod(f"{d}/f003", 0o444)
        with open(f"{d}/f004", "a") as f:
            f.write("more")
        os.replace(f"{d}/f005", f"{d}/f006")
        os.rmdir(f"{d}/sub")
        want = before - {"f000", "f005", "sub"} | {"moved", "directory"}
        spent = costs(place, lambda: equal("own changes are in the listing", set(names(d)), want))
        check("which is free where the server leases directories", not NEWER or "QUERY_DIRECTORY" not in spent, spent)
        equal("and in the attributes", (os.stat(f"{d}/f001").st_size, os.stat(f"{d}/f002").st_mtime, os.stat(f"{d}/f003").st_mode & 0o222,
                                        os.stat(f"{d}/f004").st_size, get(f"{d}/f006")), (3, 1e9, 0, 44, "5 " * 20))
        equal("which is so on the server", set(names(f"{samba.share}/own")), want)
        equal("none of our leases broke", leases(place)["broken"], 0)
        os.chmod(f"{d}/f003", 0o644)
        os.rename(f"{d}/f007", f"{d}/directory/f007")
        equal("a rename across directories is seen in both", ("f007" in names(d), names(f"{d}/directory")), (False, ["f007"]))

        for top, _, inside in os.walk(d):  # everything is kept open
            for n in inside:
                get(f"{top}/{n}")
        run = subprocess.run(["rm", "-r", d], stderr=subprocess.PIPE, text=True)
        equal("a tree that was just walked and read is removed", (run.returncode, run.stderr, os.path.exists(f"{samba.share}/own")), (0, "", False))
        equal("and no handle is left", leases(place)["dormant"]["files"], 0)


def moved_with_what_is_in_it(samba):
    fill(samba, "tree/a/b", 5)
    with mounted(samba, OPTIONS) as place:
        for top, _, inside in os.walk(f"{place}/tree"):
            for n in inside:
                get(f"{top}/{n}")
        os.rename(f"{place}/tree/a", f"{place}/tree/c")
        equal("a directory is renamed with all that is kept open in it", get(f"{place}/tree/c/b/f001"), "1 " * 20)
        check("and its old name is gone", not os.path.exists(f"{place}/tree/a"))


def moved_by_another(samba):
    """Nobody has anything open in it, and what is only kept is in nobody's way."""
    tops = [f"moved/{i}" for i in range(12)]
    inside = ("sub/file", "sub/deep/file")
    for top in tops:
        os.makedirs(f"{samba.share}/{top}/sub/deep")
        for n in inside:
            put(f"{samba.share}/{top}/{n}", n)
    if os.getuid() == 0:
        subprocess.run(["chown", "-R", user_name(), samba.share], check=True)
    with mounted(samba, OPTIONS) as place, mounted(samba, f"{OPTIONS},timeo=600") as other:
        for top in tops:
            for _ in range(2):
                for d in ("", "/sub", "/sub/deep"):
                    names(f"{place}/{top}{d}")
                for n in inside:
                    get(f"{place}/{top}/{n}")
        check("their handles are kept", wait_until(lambda: leases(place)["dormant"]["files"] == 2 * len(tops)), leases(place))
        began, refused = time.monotonic(), []
        for top in tops:
            try:
                os.rename(f"{other}/{top}/sub", f"{other}/{top}/renamed")
            except OSError as e:
                refused.append((top, e.strerror))
        equal("a directory is renamed by another while handles are kept in it", refused, [])
        check("which waits for no time-out of the server", time.monotonic() - began < 30, time.monotonic() - began)
        check("what is beneath was closed before the server asked for it", leases(place)["broken"] <= 2 * len(tops), leases(place))
        equal("what was in it is read there", [get(f"{place}/{top}/{n.replace('sub', 'renamed', 1)}") for top in tops for n in inside],
              list(inside) * len(tops))


def replaced_by_another(samba):
    """As editors save: a rename over what a program of another client has open."""
    fill(samba, "saved", 1)
    with mounted(samba, OPTIONS) as place, mounted(samba, OPTIONS) as other:
        with open(f"{place}/saved/f000") as reader:
            was = reader.read()
            put(f"{other}/saved/new", "new")
            os.rename(f"{other}/saved/new", f"{other}/saved/f000")
            equal("a file that another client has open is replaced", get(f"{other}/saved/f000"), "new")
            check("which he sees, too", wait_until(lambda: get(f"{place}/saved/f000") == "new"))
            reader.seek(0)
            equal("what he had open is what it was", reader.read(), was)
        shown = [names(f"{d}/saved") for d in (place, other)]
        equal("neither sees another name", shown, [["f000", "sub"]] * 2)
        check("and none is left", wait_until(lambda: names(f"{samba.share}/saved") == ["f000", "sub"]), names(f"{samba.share}/saved"))


def made_anew(samba):
    """What another client has open keeps its name when it is removed, but a reader closes soon."""
    def exclusive(path):
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY))

    fill(samba, "anew", 4)
    with mounted(samba, OPTIONS) as place, mounted(samba, OPTIONS) as other:
        put(f"{other}/anew/more", "more")
        makes = [lambda path: put(path, "new"), exclusive, os.mkdir]
        if NEWER:  # an older Samba lets it go at once, and then removes what took its place
            makes.append(lambda path: os.rename(f"{other}/anew/more", path))
        for i, make in enumerate(makes):
            reader = open(f"{place}/anew/f{i:03}")
            os.unlink(f"{other}/anew/f{i:03}")
            closer = threading.Timer(0.3, reader.close)
            closer.start()
            try:
                make(f"{other}/anew/f{i:03}")
                said = "made"
            except OSError as e:
                said = e.strerror
            closer.join()
            equal("what was removed while another client reads it is made anew", said, "made")
        equal("and stays", names(f"{samba.share}/anew"), ["f000", "f001", "f002", "f003"] + ([] if NEWER else ["more"]) + ["sub"])


# ---- bounds ----

def bounded(samba):
    for i in range(60):
        os.makedirs(f"{samba.share}/many/d{i:02}")
        put(f"{samba.share}/many/d{i:02}/file", f"{i}")
    if os.getuid() == 0:
        subprocess.run(["chown", "-R", user_name(), samba.share], check=True)
    with mounted(samba, f"{OPTIONS},DormantFileLimit=10") as place:
        for i in range(60):
            equal_quietly(names(f"{place}/many/d{i:02}"), ["file"])
            equal_quietly(get(f"{place}/many/d{i:02}/file"), f"{i}")
            if i % 20 == 19:
                kept = leases(place)["dormant"]
                check("at most so many handles are kept as the limit says", kept["files"] + kept["directories"] == 10, kept)
                check("and the server counts no more", wait_until(lambda: 1 <= opens_on_server(samba) <= 10, 5), opens_on_server(samba))
        check("the others were given up for room", leases(place)["given_up"]["room"] >= 50, leases(place))
    with mounted(samba, f"{OPTIONS},DormantDirectoryTimeout=1") as place:
        names(f"{place}/many/d00"), get(f"{place}/many/d00/file")
        check("what nobody uses is closed in time", wait_until(lambda: leases(place)["given_up"]["age"] >= (2 if NEWER else 1), 10), leases(place))
        check("and nothing is open on the server", wait_until(lambda: opens_on_server(samba) == 0, 10), opens_on_server(samba))


def equal_quietly(got, want):
    if got != want:
        equal("a walk finds everything", got, want)


# ---- two who want the same ----

ROUNDS = 20


def rewrite(place, who, failed, both):
    d = f"{place}/storm"
    try:
        names(d)
        both.wait(60)  # each has its lease before the other's first change
        for i in range(ROUNDS):
            put(f"{d}/{who}", f"{who} {i}")
            if get(f"{d}/{who}") != f"{who} {i}":
                failed.append(f"{who} read something else in round {i}")
            os.replace(f"{d}/{who}", f"{d}/{who}.done")
            if f"{who}.done" not in names(d):
                failed.append(f"{who} misses its own file in round {i}")
            os.unlink(f"{d}/{who}.done")
    except (OSError, threading.BrokenBarrierError) as e:
        failed.append(f"{who}: {e!r}")


def storm(samba, options):
    with mounted(samba, options) as a, mounted(samba, options) as b:
        failed, both = [], threading.Barrier(2)
        threads = [threading.Thread(target=rewrite, args=(place, who, failed, both)) for place, who in ((a, "one"), (b, "two"))]
        began = stats(a)["round_trips"] + stats(b)["round_trips"]
        for t in threads:
            t.start()
        for t in threads:
            t.join(120)
        equal(f"{options}: both get through", (failed, [t.is_alive() for t in threads]), ([], [False, False]))
        return stats(a)["round_trips"] + stats(b)["round_trips"] - began, [leases(place) for place in (a, b)]


def storms(samba):
    os.mkdir(f"{samba.share}/storm")
    if os.getuid() == 0:
        shutil.chown(f"{samba.share}/storm", user_name())
    trips, shown = storm(samba, OPTIONS)
    off, _ = storm(samba, "profile=off")
    check("two mounts that rewrite one directory need at most three times the round trips of profile off", trips <= 3 * off, (trips, off))
    check("a lease of theirs broke", not NEWER or any(one["broken"] for one in shown), shown)


if NEWER:
    version = newer_samba(NEWER)
    if not version:
        sys.exit(77)
    print(version, flush=True)
with Samba(root=NEWER) as samba:
    samba.start()
    for test in (unchanged, others, behind_the_back, own, moved_with_what_is_in_it, replaced_by_another, made_anew, bounded, storms) + ((moved_by_another,) if NEWER else ()):
        print(f"-- {test.__name__.replace('_', ' ')}", flush=True)
        test(samba)
finish()
