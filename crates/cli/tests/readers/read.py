"""Reads what `baro` wrote with the programs that people use, and compares it with what was recorded.

Called by readers.rs with a folder. `expected.json` in it has the rows as [series, time_ns, value],
by series and time; a value that is no number is "nan". A line is printed for each check that held;
the first that does not is an error.
"""

import json
import math
import os
import sys

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.ipc
import pyarrow.parquet as pq

folder = sys.argv[1]
expected = json.load(open(os.path.join(folder, "expected.json")))
floats = [row for row in expected if row[0].startswith("temp")]


def path(name):
    return os.path.join(folder, name)


def plain(value):
    """A value as expected.json has it."""
    if value is None or value is pd.NaT:
        return None
    if hasattr(value, "item"):
        value = value.item()
    if isinstance(value, float):
        if math.isnan(value):
            return "nan"
        if math.isinf(value):
            return "inf" if value > 0 else "-inf"
    return value


def same(found, wanted, what):
    """Rows of (series, time_ns, value), in the order in which baro wrote them."""
    found = [[series, int(time), plain(value)] for series, time, value in found]
    if len(found) != len(wanted):
        sys.exit(f"{what}: expected {len(wanted)} rows, found {len(found)}")
    for at, (a, b) in enumerate(zip(found, wanted)):
        if a != b or type(a[2]) is not type(b[2]):
            sys.exit(f"{what}: row {at}: expected {b}, found {a}")
    print(f"{what}: {len(found)} rows")


def with_nulls(rows):
    """As JSON has them: neither NaN nor infinities."""
    return [[s, t, None if isinstance(v, str) else v] for s, t, v in rows]


def ns(column):
    return column.dt.as_unit("ns").astype("int64")


# pandas
frame = pd.read_parquet(path("floats.parquet"))
same(zip(frame.series, ns(frame.time), frame.value), floats, "pandas parquet")
frame = pd.read_csv(path("floats.csv"), float_precision="round_trip")
same(zip(frame.series, frame.time, frame.value), floats, "pandas csv")
for name, lines in [("floats.json", False), ("floats.ndjson", True)]:
    frame = pd.read_json(path(name), lines=lines, dtype=False, precise_float=True)
    values = [None if pd.isna(value) else value for value in frame.value]
    what = "pandas ndjson" if lines else "pandas json"
    same(zip(frame.series, frame.time_ns, values), with_nulls(floats), what)

# Polars
frame = pl.read_parquet(path("floats.parquet"))
same(zip(frame["series"], frame["time"].dt.timestamp("ns"), frame["value"]), floats, "polars parquet")
frame = pl.read_ipc_stream(path("floats.arrow"))
same(zip(frame["series"], frame["time"].dt.timestamp("ns"), frame["value"]), floats, "polars arrow")
frame = pl.read_csv(path("floats.csv"), schema_overrides={"value": pl.Float64})
same(zip(frame["series"], frame["time"], frame["value"]), floats, "polars csv")
frame = pl.read_json(path("floats.json"), infer_schema_length=None)
same(zip(frame["series"], frame["time_ns"], frame["value"]), with_nulls(floats), "polars json")
frame = pl.read_ndjson(path("floats.ndjson"), infer_schema_length=None)
same(zip(frame["series"], frame["time_ns"], frame["value"]), with_nulls(floats), "polars ndjson")

# pyarrow: values of several types, each in a column of its own, and what is told about them.
COLUMNS = ["value_f64", "value_i64", "value_bool"]


def mixed(table):
    columns = [table[name].to_pylist() for name in COLUMNS]
    values = []
    for row in zip(*columns):
        there = [value for value in row if value is not None]
        assert len(there) == 1, row
        values.append(there[0])
    return zip(table["series"].to_pylist(), table["time"].cast(pa.int64()).to_pylist(), values)


