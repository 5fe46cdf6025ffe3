#!/usr/bin/python3
"""The dissector's counts of real captures against tshark 4.0.17's: requests, responses and frames per command.

    expected.py CAPTURE_COUNT LARDER     exits with 77 where ../shared/captures is not there

On a capture that is whole the counts are equal. Where segments are missing, out of order or overlap, or a
NetBIOS header is split, tshark's two modes of reassembly disagree and neither is the truth: there ours are
no less than the larger of the two, and what there is more than in its default mode, larder analyze itself
explains: no more than the messages that it says had to be pieced together, on the page and in the JSON.
Captures with encrypted messages are counted a second time with the session keys alone, against what tshark
finds with them and the keys of both directions.
"""
import collections
import json
import os
import subprocess
import sys
import tempfile

TREE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
CAPTURES = os.path.join(TREE, "..", "shared", "captures")
EXPECTED = os.path.join(CAPTURES, "expected-tshark-4.0.17.tsv")

# What must be among the captures of which there is more: the cause, and how many messages more that makes.
MORE = {
    "derived/split_at_2.pcap": ("split_headers", 896),
    "derived/ooo_every5.pcap": ("out_of_order", 179),
    "derived/overlap_every5.pcap": ("overlaps", 179),
    "suricata-verify/smb2-frames-gap-payload-logging__smb2-peter-minus-p191.pcap": ("holes", 1),
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


def accept(capture, ours, modes, pieced):
    """'' or what is wrong. Without messages that had to be pieced together everything is equal."""
    for mode, theirs in modes.items():
        less = {c for c in theirs if any(a < b for a, b in zip(ours.get(c, (0, 0, 0)), theirs[c]))}
        if less:
            return f"less than tshark's {mode} mode: {less}"
    extra = messages(ours) - messages(modes["default"])
    if extra > pieced or (pieced == 0 and ours != modes["default"]):
        return f"{ours} instead of {modes['default']}, of which {pieced} messages are explained"
    return explained(capture, ours, extra) if extra else ""


def explained(capture, ours, extra):
    """'' or what larder analyze does not say of why there is more."""
    path = os.path.join(CAPTURES, capture)
    run = subprocess.run([LARDER, "analyze", "--json", path], stdout=subprocess.PIPE, text=True, check=True)
    one = json.loads(run.stdout)["captures"][0]
    causes = one["reassembly"]
    page = subprocess.run([LARDER, "analyze", path], stdout=subprocess.PIPE, text=True, check=True).stdout
    if one["messages"] != messages(ours) or causes["messages"] < extra:
        return f"{extra} messages more than tshark, larder analyze explains {causes}"
    if f"{causes['messages']} messages had to be pieced together" not in page:
        return f"the page does not say that {causes['messages']} messages had to be pieced together"
    cause, more = MORE.get(capture, ("messages", extra))
    if (causes[cause], extra) != (more, more):
        return f"{extra} messages more than tshark, {causes}; {more} for {cause} were expected"
    return ""


def keyed(tool, capture, line):
    with tempfile.NamedTemporaryFile("w", suffix=".keys") as keys:
        keys.write(f"{line}\n")
        keys.flush()
        return count(tool, capture, [keys.name])


def main(tool):
    failed, checked, equal, unmet = 0, 0, 0, set(MORE)
    for capture, modes in sorted(expected().items()):
        ours, figures = count(tool, capture)
        wrong = accept(capture, ours, modes, figures["pieced"])
        checked += 1
        equal += ours == modes["default"]
        if wrong or ours != modes["default"]:
            print(f"{'FAIL' if wrong else 'more'} {capture}: {wrong or 'as larder analyze explains'}")
        failed += bool(wrong)
        unmet.discard(capture)

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
    if unmet:
        print(f"FAIL not there: {unmet}")
        failed += len(unmet)
    print(f"{checked} counts of real captures, {equal} of them equal to tshark's")
    print(f"{checked - failed} passed, {failed} failed")
    return failed > 0


if __name__ == "__main__":
    if not os.path.exists(EXPECTED):
        print("skipped")
        sys.exit(77)
    LARDER = sys.argv[2]
    sys.exit(main(sys.argv[1]))
