"""Reads a table with Spark, each sample once, and compares each row with what was recorded.

spark.py TABLE EXPECTED VIEW: EXPECTED is JSON, rows of [series, time_ns, type, value as text]; VIEW is SQL
that makes a view `samples` of a table `sensors`.
"""
import json
import pathlib
import sys

from pyspark.sql import SparkSession

# The release of Delta that belongs to the release of Spark in spark.txt.
DELTA = "io.delta:delta-spark_2.13:4.0.1"
OF = {"f64": float, "i64": int, "bool": lambda text: text == "true", "text": str}


def main():
    table, wanted, view = sys.argv[1:]
    wanted = sorted((s, t, OF[k](v)) for s, t, k, v in json.load(open(wanted)))
    builder = SparkSession.builder.master("local[1]")
    for key, value in {
        "spark.jars.packages": DELTA,
        "spark.jars.ivy": str(pathlib.Path(sys.prefix) / "ivy"),
        "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
        "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.shuffle.partitions": "1",
        "spark.databricks.delta.snapshotPartitions": "1",
        "spark.ui.enabled": "false",
    }.items():
        builder = builder.config(key, value)
    spark = builder.getOrCreate()
    spark.read.format("delta").load(table).createOrReplaceTempView("sensors")
    spark.sql(pathlib.Path(view).read_text().replace("CREATE VIEW", "CREATE TEMPORARY VIEW"))
    columns = "series, unix_micros(time) * 1000 + ns, value, value_i64, value_bool, value_text, metric, labels"
    found = []
    for series, time_ns, *values, metric, labels in spark.sql(f"SELECT {columns} FROM samples").collect():
        text = ",".join(f'{key}="{value}"' for key, value in sorted(labels.items()))
        assert series == metric + (f"{{{text}}}" if text else ""), (series, metric, text)
        (value,) = [value for value in values if value is not None]
        found.append((series, time_ns, value))
    found.sort()
    assert found == wanted, f"spark: {len(found)} rows, expected {len(wanted)}"
    print(f"spark: {len(found)} rows")


main()
