#!/usr/bin/env python3
"""A table of stalls that were made on purpose: what each victim measured, and what `baro explain` said.

    scripts/stalls.py RESULTS.jsonl [RESULTS.jsonl..] > table.md

A line of RESULTS is a JSON object: `case`, `coll` (the collector), `what` (how it was made), `expected`
(names of causes, `|` between; none if nothing may be told), `victim` (`call`, `ms`), and of the call that was told `wait_ms`, `cause`,
`root`, `unexpl_pct`; null where none was. Right is only what is told of the victim's own call, and on its disk
(`disk_is_right`, where there are several). Each line counts: a case that was run twice has two. A line with `cannot`
says why a case could not be made; `kernel` is where, if not here.
A first file with `--before` gives the same of an older program, in columns beside.
"""

import argparse
import json
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../lab/stalls"))
import judge  # noqa: E402, where the judgement is


def read(paths):
    rows = {}
    for path in paths:
        with open(path, encoding="utf-8") as file:
            for line in file:
                row = json.loads(line)
                rows.setdefault((row.get("kernel", ""), row["case"], row["coll"]), []).append(row)
    return rows


def told(row):
    if "cannot" in row:
        return row["cannot"].replace("|", "/")
    if row.get("wait_ms") is None:
        return "-"
    cause, root = row["cause"], row["root"]
    return cause if cause == root else f"{cause} < {root}"


def victim_ms(row):
    return (row.get("victim") or {}).get("ms", 0)


def length(row):
    wait, victim = row.get("wait_ms"), victim_ms(row)
    return "-" if wait is None or not victim else f"{wait:.0f} ({100 * (wait - victim) / victim:+.1f} %)"


def count(rows):
    counts = {}
    for (kernel, _, collector), runs in rows.items():
        place = f"{kernel} {collector}".strip()
        by = counts.setdefault(place, {"right": 0, "other": 0, "not told": 0, "not made": 0})
        for row in runs:
            by[judge.verdict(row)] += 1
    return counts


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--before", action="append", default=[])
    parser.add_argument("results", nargs="+")
    arguments = parser.parse_args()
    before, after = read(arguments.before), read(arguments.results)
    for name, rows in (("before", before), ("after", after)):
        for collector, by in sorted(count(rows).items()):
            print(f"{name}, {collector}: " + ", ".join(f"{n} {what}" for what, n in by.items()), file=sys.stderr)
    print("| case | kernel | collector | right cause | before | told | judged | unexplained | victim, ms | told, ms |")
    print("|---|---|---|---|---|---|---|---|---|---|")
    for (kernel, case, collector), runs in sorted(after.items(), key=lambda one: one[0][1:] + one[0][:1]):
        was = "; ".join(f"{told(old)}, {length(old)}" for old in before.get((kernel, case, collector), []))
        for number, row in enumerate(runs, 1):
            doubt = row.get("unexpl_pct")
            cells = [
                case if len(runs) == 1 else f"{case}, run {number}", kernel, collector,
                (row.get("expected") or "").replace("|", ", "), was, told(row), judge.verdict(row),
                "-" if doubt is None else f"{doubt} %", f"{victim_ms(row):.0f}", length(row),
            ]
            print("| " + " | ".join(cells) + " |")


if __name__ == "__main__":
    main()
