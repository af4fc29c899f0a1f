"""The examples of docs/python.md, as they stand there, one after the other."""

import os
import re
import sys

import numpy

folder = sys.argv[1]
page = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../../../docs/python.md")
blocks = re.findall(r"```python\n(.*?)```", open(page, encoding="utf-8").read(), re.DOTALL)
now = __import__("time").time_ns()
# What the page leaves open.
given = {"times_ns": now - numpy.arange(600, 0, -1) * 1_000_000_000, "values": numpy.linspace(20.0, 22.0, 600)}
for number, block in enumerate(blocks):
    lines = block.replace("/data/store", folder + "/store").rstrip().split("\n")
    if number == 0:
        # What its last line hands out is looked at.
        lines[-1] = "table = " + lines[-1]
    exec(compile("\n".join(lines), f"python.md, block {number + 1}", "exec"), given)
    print(f"ok: block {number + 1}")
table = given["table"]
assert table.columns == ["series", "time", "value"] and 10 <= table.height <= 12, table
assert set(table["series"]) == {'temp{site="a"}'} and 20.0 <= table["value"].min() <= table["value"].max() <= 22.0
assert given["minutes"].columns[:2] == ["time", 'temp{site="a"}'] and "flow" in given["minutes"].columns
assert len(blocks) == 4, len(blocks)
