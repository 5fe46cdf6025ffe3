#!/usr/bin/env python3
"""demo-plot.py DEMO PLOT: the demo's figures as a picture, PLOT, an SVG.

A panel a metric, a bar a profile, on one logarithmic scale a panel: from 1 (of seconds: from a tenth) to the power of
ten above the largest. Each bar has its figure written behind it, so that nobody has to read the scale.
"""
import json
import math
import sys

# title, member of a run's JSON, where the scale begins, how a figure is written
METRICS = [
    ("application start, seconds", "seconds", 0.1, "{:,.1f}"),
    ("SMB2 messages", "messages", 1, "{:,}"),
    ("of them QUERY_DIRECTORY", "commands.QUERY_DIRECTORY", 1, "{:,}"),
    ("waits for the server (round trips)", "round_trips", 1, "{:,}"),
]
COLOURS = {"23h2": "#4878a8", "25h2": "#c8553d", "larder": "#4f8a4f"}
WIDTH, LABELS, FIGURES = 720, 70, 70
BAR, GAP, PANEL_GAP, TITLE = 16, 4, 18, 22


def value(run, member):
    for part in member.split("."):
        run = run.get(part, 0)
    return run


def length(x, low, high):
    return 0 if x <= low else math.log(x / low) / math.log(high / low)


def panel(title, member, low, form, runs, y):
    values = [value(run, member) for run in runs]
    high = 10 ** math.ceil(math.log10(max(values + [low * 10])))
    room = WIDTH - LABELS - FIGURES
    out = [f'<text x="0" y="{y + 14}" class="t">{title}</text>']
    for i, (run, x) in enumerate(zip(runs, values)):
        top, bar = y + TITLE + i * (BAR + GAP), room * length(x, low, high)
        out += [f'<text x="0" y="{top + 12}">{run["profile"]}</text>',
                f'<rect x="{LABELS}" y="{top}" width="{bar:.1f}" height="{BAR}" fill="{COLOURS[run["profile"]]}"/>',
                f'<text x="{LABELS + bar + 6:.1f}" y="{top + 12}">{form.format(x)}</text>']
    return out, y + TITLE + len(runs) * (BAR + GAP) + PANEL_GAP


def main():
    with open(sys.argv[1]) as f:
        runs = [r for r in json.load(f)["runs"] if r["profile"] in COLOURS]
    body, y = [], 8
    for metric in METRICS:
        more, y = panel(*metric, runs, y)
        body += more
    said = "; ".join(f"{title}: " + ", ".join(f"{r['profile']} {form.format(value(r, member))}" for r in runs)
                     for title, member, _, form in METRICS)
    with open(sys.argv[2], "w") as f:
        f.write(f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="-12 0 {WIDTH + 24} {y}" role="img" aria-label="{said}">\n'
                '<style>text { font: 13px sans-serif; fill: #222 } .t { font-weight: bold }</style>\n'
                f'<rect x="-12" width="{WIDTH + 24}" height="{y}" fill="#fff"/>\n' + "\n".join(body) + "\n</svg>\n")


main()
