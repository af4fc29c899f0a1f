"""Reads a table as people do, and compares each row with what was recorded.

read.py TABLE EXPECTED VIEW: EXPECTED is JSON, rows of [series, time_ns, type, value as text], each once; VIEW
is SQL that makes a view `samples` of a table `sensors`.
"""
import json
import pathlib
import sys

import deltalake
import duckdb
import duckdb_extension_delta
import polars
import pyarrow

COLUMNS = {"f64": "value", "i64": "value_i64", "bool": "value_bool", "text": "value_text"}


def expected(path):
    of = {"f64": float, "i64": int, "bool": lambda text: text == "true", "text": str}
    return sorted((s, t, of[k](v)) for s, t, k, v in json.load(open(path)))


def newest(rows):
    """Of rows of (series, time_ns, sequence, value) that with the highest sequence counts."""
    kept = {}
    for series, time_ns, sequence, value in sorted(rows, key=lambda row: row[2]):
        kept[series, time_ns] = value
    return sorted((series, time_ns, value) for (series, time_ns), value in kept.items())


def check(name, found, wanted):
    assert found == wanted, f"{name}: {len(found)} rows, expected {len(wanted)}"
    print(f"{name}: {len(found)} rows")


def arrow_rows(table):
    table = pyarrow.table(table)
    time_us = table["time"].cast("int64").to_pylist()
    values = [table[column].to_pylist() for column in COLUMNS.values()]
    names = ["series", "ns", "sequence", "labels", "metric"]
    series, ns, sequence, labels, metric = (table[name].to_pylist() for name in names)
    for at, name in enumerate(series):
        pairs = (pair.values() if isinstance(pair, dict) else pair for pair in labels[at])
        text = ",".join(f'{key}="{value}"' for key, value in pairs)
        assert name == metric[at] + (f"{{{text}}}" if text else ""), (name, metric[at], text)
        (value,) = [column[at] for column in values if column[at] is not None]
        yield name, time_us[at] * 1000 + ns[at], sequence[at], value


def main():
    table, wanted = sys.argv[1], expected(sys.argv[2])
    lake = deltalake.DeltaTable(table)
    assert lake.protocol().min_reader_version == 1, lake.protocol()
    arrow = lake.to_pyarrow_table()
    check("deltalake", newest(arrow_rows(arrow)), wanted)

    # By the statistics of the log and of Parquet, files and row groups are passed over.
    middle_us = sorted(row[1] for row in wanted)[len(wanted) // 2] // 1000
    some = [row for row in wanted if row[1] // 1000 < middle_us]
    before = polars.from_epoch(polars.lit(middle_us), time_unit="us").dt.replace_time_zone("UTC")
    scanned = polars.scan_delta(table).filter(polars.col("time") < before).collect()
    check("polars", newest(arrow_rows(scanned.to_arrow())), some)

    # DuckDB by its own extension, which reads the log itself.
    floats = [row for row in wanted if isinstance(row[2], float)]
    folder = pathlib.Path(duckdb_extension_delta.__file__).parent
    (extension,) = folder.glob("extensions/*/delta.duckdb_extension")
    connection = duckdb.connect()
    connection.execute(f"LOAD '{extension}'")
    connection.execute(f"CREATE VIEW sensors AS SELECT * FROM delta_scan('{table}')")
    connection.execute(pathlib.Path(sys.argv[3]).read_text())
    count, total = connection.execute("SELECT count(value), sum(value) FROM samples").fetchone()
    assert (count, total) == (len(floats), sum(row[2] for row in floats)), (count, total)
    print(f"duckdb: {count} rows")

    # Another writer goes on with the table, and its compaction keeps all rows.
    lake.optimize.compact()
    check("compacted", newest(arrow_rows(deltalake.DeltaTable(table).to_pyarrow_table())), wanted)
    deltalake.DeltaTable(table).create_checkpoint()


main()
