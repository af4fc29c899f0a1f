#!/usr/bin/env python3
"""Whether an event loop of 5 ms feels that it pushes 16 KiB a turn: rounds of without, with, without; a JSON
line each.

    loop.py FOLDER [--out FILE] [--rounds 9] [--seconds 5]
"""

import argparse
import asyncio
import json
import os
import time

TURN_S = 0.005


async def turns(seconds, work):
    """How late each turn was, in microseconds."""
    late, due = [], time.perf_counter() + TURN_S
    for _ in range(int(seconds / TURN_S)):
        await asyncio.sleep(max(0.0, due - time.perf_counter()))
        late.append((time.perf_counter() - due) * 1e6)
        work()
        due += TURN_S
    return sorted(late)


def row(kind, late):
    at = lambda part: late[min(len(late) - 1, int(len(late) * part))]
    return {"kind": kind, "p50_us": at(0.5), "p99_us": at(0.99), "p999_us": at(0.999), "max_us": late[-1]}


def main():
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("folder")
    arguments.add_argument("--out", default="/dev/stdout")
    arguments.add_argument("--rounds", type=int, default=9)
    arguments.add_argument("--seconds", type=float, default=5.0)
    given = arguments.parse_args()
    import barograph

    with barograph.Recorder(given.folder + "/loop", create="256M") as rec, open(given.out, "a") as out:
        control, frame = rec.channel("control"), bytes(16384)
        for number in range(given.rounds):
            for kind in ("without", "with", "without-again"):
                work = (lambda: rec.push(control, frame)) if kind == "with" else (lambda: None)
                found = row(kind, asyncio.run(turns(given.seconds, work)))
                out.write(json.dumps({"row": "python-loop", "round": number, **found, "load": os.getloadavg()[0]}) + "\n")
                out.flush()
        rec.wait_durable()
        lost, refused = rec.lost, sum(rec.refused)
        out.write(json.dumps({"row": "python-loop-lost", "pushed": rec.pushed, "lost": lost, "refused": refused}) + "\n")


main()
