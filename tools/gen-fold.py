#!/usr/bin/env python3
"""Writes src/base/fold_table.inc: simple upper-case mappings of the BMP as runs {first, last, step, delta}.

One-to-one mappings only, as file servers have them; Python's str.upper() of one character where the
result is one character of the BMP. Run it again for a newer Unicode version and commit the result.
"""
import sys

pairs = []
for code in range(0x80, 0x10000):
    upper = chr(code).upper() if not 0xD800 <= code <= 0xDFFF else chr(code)
    if len(upper) == 1 and ord(upper) != code and ord(upper) < 0x10000:
        pairs.append((code, ord(upper) - code))

runs = []
for code, delta in pairs:
    if runs:
        first, last, step, d = runs[-1]
        gap = code - last
        if d == delta and (gap == step or (first == last and gap in (1, 2))):
            runs[-1] = (first, code, gap, d)
            continue
    runs.append((code, code, 1, delta))

out = ["/* Made by tools/gen-fold.py: {first, last, step, delta}, sorted. */"]
out += ["{0x%04x, 0x%04x, %d, %d}," % run for run in runs]
open(sys.argv[1] if len(sys.argv) > 1 else "src/base/fold_table.inc", "w").write("\n".join(out) + "\n")
