"""What the tests of inotify have in common: changes by another client, and what is told of them."""
import subprocess
import time

from bed import PASSWORD, check, stats, user_name, wait_until


class Smbclient:
    """Changes by another client; each a connection of its own."""

    def __init__(self, samba):
        self.samba = samba

    def do(self, *commands):
        subprocess.run(["smbclient", "-p", str(self.samba.port), f"-U{user_name()}%{PASSWORD}", "//127.0.0.1/share", "-c", ";".join(commands)],
                       check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def put(self, content, name):
        source = f"{self.samba.dir}/source"
        with open(source, "w") as f:
            f.write(content)
        self.do(f'put "{source}" "{name}"')


def inotify(place):
    return stats(place)["mount"]["inotify"]


def stands(place, directories):
    return check(f"the server tells of {directories} directories", wait_until(lambda: inotify(place)["told"] == directories, 20), inotify(place))


def squeezed(events):
    """Without repetitions: one write may be told as several modifications."""
    return [e for i, e in enumerate(events) if i == 0 or e != events[i - 1]]


delays = []


def told(what, watcher, change, place, *expected):
    """`change` is told as exactly that, (kind, name) each; either of several lists where the server's way decides."""
    watcher.take()
    began = time.monotonic()
    change()
    done = time.monotonic()
    ways = [[(kind, f"{place}/{name}") for kind, name in way] for way in expected]
    longest = [way for way in ways if len(way) == max(map(len, ways))]
    watcher.wait_for_any(longest, 10)
    watcher.settle(0.3)
    when = [e[0] for e in watcher.events]
    got = watcher.take()
    delay = max(when) - done if when else None
    check(f"{what}: told as it was, and once", squeezed(got) in ways and len(got) <= len(ways[0]) + 2, (got, ways))
    if delay is not None:
        delays.append(max(delay, 0))
        print(f"     {what}: {1000 * (max(when) - began):.0f} ms from its begin, {1000 * delay:.0f} ms from its end", flush=True)


def both_ways(old, new, kind=""):
    """A renaming, and what is left of one that the server told in two parts to the end."""
    return [("MOVED_FROM" + kind, old), ("MOVED_TO" + kind, new)], [("DELETE" + kind, old), ("CREATE" + kind, new)]
