#!/usr/bin/env python3
"""Watches=true: what other clients change is seen at once, what nobody changes costs nothing, and what the server does not
tell of is found by its age. The kernel's own memory is out of the way here: listings, which it does not keep."""
import os
import subprocess
import time

from bed import PASSWORD, Samba, check, equal, finish, mounted, stats, user_name, wait_until


def by_another(samba, *commands):
    subprocess.run(["smbclient", "-p", str(samba.port), f"-U{user_name()}%{PASSWORD}", "//127.0.0.1/share", "-c", ";".join(commands)],
                   check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def requests(place):
    return {k: v for k, v in stats(place)["requests"].items() if v and k not in ("ECHO", "CHANGE_NOTIFY")}


def watching(place):
    return wait_until(lambda: stats(place)["watch"]["state"] == "watching")


def seen(condition):
    """Before its age would show it, in which nobody has to tell of anything."""
    return wait_until(condition, MAX_AGE / 2)


def shown_at_last(place, name, asked_since):
    """When the first question was asked whose answer has it, in seconds of the age that the listing had, and the last whose has not."""
    without = None
    while time.monotonic() < asked_since + 60:
        asked = time.monotonic() - asked_since
        if name in names(place):
            return asked, without
        without = asked
        time.sleep(0.05)
    return None, without


def names(path):
    return sorted(os.listdir(path))


MAX_AGE = 60

with Samba() as samba:
    samba.start()
    os.makedirs(f"{samba.share}/dir/sub")
    for i in range(20):
        open(f"{samba.share}/dir/file {i}", "w").close()
    if os.getuid() == 0:
        subprocess.run(["chown", "-R", user_name(), samba.share], check=True)
    old = time.time() - 100
    for d in ("dir/sub", "dir", "."):
        os.utime(f"{samba.share}/{d}", (old, old))

    with mounted(samba, f"Watches=true,actimeo=1,CacheMaxAge={MAX_AGE}") as place:
        check("the server tells of changes", watching(place), stats(place)["watch"])
        before = names(f"{place}/dir")
        equal("the listing is whole", len(before), 21)
        time.sleep(2.5)  # the lifetimes are over
        counted = requests(place)
        for _ in range(3):
            equal("the listing is believed beyond its lifetime", names(f"{place}/dir"), before)
        equal("and was not asked for again", requests(place).get("QUERY_DIRECTORY"), counted.get("QUERY_DIRECTORY"))

        by_another(samba, "mkdir dir/new")
        check("a directory that another client made is seen", seen(lambda: "new" in names(f"{place}/dir")), names(f"{place}/dir"))
        by_another(samba, "rename dir/new dir/newer")
        check("its new name too", seen(lambda: "newer" in names(f"{place}/dir") and "new" not in names(f"{place}/dir")))
        by_another(samba, "rmdir dir/newer", 'del "dir/file 3"')
        check("and that it and a file are gone", seen(lambda: names(f"{place}/dir") == [n for n in before if n != "file 3"]))
        check("the server has told of them", stats(place)["watch"]["notices"] >= 4, stats(place)["watch"])
        os.mkdir(f"{place}/dir/own")
        check("an own change is there at once", "own" in names(f"{place}/dir"))
        os.rmdir(f"{place}/dir/own")
        check("and gone at once", "own" not in names(f"{place}/dir"))
        by_another(samba, "cd dir", "put /etc/hostname grown")
        check("a file that another client wrote has its size",
              seen(lambda: os.path.exists(f"{place}/dir/grown") and
                   os.stat(f"{place}/dir/grown").st_size == os.stat("/etc/hostname").st_size))

    with mounted(samba, "Watches=true,actimeo=1,CacheMaxAge=4") as place:
        check("another mount is told, too", watching(place))
        names(f"{place}/dir/sub")
        listed = time.monotonic()
        open(f"{samba.share}/dir/sub/behind its back", "w").close()
        found, without = shown_at_last(f"{place}/dir/sub", "behind its back", listed)
        check("what the server does not tell of is found by its age", found is not None, names(f"{place}/dir/sub"))
        check("in time", without is None or without < 4.1, (without, found))

    for options, why in (("Watches=true,CacheMaxAge=0", "promises prolong nothing"), ("Watches=true,actimeo=0", "nothing is kept"),
                         ("Watches=false", "it is off"), ("profile=23h2", "the profile has none")):
        with mounted(samba, options) as place:
            names(place)
            equal(f"no watch where {why}", (stats(place)["watch"]["state"], stats(place)["requests"].get("CHANGE_NOTIFY", 0)), ("off", 0))
finish()
