#!/usr/bin/env python3
"""larder explain and drop: what is shown of a belief is what it is, what is said to be sent is what is sent, and to ask changes
nothing."""
import collections
import json
import os
import re
import subprocess
import sys
import time

from bed import PASSWORD, Samba, check, equal, finish, larder, mounted, newer_samba, stats, user_name, wait_until


def explain(path):
    run = larder("explain", "--json", path)
    return json.loads(run.stdout) if run.returncode == 0 else run.stderr


def counted(place):
    """All that a question may change."""
    s = stats(place)
    return {k: s[k] for k in ("requests", "responses", "round_trips", "cache", "caches", "events")} | {"upcalls": s["mount"]["upcalls"]}


def requests(place):
    return collections.Counter({k: v for k, v in stats(place)["requests"].items() if v and k not in ("ECHO", "CHANGE_NOTIFY")})


def told(shown, call):
    return collections.Counter(r for step in shown["next"][call] for r in re.split(r"[+, ]+", step["requests"]))


def steps(shown, call):
    return [(s["step"], s["path"]) for s in shown["next"][call]]


CALLS = {"stat": lambda p: os.path.lexists(p), "list": os.listdir, "open": lambda p: os.close(os.open(p, os.O_RDONLY))}


def as_told(what, place, path, call, expected_steps=None):
    """Explains, does it, and compares."""
    shown = explain(path)
    if expected_steps is not None:
        equal(f"{what}: {call} is to send", steps(shown, call), expected_steps)
    want = requests(place) + told(shown, call)
    if call == "open" and told(shown, call):
        want["CLOSE"] += 1  # when it is closed
    CALLS[call](path)
    check(f"{what}: {call} sends what it is told to", wait_until(lambda: requests(place) == want), (requests(place), want))
    return shown


def until_the_maximum_age(shown, age):
    listed = shown["beliefs"]["listed"]
    check("until the maximum age", abs(listed["age_s"] + listed["valid_s"] - age) < 0.1, listed)


