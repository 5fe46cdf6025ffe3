"""Was this answer allowed?

An answer was asked at one moment and was there at another one. It is allowed if it is the state of what it is about at
some moment between the two, or a state that had been replaced before it was asked, but by a change of which the client
was not bound to know yet:

  announced    a break or a notice that tells of it reached the client's socket: 50 ms after that
  not          the lifetime of what nobody promised, or the maximum age, after the change was made
  own          made through the very same mount: the moment when the call returned
  opens        without leases an open asks the server: what is read is what that file is then, by whatever name it was found
  twice        who opens a file whose name changes twice meanwhile may get ESTALE: the kernel looks a name up again just once
  replaced     where a rename over a file is several requests (what is open is hidden first), what is asked between them is
               under no promise, and lives its time
  moved        with leases a file may be kept open, and the server tell its times of then (Samba does), by a name that it has
               only now: each of the two is as old as is promised, and both together never were

What announces a change: a notice of its path or of a directory above it; for a name that comes or goes the break of a
lease on the directory, for what a file is a break of a lease on that file (if it takes READ, which is what belief rests
on); and a notice that notices were lost, all.
Of several announcements within QUIET the last one counts (a change of several steps is told of in several), and it
counts from the change's end at the earliest.

On a busy machine a thread that wants to run may have to wait. The readers measure for how long (lines H), and what was
late in the second before or after is given to the client twice, since two of its threads have to run one after the
other from the socket to the belief. When the answer itself was late does not matter: what counts is when it was asked.

A listing is as many answers as names could be in it: no server lists a directory in one moment.
"""
import bisect
import collections
import json
import os

from world import DIRECTORY, FILES, SUBDIRS, File

MS, S = 10**6, 10**9
GRACE, QUIET = 50 * MS, 250 * MS
ENOENT, ESTALE, PAGE = 2, 116, 4096
ALWAYS = 1 << 62

Answer = collections.namedtuple("Answer", "kind asked answered path error rest line")


def read_answers(stem):
    """All answers in the files stem.0, stem.1 ..., and how late the CPU came: {second: the worst}."""
    answers, late = [], collections.Counter()
    number = 0
    while os.path.exists(f"{stem}.{number}"):
        with open(f"{stem}.{number}") as lines:
            for line in lines:
                kind, *rest = line.split()
                if kind == "H":
                    second = int(rest[0]) // S
                    late[second] = max(late[second], int(rest[1]))
                else:
                    answers.append(Answer(kind, int(rest[0]), int(rest[1]), rest[2], int(rest[3]), rest[4:], line.strip()))
        number += 1
    return answers, late


class Announcements:
    """What reached the client, by path: of the events file of a mount or a library."""

    def __init__(self, events):
        self.notices, self.breaks, self.lost = collections.defaultdict(list), collections.defaultdict(list), []
        self.count = collections.Counter()
        key_path = {}
        with open(events) as lines:
            for line in lines:
                if '"promise"' not in line:
                    continue
                e = json.loads(line)
                self.count[e["name"]] += 1
                at = e["monotonic_ns"]
                if e["name"] == "SmbGrantLease":
                    key_path[e["key"]] = e["path"]
                elif e["name"] == "SmbBreakLease" and e["key"] in key_path and "R" not in e["state"]:
                    self.breaks[key_path[e["key"]]].append(at)
                elif e["name"] == "SmbChangeNotice":
                    (self.lost if e["path"] is None else self.notices[e["path"]]).append(at)

    def of(self, change, path, names):
        """The moments at which `change` of `path` may have been told."""
        yield self.lost
        for named in change.named:
            if path == named or path.startswith(named + "/"):
                yield self.notices.get(named, ())
                yield self.breaks.get(named, ())
                if names:
                    yield self.breaks.get(os.path.dirname(named), ())


