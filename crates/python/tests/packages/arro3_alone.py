"""arro3 alone: the stream, batches and columns."""

import sys

from arro3.core import Array, RecordBatch, Table
from recorded import COUNTS, FLOATS, TEXTS, TIMES, TRUTHS, check, float_bits, record

import barograph

store = record(sys.argv[1])


def values(table, name):
    return [one.as_py() for one in table[name]]


table = Table.from_arrow(store.query('temp{site="a"}'))
check(table.column_names, ["series", "time", "value"], "columns")
check(float_bits(values(table, "value")), float_bits(FLOATS), "floats to the bit")
for name, wanted in (("count", COUNTS), ("truth", TRUTHS), ("text", TEXTS)):
    check(values(Table.from_arrow(store.query(name)), "value"), wanted, name)
batch = next(iter(store.query("count")))
check(RecordBatch.from_arrow(batch).num_rows, len(TIMES), "a batch")
check([one.as_py() for one in Array.from_arrow(batch.column("value"))], COUNTS, "a column")
with barograph.Recorder(sys.argv[1] + "/store") as rec:
    again = rec.series("again", type="int64")
    check(rec.push_many(again, batch.column("time"), Array.from_arrow(batch.column("value"))), len(TIMES), "columns, written")
check(values(Table.from_arrow(store.refresh().query("again")), "value"), COUNTS, "they come back")
