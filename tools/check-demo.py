#!/usr/bin/env python3
"""check-demo.py JSON FILES DIRECTORIES: whether the demo showed what it is to show; 1 if not."""
import json
import sys


def main():
    path, files, directories = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    with open(path) as f:
        runs = {run["profile"]: run for run in json.load(f)["runs"]}
    old, new, ours = runs["23h2"], runs["25h2"], runs["larder"]

    def commands(run, name):
        return run["commands"].get(name, 0)

    reads = [run["requests"].get("READ", 0) for run in (old, new, ours)]
    limit = 1.5 * (files + directories) + 20
    checks = [
        ("every command exited with 0", all(r["exit_status"] == 0 for r in runs.values()),
         [r["exit_status"] for r in runs.values()]),
        ("READ requests are within 5 % of each other", min(reads) > 0 and max(reads) <= 1.05 * min(reads), reads),
        ("QUERY_DIRECTORY of 25h2 is 20 times that of 23h2 or more",
         commands(new, "QUERY_DIRECTORY") >= 20 * commands(old, "QUERY_DIRECTORY") > 0,
         [commands(old, "QUERY_DIRECTORY"), commands(new, "QUERY_DIRECTORY")]),
        ("CREATE of 25h2 is 5 times that of 23h2 or more",
         commands(new, "CREATE") >= 5 * commands(old, "CREATE") > 0,
         [commands(old, "CREATE"), commands(new, "CREATE")]),
        ("23h2 has dir events, 25h2 has none", old["events"]["dir"] > 0 and new["events"]["dir"] == 0,
         [old["events"]["dir"], new["events"]["dir"]]),
        ("round trips of larder are at most half of 23h2's", 2 * ours["round_trips"] <= old["round_trips"],
         [old["round_trips"], ours["round_trips"]]),
        (f"round trips of larder are at most 1.5 x ({files} files + {directories} directories) + 20 = {limit:g}",
         ours["round_trips"] <= limit, [ours["round_trips"]]),
        ("messages of larder are at most 1.05 times 23h2's", ours["messages"] <= 1.05 * old["messages"],
         [old["messages"], ours["messages"]]),
    ]
    for what, holds, figures in checks:
        print(f"{'ok    ' if holds else 'FAILED'}  {what}: {', '.join(f'{x:,}' for x in figures)}")
    sys.exit(0 if all(holds for _, holds, _ in checks) else 1)


main()
