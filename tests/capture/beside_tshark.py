#!/usr/bin/python3
"""Captures that are hard to read, whose truth is known, beside what tshark makes of them.

    beside_tshark.py BUILD             prints the table of docs/tshark.md
    beside_tshark.py BUILD --check     is also the test: larder must be right in every row, and the table that of the docs

BUILD is the build directory: capture_cases writes the captures, larder counts. tshark reads each twice, as it
comes and with tcp.reassemble_out_of_order. The table is compared where tshark is of the version that the docs
name; without tshark there is only larder to check.
"""
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

TREE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
DOCS = os.path.join(TREE, "docs", "tshark.md")
OUT_OF_ORDER = ["-o", "tcp.reassemble_out_of_order:TRUE"]
# What each case of capture_cases is, and what becomes of it in tshark.
CASES = {
    "plain": ("whole, compounds and interim responses among it", "both right"),
    "offload": ("two VLAN tags, segments of 20,000 bytes, an IP length of 0 as with TSO", "both right"),
    "fragments": ("IP fragments", "both right"),
    "shared-segments": ("two messages in a segment", "both right"),
    "split-1": ("a NetBIOS header cut behind its first byte, in every record", "tshark calls both parts a continuation"),
    "split-2": ("behind its second byte", "the same"),
    "split-3": ("behind its third byte", "the same"),
    "split-4": ("between header and message", "both right"),
    "split-behind": ("a NetBIOS header cut behind its second byte, another message before it in the segment", "both right: tshark waits for the rest"),
    "swapped": ("one record in five has its halves swapped", "tshark takes the half that comes first for a record, and all that its made-up length covers for its body"),
    "first-last": ("the first segment of a READ response comes last", "tshark looks for the header in the segment that comes first"),
    "records-swapped": ("two records swapped as a whole", "tshark leaves out the late one"),
    "overlap": ("one record in five: a half of it, then all of it", "tshark does not put the half and the overlapping rest together"),
    "again-with-more": ("a record, then the same again with the next one behind it", "tshark leaves out what is new in a segment that begins with what is not"),
    "twice": ("every packet twice", "both right"),
    "twice-any": ("every packet twice, Linux' link type of `any`", "both right"),
    "hole": ("the second segment of every READ response is lost", "tshark leaves out a message that is not whole, and with reassembly waits for the lost bytes for ever"),
    "records-lost": ("one record in ten is lost", "both right, but for the reassembly, which waits for ever"),
    "header-lost": ("records begin anywhere in their segments, of which one in eight is lost", "tshark looks for the next record only where a segment begins"),
    "joined": ("the capture begins in the middle of a record, and the others begin anywhere in their segments", "the same"),
    "wrap": ("sequence numbers wrap", "both right"),
    "same-ports": ("a second connection on the same ports", "both right"),
    "long": ("READ responses of 206,080 bytes", "both right"),
    "long-elsewhere": ("the same on port 4455", "tshark reads 17 bits of the length on ports other than 445, and goes on in the middle of the record"),
    "snap-128": ("128 bytes of every frame", "both right: the first message of a compound is all that is there"),
    "snap-300": ("300 bytes of every frame", "both right, but for the reassembly, which waits for what was cut off"),
    "ccm": ("AES-128-CCM, with the keys", "both right"),
    "ccm-joined": ("the same without the logon", "tshark tries GCM first, which spoils the bytes for CCM"),
    "gcm-joined": ("AES-128-GCM without the logon, with the keys", "both right"),
}


def cases(build, work):
    run = subprocess.run([f"{build}/tests/capture/capture_cases", work], stdout=subprocess.PIPE, text=True, check=True)
    return [json.loads(line) for line in run.stdout.splitlines()]


def with_larder(build, case, path, work):
    """[requests, responses] by command, and all of it."""
    options = ["--port", str(case["port"])]
    if case["keys"]:
        session, key = case["keys"]
        with open(f"{work}/keys", "w") as f:
            f.write(f"{session},,{key},{key}\n")
        options += ["--keys", f"{work}/keys"]
    run = subprocess.run([f"{build}/src/cli/larder", "analyze", "--json", *options, path], stdout=subprocess.PIPE, text=True, check=True)
    one = json.loads(run.stdout)["captures"][0]
    return {name: [c["requests"], c["responses"] + c["interims"]] for name, c in one["commands"].items()}, one


def with_tshark(case, path, *options):
    """How many messages."""
    if case["port"] != 445:
        options += ("-d", f"tcp.port=={case['port']},nbss")
    if case["keys"]:
        session, key = case["keys"]
        options += ("-o", f'uat:smb2_seskey_list:{session},"",{key},{key}')
    run = subprocess.run(["tshark", "-r", path, *options, "-Y", "smb2.cmd", "-T", "fields", "-e", "smb2.cmd", "-E", "occurrence=a"],
                         stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=True)
    return sum(len(line.split(",")) for line in run.stdout.split())


def tshark_version():
    """None: there is none."""
    if not shutil.which("tshark"):
        return None
    run = subprocess.run(["tshark", "--version"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    return re.search(r"\b(\d+\.\d+\.\d+)", run.stdout)[1]


def number(n, right):
    return f"{n:,}" if n == right else f"**{n:,}**"


def row(case, found):
    title, why = CASES[case["case"]]
    seen = case["seen"]
    cells = [title, f"{seen:,}" if seen == case["sent"] else f"{seen:,} of {case['sent']:,}", *(number(n, seen) for n in found), why]
    return "| " + " | ".join(cells) + " |"


def examine(build, work, version):
    """The lines of the table, and what is wrong with larder."""
    lines = [f"| capture | messages in it | larder | tshark {version} | with reassembly out of order | |", "|---|---|---|---|---|---|"]
    wrong = []
    for case in cases(build, work):
        name, path = case["case"], f"{work}/{case['case']}.pcap"
        ours, one = with_larder(build, case, path, work)
        if ours != case["commands"]:
            wrong.append(f"{name}: larder finds {ours} instead of {case['commands']}")
        found = [one["messages"]]
        if version:
            found += [with_tshark(case, path), with_tshark(case, path, *OUT_OF_ORDER)]
            known = one["reassembly"]["messages"] + one["reassembly"]["behind"]
            if one["encrypted"]["decrypted"]:  # records, of one message or several
                known = one["messages"]
            if found[0] - found[1] > known:
                wrong.append(f"{name}: {found[0] - found[1]} messages more than tshark, of which larder explains {known}")
            right = CASES[name][1].startswith("both right")
            if right != (found[1] == case["seen"]):
                wrong.append(f"{name}: tshark finds {found[1]}, and the table says: {CASES[name][1]}")
        lines.append(row(case, found))
    return lines, wrong


def check(lines, wrong, version):
    docs = open(DOCS).read()
    named = re.search(r"\| tshark (\d+\.\d+\.\d+) \|", docs)[1]
    if version != named:
        print(f"docs/tshark.md is about tshark {named}, here is {version or 'none'}: larder alone is checked")
        wrong = [w for w in wrong if ": larder finds" in w]
    elif "\n".join(lines) not in docs:
        wrong.append("docs/tshark.md has another table")
    print(*wrong, f"{len(lines) - 2} captures, {len(wrong)} failed", sep="\n")
    return bool(wrong)


def main(build, *flags):
    version = tshark_version()
    with tempfile.TemporaryDirectory() as work:
        lines, wrong = examine(build, work, version)
    if "--check" in flags:
        return check(lines, wrong, version)
    if not version:
        sys.exit("there is no tshark")
    print(*lines, sep="\n")
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
