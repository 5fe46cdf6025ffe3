#!/usr/bin/python3
"""Names on a real Samba: listed and opened as the server spells them."""
import json
import os

from bed import Samba, check, equal, finish, mounted, tool

NAMES = {
    "x" * 255: "255 UTF-16 units",
    "smile \U0001f600.txt": "a character outside the BMP",
    "\U00020000" * 60 + ".py": "many of them",
    "caf\u00e9.txt": "a composed character",
    "cafe\u0301.txt": "the decomposed form beside it",
    "a.txt": "lower case",
    "A.txt": "upper case beside it",
    "with space.txt": "a space",
    "-dash": "a leading dash",
    "it's $HOME `x` & co;": "shell characters",
    "\u30d5\u30a1\u30a4\u30eb.txt": "Japanese",
    "\u0130stanbul": "a capital with a dot",
    "tilde~1.txt": "a tilde",
}


def listed(samba, *options):
    run = tool("ls", samba, "--json", "names", options=options)
    return {e["name"]: e for e in json.loads(run.stdout)} if run.returncode == 0 else {}


with Samba("share:mangled names=no") as samba:
    directory = os.path.join(samba.share, "names")
    os.mkdir(directory)
    for name in NAMES:
        with open(os.path.join(directory, name), "w") as f:
            f.write(name)
    for refused in ("trailing dot.", "trailing space ", "colon:name"):
        open(os.path.join(directory, refused), "w").close()
    samba.start()

    for profile in ("larder", "23h2", "25h2", "off"):
        found = listed(samba, f"profile={profile}")
        missing = set(NAMES) - set(found)
        check(f"{profile}: every name is listed as the server spells it", not missing, missing)
        with mounted(samba, f"profile={profile}") as place:
            equal(f"{profile}: the mount lists the same names", set(os.listdir(f"{place}/names")) & set(NAMES), set(NAMES))
            for name, what in NAMES.items():
                with open(f"{place}/names/{name}") as f:
                    equal(f"{profile}: opened by its name: {what}", f.read(), name)
            # the share is case-insensitive: another spelling opens the file, the exact one wins
            with open(f"{place}/names/TILDE~1.txt") as f:
                equal(f"{profile}: opened by another spelling", f.read(), "tilde~1.txt")
            check(f"{profile}: a third spelling of a.txt opens one of the two",
                  open(f"{place}/names/a.TXT").read() in ("a.txt", "A.txt"))
            check(f"{profile}: a composed name does not open the decomposed one",
                  open(f"{place}/names/caf\u00e9.txt").read() != open(f"{place}/names/cafe\u0301.txt").read())
            check(f"{profile}: a missing name is missing", not os.path.exists(f"{place}/names/absent"))

    for name, what in NAMES.items():
        run = tool("cat", samba, f"names/{name}")
        equal(f"cat opens {what}", (run.returncode, run.stdout), (0, name))

    # what Samba lists but does not open as a name gives its status, not a guess
    found = listed(samba)
    for refused in ("colon:name",):
        check(f"Samba lists {refused!r}", refused in found)
        run = tool("cat", samba, f"names/{refused}")
        check(f"and refuses to open it, with the status by name", run.returncode == 1 and "STATUS_OBJECT_NAME" in run.stderr, run.stderr)
    run = tool("cat", samba, "names/" + "y" * 256)
    check("a name of 256 units is refused with its reason", run.returncode == 1 and "255" in run.stderr, run.stderr)
    run = tool("cat", samba, "/".join(["d" * 200] * 170))
    check("a path over SMB's limit is refused with its reason", run.returncode == 1 and "too long" in run.stderr, run.stderr)

# a share that tells case apart goes on doing so, also when names come and go that differ in nothing else
with Samba("share:case sensitive=yes") as samba:
    samba.start()
    for name in ("one", "two", "three"):
        with open(os.path.join(samba.share, name), "w") as f:
            f.write(name)
    for profile in ("larder", "23h2"):
        with mounted(samba, f"profile={profile}") as place:
            os.listdir(place)
            with open(os.path.join(samba.share, "ONE"), "w") as f:
                f.write("ONE")
            os.rename(os.path.join(samba.share, "two"), os.path.join(samba.share, "TWO"))
            for name in ("ONE", "TWO", "one"):
                check(f"{profile}: {name} is there", os.path.exists(f"{place}/{name}"))
            for name in ("THREE", "One"):
                check(f"{profile}: {name} is not", not os.path.exists(f"{place}/{name}"))
            equal(f"{profile}: ONE and one are two files", open(f"{place}/ONE").read() + open(f"{place}/one").read(), "ONEone")
        os.unlink(os.path.join(samba.share, "ONE"))
        os.rename(os.path.join(samba.share, "TWO"), os.path.join(samba.share, "two"))

finish()
