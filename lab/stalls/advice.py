#!/usr/bin/env python3
"""Measures what `baro explain` advises: makes a stall, then again with each line of its advice, and compares.

    BARO=path lab/stalls/advice.py [--rounds N] [NAME..] >> advice.jsonl
    lab/stalls/advice.py --table advice.jsonl > advice.md

As root, on a machine of your own. A line is applied to the stall's own disks when all else is made, just before
the recording; what it names (disk, number, mount) is replaced by what stands for it in the repetition. Lines
that change all of the machine (sysctl) or a program are told and not applied. Medians of the victim's longest call.
"""

import argparse
import json
import re
import statistics
import sys

import stage
from make import KINDS, Run, one

# Only by these does a line begin that can be applied.
COMMANDS = ("echo ", "mount ", "tune2fs ", "umount ")


class Names:
    """What the disks of a stall are called, in the order in which they were made."""

    def __init__(self):
        self.all = []
        for disk in stage.Disk.all:
            lower = disk.lower.rsplit("/", 1)[1]
            self.all += [disk.mount, disk.name, disk.number(), lower, disk.number(disk.lower)]

    def in_place_of(self, old, text):
        """The text with the names of another making of the same stall replaced."""
        pairs = sorted(zip(old.all, self.all), key=lambda pair: -len(pair[0]))
        ends = r"(?![0-9A-Za-z:])"
        for number, (was, _) in enumerate(pairs):
            text = re.sub(r"(?<![0-9A-Za-z])" + re.escape(was) + ends, f"\0{number}\0", text)
        for number, (_, now) in enumerate(pairs):
            text = text.replace(f"\0{number}\0", now)
        return text


class Tried(Run):
    """A stall with a line of advice, or without."""

    def __init__(self, kind, collector, command=None, names=None):
        name, expected, function = kind
        super().__init__(name, collector, expected, function.__doc__)
        self.command, self.old_names, self.names = command, names, None

    def record(self):
        self.names = Names()
        if self.command:
            command = self.names.in_place_of(self.old_names, self.command)
            stage.run(command)
            if "tune2fs" in command:
                disk = next(disk for disk in stage.Disk.all if disk.path in command)
                disk.unmount()
                disk.mount_it()
        super().record()


def schedulers():
    """Of each disk of the stall, the scheduler's file and what is set."""
    files = [f"/sys/block/{path.rsplit('/', 1)[1]}/queue/scheduler" for disk in stage.Disk.all for path in (disk.path, disk.lower)]
    chosen = {}
    for path in files:
        with open(path, encoding="utf-8") as file:
            chosen[path] = re.search(r"\[(.*?)\]", file.read())[1]
    return chosen


def made(kind, collector, command=None, names=None):
    """One making: what the victim's longest call took, in ms; None if it did not come about."""
    stage.Disk.all.clear()
    run = Tried(kind, collector, command, names)
    record, before = run.record, {}

    def noted():
        before.update(schedulers())
        record()

    run.record = noted
    one(run, kind[2])
    for path, scheduler in before.items():
        stage.run(f"echo {scheduler} > {path}", check=False)
    return run


def tried(kind, arguments):
    firsts = [made(kind, arguments.collector) for _ in range(arguments.rounds)]
    firsts = [run for run in firsts if run.line is not None]
    if not firsts:
        return
    before = [run.line["victim"]["ms"] for run in firsts]
    lines = {}
    for run in firsts:
        for command in run.line.get("advice", []):
            shown = firsts[0].names.in_place_of(run.names, command)
            # Numbers of bytes differ from time to time.
            lines.setdefault(re.sub(r"\d{6,}", "N", shown), (command, run.names))
    for command, names in lines.values():
        line = {"case": kind[0], "coll": arguments.collector, "cause": firsts[0].line.get("cause"), "root": firsts[0].line.get("root"),
                "command": command, "before_ms": before}
        if command.startswith(COMMANDS):
            runs = [made(kind, arguments.collector, command, names) for _ in range(arguments.rounds)]
            line["after_ms"] = [run.line["victim"]["ms"] for run in runs if run.line is not None]
        print(json.dumps(line), flush=True)
    if not lines:
        print(json.dumps({"case": kind[0], "coll": arguments.collector, "cause": firsts[0].line.get("cause"), "root": firsts[0].line.get("root"),
                          "command": None, "before_ms": before}), flush=True)


def table(path):
    print("| case | told | line | before, ms | with it, ms | of it | |")
    print("|---|---|---|---|---|---|---|")
    with open(path, encoding="utf-8") as file:
        for row in map(json.loads, file):
            before, after = statistics.median(row["before_ms"]), row.get("after_ms")
            told = row["cause"] if row["cause"] == row["root"] else f"{row['cause']} < {row['root']}"
            command = "none" if row["command"] is None else f"`{row['command']}`"
            if after:
                now = statistics.median(after)
                share, verdict = f"{100 * now / max(before, 0.1):.0f} %", "halved" if now <= before / 2 else "not halved"
                cells = [row["case"], told, command, f"{before:.0f}", f"{now:.0f}", share, verdict]
            else:
                why = "" if row["command"] is None else "not applied" if after is None else "could not be applied"
                cells = [row["case"], told, command, f"{before:.0f}", "-", "-", why]
            print("| " + " | ".join(cells) + " |")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--collector", default="btf")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--table", metavar="FILE")
    parser.add_argument("names", nargs="*")
    arguments = parser.parse_args()
    if arguments.table:
        return table(arguments.table)
    known = {name for name, _, _ in KINDS}
    if set(arguments.names) - known:
        sys.exit(f"no such kind: {', '.join(set(arguments.names) - known)}")
    with stage.memory():
        for kind in KINDS:
            if not arguments.names or kind[0] in arguments.names:
                tried(kind, arguments)


if __name__ == "__main__":
    main()
