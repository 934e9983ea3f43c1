#!/usr/bin/env python3
"""choose_inputs.py CONTROL DIR: of the inputs in a control file of libFuzzer's -set_cover_merge,
copies to DIR a few small ones that reach as much as a few can. Called by `./dev fuzz NAME keep`."""

import hashlib
import os
import shutil
import sys

MAX_INPUTS = 30
MAX_BYTES = 5200

control, target = sys.argv[1:]
lines = open(control).read().splitlines()
names = lines[2 : 2 + int(lines[0])]
sizes = [os.path.getsize(name) for name in names]
features = {}
for line in lines[2 + len(names) :]:
    kind, number, *rest = line.split()
    if kind == "FT":
        features[int(number)] = set(rest)

# By turns the input that adds most; the smallest where several add as much.
left = {i: reached for i, reached in features.items() if sizes[i] <= MAX_BYTES}
seen = set()
for _ in range(MAX_INPUTS):
    best = min(left, key=lambda i: (-len(left[i] - seen), sizes[i]), default=None)
    if best is None or not left[best] - seen:
        break
    seen |= left.pop(best)
    data = open(names[best], "rb").read()
    shutil.copyfile(names[best], f"{target}/{hashlib.sha1(data).hexdigest()[:16]}")
