"""Polars alone: reading and writing."""

import sys

import polars
from recorded import COUNTS, FLOATS, TEXTS, TIMES, TRUTHS, check, float_bits, record

import barograph

store = record(sys.argv[1])
for frame in (polars.DataFrame(store.query('temp{site="a"}')), store.query('temp{site="a"}').to_polars()):
    check(frame.columns, ["series", "time", "value"], "columns")
    check(frame.schema["time"], polars.Datetime("ns", "UTC"), "zone")
    check(frame["time"].to_physical().to_list(), TIMES, "times")
    check(float_bits(frame["value"].to_list()), float_bits(FLOATS), "floats to the bit")
    check(set(frame["series"]), {'temp{site="a"}'}, "names")
for name, wanted in (("count", COUNTS), ("truth", TRUTHS), ("text", TEXTS)):
    check(polars.DataFrame(store.query(name))["value"].to_list(), wanted, name)
mixed = polars.DataFrame(store.query(["count", "text"]))
check(mixed["value_i64"].to_list(), COUNTS + [None] * len(TIMES), "integers beside texts")
wide = polars.DataFrame(store.query(["count", "truth"], wide=True))
check((wide["count"].to_list(), wide["truth"].to_list()), (COUNTS, TRUTHS), "wide")
check(polars.DataFrame(store.query("count", start="2099-01-01")).height, 0, "none")
check(polars.DataFrame(store.series())["name"].to_list()[:2], ['temp{site="a"}', "count"], "the table of series")

with barograph.Recorder(sys.argv[1] + "/store") as rec:
    again = polars.DataFrame(store.query(["count", "text", 'temp{site="a"}']))
    check(rec.write_frame(again.with_columns(polars.col("series").cast(polars.String) + "2")), 3 * len(TIMES), "long, written")
    for unit in ("ms", "us", "ns"):
        times = polars.Series([1_000_000_000, 2_000_000_000]).cast(polars.Datetime("ns")).dt.cast_time_unit(unit)
        for zone in (None, "UTC", "Europe/Berlin"):
            column = times.dt.replace_time_zone("UTC").dt.convert_time_zone(zone) if zone else times
            frame = polars.DataFrame({"time": column, f"w{unit}{zone and zone[0]}": [1.5, None]})
            check(rec.write_frame(frame), 1, f"wide in {unit}, zone {zone}")
    check(rec.push_many(rec.series("column"), again["time"], again["value_i64"].cast(polars.Float32).fill_null(1)), 3 * len(TIMES), "columns")
store.refresh()
check(store.query("text2").to_polars()["value"].to_list(), TEXTS, "texts come back")
check(store.query("count2").to_polars()["value"].to_list(), COUNTS, "integers come back")
check(store.query("wmsE").to_polars()["time"].to_physical().to_list(), [1_000_000_000], "times come back")
