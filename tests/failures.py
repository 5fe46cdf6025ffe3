#!/usr/bin/env python3
"""Which tests of a run of meson failed, and the lines in which they say why: what check.sh prints again at its very end.

    failures.py BUILD STAGE
    failures.py BUILD --alone     the names of those that check.sh tries once more, by themselves

These are a few tests with real servers in which a check failed, so that it may have been for the company of other tests.
Whoever crashed, hung, or made a sanitizer speak is not tried again, nor anybody beside him, nor more than ALONE.
"""
import json
import re
import sys

LINES, BYTES = 8, 300  # of a test at most; of a line
ALONE = 2
SPOKE = re.compile(r"Sanitizer|runtime error")
TELLS = re.compile(r"FAIL|ERROR|Error\b|Sanitizer|runtime error|Assertion|: error:")
COUNTS = re.compile(r"\[  (FAILED|PASSED)  \] \d+ test|^ *\d+ FAILED TEST|^\d+ passed, \d+ failed$")


def reasons(text):
    """The lines that tell, else the last ones."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    telling = [l for l in lines if TELLS.search(l) and not COUNTS.search(l) and not l.startswith("ok ")]
    return list(dict.fromkeys(telling))[:LINES] or lines[-3:]


def said(test):
    return test.get("stdout", "") + "\n" + test.get("stderr", "")


def may_be_tried_alone(test):
    suites = test["name"].split(" / ")[0].split(":")[-1].split("+")
    return "interop" in suites and test["result"] == "FAIL" and test["returncode"] == 1 and not SPOKE.search(said(test))


def main(build, stage):
    with open(f"{build}/meson-logs/testlog.json", encoding="utf-8", errors="replace") as log:
        tests = [json.loads(line) for line in log]
    failed = [test for test in tests if test["result"] not in ("OK", "SKIP", "EXPECTEDFAIL")]
    if stage == "--alone":
        if len(failed) <= ALONE and all(map(may_be_tried_alone, failed)):
            print(*(test["name"].split(" / ")[-1] for test in failed))
        return
    for test in failed:
        print(f"{stage}: {test['name']}: {test['result']}, {test['returncode']}, after {test['duration']:.0f} s")
        for line in reasons(said(test)):
            print("   " + line.encode()[:BYTES].decode(errors="ignore"))


main(*sys.argv[1:])
