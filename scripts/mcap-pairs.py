#!/usr/bin/env python3
"""MCAP out of a store of frames against `cp` of the file that comes out, in turn: how near is it to copying?

    scripts/mcap-pairs.py --baro PROGRAM [--gib 2] [--frame-bytes 200000] [--rounds 8] [--pause 5] [--dir FOLDER] [--out FILE.jsonl]

Each round exports, and copies the file of the first round; both end with the bytes on the disk (the export
makes its file durable, `cp` is followed by fdatasync), and both read what the page cache has. The ratio is the
median time of `cp` by that of the export: 0.5 is half as fast as a copy. Before each run the disk rests for
--pause seconds. Without that every second run took three times as long on a virtual disk, whatever it was;
an even number of rounds gives both the same share of first places. One line of JSON for each run; a
table on stdout. Needs nothing but Python, and three times the size in FOLDER.
"""
import argparse
import json
import os
import shutil
import statistics
import subprocess
import tempfile
import time


def timed(work):
    began = time.monotonic()
    work()
    return time.monotonic() - began


def fill(baro, store, size, frame_bytes):
    subprocess.run([baro, "init", store, "--size", f"{size * 5 // 4 >> 20}M"], check=True, capture_output=True)
    frame = bytes(range(256)) * (frame_bytes // 256 + 1)
    feed = subprocess.Popen([baro, "record", store, "--stdin", "frames", "--format", "json"],
                            stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    for number in range(size // frame_bytes):
        data = number.to_bytes(8, "little") + frame[8:frame_bytes]
        feed.stdin.write(len(data).to_bytes(4, "little") + data)
    feed.stdin.close()
    report = json.loads(feed.stdout.read())
    assert feed.wait() == 0, report
    return size // frame_bytes


def copy(source, to):
    subprocess.run(["cp", source, to], check=True)
    file = os.open(to, os.O_RDWR)
    os.fdatasync(file)
    os.close(file)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--baro", required=True)
    parser.add_argument("--gib", type=float, default=2)
    parser.add_argument("--frame-bytes", type=int, default=200_000)
    parser.add_argument("--rounds", type=int, default=8)
    parser.add_argument("--pause", type=float, default=5)
    parser.add_argument("--dir", default=".")
    parser.add_argument("--out")
    options = parser.parse_args()
    folder = tempfile.mkdtemp(prefix="mcap-pairs-", dir=options.dir)
    rows = []
    try:
        store, first = os.path.join(folder, "s"), os.path.join(folder, "first.mcap")
        frames = fill(options.baro, store, int(options.gib * (1 << 30)), options.frame_bytes)
        subprocess.run([options.baro, "export", store, first], check=True, capture_output=True)
        size = os.path.getsize(first)
        assert size > frames * options.frame_bytes, (size, frames)
        for number in range(options.rounds):
            for what in ("cp", "export") if number % 2 else ("export", "cp"):
                to = os.path.join(folder, what + ".mcap")
                os.sync()
                time.sleep(options.pause)
                if what == "cp":
                    seconds = timed(lambda: copy(first, to))
                else:
                    seconds = timed(lambda: subprocess.run([options.baro, "export", store, to], check=True,
                                                           capture_output=True))
                assert os.path.getsize(to) == size
                os.remove(to)
                rows.append({"what": what, "round": number, "seconds": round(seconds, 3), "bytes": size,
                             "frames": frames, "frame_bytes": options.frame_bytes})
    finally:
        shutil.rmtree(folder)
    if options.out:
        with open(options.out, "a") as out:
            out.writelines(json.dumps(row) + "\n" for row in rows)
    medians = {}
    for what in ("cp", "export"):
        times = sorted(row["seconds"] for row in rows if row["what"] == what)
        medians[what] = statistics.median(times)
        print(f"{what:8}{times[0]:8.2f} to {times[-1]:.2f} s, median {medians[what]:.2f}, "
              f"{size / medians[what] / 1e6:.0f} MB/s")
    print(f"cp / export {medians['cp'] / medians['export']:.2f}")


main()
