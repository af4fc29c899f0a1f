#!/usr/bin/env python3
"""Two builds of `baro` import the same 1,000,000 samples, in turn: time, processor time and memory.

    scripts/import-pairs.py --old PROGRAM --new PROGRAM [--rounds 9] [--dir FOLDER] [--out FILE.jsonl]

`peak_kib` is what the kernel counts, the pages of the program's file among them, which all processes share;
`own_kib` is the most memory of its own (RssAnon), as seen every five milliseconds.

CSV, line protocol, CSV whose names are in quotes with quotes in them, and Parquet (where pyarrow is there).
`other` is line protocol of another shape, which nothing was tuned to: 20,000 series of three tags, of which a
few have most of the samples, integers and floats, times that are irregular, and lines in no order.
Each round imports into new stores with old, new and old again; a difference counts if the median of new / old
lies outside all ratios of equal runs. One line of JSON for each run; a table on stdout.
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

SAMPLES, SERIES, START_NS = 1_000_000, 1000, 1_700_000_000_000_000_000


def rows():
    draw = random.Random(7)
    for n in range(SAMPLES):
        yield START_NS + n // SERIES * 100_000_000, n % SERIES, round(draw.random() * 100, 3)


def other_lines():
    draw = random.Random(19)
    tags = [f"area=a{draw.randrange(30)},rack=r{draw.randrange(500)},serial={number:05x}" for number in range(20_000)]
    for _ in range(SAMPLES):
        number = int(20_000 * draw.random() ** 6)
        value = f"{draw.randrange(-10**6, 10**6)}i" if number % 3 == 0 else repr(draw.gauss(20, 7))
        yield f"machine,{tags[number]} reading={value} {START_NS + draw.randrange(3_600 * 10**9)}\n"


def write_files(folder):
    names = {form: os.path.join(folder, name) for form, name in
             [("csv", "a.csv"), ("lp", "a.lp"), ("quoted", "b.csv"), ("other", "b.lp"), ("parquet", "a.parquet")]}
    with open(names["other"], "w") as other:
        other.writelines(other_lines())
    with open(names["csv"], "w") as csv, open(names["lp"], "w") as lp, open(names["quoted"], "w") as quoted:
        for time_ns, series, value in rows():
            csv.write(f"{time_ns},s{series},{value}\n")
            lp.write(f"temp,site=s{series} value={value} {time_ns}\n")
            quoted.write(f'{time_ns},"temp{{site=""s{series}""}}",{value}\n')
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        del names["parquet"]
        return names
    times, series, values = zip(*rows())
    table = pyarrow.table({
        "time": pyarrow.array(times, pyarrow.timestamp("ns", "UTC")),
        "series": pyarrow.array([f"s{one}" for one in series]).dictionary_encode(),
        "value": pyarrow.array(values)})
    pyarrow.parquet.write_table(table, names["parquet"])
    return names


def made(write, folder):
    """Calls it in a process of its own: the kernel counts what this one held to the peak of its children."""
    read, give = os.pipe()
    child = os.fork()
    if child == 0:
        os.write(give, json.dumps(write(folder)).encode())
        os._exit(0)
    os.close(give)
    os.waitpid(child, 0)
    with os.fdopen(read) as told:
        return json.loads(told.read())


def own_memory_kib(pid):
    with open(f"/proc/{pid}/status") as status:
        return next((int(line.split()[1]) for line in status if line.startswith("RssAnon:")), 0)


def run(program, folder, file):
    store = os.path.join(folder, "store")
    shutil.rmtree(store, ignore_errors=True)
    subprocess.run([program, "init", store, "--size", "256M"], check=True, stdout=subprocess.DEVNULL,
                   stderr=subprocess.DEVNULL)
    os.sync()
    began = time.monotonic()
    child = subprocess.Popen([program, "import", store, file], stdout=subprocess.DEVNULL,
                             stderr=subprocess.DEVNULL)
    own_kib, (ended, status, used) = 0, os.wait4(child.pid, os.WNOHANG)
    while not ended:
        own_kib = max(own_kib, own_memory_kib(child.pid))
        time.sleep(0.005)
        ended, status, used = os.wait4(child.pid, os.WNOHANG)
    child.returncode = os.waitstatus_to_exitcode(status)
    return {"wall_s": round(time.monotonic() - began, 3), "cpu_s": round(used.ru_utime + used.ru_stime, 3),
            "peak_kib": used.ru_maxrss, "own_kib": own_kib, "status": child.returncode}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--old", required=True)
    parser.add_argument("--new", required=True)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--dir")
    parser.add_argument("--out")
    arguments = parser.parse_args()
    folder = tempfile.mkdtemp(prefix="import-pairs-", dir=arguments.dir)
    runs = []
    try:
        files = made(write_files, folder)
        for count in range(arguments.rounds):
            for form, file in files.items():
                for which, program in [("old", arguments.old), ("new", arguments.new), ("again", arguments.old)]:
                    runs.append({"round": count, "file": form, "program": which, **run(program, folder, file)})
    finally:
        shutil.rmtree(folder)
    if arguments.out:
        with open(arguments.out, "w") as out:
            out.writelines(json.dumps(one) + "\n" for one in runs)
    print("| form | figure | old | new / old | equal pairs | differs |\n|---|---|---|---|---|---|")
    for form in files:
        for figure in ["wall_s", "cpu_s", "peak_kib", "own_kib"]:
            of = {which: [one[figure] for one in runs if one["file"] == form and one["program"] == which]
                  for which in ["old", "new", "again"]}
            equal = [a / b for a, b in zip(of["again"], of["old"])]
            equal += [1 / ratio for ratio in equal]
            ratio = statistics.median(new / old for new, old in zip(of["new"], of["old"]))
            differs = "no" if min(equal) <= ratio <= max(equal) else "yes"
            old = statistics.median(of["old"])
            print(f"| {form} | {figure} | {old:g} | {ratio:.2f} | {min(equal):.2f} to {max(equal):.2f} | {differs} |")
    bad = [one for one in runs if one["status"] != 0]
    if bad:
        raise SystemExit(f"{len(bad)} imports failed, first {bad[0]}")


if __name__ == "__main__":
    main()
