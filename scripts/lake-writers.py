#!/usr/bin/env python3
"""Many writers into one Delta table at once: each hands over a store of its own with `baro lake`.

    scripts/lake-writers.py --baro PROGRAM [--writers 100] [--samples 1000] [--rounds 1]

Each round records the same samples into new stores, starts all writers together, and waits for them. Then the
table's log alone tells whether all is in: one commit for each writer, and all rows. Prints a JSON line a round:
exit codes that were not 0, commits, rows, the seconds of the first and the last writer to end, and of the
processor. Ends with 1 if anything is missing.
"""

import argparse
import json
import pathlib
import resource
import subprocess
import sys
import tempfile
import time


def lines(writer, samples):
    """CSV of one store's samples."""
    base = 1_700_000_000_000_000_000 + writer
    return "".join(f"{base + n * 1_000_000},s{n % 10},{n / 8}\n" for n in range(samples)).encode()


def make(baro, store, writer, samples):
    """A store with settled samples."""
    record = [baro, "record", store, "--init", "4M", "--stdin", "csv"]
    subprocess.run(record, input=lines(writer, samples), check=True, capture_output=True)
    subprocess.run([baro, "settle", store, "--all"], check=True, capture_output=True)


def committed(table):
    """Commits with files, and the rows of these."""
    commits = rows = 0
    for path in sorted((table / "_delta_log").glob("*.json")):
        actions = [json.loads(line) for line in path.read_text().splitlines()]
        added = [action["add"] for action in actions if "add" in action]
        commits += bool(added)
        rows += sum(json.loads(one["stats"])["numRecords"] for one in added)
    return commits, rows


def one_round(arguments, folder):
    stores = [folder / f"store{n}" for n in range(arguments.writers)]
    for number, store in enumerate(stores):
        make(arguments.baro, store, number, arguments.samples)
    table = folder / "table"
    table.mkdir()
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    begun = time.monotonic()
    errors = [open(folder / f"error{n}", "w+b") for n in range(arguments.writers)]
    running = {
        subprocess.Popen([arguments.baro, "lake", store, table], stdout=subprocess.DEVNULL, stderr=error): error
        for store, error in zip(stores, errors)
    }
    ended, failed = [], {}
    while running:
        for process in [one for one in running if one.poll() is not None]:
            ended.append(time.monotonic() - begun)
            error = running.pop(process)
            if process.returncode != 0:
                error.seek(0)
                failed[error.read().decode().strip()[:200]] = process.returncode
        time.sleep(0.002)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    commits, rows = committed(table)
    return {
        "writers": arguments.writers,
        "samples_each": arguments.samples,
        "failed": failed,
        "commits": commits,
        "rows": rows,
        "first_ended_s": round(min(ended), 2),
        "last_ended_s": round(max(ended), 2),
        "cpu_s": round(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, 2),
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--baro", required=True)
    parser.add_argument("--writers", type=int, default=100)
    parser.add_argument("--samples", type=int, default=1000)
    parser.add_argument("--rounds", type=int, default=1)
    arguments = parser.parse_args()
    arguments.baro = str(pathlib.Path(arguments.baro).resolve())
    whole = True
    for _ in range(arguments.rounds):
        with tempfile.TemporaryDirectory(prefix="baro-writers-") as folder:
            told = one_round(arguments, pathlib.Path(folder))
        print(json.dumps(told), flush=True)
        wanted = arguments.writers
        whole &= not told["failed"] and told["commits"] == wanted
        whole &= told["rows"] == wanted * arguments.samples
    return 0 if whole else 1


if __name__ == "__main__":
    sys.exit(main())
