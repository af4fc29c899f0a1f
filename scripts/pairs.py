#!/usr/bin/env python3
"""Compares two builds of baro in alternating rounds, against the noise of equal pairs.

    scripts/pairs.py --old PROGRAM --new PROGRAM [--rounds 9] [--rows push,store,record]
                     [--dir FOLDER] [--out FILE.jsonl]

Each round runs old, new and old again (the order turns from round to round). The ratio new / old is
taken within a round, and so is that of the two equal runs. A difference counts if the median of
new / old lies outside all ratios of equal runs. What is a count (system calls, allocations, page
faults, bytes) is compared as it is. Raw rows go to --out; the table goes to stdout. Exit code 3 if
something differs. Needs nothing but Python.
"""
import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import zlib

PUSH = ["bench", "push", "--record-bytes", "256", "--records", "1000000", "--interval", "2us",
        "--greedy", "1s", "--log", "256M", "--format", "json"]
STORE = ["bench", "store", "--series", "1000", "--samples", "2000000", "--budget", "300ms",
         "--format", "json"]
LINES = 200_000

# Figures of time: key, unit. Smaller or larger is not judged, only whether it differs.
TIMES = {
    "push": ["push_p50_ns", "push_p99_ns", "push_p9999_ns", "records_per_s", "cpu_s"],
    "store": ["log_append_per_s", "ingest_durable_per_s", "ingest_settled_per_s", "open_warm_ms",
              "q1_ms", "q2_ms", "q3_ms", "q4_ms", "cpu_s"],
    "record": ["wall_s", "cpu_s"],
}
COUNTS = {
    "push": ["syscalls", "allocations", "page_faults", "lost"],
    "store": ["bytes_per_sample", "log_bytes_per_sample", "missing"],
    "record": ["counts_crc"],
}


def run(argv, stdin=None):
    """Runs a program: its stdout, and what the kernel counted of it."""
    with tempfile.TemporaryFile() as out:
        child = subprocess.Popen(argv, stdin=stdin or subprocess.DEVNULL, stdout=out,
                                 stderr=subprocess.PIPE)
        said = child.stderr.read().decode(errors="replace")
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        if child.returncode != 0:
            sys.exit(f"pairs: {' '.join(argv)} ended with {child.returncode}: {said}")
        out.seek(0)
        return out.read().decode(), usage


def facts(usage):
    return {"cpu_s": usage.ru_utime + usage.ru_stime, "faults": usage.ru_minflt,
            "peak_kib": usage.ru_maxrss}


def lines_file(folder):
    path = os.path.join(folder, "lines.csv")
    with open(path, "w") as file:
        for i in range(LINES):
            time_ns = 1_700_000_000_000_000_000 + i * 1_000_000
            file.write(f"{time_ns},s{i % 100},{(i * 37 % 1000) / 8}\n")
    return path


def measure(row, program, folder, lines):
    place = tempfile.mkdtemp(dir=folder)
    try:
        if row == "record":
            store = os.path.join(place, "store")
            run([program, "init", store, "--size", "256M"])
            begin = os.times().elapsed
            with open(lines) as stdin:
                _, usage = run([program, "record", store, "--stdin", "csv"], stdin)
            wall_s = os.times().elapsed - begin
            text, _ = run([program, "query", store, "--agg", "count", "--format", "csv"])
            return {"wall_s": wall_s, "counts_crc": zlib.crc32(text.encode()), **facts(usage)}
        text, usage = run([program, *(PUSH if row == "push" else STORE), "--dir", place])
        return {**json.loads(text), **facts(usage)}
    finally:
        shutil.rmtree(place)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--old", required=True)
    parser.add_argument("--new", required=True)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--rows", default="push,store,record")
    parser.add_argument("--dir", default=".")
    parser.add_argument("--out")
    args = parser.parse_args()
    folder = tempfile.mkdtemp(prefix="pairs-", dir=args.dir)
    differs = False
    try:
        lines = lines_file(folder)
        for row in args.rows.split(","):
            rounds = []
            for number in range(args.rounds):
                order = [("old", args.old), ("new", args.new), ("again", args.old)]
                order = order[number % 3:] + order[:number % 3]
                found = {name: measure(row, program, folder, lines) for name, program in order}
                rounds.append(found)
                if args.out:
                    with open(args.out, "a") as out:
                        for name, _ in order:
                            line = {"row": row, "round": number, "build": name, **found[name]}
                            out.write(json.dumps(line) + "\n")
            differs |= tell(row, rounds)
    finally:
        shutil.rmtree(folder)
    sys.exit(3 if differs else 0)


def tell(row, rounds):
    """Prints the table of a row; true if something differs."""
    differs = False
    print(f"\n{row}: {len(rounds)} rounds\n\n| figure | old | new / old | equal pairs | differs |")
    print("|---|---|---|---|---|")
    for key in TIMES[row]:
        values = [(r["old"].get(key), r["new"].get(key), r["again"].get(key)) for r in rounds]
        values = [v for v in values if all(isinstance(x, (int, float)) and x > 0 for x in v)]
        if not values:
            continue
        # Each of the two equal runs is as good a base as the other.
        ratio = statistics.median(new / ((old + again) / 2) for old, new, again in values)
        equal = [again / old for old, _, again in values]
        low, high = min(equal), max(equal)
        low, high = min(low, 1 / high), max(high, 1 / low)
        outside = not low <= ratio <= high
        differs |= outside
        old = statistics.median(v[0] for v in values)
        print(f"| {key} | {old:.4g} | {ratio:.3f} | {low:.3f} to {high:.3f} | "
              f"{'yes' if outside else 'no'} |")
    for key in COUNTS[row]:
        old = sorted({str(r[name].get(key)) for r in rounds for name in ("old", "again")})
        new = sorted({str(r["new"].get(key)) for r in rounds})
        outside = not set(new) <= set(old)
        differs |= outside
        print(f"| {key} (count) | {' '.join(old)} | {' '.join(new)} | | "
              f"{'yes' if outside else 'no'} |")
    return differs


main()
