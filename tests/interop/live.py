#!/usr/bin/python3
"""larder analyze --live: an interface is listened to while larder ls asks a Samba on it.

What is captured must be what ls did: a connection from its first message to its last, none lost, and the
directory that was listed by name. Capturing needs root or CAP_NET_RAW; where that is missing the refusal is
tested, and the rest is skipped with a word.
"""
import json
import os
import signal
import subprocess
import time

from bed import LARDER, Samba, check, equal, finish, larder, tool

SECONDS = 4
MAY_CAPTURE = 1 << 13  # CAP_NET_RAW


def may_capture():
    for line in open("/proc/self/status"):
        if line.startswith("CapEff:"):
            return bool(int(line.split()[1], 16) & MAY_CAPTURE)
    return False


class Live:
    """larder analyze listening to the loopback interface; `text` and `seconds` once it has ended."""

    def __init__(self, port, seconds):
        self.begun = time.monotonic()
        self.process = subprocess.Popen([LARDER, "analyze", "--json", "--port", str(port), "--live", "lo", "--seconds", str(seconds)],
                                        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        while not self.listening():
            time.sleep(0.02)

    def listening(self):
        """Whether it has a packet socket; an end is for `end` to tell."""
        if self.process.poll() is not None:
            return True
        inodes = {line.split()[8] for line in open("/proc/net/packet").read().splitlines()[1:]}
        files = f"/proc/{self.process.pid}/fd"
        try:
            return any(os.readlink(f"{files}/{fd}") in {f"socket:[{i}]" for i in inodes} for fd in os.listdir(files))
        except OSError:
            return False

    def interrupt(self):
        """Once the kernel has handed over what passed, which it does ten times a second."""
        time.sleep(1)
        self.process.send_signal(signal.SIGINT)

    def end(self):
        self.text, self.errors = self.process.communicate(timeout=60)
        self.seconds = time.monotonic() - self.begun
        return self.process.returncode


def capture_listing(samba):
    """The capture of two listings, however long they take, or None."""
    live = Live(samba.port, 600)
    for _ in range(2):
        equal("ls succeeds while it is captured", tool("ls", samba, "dir").returncode, 0)
    live.interrupt()
    if not equal("Ctrl-C ends the capture as the time would", live.end(), 0):
        print(live.errors)
        return None
    return live


def is_whole(live):
    one = json.loads(live.text)["captures"][0]
    return one["gaps"]["count"] == 0 and not one["cut_off"]


def check_listing(samba):
    live = capture_listing(samba)
    for _ in range(3):  # a machine that has too much to do loses packets, and says so
        if not live or is_whole(live):
            break
        live = capture_listing(samba)
    if not live:
        return
    one = json.loads(live.text)["captures"][0]
    commands = one["commands"]
    equal("two connections", sum(h["connections"] for h in one["hosts"]), 2)
    equal("each from its beginning", (commands["NEGOTIATE"]["requests"], commands["TREE_CONNECT"]["requests"] > 1), (2, True))
    for name, c in commands.items():
        if name == "CANCEL":  # has none
            continue
        equal(f"{name}: every request has its response", c["responses"], c["requests"])
    equal("nothing is missing", (one["gaps"]["count"], one["unanswered_requests"], one["cut_off"]), (0, 0, False))
    check("the directory is there by name, listed twice", any(d["path"] == "dir" and d["listings"] == 2 for d in one["directories"]), one["directories"])


def check_silence(samba):
    live = Live(samba.port, 1)
    equal("a silent second: exit 1, since nothing can be said", live.end(), 1)
    check("it ends in time", 1 <= live.seconds < 11, live.seconds)


def check_time(samba):
    """By the time that was given, with something to say."""
    live = Live(samba.port, SECONDS)
    equal("ls succeeds", tool("ls", samba, "dir").returncode, 0)
    equal("the capture ends by itself", live.end(), 0)
    check(f"it lasted its {SECONDS} seconds", SECONDS <= live.seconds < SECONDS + 10, live.seconds)
    check("and what was captured is told", json.loads(live.text)["captures"][0]["messages"] > 0, live.text[:200])


def check_refusals(may):
    run = larder("analyze", "--live", "no-such-if0", "--seconds", "1")
    check("no such interface: exit 1 and one line", run.returncode == 1 and run.stderr.count("\n") == 1 and "no-such-if0" in run.stderr, run.stderr)
    if not may:
        run = larder("analyze", "--live", "lo", "--seconds", "1")
        check("without the right to it: exit 1, and what is needed", run.returncode == 1 and "CAP_NET_RAW" in run.stderr, run.stderr)


may = may_capture()
check_refusals(may)
if may:
    with Samba() as samba:
        os.mkdir(f"{samba.share}/dir")
        for i in range(20):
            open(f"{samba.share}/dir/file{i}", "w").close()
        samba.start()
        check_listing(samba)
        check_silence(samba)
        check_time(samba)
else:
    print("skipped: capturing needs root or CAP_NET_RAW")
finish()
