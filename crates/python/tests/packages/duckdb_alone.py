"""DuckDB alone: SQL over rows, and its relations written."""

import sys

import duckdb
from recorded import COUNTS, FLOATS, TEXTS, TIMES, TRUTHS, check, float_bits, record

import barograph

store = record(sys.argv[1])
duckdb.sql("set timezone = 'UTC'")
rows = store.query('temp{site="a"}')
found = duckdb.sql("select series, epoch_ns(time) as t, value from rows order by t").fetchall()
check([row[0] for row in found], ['temp{site="a"}'] * len(TIMES), "names")
# Its timestamps with a zone have microseconds.
check([row[1] // 1000 for row in found], [time // 1000 for time in TIMES], "times, to the microsecond")
check(float_bits([row[2] for row in found]), float_bits(FLOATS), "floats to the bit")
for name, wanted in (("count", COUNTS), ("truth", TRUTHS), ("text", TEXTS)):
    rows = store.query(name)
    check([row[0] for row in duckdb.sql("select value from rows order by time").fetchall()], wanted, name)
rows = store.query(["count", "text"])
check(duckdb.sql("select count(*), count(value_i64), count(value_text) from rows").fetchall(), [(16, 8, 8)], "nulls")
check(duckdb.sql("select max(value_i64) from rows where time > '2023-11-14'").fetchall(), [(COUNTS[-1],)], "SQL")
with barograph.Recorder(sys.argv[1] + "/store") as rec:
    relation = duckdb.sql("select to_timestamp(i) as time, i * 0.5::double as sql_made from range(1000) t(i)")
    check(rec.write_frame(relation), 1000, "a relation, written")
rows = store.refresh().query("sql_made")
check(duckdb.sql("select count(*), sum(value) from rows").fetchall(), [(1000, 249750.0)], "it comes back")
