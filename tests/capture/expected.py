#!/usr/bin/python3
"""The dissector's counts of real captures against tshark 4.0.17's: requests, responses and frames per command.

    expected.py CAPTURE_COUNT     exits with 77 where ../shared/captures is not there

On a capture that is whole the counts are equal. Where segments are missing, out of order or overlap, or a
NetBIOS header is split, tshark's two modes of reassembly disagree and neither is the truth: there ours are
no less than the larger of the two, and what there is more of has its reason in MORE. Captures with
encrypted messages are counted a second time with the session keys alone, against what tshark finds with
them and the keys of both directions.
"""
import collections
import os
import subprocess
import sys
import tempfile

TREE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
CAPTURES = os.path.join(TREE, "..", "shared", "captures")
EXPECTED = os.path.join(CAPTURES, "expected-tshark-4.0.17.tsv")

# Captures of which there is more here than tshark finds: how many messages more than in its better mode
# for this capture, and why.
MORE = {
    "derived/split_at_2.pcap": (896, "every NetBIOS header is split over two segments; tshark finds none of them"),
    "suricata-verify/smb2-frames-gap-payload-logging__smb2-peter-minus-p191.pcap":
        (1, "a READ response with a segment missing in its middle is still a message: its header is there"),
}
# With the keys of keys.tsv, tshark 4.0.17: {command: (requests, responses, frames)}.
LOGON = {0: (1, 1, 2), 1: (2, 2, 4)}
KEYED = {
    "zeek/smb3.pcap": {**LOGON, 3: (2, 2, 4), 5: (6, 6, 12), 6: (6, 6, 12), 11: (3, 3, 6), 14: (2, 2, 4), 16: (5, 5, 10)},
    "zeek/smb311.pcap": {**LOGON, 3: (2, 2, 4), 5: (3, 3, 6), 6: (2, 2, 4), 11: (2, 2, 4), 14: (2, 2, 4), 16: (5, 5, 10)},
    "wireshark/smb300-aes-128-ccm.pcap.gz": {**LOGON, 3: (1, 1, 2)},
    "wireshark/smb311-aes-128-gcm.pcap.gz": {**LOGON, 3: (1, 1, 2)},
    "wireshark/smb311-aes-256-ccm.pcap.gz": {**LOGON, 3: (1, 1, 2)},
    # It begins behind the logon. tshark cannot open CCM then; the messages are those of zeek/smb3.pcap.
    "suricata-verify/smb3-02-midstream__input.pcap":
        {3: (1, 1, 2), 5: (6, 6, 12), 6: (6, 6, 12), 11: (3, 3, 6), 14: (2, 2, 4), 16: (5, 5, 10)},
}
KEY_OF = {"suricata-verify/smb3-02-midstream__input.pcap": "zeek/smb3.pcap"}


def count(tool, capture, keys=()):
    """{command: (requests, responses, frames)}, {name: figure}"""
    run = subprocess.run([tool, os.path.join(CAPTURES, capture), *keys], stdout=subprocess.PIPE, text=True, check=True)
    commands, figures = {}, {}
    for name, *values in map(str.split, run.stdout.splitlines()):
        if name.isdigit():
            commands[int(name)] = tuple(map(int, values))
        elif name != "total":
            figures[name] = int(values[0])
    return commands, figures


def expected():
    """{capture: {mode: {command: counts}}}"""
    modes = collections.defaultdict(lambda: collections.defaultdict(dict))
    for line in open(EXPECTED).read().splitlines()[1:]:
        capture, mode, _, _, command, *counts = line.split("\t")
        here = modes[capture][mode]
        if command:
            here[int(command)] = tuple(map(int, counts))
    return modes


def messages(commands):
    return sum(requests + responses for requests, responses, _ in commands.values())


def accept(capture, ours, modes):
    """'' or what is wrong."""
    if ours == modes["default"] == modes["ooo"]:
        return ""
    if modes["default"] == modes["ooo"] and capture not in MORE:
        return f"{ours} instead of {modes['default']}"
    for mode, theirs in modes.items():
        less = {c for c in theirs if any(a < b for a, b in zip(ours.get(c, (0, 0, 0)), theirs[c]))}
        if less:
            return f"less than tshark's {mode} mode: {less}"
    more, why = MORE.get(capture, (0, ""))
    extra = messages(ours) - max(map(messages, modes.values()))
    if extra != more:
        return f"{extra} messages more than tshark, {more} were expected"
    return ""


def keyed(tool, capture, line):
    with tempfile.NamedTemporaryFile("w", suffix=".keys") as keys:
        keys.write(f"{line}\n")
        keys.flush()
        return count(tool, capture, [keys.name])


def main(tool):
    failed, checked, equal = 0, 0, 0
    for capture, modes in sorted(expected().items()):
        ours, _ = count(tool, capture)
        wrong = accept(capture, ours, modes)
        checked += 1
        equal += ours in modes.values()
        if wrong or capture in MORE:
            print(f"{'FAIL' if wrong else 'more'} {capture}: {wrong or MORE[capture][1]}")
        failed += bool(wrong)

    rows = [line.split("\t") for line in open(os.path.join(CAPTURES, "keys.tsv")) if not line.startswith("#")]
    ids = {row[0]: row[1:5] for row in rows}
    for capture, theirs in KEYED.items():
        session, key, from_server, to_server = ids[KEY_OF.get(capture, capture)]
        lines = [f'"{session}","{key}","",""']
        if from_server:
            lines.append(f"{session},,{from_server},{to_server}")
        for line in lines:
            ours, figures = keyed(tool, capture, line)
            checked += 1
            equal += ours == theirs
            if ours != theirs or figures["encrypted"]:
                print(f"FAIL {capture} with {line}: {ours} instead of {theirs}, {figures['encrypted']} stayed closed")
                failed += 1
        checked += 1
        changed = ("0" if key[0] != "0" else "1") + key[1:]
        _, figures = keyed(tool, capture, f"{session},{changed},,")
        if figures["decrypted"] or not figures["wrong_keys"] == figures["encrypted"] > 0:
            print(f"FAIL {capture} with another key: {figures}")
            failed += 1
    print(f"{checked} counts of real captures, {equal} of them equal to tshark's")
    print(f"{checked - failed} passed, {failed} failed")
    return failed > 0


if __name__ == "__main__":
    if not os.path.exists(EXPECTED):
        print("skipped")
        sys.exit(77)
    sys.exit(main(sys.argv[1]))
