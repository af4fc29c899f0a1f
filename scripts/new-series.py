#!/usr/bin/env python3
"""Many new series at once on standard input: how long the whole process takes, until all is durable.

    scripts/new-series.py --baro PROGRAM [--rounds 9] [--dir FOLDER] [--out FILE.tsv]

Each round records into a new store, in turn: `csv` and `lp`, 100,000 series with a sample each; `obj`, one
JSON object with 5,000 members, and `line`, one line of CSV, which shows what starting and stopping a recorder
costs here. `long` has another shape: 100,000 series of four labels, in an order of no kind, with 1 to 5
samples. After the last round each store is asked how many series it has. Lines of
what, round, milliseconds, exit code, series; a table of medians on stdout. Needs nothing but Python.
"""
import argparse
import json
import os
import random
import shutil
import statistics
import subprocess
import tempfile
import time

START_NS = 1_700_000_000_000_000_000


def write_inputs(folder):
    draw = random.Random(11)
    inputs = {what: os.path.join(folder, what) for what in ("csv", "lp", "obj", "line", "long")}
    with open(inputs["csv"], "w") as csv, open(inputs["lp"], "w") as lp:
        for number in range(100_000):
            csv.write(f",plant.sensor{number:06},{number / 7:.3f}\n")
            lp.write(f"temp,sensor=s{number:06} value={number / 7:.3f}\n")
    with open(inputs["obj"], "w") as file:
        file.write("{" + ",".join(f'"n{number:05}":{number / 7:.3f}' for number in range(5_000)) + "}\n")
    with open(inputs["line"], "w") as file:
        file.write(",one,1.5\n")
    lines = []
    for number in range(100_000):
        labels = (f"area=hall-{draw.randrange(40)},rack=r{draw.randrange(900)},"
                  f"serial={draw.getrandbits(64):016x},unit={draw.choice(['kPa', 'degC', 'rpm'])}")
        for sample in range(draw.randint(1, 5)):
            lines.append(f"machine_reading,{labels} value={draw.gauss(0, 1e3)} {START_NS + draw.randrange(10**12)}\n")
    draw.shuffle(lines)
    with open(inputs["long"], "w") as file:
        file.writelines(lines)
    return inputs


FORMS = {"csv": "csv", "lp": "influx", "obj": "json", "line": "csv", "long": "influx"}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--baro", required=True)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--dir")
    parser.add_argument("--out")
    options = parser.parse_args()
    program = os.path.abspath(options.baro)
    folder = tempfile.mkdtemp(prefix="new-series-", dir=options.dir)
    rows = []
    try:
        inputs = write_inputs(folder)
        for number in range(1, options.rounds + 1):
            for what, path in inputs.items():
                store = os.path.join(folder, "store")
                subprocess.run([program, "init", store, "--size", "256M"], check=True,
                               stdout=subprocess.DEVNULL)
                with open(path) as file:
                    began = time.perf_counter()
                    code = subprocess.run([program, "record", store, "--stdin", FORMS[what]], stdin=file,
                                          stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode
                    took_ms = (time.perf_counter() - began) * 1000
                listed = subprocess.run([program, "list", store, "--format", "json"], check=True,
                                        capture_output=True, text=True).stdout
                rows.append((what, number, round(took_ms), code, len(json.loads(listed))))
                shutil.rmtree(store)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    print("| what | shortest | median | longest | series |")
    print("|---|---|---|---|---|")
    for what in FORMS:
        times = [row[2] for row in rows if row[0] == what]
        print(f"| {what} | {min(times)} ms | {statistics.median(times):.0f} ms | {max(times)} ms "
              f"| {sorted({row[4] for row in rows if row[0] == what})} |")
    bad = [row for row in rows if row[3] != 0]
    if bad:
        raise SystemExit(f"{len(bad)} recordings failed, first {bad[0]}")
    differences = [obj[2] - line[2] for obj, line in zip(
        (row for row in rows if row[0] == "obj"), (row for row in rows if row[0] == "line"))]
    print(f"obj less line: median {statistics.median(differences):.0f} ms of {differences}")
    if options.out:
        with open(options.out, "a") as file:
            file.write("what\tround\tmilliseconds of the whole process\trc\tseries\n")
            file.writelines("\t".join(map(str, row)) + "\n" for row in rows)


if __name__ == "__main__":
    main()