def told(schema):
    assert schema.field("time").type == pa.timestamp("ns", "UTC"), schema
    assert pa.types.is_dictionary(schema.field("series").type), schema
    assert schema.field("value_f64").metadata[b"unit"] == "°C".encode(), schema
    series = json.loads(schema.metadata[b"barograph:series"])
    by_name = {one["name"]: one for one in series}
    one = by_name['temp{line="3",site="a"}']
    assert one["labels"] == {"line": "3", "site": "a"} and one["unit"] == "°C", one


table = pq.read_table(path("all.parquet"))
told(table.schema)
same(mixed(table), expected, "pyarrow parquet")
group = pq.ParquetFile(path("all.parquet")).metadata.row_group(0)
assert group.column(1).statistics.has_min_max and group.column(0).statistics.has_min_max
table = pa.ipc.open_stream(path("all.arrow")).read_all()
told(table.schema)
same(mixed(table), expected, "pyarrow arrow")

# DuckDB, files and Arrow tables alike.
ROWS = "select series, epoch_ns(time), value from"
found = duckdb.sql(f"{ROWS} '{path('floats.parquet')}'").fetchall()
same(found, floats, "duckdb parquet")
stream = pa.ipc.open_stream(path("floats.arrow")).read_all()
same(duckdb.sql(f"{ROWS} stream").fetchall(), floats, "duckdb arrow")
columns = "columns={'time': 'BIGINT', 'series': 'VARCHAR', 'value': 'DOUBLE'}"
csv = f"read_csv('{path('floats.csv')}', {columns}, header=true)"
same(duckdb.sql(f"select series, time, value from {csv}").fetchall(), floats, "duckdb csv")
for name in ["json", "ndjson"]:
    rows = duckdb.sql(f"select series, time_ns, value from read_json('{path('floats.' + name)}')")
    same(rows.fetchall(), with_nulls(floats), f"duckdb {name}")
days = f"read_parquet('{path('days')}/*/*.parquet', hive_partitioning=true)"
found = duckdb.sql(f"select date::varchar, count(*) from {days} group by 1 order by 1").fetchall()
by_day = {}
for _, time_ns, _ in expected:
    day = pd.Timestamp(time_ns).strftime("%Y-%m-%d")
    by_day[day] = by_day.get(day, 0) + 1
assert found == sorted(by_day.items()), (found, by_day)
print(f"duckdb days: {len(found)} folders")

# One value for each step of time, against what pandas makes of the samples.
frame = pd.read_parquet(path("means.parquet"))
raw = pd.DataFrame(floats, columns=["series", "time", "value"])
raw = raw[raw.series == 'temp{line="3",site="a"}']
raw["time"] = pd.to_datetime(raw.time, utc=True)
means = raw.astype({"value": "float64"}).set_index("time").value.resample("1min").mean().dropna()
assert list(frame.time) == list(means.index) and len(means) > 10, (frame, means)
assert max(abs(a - b) for a, b in zip(frame.value, means)) < 1e-9
print("pandas means: as resample")

# What these programs write is imported by baro: readers.rs does it.
wide = pd.DataFrame({
    "time": pd.date_range("2024-02-28T23:59:58Z", periods=4, freq="s"),
    "speed": [1.5, float("nan"), -2.25, 1e300],
    "count": [1, -2, 3, 4],
    "on": [True, False, True, True],
})
wide.to_parquet(path("wide.parquet"))
long = pl.DataFrame({
    "series": ["a", "a", 'b{c="d"}', "a"],
    "time": [1_700_000_000_000 + n for n in range(4)],
    "value": [1.5, None, 2.5, 3.5],
}).with_columns(pl.col("time").cast(pl.Datetime("ms")))
long.write_parquet(path("long.parquet"), compression="snappy")
long.write_parquet(path("zstd.parquet"), compression="zstd")
duckdb.sql("select 'n' as series, range * 1000 as time, range::integer as value from range(3)") \
    .write_parquet(path("duck.parquet"))
