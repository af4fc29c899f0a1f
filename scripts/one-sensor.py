#!/usr/bin/env python3
"""One sensor beside gigabytes of frames: how long a question takes as a whole process, and what it reads.

    scripts/one-sensor.py --baro PROGRAM [--sizes 1,4] [--rounds 41] [--dir FOLDER] [--out FILE.jsonl]

For each size, in GiB of log: frames of 200 kB fill 85 % of it, then come 100 samples of `temp`. Each
question is asked once to warm up and then in rounds, in turn with `baro --version`, which shows what
starting a program costs here. Then all is settled and asked again. Bytes and calls are what the kernel
counted for the process (rchar, syscr), less those of `baro --version`. One line of JSON for each row; a
table on stdout. Needs nothing but Python.
"""
import argparse
import json
import os
import shutil
import statistics
import subprocess
import tempfile
import time

QUESTIONS = {
    "--version": ["--version"],
    "query --last 3": ["query", "STORE", "temp", "--last", "3"],
    "query, all": ["query", "STORE", "temp"],
    "query --agg max": ["query", "STORE", "temp", "--agg", "max"],
    "query --every 1h": ["query", "STORE", "temp", "--every", "1h", "--agg", "mean"],
}
FRAME_BYTES = 200_000


def counted():
    with open("/proc/self/io") as file:
        fields = dict(line.split(": ") for line in file.read().splitlines())
    return int(fields["rchar"]), int(fields["syscr"])


def ask(program, arguments, quiet):
    """Milliseconds, bytes and calls of one process; its reads are this process's once it is waited for."""
    before = counted()
    began = time.perf_counter()
    files = [(os.POSIX_SPAWN_DUP2, quiet, 1)]
    pid = os.posix_spawn(program, [program, *arguments], os.environ, file_actions=files)
    status = os.waitpid(pid, 0)[1]
    took_ms = (time.perf_counter() - began) * 1000
    if status != 0:
        raise SystemExit(f"{arguments}: status {status}")
    after = counted()
    return took_ms, after[0] - before[0], after[1] - before[1]


def fill(program, store, gib):
    size = f"{gib}G"
    subprocess.run([program, "init", store, "--size", size], check=True, stdout=subprocess.DEVNULL)
    frames = int(gib * (1 << 30) * 0.85) // FRAME_BYTES
    record = [program, "record", store, "--no-settle", "--stdin"]
    raw = ["raw", "--frame-bytes", str(FRAME_BYTES), "--channel", "frames"]
    with subprocess.Popen(record + raw, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL) as child:
        frame = os.urandom(FRAME_BYTES)
        for _ in range(frames):
            child.stdin.write(frame)
        child.stdin.close()
    if child.returncode != 0:
        raise SystemExit(f"recording frames ended with {child.returncode}")
    lines = "".join(f",temp,{20 + number / 10}\n" for number in range(100))
    subprocess.run(record + ["csv"], input=lines.encode(), check=True, stdout=subprocess.DEVNULL)
    return frames


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--baro", required=True)
    parser.add_argument("--sizes", default="1,4")
    parser.add_argument("--rounds", type=int, default=41)
    parser.add_argument("--dir")
    parser.add_argument("--out")
    options = parser.parse_args()
    program = os.path.abspath(options.baro)
    quiet = os.open(os.devnull, os.O_WRONLY)
    folder = tempfile.mkdtemp(prefix="one-sensor-", dir=options.dir)
    rows = []
    try:
        for gib in map(int, options.sizes.split(",")):
            store = os.path.join(folder, f"store-{gib}")
            frames = fill(program, store, gib)
            for state in ("unsettled", "settled"):
                if state == "settled":
                    settle = [program, "settle", store, "--all"]
                    subprocess.run(settle, check=True, stdout=subprocess.DEVNULL)
                asked = {
                    name: [store if word == "STORE" else word for word in arguments]
                    for name, arguments in QUESTIONS.items()
                }
                for arguments in asked.values():
                    ask(program, arguments, quiet)
                seen = {name: [] for name in asked}
                for _ in range(options.rounds):
                    for name, arguments in asked.items():
                        seen[name].append(ask(program, arguments, quiet))
                base = seen["--version"][-1]
                for name, results in seen.items():
                    times = sorted(result[0] for result in results)
                    rows.append({
                        "log_gib": gib, "frames": frames, "state": state, "question": name,
                        "rounds": len(times), "shortest_ms": round(times[0], 2),
                        "median_ms": round(statistics.median(times), 2),
                        "p90_ms": round(times[int(len(times) * 0.9)], 2),
                        "read_bytes": results[-1][1] - base[1], "reads": results[-1][2] - base[2],
                    })
            shutil.rmtree(store)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    print("| log | state | question | shortest | median | bytes read | reads |")
    print("|---|---|---|---|---|---|---|")
    for row in rows:
        print(f"| {row['log_gib']} GiB | {row['state']} | `{row['question']}` | {row['shortest_ms']} ms "
              f"| {row['median_ms']} ms | {row['read_bytes'] / 1e3:.0f} kB | {row['reads']} |")
    if options.out:
        with open(options.out, "a") as file:
            for row in rows:
                file.write(json.dumps(row) + "\n")


if __name__ == "__main__":
    main()
