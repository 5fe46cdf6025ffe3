#!/usr/bin/python3
"""Never silently dead: a cache that is on and never hits is reported with reason and remedy, in the log of the mount
and in stats; the events file says what each cache did, in Windows' names and numbers."""
import json
import os
import subprocess
import tempfile

from bed import LARDER, PASSWORD, Samba, check, equal, finish, larder, mounted, stats, user_name, wait_until

NAMES = {30501: "SmbUpdateInfoCache", 30502: "SmbFetchInfoCache", 30504: "SmbUpdateFNFCache", 30505: "SmbFetchFNFCache",
         30507: "SmbPopulateDirCache", 30508: "SmbFetchDirCache"}


def probe(place, turns):
    for i in range(turns):
        os.path.exists(f"{place}/dir/file{i % 50}")
        os.path.exists(f"{place}/dir/absent{i}")


with Samba() as samba, tempfile.TemporaryDirectory() as work:
    os.mkdir(f"{samba.share}/dir")
    for i in range(50):
        open(f"{samba.share}/dir/file{i}", "w").close()
    samba.start()

    # a bound that no listing fits into: the directory cache is on and can never answer
    place, log = f"{work}/mnt", f"{work}/log"
    os.mkdir(place)
    with open(log, "w") as out:
        daemon = subprocess.Popen([LARDER, "mount", "-f", samba.target, place, "-o",
                                   f"user={user_name()},profile=23h2,DirectoryCacheEntrySizeMax=64"],
                                  stdin=subprocess.DEVNULL, stdout=out, stderr=out, env={**os.environ, "LARDER_PASSWORD": PASSWORD})
    check("the mount comes up", wait_until(lambda: os.path.ismount(place)))
    probe(place, 300)
    shown = stats(place)
    fault = " ".join(f for f in shown["faults"] if f.startswith("directory cache"))
    check("stats has the fault", fault, shown["faults"])
    check("with its reason and the setting to change", "too" in fault and "DirectoryCacheEntrySizeMax" in fault, fault)
    equal("the cache never hit", shown["cache"]["dir"]["hit"], 0)
    check("and says why", shown["cache"]["dir"]["miss"].get("too-large", 0) > 100, shown["cache"]["dir"]["miss"])
    check("stats as text shows it too", "DirectoryCacheEntrySizeMax" in larder("stats", place).stdout)
    check("the log has one line of it", wait_until(lambda: "DirectoryCacheEntrySizeMax" in open(log).read(), 15), open(log).read())
    equal("once", open(log).read().count("DirectoryCacheEntrySizeMax"), 1)
    larder("umount", place)
    equal("the daemon ends well", daemon.wait(20), 0)

    # working caches: no fault, and the events tell the story
    events = f"{work}/events.jsonl"
    with mounted(samba, "profile=larder", f"events={events}") as place:
        probe(place, 300)
        shown = stats(place)
    equal("working caches have no fault", shown["faults"], [])
    lines = [json.loads(line) for line in open(events)]
    by_class = {}
    for line in lines:
        by_class[line["class"]] = by_class.get(line["class"], 0) + 1
        if line["id"] in NAMES and NAMES[line["id"]] != line["name"]:
            check(f"event {line['id']} has its name", False, line)
    check("the file has as many events of each class as were counted",
          all(by_class.get(c, 0) >= n for c, n in shown["events"].items()), (by_class, shown["events"]))
    for number, name in NAMES.items():
        if number in (30504,):
            continue  # absent names are answered by the listing here
        check(f"{number} {name} occurs", any(line["id"] == number for line in lines))
    check("an event names its object", any(line["id"] == 30508 and line.get("path") == "dir/file7" for line in lines))

    # a cache that is switched off is no fault and has no event
    events = f"{work}/off.jsonl"
    with mounted(samba, "profile=25h2", f"events={events}") as place:
        probe(place, 150)
        shown = stats(place)
    equal("25h2's missing directory cache is off, not dead", [f for f in shown["faults"] if "irectory" in f], [])
    equal("it has no dir events", shown["events"]["dir"], 0)
    check("nor in the file", not any(json.loads(line)["class"] == "dir" for line in open(events)))

    run = larder("mount", samba.target, f"{work}/mnt", "-o", f"user={user_name()},events=/nonexistent/events")
    check("an events file that cannot be written is said", run.returncode == 1 and "/nonexistent/events" in run.stderr, run.stderr)
    run = larder("mount", samba.target, f"{work}/mnt", "-o", f"user={user_name()},events=/dev/full")
    if equal("an events file on a full disk does not stop the mount", run.returncode, 0):
        probe(f"{work}/mnt", 600)
        check("a full disk loses events, counted, and nothing else",
              wait_until(lambda: stats(f"{work}/mnt").get("events_lost", 0) > 0, 5) and os.path.exists(f"{work}/mnt/dir/file1"))
        larder("umount", f"{work}/mnt")

finish()
