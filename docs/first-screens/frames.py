"""An analysis with pandas: many frames become one, of which only groups stay."""

import numpy
import pandas

rng = numpy.random.default_rng(1)
frames = [
    pandas.DataFrame({"key": rng.integers(0, 5000, 50_000), "kind": rng.choice(["alpha", "beta", "gamma"], 50_000), "value": rng.random(50_000)})
    for _ in range(40)
]
whole = pandas.concat(frames)
groups = whole.groupby(["key", "kind"]).agg({"value": ["mean", "max"]}).reset_index()
del frames, whole
joined = [groups.merge(groups, on="key") for _ in range(3)]
print(len(joined[0]))
