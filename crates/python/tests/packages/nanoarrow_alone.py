"""nanoarrow alone: the stream as the interface has it."""

import sys

import nanoarrow
from recorded import COUNTS, FLOATS, TEXTS, TIMES, TRUTHS, check, float_bits, record

store = record(sys.argv[1])
rows = list(nanoarrow.ArrayStream(store.query('temp{site="a"}')).read_all().iter_tuples())
check(float_bits([row[2] for row in rows]), float_bits(FLOATS), "floats to the bit")
check([row[0] for row in rows], ['temp{site="a"}'] * len(TIMES), "names")
for name, wanted in (("count", COUNTS), ("truth", TRUTHS), ("text", TEXTS)):
    array = nanoarrow.Array(store.query(name))
    check([row[2] for row in array.iter_tuples()], wanted, name)
schema = nanoarrow.Schema(store.query("count"))
check([field.name for field in schema.fields], ["series", "time", "value"], "schema")
times = nanoarrow.Array(next(iter(store.query("count")))).child(1)
check(bytes(memoryview(times.buffers[1])), b"".join(time.to_bytes(8, "little") for time in TIMES), "times")
mixed = nanoarrow.Array(store.query(["count", "text"]))
check([row[2] for row in mixed.iter_tuples()], COUNTS + [None] * len(TIMES), "nulls")
