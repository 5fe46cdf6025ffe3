#!/usr/bin/env python3
"""sympy imported twice, one process after the other, through one mount with what is the default: leases and the watch. The second
one asks for nothing but what closes and verifies.

    imports_leased.py LARDER [NEWER]"""
import os
import subprocess
import sys

from bed import HERE, Samba, check, equal, finish, mounted, newer_samba, stats, user_name

NEWER = sys.argv[2] if len(sys.argv) > 2 else None
PROGRAM = "import sympy, sys; x = sympy.Symbol('x'); print(sympy.__version__, sympy.integrate(x**2, x), len(sys.modules))"


def imported(tree):
    return subprocess.run(["/usr/bin/python3", "-S", "-B", "-c", PROGRAM], env={**os.environ, "PYTHONPATH": tree}, stdout=subprocess.PIPE,
                          text=True, timeout=300).stdout


def requests(place):
    return {k: v for k, v in stats(place)["requests"].items() if v and k != "ECHO"}


if NEWER:
    version = newer_samba(NEWER)
    if not version:
        sys.exit(77)
    print(version, flush=True)
with Samba(root=NEWER) as samba:
    subprocess.run([os.path.join(HERE, "../../tools/fetch-python-tree.sh"), samba.share], check=True)
    if os.getuid() == 0:
        subprocess.run(["chown", "-R", user_name(), samba.share], check=True)
    expected = imported(samba.share)
    samba.start()
    with mounted(samba) as place:
        equal("the first import prints what a local copy prints", imported(place), expected)
        first = requests(place)
        equal("so does the second", imported(place), expected)
        both = requests(place)
        second = {k: v - first.get(k, 0) for k, v in both.items() if v > first.get(k, 0)}
        print(f"   {sum(first.values())} requests, then {second}")
        check("both need fewer than 1,700 requests", sum(both.values()) < 1700, both)
        check("the second opens and lists nothing", not second.get("QUERY_DIRECTORY") and second.get("CREATE", 0) == second.get("QUERY_INFO", 0), second)
        check("and reads nothing but what the kernel has let go of", second.get("READ", 0) <= first["READ"] // 20, second)
        equal("no lease was broken", stats(place)["leases"]["broken"], 0)
finish()