class Judge:
    def __init__(self, world, announcements, late, limit, own=False, opens_ask=False):
        self.world, self.announcements, self.late = world, announcements, late
        self.limit, self.own, self.keeps = limit, own, not opens_ask
        self.announced = self.unannounced = 0
        paths = set(world.history) | set(world.initial)
        at_once = {path: self._timeline(path, self._end) for path in paths} if opens_ask else None
        self.announced = self.unannounced = 0  # counted from here on
        self.timelines = {path: self._timeline(path, self._deadline) for path in paths}
        self.at_once = at_once or self.timelines

    # ---- until when an old state may be shown ----

    def _slack(self, at):
        second = at // S
        return 2 * max(self.late[second + i] for i in (-1, 0, 1))

    def _told(self, change, path, names):
        """When it was announced, None: never."""
        within, after = [], []
        for times in self.announcements.of(change, path, names):
            first = bisect.bisect_left(times, change.begin)
            last = bisect.bisect_right(times, change.end + QUIET)
            if last > first:
                within.append(times[last - 1])
            elif last < len(times):
                after.append(times[last])
        return max(within) if within else min(after) if after else None

    def _deadline(self, change, path, names):
        if self.own:
            return change.end
        told = self._told(change, path, names)
        at = change.end + self.limit
        if told is not None and told < at:
            self.announced += 1
            at = max(told, change.end)
        else:
            self.unannounced += 1
        return at + GRACE + self._slack(at)

    def _end(self, change, path, names):
        return self._deadline(change, path, names) if change.names() else change.end

    def _by_time(self, change, path, names=False):
        """What was asked for between a change's steps, after it was told, is under no promise that ended: it lives its time."""
        told = None if self.own else self._told(change, path, names)
        return change.end + self.limit + GRACE + self._slack(change.end) if told is not None and told < change.end else 0

    def _timeline(self, path, deadline):
        """[(state, from, until)]: a state is None, DIRECTORY, a File, or the pair between which it is in flux."""
        spans, begin, state = [], 0, self.world.initial.get(path)
        for change, before, after in self.world.history.get(path, ()):
            until = deadline(change, path, change.names())
            if self.keeps and change.op == "rename" and isinstance(before, File) and after:
                # a server with leases of directories replaces nothing that is open: it is hidden first, which is told, too
                until = max(until, self._by_time(change, path, True))
            spans.append((state, begin, until))
            if path in change.flux:
                spans.append(((before, after), change.begin, max(until, deadline(change, path, False), self._by_time(change, path))))
            begin, state = change.begin, after
        spans.append((state, begin, ALWAYS))
        return self._together(spans)

    @staticmethod
    def _together(spans):
        """What was told of a later change was told of the earlier ones, too."""
        least, out = ALWAYS, []
        for state, begin, until in reversed(spans):
            least = min(least, until)
            out.append((state, begin, least))
        return out  # the newest first

    # ---- answers ----

    @staticmethod
    def _states(timelines, path, answer):
        for state, begin, until in timelines.get(path, ((None, 0, ALWAYS),)):
            if until < answer.asked:
                return
            if begin <= answer.answered:
                yield state

    def _any(self, path, answer, fits):
        return any(fits(s) for s in self._states(self.timelines, path, answer))

    def _earlier(self, answer, path):
        """What a file was that has come to `path`, under the name that it had before, as long as that may be shown: its name may
        be newer than its times, where it is kept open since before both."""
        now = set(self._states(self.timelines, path, answer))
        for change, _, after in self.world.history.get(path, ()):
            if change.op != "rename" or change.prepare or not isinstance(after, File) or after not in now:
                continue
            source = change.args[0] + path[len(change.args[1]):]
            came = max((c.begin for c, _, _ in self.world.history[source] if c.names() and c.begin < change.begin), default=0)
            yield from (state for state, begin, until in self.timelines[source]
                        if came <= begin < change.begin and until >= answer.asked and state not in (None, DIRECTORY))

    def _is(self, answer, path, kind, size=None, mtime=None):
        """`kind`: d, f, or - for nothing."""
        def fits(state):
            if isinstance(state, tuple) and not isinstance(state, File):
                return kind == "f" or (kind == "-" and None in state)
            if kind == "f" and isinstance(state, File):
                return size is None or (state.size, state.mtime) == (size, mtime)
            return state == (DIRECTORY if kind == "d" else None)
        return self._any(path, answer, fits) or (self.keeps and kind == "f" and any(map(fits, self._earlier(answer, path))))

    def _ways(self, answer):
        """The path, and where the files went that it may still lead to: an old name shows what a file is now elsewhere."""
        ways, files = [answer.path], set(self._states(self.timelines, answer.path, answer))
        for way in ways:
            for change, before, after in self.world.history.get(way, ()):
                if change.op == "rename" and isinstance(before, File) and before != after and \
                        (way != answer.path or before in files):
                    ways += [to for to, what in change.effects.items() if what == before and to not in ways]
        return ways

    def _holds(self, answer, length, version, zeros):
        """The bytes are of one version. They are as many as it had, or an earlier state that the answer may show: who reads has
        opened the file before, and the kernel cuts what is read at the size that was told then; it looks before each page, when
        it may have been told otherwise by somebody who asked at the same time. Where such a file has become shorter by the
        time that it is read, there may be zeros up to that size, as on a local disk."""
        lengths, sizes = set(), {}  # of what has grown or shrunk: the most that a version had
        for path in self._ways(answer):
            for state in self._states(self.at_once, path, answer):
                in_flux = isinstance(state, tuple) and not isinstance(state, File)
                if in_flux:
                    lengths.add(0)
                for s in state if in_flux else (state,):
                    if isinstance(s, File):
                        lengths.add(s.size)
                        sizes[s.version] = max(s.size, sizes.get(s.version, 0))
        all_of_it = length + zeros
        pages = all_of_it % PAGE == 0 and any(size < all_of_it for size in lengths)
        return (all_of_it in lengths or pages) and (length == 0 or length <= sizes.get(version, 0)) and (not zeros or length in lengths)

    def _stat(self, a):
        if a.error:
            return a.error == ENOENT and self._is(a, a.path, "-")
        kind, size, mtime = a.rest
        return self._is(a, a.path, kind, int(size), int(mtime)) if kind == "f" else self._is(a, a.path, "d")

    def _read(self, a):
        if a.error == ESTALE:
            return len(list(self._states(self.timelines, a.path, a))) > 2
        if a.error:
            return a.error == ENOENT and self._is(a, a.path, "-")
        length, version, whole, zeros = (int(x) for x in a.rest)
        return bool(whole) and self._holds(a, length, version, zeros)

    def _list(self, a):
        dynamic = os.path.basename(a.path) in SUBDIRS
        if a.error:
            return dynamic and a.error == ENOENT and self._is(a, a.path, "-")
        if dynamic and not self._is(a, a.path, "d"):
            return False
        seen = {}
        for entry in a.rest:
            name, kind, *attr = entry.split(":")
            if name in seen:
                return False
            seen[name] = (kind, *(int(x) for x in attr))
        for name in FILES[:2] if dynamic else FILES + SUBDIRS:
            kind, *attr = seen.get(name, "-")
            if not self._is(a, f"{a.path}/{name}", kind, *(attr if kind == "f" else ())):
                return False
        return True

    def allows(self, answer):
        return {"S": self._stat, "R": self._read, "L": self._list}[answer.kind](answer)

    def explain(self, answer):
        """For people: what was asked, what it could have been, and when that ended."""
        where = [answer.path] + [p for p in self.timelines if os.path.dirname(p) == answer.path and answer.kind == "L"]
        where += [change.args[0] for p in where for change, _, after in self.world.history.get(p, ()) if change.op == "rename" and after
                  and abs(change.begin - answer.asked) < 3 * S]
        out = [f"{answer.line}"]
        for path in where:
            for state, begin, until in self.timelines.get(path, ())[:4]:
                if until > answer.asked - 5 * S:
                    out.append(f"    {path} {state} from {(begin - answer.asked) / MS:+.1f} ms until "
                               f"{'now' if until == ALWAYS else f'{(until - answer.asked) / MS:+.1f} ms'} of the question")
            for change, _, _ in self.world.history.get(path, ()):
                if -3 * S < change.begin - answer.asked < S:
                    told = self._told(change, path, change.names())
                    out.append(f"    {change!r} {(change.begin - answer.asked) / MS:+.1f} .. {(change.end - answer.asked) / MS:+.1f} ms, "
                               f"told {'never' if told is None else f'{(told - answer.asked) / MS:+.1f} ms'}")
        return "\n".join(out)
