#!/usr/bin/env python3
"""How long does a producer wait that writes frames to `baro record --stdin raw`, beside queries?

    scripts/stdin-waits.py --baro PROGRAM [--seconds 15] [--rounds 3] [--rings 16M,256M] [--dir FOLDER] [--out FILE.tsv]

50,000 bytes each millisecond. The first writes wait until the recorder has opened the store and has its ring in
memory; they are told apart from the others. `cat` beside it says what pipe and machine take. One row for each run.
"""
import argparse
import os
import shutil
import subprocess
import tempfile
import threading
import time

FRAME = bytes(50_000)


def waits(command, seconds, ask):
    feed = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    over, asked = threading.Event(), [0]

    def questions():
        while ask and not over.is_set():
            subprocess.run(ask, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            asked[0] += 1
            time.sleep(0.05)

    beside = threading.Thread(target=questions)
    beside.start()
    found, start = [], time.monotonic()
    while time.monotonic() - start < seconds:
        due = start + len(found) / 1000
        time.sleep(max(0, due - time.monotonic()))
        began = time.monotonic()
        feed.stdin.write(FRAME)
        feed.stdin.flush()
        found.append((time.monotonic() - began) * 1000)
    feed.stdin.close()
    code = feed.wait()
    over.set()
    beside.join()
    rest = sorted(found[10:])
    return len(found), code, asked[0], max(found[:10]), rest[len(rest) * 999 // 1000], rest[-1]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--baro", required=True)
    parser.add_argument("--seconds", type=float, default=15)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--rings", default="16M,256M")
    parser.add_argument("--dir", default=".")
    parser.add_argument("--out")
    options = parser.parse_args()
    folder = tempfile.mkdtemp(prefix="stdin-waits-", dir=options.dir)
    store = os.path.join(folder, "s")
    lines = ["round\tto\tframes\texit code\tqueries beside\tlongest of the first ten, ms\t999 of 1000 of the others\tlongest of the others"]
    try:
        subprocess.run([options.baro, "init", store, "--size", "2G", "--recycle"], check=True, capture_output=True)
        ask = [options.baro, "query", store, "--last", "1"]
        for number in range(options.rounds):
            for ring in options.rings.split(","):
                record = [options.baro, "record", store, "--stdin", "raw", "--frame-bytes", str(len(FRAME)),
                          "--channel", "cam", "--ring", ring]
                row = waits(record, options.seconds, ask)
                lines.append(f"{number}\tring of {ring}\t" + "\t".join(f"{x:.1f}" if isinstance(x, float) else str(x) for x in row))
            row = waits(["cat"], options.seconds, None)
            lines.append(f"{number}\tcat\t" + "\t".join(f"{x:.1f}" if isinstance(x, float) else str(x) for x in row))
    finally:
        shutil.rmtree(folder)
    print("\n".join(lines))
    if options.out:
        with open(options.out, "w") as out:
            out.write("\n".join(lines) + "\n")


main()
