#!/usr/bin/env python3
"""What reading into Python costs; a JSON line for each measurement.

    rows.py FOLDER [--out FILE] [--runs 5] [--samples 10000000] [--sensors 100000]

Needs the wheel, numpy, pandas, polars and duckdb; BARO names a `baro` that settles. Stores are made in FOLDER once, with generated data, and kept.
Each measurement is a program of its own, so that its peak of memory is its own.
"""

import argparse
import json
import os
import platform
import subprocess
import sys
import time

BEGIN = 1_700_000_000_000_000_000
DAY_NS = 86_400_000_000_000


def one_series(folder, samples):
    """One series of many samples, a millisecond apart, settled."""
    import barograph
    import numpy

    path = f"{folder}/one-{samples}"
    if not os.path.exists(path + ".made"):
        with barograph.Recorder(path, create="2G") as rec:
            temp = rec.series("temp", unit="°C")
            for at in range(0, samples, 1_000_000):
                numbers = numpy.arange(at, min(at + 1_000_000, samples))
                values = numpy.round(20 + 5 * numpy.sin(numbers / 1e5) + (numbers * 7919 % 100) / 100, 2)
                rec.push_many(temp, BEGIN + numbers * 1_000_000, values)
            rec.wait_durable(timeout=600)
        settle(path)
    return path


def many_series(folder, sensors):
    """A day of many sensors: 500 every ten seconds, the others every hour."""
    import barograph
    import numpy

    path = f"{folder}/many-{sensors}"
    if not os.path.exists(path + ".made"):
        with barograph.Recorder(path, create="2G") as rec:
            names = [f'plant{{n="{at:06}"}}' for at in range(sensors)]
            for at, series in enumerate(rec.group(names, unit="bar")):
                step_ns = 10_000_000_000 if at % (sensors // 500) == 0 else 3_600_000_000_000
                times = BEGIN // DAY_NS * DAY_NS + numpy.arange(0, DAY_NS, step_ns)
                rec.push_many(series, times, numpy.round(numpy.cos(times / 1e12) * at, 1))
            rec.wait_durable(timeout=600)
        settle(path)
    return path


def settle(path):
    baro = os.environ.get("BARO")
    if baro:
        subprocess.run([baro, "settle", path, "--all"], check=True, stdout=subprocess.DEVNULL)
    open(path + ".made", "w").close()


def peak_bytes():
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) * 1024 for line in status if line.startswith("VmHWM"))


def timed(work, runs):
    seconds = []
    for _ in range(runs):
        begin = time.perf_counter()
        kept = work()
        seconds.append(time.perf_counter() - begin)
    return seconds, kept


def copied(what, path, pages):
    """The same columns, copied into fresh memory: by numpy, which asks for large pages, or by Python, which
    does not."""
    import barograph
    import numpy

    batches = barograph.open(path).query("temp")._query.read()[0]
    columns = [numpy.asarray(batches[0].column(name)) for name in ("time", "value")]
    if what != "numpy":
        columns.append(numpy.asarray(batches[0].column("series")))
    size = sum(column.nbytes for column in columns)
    if pages == "ordinary":
        return lambda: [bytearray(column.view("i4").data) for column in columns], size
    return lambda: [column.copy() for column in columns], size


def written(what, folder, runs):
    """A frame of pandas with ten million rows, until it survives a power cut; each time into a new file."""
    import shutil

    import barograph
    import numpy
    import pandas

    rows = 10_000_000
    numbers = numpy.arange(rows)
    times = pandas.to_datetime(BEGIN + numbers * 1_000_000, utc=True)
    frame = pandas.DataFrame({"time": times, "temp": numpy.round(20 + 5 * numpy.sin(numbers / 1e5), 2)})

    def by_barograph(place):
        with barograph.Recorder(place, create="2G") as rec:
            begin = time.perf_counter()
            assert rec.write_frame(frame) == rows
            rec.wait_durable(timeout=600)
            return time.perf_counter() - begin

    def by_duckdb(place):
        import duckdb

        connection = duckdb.connect(place)
        connection.execute("create table samples (time timestamptz, temp double)")
        source = frame
        assert len(source) == rows
        begin = time.perf_counter()
        connection.execute("insert into samples select * from source")
        connection.execute("checkpoint")
        took = time.perf_counter() - begin
        connection.close()
        return took

    seconds = []
    for _ in range(runs):
        place = f"{folder}/written-{what}"
        seconds.append({"barograph": by_barograph, "duckdb": by_duckdb}[what](place))
        shutil.rmtree(place) if os.path.isdir(place) else os.remove(place)
    return {"seconds": seconds, "rows": rows}


