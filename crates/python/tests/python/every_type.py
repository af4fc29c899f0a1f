"""Each type comes back as it was pushed, one by one and by columns, after settling too."""

import array
import math
import struct
import sys

import barograph

folder = sys.argv[1]
LARGE = 9_007_199_254_740_993
BEGIN = 1_700_000_000_000_000_000


def same(found, wanted, what):
    if found != wanted:
        sys.exit(f"{what}: expected {wanted!r}, found {found!r}")
    print(f"ok: {what}")


def bits(values):
    return [struct.pack("d", value) for value in values]


floats = [-0.0, math.nan, math.inf, 5e-324, 0.1]
with barograph.Recorder(folder + "/store", create="8M") as rec:
    temp = rec.series('temp{site="a"}', unit="°C")
    count = rec.series("count", type="int64")
    truth = rec.series("truth", type="bool")
    state = rec.series("state", type="text")
    frames = rec.channel("control", layout="n:u16@0, speed:f32@4(m/s)")
    for at, value in enumerate(floats):
        rec.push(temp, value, time_ns=BEGIN + at)
        rec.push(count, LARGE + at, time_ns=BEGIN + at)
        rec.push(truth, at % 2 == 1, time_ns=BEGIN + at)
        rec.push(state, ["", "a\nb", "ü", "x" * 1000, "\0"][at], time_ns=BEGIN + at)
        rec.push(frames, struct.pack("<HHf", at, 0, 0.5), time_ns=BEGIN + at)
    many = rec.series("many")
    times = array.array("q", range(BEGIN, BEGIN + 5000))
    values = array.array("d", (at / 7 for at in range(5000)))
    same(rec.push_many(many, times, values), 5000, "push_many counts")
    rec.push_many(rec.series("some.texts", type="text"), [1, 2, 3], ["a", None, "c"])
    assert rec.push_many(many, [], []) == 0
    last = rec.push(rec.series("integers", type="int64"), -1, time_ns=7)
    rec.wait_durable(last)
    rec.wait_durable(timeout=30)
    same(rec.durable_below, rec.pushed, "all is durable")

with barograph.open(folder + "/store") as store:

    def rows(selector, **options):
        batches = list(store.query(selector, **options))
        return [
            (time, value)
            for batch in batches
            for time, value in zip(batch.column("time").to_list(), batch.column(batch.names[-1]).to_list())
        ]

    found = rows('temp{site="a"}')
    same(bits([value for _, value in found]), bits(floats), "floats to the bit")
    same(rows("count"), [(BEGIN + at, LARGE + at) for at in range(5)], "integers beyond a float's")
    same(
        (rows("truth"), rows("state")[3:], rows("some.texts")),
        (
            [(BEGIN + at, at % 2 == 1) for at in range(5)],
            [(BEGIN + 3, "x" * 1000), (BEGIN + 4, "\0")],
            [(1, "a"), (3, "c")],
        ),
        "truth values and texts",
    )
    memory = next(store.query("many").iter_batches(10_000)).column("value").memory()
    same((memory.format, memory.tolist()), ("d", values.tolist()), "memory of a column")
    same(
        (rows("control.n"), [bytes(data) for _, data in store.frames("control")][1]),
        ([(BEGIN + at, at) for at in range(5)], struct.pack("<HHf", 1, 0, 0.5)),
        "fields and frames",
    )
    mixed = next(store.query(["count", "state"], last=1).iter_batches())
    same(
        (mixed.names, [mixed.column(name).to_list() for name in mixed.names]),
        (
            ["series", "time", "value_i64", "value_text"],
            [["count", "state"], [BEGIN + 4] * 2, [LARGE + 4, None], [None, "\0"]],
        ),
        "series of several types",
    )
    wide = next(iter(store.query(["count", "truth", "integers"], end=BEGIN + 1, wide=True)))
    same(
        ([wide.column(name).to_list() for name in wide.names], store.last("count")[2], wide.units),
        ([[7, BEGIN], [None, LARGE], [None, False], [-1, None]], LARGE + 4, {}),
        "wide rows, and the last value",
    )

MINUTE = 60_000_000_000
with barograph.Recorder(folder + "/store") as rec:
    gaps = rec.series("gaps", type="int64")
    for minute, value in ((2, 5), (2, 7), (5, 1), (6, 2)):
        rec.push(gaps, value, time_ns=minute * MINUTE + value)
with barograph.open(folder + "/store") as store:

    def filled(fill, **options):
        asked = {"every": "1m", "agg": "max", "start": 0, "end": 8 * MINUTE, **options}
        batches = list(store.query("gaps", fill=fill, **asked))
        times = [time // MINUTE for batch in batches for time in batch.column("time").to_list()]
        return times, [value for batch in batches for value in batch.column("value").to_list()]

    same(filled(None), ([2, 5, 6], [7, 1, 2]), "steps without a sample have no row")
    same(filled("null"), (list(range(8)), [None, None, 7, None, None, 1, 2, None]), "or a null")
    same(filled("previous"), (list(range(8)), [None, None, 7, 7, 7, 1, 2, 2]), "or the value before")
    same(filled(-1, start=None, end=None), ([2, 3, 4, 5, 6], [7, -1, -1, 1, 2]), "or a number")

DAY = 86_400_000_000_000
with barograph.Recorder(folder + "/store") as rec:
    # 2026-03-28 to 2026-03-31, at noon in UTC; clocks in Berlin are set forward on the 29th.
    noons = [20_540 * DAY + DAY // 2 + day * DAY for day in range(4)]
    rec.push_many(rec.series("noons"), noons, [1.0] * 4)
with barograph.open(folder + "/store") as store:

    def begins(every, **options):
        rows = store.query("noons", every=every, agg="count", **options)
        return [(time - 20_540 * DAY) // 3_600_000_000_000 for batch in rows for time in batch.column("time").to_list()]

    same(begins("1d", zone="Europe/Berlin"), [-1, 23, 46, 70], "days of a place have 23 hours, or 25")
    same(
        (begins("1w"), begins("1mo"), begins("24h", offset="6h")),
        ([-5 * 24, 2 * 24], [-27 * 24], [6, 30, 54, 78]),
        "weeks begin on Mondays; months; shifts",
    )
    same(begins("1d", zone="Europe/Berlin", fill=0, end="2026-04-02"), [-1, 23, 46, 70, 94, 118], "filled")
