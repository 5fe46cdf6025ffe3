#!/usr/bin/env python3
"""demo-report.py DEMO MINIMAL-PATH RAISED-SETTINGS: the report's figures beside those of the demo."""
import json
import sys

# metric, member of a run's JSON, and what the report measured: 23H2, 25H2, 25H2 with its path cut
REPORT = [
    ("application start (s)", "seconds", 26, 80, 30),
    ("SMB2 messages", "messages", 12544, 227796, 119153),
    ("CREATE", "commands.CREATE", 3278, 56536, None),
    ("CLOSE", "commands.CLOSE", 2274, 54462, None),
    ("READ", "commands.READ", 586, 570, None),
    ("QUERY_DIRECTORY", "commands.QUERY_DIRECTORY", 1128, 107382, 57888),
    ("QUERY_INFO", "commands.QUERY_INFO", 4284, 8846, None),
    ("IOCTL", "commands.IOCTL", 10, 0, None),
    ("CHANGE_NOTIFY", "commands.CHANGE_NOTIFY", 0, 0, None),
    ("Metadata Requests/sec", "metadata_requests_per_second", 87.10, 1185.52, None),
    ('trace events "file"', "events.file", 151667, 185365, None),
    ('trace events "dir"', "events.dir", 93917, 0, 0),
    ('trace events "performance"', "events.performance", 0, 106557, None),
]


def value(run, member):
    for part in member.split("."):
        run = run.get(part, 0)
    return run


def number(x):
    if x is None:
        return "-"
    return f"{x:,}" if isinstance(x, int) else f"{x:,.1f}"


def ratio(x, base):
    if not base or x is None:
        return "-"
    r = x / base
    return f"{r:,.2f}x" if r < 0.995 else f"{r:,.1f}x"


def show(title, heads, rows):
    print(title)
    widths = [max(len(r[i]) for r in [heads] + rows) for i in range(len(heads))]
    for row in [heads, ["-" * w for w in widths]] + rows:
        print("  ".join(c.ljust(w) if i == 0 else c.rjust(w) for i, (c, w) in enumerate(zip(row, widths))).rstrip())
    print()


def run_of(path, profile):
    with open(path) as f:
        return next(r for r in json.load(f)["runs"] if r["profile"].split(":")[0] == profile)


def main():
    demo, minimal, raised = sys.argv[1:]
    old, new, ours = (run_of(demo, p) for p in ("23h2", "25h2", "larder"))
    cut, more = run_of(minimal, "25h2"), run_of(raised, "25h2")

    rows = []
    for name, member, a, b, _ in REPORT:
        x, y, z = (value(run, member) for run in (old, new, ours))
        rows.append([name, number(a), number(b), ratio(b, a), number(x), number(y), ratio(y, x), number(z)])
    show("The report's figures (two Windows PCs, their tool) beside ours (this tool, this server):",
         ["metric", "23H2", "25H2", "ratio", "23h2", "25h2", "ratio", "larder"], rows)

    rows = []
    for name, member, _, b, c in REPORT:
        if c is not None:
            x, y, z = (value(run, member) for run in (new, cut, more))
            rows.append([name, number(b), number(c), number(x), number(y), ratio(y, x), number(z), ratio(z, x)])
    show("What the reporter tried on 25H2. Of raised settings the report says, without figures, that nothing changed.",
         ["metric", "25H2", "path cut", "25h2", "path cut", "ratio", "raised", "ratio"], rows)
    print("The profiles 23h2 and 25h2 model what the report measured; they are not Microsoft's code.")


main()
