#!/usr/bin/env python3
"""Holds what a trace tells of calls against the account of who made them: none lost, none told twice, none joined.

    BARO=path lab/stalls/every_call.py [--collector btf] [--rounds N] [--seconds S] [--seed N] >> every-call.jsonl

As root. `every_call.c`, compiled here, makes calls of storage from many threads on one slow disk and notes when
each began and ended, while the disk's scheduler is changed now and then. A JSON line for each round; each call
that is told otherwise than it was is a line on stderr, and its trace stays.
"""

import argparse
import bisect
import collections
import json
import os
import subprocess
import sys
import time

import stage

LONG_NS = 15_000_000
TOLD_NS = 10_000_000
# What an account is read later than the kernel's event.
MOMENT_NS = 300_000
SOURCE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "every_call.c")

Call = collections.namedtuple("Call", "name begin_ns end_ns run_ns")


def account(text):
    """Calls of each task in their order, and how many were made in all."""
    calls, count = collections.defaultdict(list), 0
    for line in text.splitlines():
        words = line.split("\t")
        if words[0] == "all":
            count = int(words[1])
        else:
            calls[int(words[0])].append(Call(words[1], *map(int, words[2:])))
    return calls, count


def explained(path):
    command = [stage.BARO, "explain", path, "--system", "--over", f"{TOLD_NS}ns", "--top", "100000", "--format", "json"]
    answer = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    told = collections.defaultdict(list)
    for one in answer["calls"]:
        told[one["pid"]].append(one)
    for calls in told.values():
        calls.sort(key=lambda one: one["begin_ns"])
    return told, answer


def compared(calls, told):
    """What is told otherwise than it was: kind, call, what is told of it."""
    wrong = collections.Counter()
    long = 0

    def is_wrong(kind, *what):
        wrong[kind] += 1
        print(kind, *what, file=sys.stderr)

    for task, made in calls.items():
        ends = [one.end_ns for one in made]
        of_call = collections.defaultdict(list)
        for one in told.get(task, []):
            first = bisect.bisect_right(ends, one["begin_ns"])
            reached = [at for at in range(first, len(made)) if made[at].begin_ns + MOMENT_NS < one["end_ns"]]
            # Those that were short are in no account.
            if len(reached) > 1:
                is_wrong("joined", task, [made[at] for at in reached[:3]], one["call"], one["begin_ns"], one["end_ns"])
            for at in reached:
                of_call[at].append(one)
        for at, one in enumerate(made):
            off_ns = one.end_ns - one.begin_ns - one.run_ns
            if off_ns < LONG_NS:
                continue
            long += 1
            parts = of_call[at]
            if not parts:
                is_wrong("lost", task, one, off_ns)
            elif len(parts) > 1:
                is_wrong("parted", task, one, [(part["call"], part["begin_ns"], part["end_ns"]) for part in parts])
            elif parts[0]["call"] != one.name:
                is_wrong("renamed", task, one, parts[0]["call"])
            elif abs(parts[0]["wait_ns"] - off_ns) > max(10_000_000, off_ns // 50):
                is_wrong("short" if parts[0]["wait_ns"] < off_ns else "long", task, one, off_ns, parts[0]["wait_ns"])
    return long, wrong


def round_of(arguments, program, seed):
    with stage.disk(512) as disk:
        disk.make(options="-E lazy_itable_init=0")
        os.mkdir(f"{disk.mount}/names")
        for name, mib in (("data", 16), ("mapped", 16)):
            with open(f"{disk.mount}/{name}", "wb") as file:
                file.write(os.urandom(mib * stage.MIB))
        disk.cold()
        disk.slow(read_iops=150, write_iops=250)
        trace = stage.Trace(f"every-call-{seed}", arguments.collector)
        load = subprocess.Popen([program, disk.mount, str(arguments.seconds), str(seed)], stdout=subprocess.PIPE, text=True)
        end, number = time.monotonic() + arguments.seconds, 0
        while time.monotonic() < end - 1:
            time.sleep(0.7)
            number += 1
            stage.put(f"/sys/block/{disk.name}/queue/scheduler", ("none", "mq-deadline")[number % 2])
        text = load.communicate(timeout=120)[0]
        trace.stop()
    calls, count = account(text)
    told, answer = explained(trace.path)
    long, wrong = compared(calls, told)
    line = {
        "seed": seed, "coll": arguments.collector, "calls": count, "long": long, "told": len(answer["calls"]),
        "lost_events": answer["lost_events"], "notes": answer["notes"], "load": os.getloadavg()[0], **wrong,
    }
    print(json.dumps(line), flush=True)
    stage.put(trace.path[: -len("trace")] + "account", text)
    if not wrong:
        os.unlink(trace.path)
    return sum(wrong.values())


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--collector", default="btf")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=8)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    os.makedirs(f"{stage.PLACE}/mounted", exist_ok=True)
    program = f"{stage.PLACE}/every_call"
    stage.run(f"cc -O1 -Wall -o {program} {SOURCE} -lpthread")
    with stage.memory():
        wrong = sum(round_of(arguments, program, arguments.seed + at) for at in range(arguments.rounds))
    sys.exit(wrong > 0)


if __name__ == "__main__":
    main()