def child(what, path, runs):
    """Measures one thing; prints it."""
    import barograph

    if what.startswith("copy-"):
        _, form, pages = what.split("-")
        work, size = copied(form, path, pages)
        seconds, kept = timed(work, runs)
        return {"seconds": seconds, "bytes": size}
    if what.startswith("write-"):
        return written(what[6:], path, runs)
    store = barograph.open(path)
    if what in ("numpy", "pandas", "polars"):
        __import__(what)
        first = store.query("temp", limit=10)
        getattr(first, f"to_{what}")()
        before = peak_bytes()
        work = getattr(store.query("temp"), f"to_{what}")
        kept = work()
        peak = peak_bytes() - before
        rows = len(kept.value) if what == "numpy" else len(kept)
        size = rows * (16 if what == "numpy" else 20)
        del kept
        seconds, kept = timed(work, runs)
        return {"seconds": seconds, "rows": rows, "peak_bytes": peak, "bytes": size}
    names = store.series().column("name").to_list()
    if what == "minutes":
        chosen = names[:: len(names) // 500][:500]
        day = BEGIN // DAY_NS * DAY_NS
        ask = lambda: store.query(chosen, start=day, end=day + DAY_NS, every="1m", agg="mean").to_polars()
        rows = ask().height
        seconds, kept = timed(ask, runs)
        return {"seconds": seconds, "rows": rows, "series": len(chosen)}
    if what == "last":
        import random

        chosen = random.Random(7).sample(names, 1000)
        ask = lambda: [store.last(name).value for name in chosen]
        ask()
        seconds, kept = timed(ask, runs)
        return {"seconds": seconds, "asked": len(kept)}
    raise SystemExit(what)


def imports(runs):
    """Seconds of a program that imports the package, less those of one that does not."""

    def program(text):
        begin = time.perf_counter()
        subprocess.run([sys.executable, "-c", text], check=True)
        return time.perf_counter() - begin

    return {"seconds": [program("import barograph") - program("pass") for _ in range(runs * 3)]}


def main():
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("folder")
    arguments.add_argument("--out", default="/dev/stdout")
    arguments.add_argument("--runs", type=int, default=5)
    arguments.add_argument("--samples", type=int, default=10_000_000)
    arguments.add_argument("--sensors", type=int, default=100_000)
    arguments.add_argument("--child")
    given = arguments.parse_args()
    if given.child:
        what, path = given.child.split("=", 1)
        print(json.dumps(child(what, path, given.runs)))
        return
    os.makedirs(given.folder, exist_ok=True)
    one, many = one_series(given.folder, given.samples), many_series(given.folder, given.sensors)
    steps = []
    for _ in range(2):
        # In turn, so that a neighbour disturbs both sides.
        steps += [(what, one) for form in ("numpy", "pandas", "polars") for what in (form, f"copy-{form}-large", f"copy-{form}-ordinary")]
    steps += [("minutes", many), ("last", many)]
    steps += [("write-barograph", given.folder), ("write-duckdb", given.folder)] * 2
    with open(given.out, "a") as out:
        for what, path in steps + [("import", "")]:
            if what == "import":
                found = imports(given.runs)
            else:
                command = [sys.executable, __file__, given.folder, "--runs", str(given.runs), "--child", f"{what}={path}"]
                found = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
            found["median_s"] = sorted(found["seconds"])[len(found["seconds"]) // 2]
            row = {"row": f"python-{what}", "samples": given.samples, "sensors": given.sensors, **found}
            row["load"], row["python"] = os.getloadavg()[0], platform.python_version()
            out.write(json.dumps(row) + "\n")
            out.flush()


main()