def by_another(samba, command):
    subprocess.run(["smbclient", "-p", str(samba.port), f"-U{user_name()}%{PASSWORD}", "//127.0.0.1/share", "-c", command],
                   check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def time_alone(samba):
    with mounted(samba, "Leases=false,Watches=false,actimeo=600") as place:
        f, missing = f"{place}/lib/a.txt", f"{place}/other/missing"
        nothing = counted(place)
        shown = explain(f)
        equal("nothing is known at first", (shown["kind"], shown["answered"], shown["whole"]), ("unknown", False, True))
        equal("and no cache holds anything", [b["held"] for b in shown["beliefs"].values()], [False] * 4)
        equal("the reason is that", {b["why_not"] for b in shown["beliefs"].values()}, {"absent"})
        for path in (place, f, missing, f"{place}/no/such/path", f"{place}/a b%20\n\udcff"):
            explain(path)
            larder("explain", path, errors="surrogateescape")
        equal("to explain changes no count, and never reaches the mounted directory", counted(place), nothing)

        as_told("of the mounted directory", place, place, "list", [("STAT", ""), ("LIST", "")])
        as_told("in a listed directory", place, f, "stat", [("LIST", "lib")])
        shown = as_told("a name in a listing", place, f, "stat", [])
        belief = shown["beliefs"]["listed"]
        equal("its belief", (belief["says"], belief["entries"], belief["trust"], belief["answers"]), ("listed", 2, "time", True))
        check("has an age and an end", 0 <= belief["age_s"] <= 600 - belief["valid_s"] + 0.01, belief)
        equal("the attributes", (shown["beliefs"]["info"]["from_listing"], shown["beliefs"]["info"]["size"]), (True, 1234))
        equal("by the directory cache", (shown["kind"], shown["answered"], shown["answered_by"]), ("file", True, "dir"))
        equal("the directory's own last miss", explain(place)["beliefs"]["listing"]["last_miss"]["reason"], "absent")
        shown = as_told("a name that is not listed", place, f"{place}/lib/no", "stat", [])
        equal("is known to be missing", (shown["kind"], shown["beliefs"]["listed"]["says"]), ("missing", "not listed"))
        shown = explain(f"{place}/lib/no/deep/er")
        equal("and all beneath", (shown["kind"], shown["whole"], shown["components"], shown["next"]["open"]), ("missing", False, 2, []))
        equal("beneath a file", explain(f"{f}/x")["kind"], "beneath a file")
        as_told("of a small file", place, f, "open", [("OPEN", "lib/a.txt")])
        equal("a file cannot be listed", explain(f)["next"]["list"], None)
        as_told("of a directory", place, f"{place}/lib", "list", [])
        as_told("of a directory that only its parent's listing has", place, f"{place}/lib/sub", "list", [("LIST", "lib/sub")])

        for dropped in (f, f"{place}/lib", place):
            os.stat(f)
            before = requests(place)
            os.stat(f)
            equal("what is believed is not asked for", requests(place), before)
            equal("the kernel is told", json.loads(larder("drop", "--json", dropped).stdout)["kernel_told"], True)
            check(f"and forgets, too, with {dropped[len(place):] or 'everything'}",
                  wait_until(lambda: os.stat(f) and requests(place) != before), before)

        text = larder("explain", f)
        equal("the text", (text.returncode, text.stderr), (0, ""))
        check("shows the same", all(t in text.stdout for t in ("lib/a.txt", "1,234 bytes", "time", "next stat    sends nothing", "OPEN")), text.stdout)
        check("in a table that is at most 120 wide", max(len(line) for line in text.stdout.split("\n")) <= 120, text.stdout)
        odd = explain(f"{place}/a b%20\n\udcff")
        equal("a path of any bytes", (odd["path_hex"], odd["kind"]), ("a b%20\n\udcff".encode(errors="surrogateescape").hex(), "unknown"))
        check("is shown without moving the cursor", larder("explain", f"{place}/a\n\x1b[2Jb").stdout.count("a??[2Jb") >= 1)


def profiles(samba):
    for profile, step in (("23h2", "LIST"), ("25h2", "SEARCH"), ("off", "STAT")):
        with mounted(samba, f"profile={profile}") as place:
            about = {"LIST": "", "SEARCH": "", "STAT": "lib"}[step]
            shown = explain(f"{place}/lib")
            equal(f"{profile}: the first step", steps(shown, "stat")[0], (step, about if step != "SEARCH" else ""))
            for path in ("lib/a.txt", "lib/a.txt", "lib/sub"):
                as_told(f"{profile}, {path}", place, f"{place}/{path}", "stat")
            shown = as_told(f"{profile}, an open", place, f"{place}/lib/a.txt", "open")
            equal(f"{profile}: the kernel keeps nothing", shown["kernel_keeps"], False)


def watched(samba):
    """What the server promised to tell of is believed beyond the lifetime."""
    with mounted(samba, "Leases=false,Watches=true,actimeo=1,CacheMaxAge=60") as place:
        f = f"{place}/lib/a.txt"
        check("the server tells of changes", wait_until(lambda: stats(place)["watch"]["state"] == "watching"))
        os.listdir(place), os.listdir(f"{place}/lib"), os.stat(f)
        time.sleep(1.1)  # a lifetime
        shown = as_told("under a watch", place, f"{place}/lib/sub", "stat", [])
        equal("on whose word", [shown["beliefs"][b]["trust"] for b in ("listed", "info")], ["watch", "watch"])
        shown = as_told("a file's size, which it does not tell of", place, f, "stat", [("LIST", "lib")])
        equal("is not believed any more, its name is", (shown["beliefs"]["listed"]["trust"], shown["beliefs"]["info"]["answers"]), ("watch", False))
        until_the_maximum_age(shown, 60)
        by_another(samba, "rm lib/sub/gone; cd lib; put /etc/hostname new")
        check("what was told of is in doubt", wait_until(lambda: explain(f"{place}/lib/new")["beliefs"]["listed"].get("why_not") == "changed"))
        in_lib = lambda path, call: [s for s in steps(explain(path), call) if s[1] != ""]  # of its own times the root's listing is in doubt
        equal("and asked for alone", in_lib(f"{place}/lib/new", "stat"), [("STAT", "lib/new")])
        equal("others are not", in_lib(f"{place}/lib/none", "stat"), [])
        equal("a whole listing is", in_lib(f"{place}/lib", "list"), [("LIST", "lib")])
        os.listdir(f"{place}/lib")

        time.sleep(1.1)
        before = requests(place)
        run = larder("drop", f)
        check("drop says what went", run.returncode == 0 and "forgotten: 0 listings" in run.stdout, run.stdout)
        equal("and sends nothing", requests(place), before)
        as_told("after drop, of a sibling", place, f"{place}/lib/sub", "stat", [])
        shown = as_told("after drop", place, f, "stat", [("STAT", "lib/a.txt")])
        equal("the reason", shown["beliefs"]["info"]["why_not"], "dropped")
        shown = json.loads(larder("drop", "--json", f"{place}/lib").stdout)
        check("a directory goes with all beneath", shown["dropped"]["dir"] == 1 and shown["dropped"]["info"] >= 1, shown)
        equal("the root's listing stays", explain(place)["beliefs"]["listing"]["held"], True)
        run = larder("drop", cwd=place)
        check("without a path everything goes", run.returncode == 0 and "1 listing," in run.stdout, run.stdout)
        equal("it is all gone", {b["held"] for p in (place, f) for b in explain(p)["beliefs"].values()}, {False})
        invalidated = stats(place)["cache"]
        time.sleep(1.1)
        as_told("after all is forgotten", place, f, "stat", [("LIST", ""), ("LIST", "lib")])
        equal("and the miss has its reason", stats(place)["cache"]["dir"]["miss"].get("dropped", 0), invalidated["dir"]["miss"].get("dropped", 0) + 2)


def verification(samba):
    with mounted(samba, "Leases=false,Watches=true,actimeo=1,CacheMaxAge=4") as place:
        check("it watches", wait_until(lambda: stats(place)["watch"]["state"] == "watching"))
        os.stat(f"{place}/lib")
        time.sleep(2.2)  # times are worth something once they are old
        os.listdir(f"{place}/lib")
        check("an old listing is to be verified", wait_until(lambda: steps(explain(f"{place}/lib"), "list")[-1:] == [("VERIFY", "lib")], 15),
              explain(f"{place}/lib"))
        os.listdir(f"{place}/lib")
        shown = explain(f"{place}/lib")["beliefs"]["listing"]
        check("and is then as good as new", shown["answers"] and shown["verified_s"] < shown["age_s"], shown)
        text = larder("stats", place).stdout
        check("stats tells of it", re.search(r"watch +watching, .*\bunchanged 1, changed 0", text), text)
        check("and on whose word hits were", re.search(r"by watch", text), text)


def leased(samba):
    """With the newer Samba: leases of directories, and handles that are kept."""
    with mounted(samba, "actimeo=1,CacheMaxAge=60") as place:
        f = f"{place}/lib/a.txt"
        os.listdir(place), os.listdir(f"{place}/lib")
        open(f, "rb").read()
        check("directories are leased", wait_until(lambda: stats(place)["leases"]["dormant"]["directories"] >= 2), stats(place)["leases"])
        shown = as_told("under a lease", place, f, "stat", [])
        equal("on whose word", [shown["beliefs"][b]["trust"] for b in ("listed", "info")], ["lease", "lease"])
        until_the_maximum_age(shown, 60)
        equal("a kept handle costs no open", steps(explain(f), "open"), [])
        larder("drop", f"{place}/lib")
        shown = explain(f"{place}/lib")
        equal("it is forgotten also under a lease", shown["beliefs"]["listing"]["why_not"], "dropped")
        equal("and listed again by the handle that is kept", shown["next"]["list"][-1]["requests"], "QUERY_DIRECTORY+QUERY_DIRECTORY")
        before = requests(place)
        check("which it is", wait_until(lambda: os.listdir(f"{place}/lib") and requests(place)["QUERY_DIRECTORY"] >= before["QUERY_DIRECTORY"] + 2), requests(place) - before)


def errors(place):
    for args, code, says in ((("explain", "/tmp"), 1, "on no mount of larder"), (("drop", "/no/such"), 1, "on no mount of larder"), (("explain",), 2, "give one path"),
                             (("explain", place, place), 2, "give one path"), (("drop", "--nonsense"), 2, "unknown option"), (("drop",), 1, "on no mount")):
        run = larder(*args, cwd="/")
        check(f"{' '.join(args)} fails in one line", run.returncode == code and run.stderr.count("\n") == 1 and says in run.stderr, (run.returncode, run.stderr))


def fill(samba):
    for d in ("lib/sub", "other"):
        os.makedirs(f"{samba.share}/{d}")
    for name, size in (("lib/a.txt", 1234), ("lib/sub/gone", 1)):
        with open(f"{samba.share}/{name}", "wb") as out:
            out.write(b"x" * size)
    if os.getuid() == 0:
        subprocess.run(["chown", "-R", user_name(), samba.share], check=True)
    old = time.time() - 100
    for d in ("lib/sub", "lib", "other", "."):
        os.utime(f"{samba.share}/{d}", (old, old))


root = sys.argv[2] if len(sys.argv) > 2 else None
if root and not newer_samba(root):
    sys.exit(77)
with Samba(root=root) as samba:
    samba.start()
    fill(samba)
    for scene in (leased,) if root else (time_alone, profiles, watched, verification):
        scene(samba)
    errors("/")
finish()
