"""pandas without pyarrow: long, wide, steps; and DataFrames that are written, with times of every unit."""

import datetime
import importlib.util
import sys

import numpy
import pandas
from recorded import COUNTS, FLOATS, TEXTS, TIMES, TRUTHS, check, float_bits, record

import barograph

assert importlib.util.find_spec("pyarrow") is None
store = record(sys.argv[1])
frame = store.query('temp{site="a"}').to_pandas()
check(list(frame.columns), ["series", "time", "value"], "columns")
check(str(frame.dtypes["time"]), "datetime64[ns, UTC]", "zone")
check(frame["time"].astype("int64").tolist(), TIMES, "times")
check(float_bits(frame["value"].tolist()), float_bits(FLOATS), "floats to the bit")
check(frame["value"].to_numpy().view("uint64").tolist(), [int.from_bytes(b, "little") for b in float_bits(FLOATS)], "NaNs to the bit")
check(set(frame["series"]), {'temp{site="a"}'}, "names")
check(frame.attrs, {"units": {"value": "°C"}}, "units")
for name, wanted in (("count", COUNTS), ("truth", TRUTHS), ("text", TEXTS)):
    check(store.query(name).to_pandas()["value"].tolist(), wanted, name)
mixed = store.query(["count", "text"]).to_pandas()
check(mixed["value_i64"].dropna().tolist(), COUNTS, "integers beside texts")
check(int(mixed["value_text"].isna().sum()), len(TIMES), "nulls")
wide = store.query(["count", "truth"], wide=True).to_pandas()
check((wide["count"].tolist(), wide["truth"].tolist()), (COUNTS, TRUTHS), "wide")
columns = store.query("count").to_numpy()
check((columns.time.dtype.str, columns.value.tolist()), ("<M8[ns]", COUNTS), "numpy")
check(len(store.query("count", start="2099-01-01").to_pandas()), 0, "none")

times = pandas.to_datetime(numpy.arange(5) * 1_000_000_000, utc=True)
values = numpy.array([1.0, 2.5, numpy.nan, -0.0, 1e300])


def written(frame, name, **options):
    with barograph.Recorder(sys.argv[1] + "/store") as rec:
        pushed = rec.write_frame(frame, **options)
    rows = store.refresh().query(name).to_pandas()
    return pushed, rows["time"].astype("int64").tolist(), rows["value"].tolist()


wanted_ns = [at * 1_000_000_000 for at in range(5)]
for at, unit in enumerate(("s", "ms", "us", "ns")):
    for zone in (None, "UTC", "Europe/Berlin"):
        name = f"w{at}{zone and zone[0]}"
        moments = times.as_unit(unit).tz_convert(zone) if zone else times.as_unit(unit).tz_localize(None)
        pushed, found, back = written(pandas.DataFrame({"time": moments, name: values}), name)
        check((pushed, found, float_bits(back)), (5, wanted_ns, float_bits(values)), f"wide in {unit}, zone {zone}")
long = pandas.DataFrame({"time": list(times) * 2, "series": ["l.a"] * 5 + ["l.b"] * 5, "value": range(10)})
check(written(long, "l.b")[2], [5, 6, 7, 8, 9], "long")
check(written(long.assign(series=long["series"].astype("category")), "l.a")[2], [0, 1, 2, 3, 4], "categories")
gaps = pandas.DataFrame({"time": times, "gaps": pandas.array([1, None, 3, None, 5], dtype="Int64")})
check(written(gaps, "gaps")[2], [1, 3, 5], "nulls are no samples")
texts = pandas.DataFrame({"time": times, "texts": ["a", None, "c", "", "e"]})
check(written(texts, "texts")[2], ["a", "c", "", "e"], "texts")
check(written(pandas.DataFrame({"indexed": values}, index=pandas.Index(times, name="time")), "indexed")[0], 5, "an index")
arrays = pandas.DataFrame({"time": times, "floats": pandas.array([1.5, None, 3, None, 5], dtype="Float64")})
check(written(arrays, "floats")[2], [1.5, 3, 5], "nulls of floats are no samples")

# What has no value is never a number.
every = dict(start=wanted_ns[0], end=wanted_ns[-1] + 1, every="1s", agg="last", fill="null")
steps = store.query("floats", **every).to_numpy().value
check((steps[0], numpy.isnan(steps).tolist()), (1.5, [False, True, False, True, False]), "steps of floats without one")
steps = store.query("gaps", **every).to_numpy().value
check((steps.tolist(), numpy.ma.is_masked(steps)), ([1, None, 3, None, 5], True), "steps of integers without one")


def pushed(name, moments, column, type="float64"):
    with barograph.Recorder(sys.argv[1] + "/store") as rec:
        rec.push_many(rec.series(name, type=type), moments, column)
    return store.refresh().query(name).to_pandas()["value"].tolist()


at_ns = numpy.array(wanted_ns)
check(pushed("p.mixed", wanted_ns, [1, 2.5, 2**53, -3, 0.5]), [1.0, 2.5, 2.0**53, -3.0, 0.5], "integers that are floats")
check(pushed("p.swapped", at_ns.astype(">M8[ns]"), values.astype(">f8"))[1], 2.5, "the other byte order")
check(store.query("p.swapped").to_pandas()["time"].astype("int64").tolist(), wanted_ns, "times of it")
hidden = numpy.ma.array(values, mask=[False, False, True, False, False])
for what, column in (
    ("p.large", [1.5, 2**53 + 1, 3, 4, 5]),
    ("p.masked", hidden),
    ("p.null", arrays["floats"]),
    ("p.huge", [1.5, 10**400, 3, 4, 5]),
):
    try:
        pushed(what, wanted_ns, column)
    except ValueError as error:
        check(" in row " in str(error) and str(error).startswith("values:"), True, f"{what}: {error}")
    else:
        sys.exit(f"{what}: was taken")
for moment in (numpy.datetime64("NaT"), numpy.datetime64("3000-01-01"), numpy.datetime64("NaT", "ns")):
    try:
        store.query("floats", start=moment)
    except ValueError as error:
        check(str(error).startswith("start:"), True, f"{moment}: {error}")
    else:
        sys.exit(f"{moment}: was taken")


def refused(frame, name, **options):
    try:
        written(frame, "count", **options)
    except (TypeError, ValueError) as error:
        if name not in str(error):
            sys.exit(f"expected {name} to be named, found: {error}")
        print(f"ok: refused: {error}")
    else:
        sys.exit(f"{name}: was taken")


twice = pandas.DataFrame([[times[0], 1.0, 2.0]], columns=["time", "twice", "twice"])
refused(twice, "twice")
refused(pandas.DataFrame({"time": times, "objects": [{}, [], 1, 2.0, "a"]}), "objects")
mixed_zones = [datetime.datetime(2026, 1, 1, tzinfo=datetime.timezone(datetime.timedelta(hours=at))) for at in range(5)]
refused(pandas.DataFrame({"time": pandas.Series(mixed_zones, dtype=object), "a": values}), "times_ns")
refused(pandas.DataFrame({"a": values}), "time")
refused(pandas.DataFrame({"time": [pandas.NaT, *times[1:]], "a": values}), "times_ns")
refused(pandas.DataFrame({"time": times, "temperature": values}), "value", value="temperature")
try:
    written(numpy.zeros(3), "count")
except TypeError as error:
    check(str(error).startswith("data:"), True, "no table")
else:
    sys.exit("an array is no table")
