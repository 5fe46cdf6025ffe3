#!/usr/bin/python3
"""Round trips per operation for profile larder on a real Samba: through the library (budget.c, whose
program is the second argument) and through the mount."""
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "interop"))
from bed import PASSWORD, Samba, check, equal, finish, mounted, stats, user_name  # noqa: E402

with Samba() as samba:
    thousand = os.path.join(samba.share, "thousand")
    os.mkdir(thousand)
    for i in range(1000):
        open(f"{thousand}/file{i:04}", "w").close()
    samba.start()
    run = subprocess.run([sys.argv[2], samba.target, samba.share], stdout=subprocess.PIPE, text=True,
                         env={**os.environ, "LARDER_USER": user_name(), "LARDER_PASSWORD": PASSWORD})
    print(run.stdout, end="")
    equal("the library keeps its budget", run.returncode, 0)

    with mounted(samba, "Watches=false") as place:
        before = stats(place)["requests"]
        listed = subprocess.run(["ls", "-l", f"{place}/thousand"], stdout=subprocess.PIPE, text=True, check=True)
        after = stats(place)["requests"]
        equal("ls -l shows all of 1,000 files", len(listed.stdout.splitlines()), 1001)
        asked = {c: n - before.get(c, 0) for c, n in after.items() if n != before.get(c, 0)}
        # the directory itself is looked up, then listed; nothing is asked about any of the files
        listing = asked.pop("QUERY_DIRECTORY", 0)
        check("its listing is at most 4 buffers", 2 <= listing <= 4, listing)
        check("and no request beyond the listing's and one stat of the directory",
              asked in ({"CREATE": 2, "CLOSE": 2, "QUERY_INFO": 1}, {"CREATE": 1, "CLOSE": 1}), asked)
        before = stats(place)["messages"]
        subprocess.run(["ls", "-l", f"{place}/thousand"], stdout=subprocess.DEVNULL, check=True)
        for i in range(0, 1000, 100):
            os.stat(f"{place}/thousand/file{i:04}")
            check("a missing name beside it is missing", not os.path.exists(f"{place}/thousand/no{i}"))
        equal("the same again, stats and missing names: no message", stats(place)["messages"] - before, 0)

finish()
