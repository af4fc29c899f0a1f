"""A store with values of each kind, and what reading it must give: for the programs beside this one, each
of which runs with one package alone."""

import struct
import sys

import barograph

BEGIN = 1_700_000_000_123_456_789
LARGE = 9_007_199_254_740_993
NAN_BITS = [0x7FF8000000000000, 0x7FF8000000000001, 0xFFF8000000000000]
FLOATS = [-0.0, 0.1, 5e-324, float("inf"), -1.5] + [
    struct.unpack("<d", struct.pack("<Q", bits))[0] for bits in NAN_BITS
]
ROWS = len(FLOATS)
TIMES = [BEGIN + at * 1_000_000_007 for at in range(ROWS)]
COUNTS = [LARGE + at for at in range(ROWS)]
TRUTHS = [at % 3 == 0 for at in range(ROWS)]
TEXTS = ["", "a\nb", "ü", "\0", "x" * 70_000, "日本", "'", '"'][:ROWS]
TEXTS[4] = "x" * 60_000


def float_bits(values):
    return [struct.pack("<d", value) for value in values]


def record(folder):
    """Records, and opens the store."""
    with barograph.Recorder(folder + "/store", create="16M") as rec:
        temp = rec.series('temp{site="a"}', unit="°C")
        count = rec.series("count", type="int64", unit="1")
        truth = rec.series("truth", type="bool")
        text = rec.series("text", type="text")
        for at, time_ns in enumerate(TIMES):
            rec.push(temp, FLOATS[at], time_ns=time_ns)
            rec.push(count, COUNTS[at], time_ns=time_ns)
            rec.push(truth, TRUTHS[at], time_ns=time_ns)
            rec.push(text, TEXTS[at], time_ns=time_ns)
    return barograph.open(folder + "/store")


def check(found, wanted, what):
    """Ends the program if the two differ."""
    if found != wanted:
        sys.exit(f"{what}: expected {str(wanted)[:400]}, found {str(found)[:400]}")
    print(f"ok: {what}")
