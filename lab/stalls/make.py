#!/usr/bin/env python3
"""Makes stalls with a cause known by how they are made, has them explained, and tells which are right.

    BARO=path lab/stalls/make.py [--collectors btf,tracefs] [--rounds N] [--within begin|end] [NAME..] >> results.jsonl

As root, on a machine of your own. Without names all; `--list` shows them. A JSON line for each is what
`scripts/stalls.py` makes a table of. Traces stay below the folder STALLS (/tmp/stalls) until the next.
"""

import argparse
import contextlib
import json
import os
import random
import sys
import time

import judge
import stage
import composed  # noqa: F401, it adds to the list
import more_kinds  # noqa: F401, it too
import newer_groups  # noqa: F401, it too
import partition  # noqa: F401, it too
import two_disks  # noqa: F401, it too
from other_kinds import KINDS


class Run:
    """One stall, recorded by one collector."""

    def __init__(self, name, collector, expected, what, within=None):
        self.name, self.collector, self.expected, self.what = name, collector, expected, what
        self.within = within
        self.trace = None
        self.line = None
        # What was given to a disk before the recording is seen only as held back on the disk below.
        if within == "begin" and "device" in expected:
            self.expected = (*expected, "throttle")

    def record(self):
        if self.within != "begin":
            self.trace = stage.Trace(self.name, self.collector)

    def calls(self, victim, others):
        """The victim's calls, the longest first; with `within` those that lasted then, as far as they were recorded."""
        begin = end = 0
        if self.within:
            time.sleep(random.uniform(0.05, 0.4) if self.within == "begin" else random.uniform(0.4, 0.9))
            begin = time.monotonic_ns()
            if self.within == "begin":
                self.trace = stage.Trace(self.name, self.collector)
            else:
                self.trace.stop()
            end = time.monotonic_ns()
        calls = victim.wait()
        for other in others:
            other.wait()
        if self.within != "end":
            self.trace.stop()
        if not self.within:
            return calls
        calls = [one for one in calls if one[1] < begin - 60e6 and one[2] > end + 60e6]
        if not calls:
            raise RuntimeError(f"no call of 60 ms lasted at the recording's {self.within}")
        if self.within == "begin":
            return [(name, end, to) for name, _, to in calls]
        return [(name, at, begin) for name, at, _ in calls]

    def judge(self, victim, *others, disk=None):
        """`disk`: the one that has to be named on the way, or the one below it."""
        calls = self.calls(victim, others)
        made, begin, end = calls[0] if calls else ("none", 0, 0)
        # A task is stopped on its way back to its own code. If that was behind the end of a call, no call is late.
        if calls and "stopped" in self.expected and all(to - at < 300e6 for _, at, to in calls):
            begin, end = min(at for _, at, _ in calls), max(to for _, _, to in calls)
        answer = stage.told(self.trace.path, victim.pid)
        best, best_ns = None, 0
        for call in answer.get("calls", []):
            common = min(call["end_ns"], end) - max(call["begin_ns"], begin)
            if common > best_ns:
                best, best_ns = call, common
        self.line = {
            "case": self.name,
            "coll": self.collector,
            "what": self.what if not self.within else f"{self.what}; the recording {self.within}s meanwhile",
            "expected": "|".join(self.expected),
            "victim": {"call": made, "ms": round((end - begin) / 1e6, 1)},
            "size": os.path.getsize(self.trace.path),
            "load": os.getloadavg()[0],
            "error": answer.get("error"),
        }
        if best is not None:
            wait_ns = best["wait_ns"]
            self.line |= {
                "call": best["call"],
                "took_ms": round((best["end_ns"] - best["begin_ns"]) / 1e6, 1),
                "wait_ms": round(wait_ns / 1e6, 1),
                "unexpl_pct": round(100 * best["unexplained_ns"] / max(1, wait_ns), 1),
                "cause": best["cause"],
                "root": best["root"],
                "sentence": best["sentence"],
                "advice": [one["command"] for one in best["advice"]],
            }
            if disk is not None:
                names = {disk.name, os.path.basename(disk.lower)}
                disks = [one["where"] for one in best["chain"] if one["where"].startswith("loop")]
                self.line["disks"], self.line["disk_is_right"] = disks, set(disks) <= names and bool(disks)
        over = [call for call in calls if call[2] - call[1] >= 30e6]

        def is_told(name, at, to):
            own = (one for one in answer.get("calls", []) if judge.is_own(name, one["call"], self.expected))
            return any(min(one["end_ns"], to) > max(one["begin_ns"], at) for one in own)

        self.line["over"] = len(over)
        self.line["over_told"] = sum(is_told(*call) for call in over)
        self.line["verdict"] = judge.verdict(self.line)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--collectors", default="btf,tracefs")
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--within", choices=("begin", "end"))
    parser.add_argument("--list", action="store_true")
    parser.add_argument("names", nargs="*")
    arguments = parser.parse_args()
    if arguments.list:
        for name, _, function in KINDS:
            print(f"{name}: {function.__doc__}")
        return
    with stage.memory():
        for _ in range(arguments.rounds):
            for name, expected, function in KINDS:
                if arguments.names and name not in arguments.names:
                    continue
                for collector in arguments.collectors.split(","):
                    run = Run(name, collector, expected, function.__doc__, arguments.within)
                    one(run, function)
                    if run.line is not None:
                        print(json.dumps(run.line), flush=True)


def one(run, function):
    """Makes it; what cannot be made here is said and has no line."""
    try:
        function(run)
    except (OSError, RuntimeError, ValueError) as error:
        print(f"{run.name} {run.collector}: {error}", file=sys.stderr)
        with contextlib.suppress(AttributeError):
            run.trace.process.poll() is None and run.trace.stop()


if __name__ == "__main__":
    main()
