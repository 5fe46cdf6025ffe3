#!/usr/bin/env python3
"""Which tests of a run of meson failed, and the lines in which they say why: what check.sh prints again at its very end.

    failures.py BUILD STAGE
"""
import json
import re
import sys

LINES, BYTES = 8, 300  # of a test at most; of a line
TELLS = re.compile(r"FAIL|ERROR|Error\b|Sanitizer|runtime error|Assertion|: error:")
COUNTS = re.compile(r"\[  (FAILED|PASSED)  \] \d+ test|^ *\d+ FAILED TEST|^\d+ passed, \d+ failed$")


def reasons(text):
    """The lines that tell, else the last ones."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    telling = [l for l in lines if TELLS.search(l) and not COUNTS.search(l) and not l.startswith("ok ")]
    return list(dict.fromkeys(telling))[:LINES] or lines[-3:]


def main(build, stage):
    with open(f"{build}/meson-logs/testlog.json", encoding="utf-8", errors="replace") as log:
        tests = [json.loads(line) for line in log]
    for test in tests:
        if test["result"] not in ("OK", "SKIP", "EXPECTEDFAIL"):
            print(f"{stage}: {test['name']}: {test['result']}, {test['returncode']}, after {test['duration']:.0f} s")
            for line in reasons(test.get("stdout", "") + "\n" + test.get("stderr", "")):
                print("   " + line.encode()[:BYTES].decode(errors="ignore"))


main(*sys.argv[1:])
