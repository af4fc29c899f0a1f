"""A wrong argument is a TypeError or ValueError that names it, and pushes nothing."""

import array
import datetime
import sys

import barograph

folder = sys.argv[1]
checks = 0


def refuses(kind, name, call, *arguments, **options):
    """`call` raises `kind`, and the text begins with the name of the argument."""
    global checks
    try:
        found = call(*arguments, **options)
    except kind as error:
        if not str(error).startswith((name + ":", name + " ")):
            sys.exit(f"{call}: expected a text about {name}, found: {error}")
        checks += 1
    except Exception as error:
        sys.exit(f"{call} {arguments}: expected {kind.__name__}, found {type(error).__name__}: {error}")
    else:
        sys.exit(f"{call} {arguments} {options}: expected {kind.__name__}, found {found!r}")


path = folder + "/store"
refuses(TypeError, "path", barograph.Recorder, 3)
refuses(TypeError, "path", barograph.open, None)
refuses(ValueError, "create", barograph.Recorder, path, create="1X")
refuses(ValueError, "create", barograph.Recorder, path, create=0)
refuses(TypeError, "create", barograph.Recorder, path, create=1.5)
refuses(TypeError, "recycle", barograph.Recorder, path, create="8M", recycle=1)
refuses(ValueError, "priority", barograph.Recorder, path, create="8M", priority=100)
refuses(ValueError, "durable_within", barograph.Recorder, path, create="8M", durable_within="soon")
refuses(TypeError, "ring", barograph.Recorder, path, create="8M", ring=1.0)
print("ok: opening")

rec = barograph.Recorder(path, create="8M")
temp, count = rec.series("temp"), rec.series("count", type="int64")
truth, state = rec.series("truth", type="bool"), rec.series("state", type="text")
frames = rec.channel("control")
refuses(TypeError, "name", rec.series, 3)
refuses(TypeError, "unit", rec.series, "a", unit=3)
refuses(ValueError, "type", rec.series, "a", type="float32")
refuses(ValueError, "layout", rec.channel, "c", layout="speed")
for other in ("temp", "control"):
    try:
        rec.series(other, type="text")
    except ValueError as error:
        assert other in str(error), error
    else:
        sys.exit(f"{other} was declared with another type")
print("ok: declaring")

before = rec.pushed
for target, wrong in (
    (temp, ["1.5", None, True, b"1", 1j, [1.0]]),
    (count, [1.0, "1", None, False, [1]]),
    (truth, [1, 0.0, "True", None]),
    (state, [1, b"a", None]),
    (frames, [1, "text", None, 1.5]),
):
    for value in wrong:
        refuses(TypeError, "value", rec.push, target, value)
refuses(ValueError, "value", rec.push, temp, 2**53 + 1)
refuses(ValueError, "value", rec.push, count, 2**63)
refuses(TypeError, "target", rec.push, "temp", 1.0)
refuses(TypeError, "time_ns", rec.push, temp, 1.0, time_ns=1.5)
refuses(TypeError, "time_ns", rec.push, temp, 1.0, time_ns=True)
refuses(ValueError, "time_ns", rec.push, temp, 1.0, time_ns=2**63)
other = barograph.Recorder(folder + "/other", create="8M")
refuses(ValueError, "target", rec.push, other.series("temp"), 1.0)
refuses(ValueError, "target", rec.push_many, other.series("temp"), [1], [1.0])
other.close()
assert rec.pushed == before, rec.pushed
print("ok: pushing")

floats = array.array("d", [1.0, 2.0])
refuses(TypeError, "series", rec.push_many, "temp", [1, 2], floats)
refuses(ValueError, "values", rec.push_many, temp, [1], floats)
refuses(TypeError, "values", rec.push_many, temp, [1, 2], "ab")
refuses(TypeError, "values", rec.push_many, temp, [1, 2], ["a", "b"])
refuses(TypeError, "values", rec.push_many, temp, [1, 2], [1.0, "b"])
refuses(TypeError, "values", rec.push_many, count, [1, 2], floats)
refuses(TypeError, "values", rec.push_many, truth, [1, 2], [1, 0])
refuses(TypeError, "values", rec.push_many, state, [1, 2], [1, 0])
refuses(ValueError, "values", rec.push_many, temp, [1], [2**53 + 1])
refuses(ValueError, "values", rec.push_many, count, [1], [2**63])
refuses(ValueError, "values", rec.push_many, count, [1], array.array("Q", [2**63]))
refuses(ValueError, "values", rec.push_many, temp, [1], memoryview(bytes(16)).cast("d", (1, 2)))
refuses(TypeError, "times_ns", rec.push_many, temp, [1.0, 2.0], floats)
refuses(TypeError, "times_ns", rec.push_many, temp, None, floats)
refuses(TypeError, "timeout", rec.push_many, temp, [1, 2], floats, timeout="x" and [])
refuses(ValueError, "timeout", rec.wait_durable, timeout=-1)
refuses(TypeError, "sequence", rec.wait_durable, "1")
assert rec.pushed == before, rec.pushed
print("ok: columns")
rec.push(temp, 1, time_ns=5)
rec.push(temp, 2.5)
rec.close()
rec.close()
try:
    rec.push(temp, 1.0)
except barograph.Closed:
    pass
else:
    sys.exit("a closed recorder took a sample")

store = barograph.open(path)
ask = store.query
refuses(TypeError, "selector", ask, 3)
refuses(TypeError, "selector", ask, ["a", 3])
refuses(ValueError, "selector", ask, [])
refuses(ValueError, "selector", ask, "temp{site=")
refuses(ValueError, "selector", ask, "control")
refuses(ValueError, "start", ask, "temp", start="yesterday")
refuses(ValueError, "start", ask, "temp", start=datetime.datetime(2026, 1, 1))
refuses(ValueError, "start", ask, "temp", start="2026-13-01")
refuses(ValueError, "start", ask, "temp", start=2**63)
refuses(TypeError, "end", ask, "temp", end=1.5)
refuses(ValueError, "every", ask, "temp", every="0s", agg="mean")
refuses(ValueError, "every", ask, "temp", every="1 fortnight", agg="mean")
refuses(TypeError, "every", ask, "temp", every=60, agg="mean")
refuses(ValueError, "agg", ask, "temp", every="1m")
refuses(ValueError, "agg", ask, "temp", every="1m", agg="mode")
refuses(TypeError, "agg", ask, "temp", agg=3)
refuses(ValueError, "last", ask, "temp", last=0)
refuses(TypeError, "last", ask, "temp", last="1")
refuses(TypeError, "limit", ask, "temp", limit=1.0)
refuses(ValueError, "fill", ask, "temp", fill="null")
refuses(ValueError, "fill", ask, "temp", every="1m", agg="mean", fill="linear")
refuses(TypeError, "fill", ask, "temp", every="1m", agg="mean", fill=[])
refuses(ValueError, "fill", ask, "count", every="1m", agg="max", fill=0.5)
refuses(ValueError, "fill", ask, "temp", every="1m", agg="mean", fill=0, wide=True)
refuses(ValueError, "every", ask, "temp", every="1ns", agg="mean", fill=0, start=0, end="now")
refuses(ValueError, "fill", ask, "temp", every="1m", agg="mean", fill=0, last=3)
refuses(ValueError, "agg", ask, ["temp", "state"], every="1m", agg="mean")
refuses(ValueError, "zone", ask, "temp", every="1h", agg="mean", zone="Europe/Berlin")
refuses(ValueError, "zone", ask, "temp", every="1d", agg="mean", zone="../etc/passwd")
refuses(ValueError, "zone", ask, "temp", every="1d", agg="mean", zone="Europe/Atlantis")
refuses(TypeError, "zone", ask, "temp", every="1d", agg="mean", zone=1)
refuses(ValueError, "zone", ask, "temp", zone="UTC")
refuses(ValueError, "offset", ask, "temp", every="1h", agg="mean", offset="2h")
refuses(ValueError, "offset", ask, "temp", every="1mo", agg="mean", offset="1ms")
refuses(TypeError, "wide", ask, "temp", wide="yes")
refuses(ValueError, "damaged", ask, "temp", damaged="ignore")
refuses(ValueError, "rows", ask("temp").iter_batches, 0)
refuses(TypeError, "rows", ask("temp").iter_batches, "1")
refuses(TypeError, "series", store.last, 3)
refuses(ValueError, "series", store.last, "{__name__=~\"t.*\"}")
refuses(TypeError, "channel", store.frames, 3)
for unknown in (lambda: ask("nothing"), lambda: store.last("nothing"), lambda: store.frames("temp")):
    try:
        unknown()
    except barograph.Unknown as error:
        assert isinstance(error, LookupError)
    else:
        sys.exit("what is not there was found")
print("ok: asking")
assert store.last("temp").value == 2.5 and len(next(iter(ask("temp", end=6)))) == 1
utc = datetime.timezone.utc
for moment in (5, "1970-01-01T00:00:00.000000005Z", "1970-01-01T01:00:00.000000005+01:00"):
    assert next(iter(ask("temp", start=moment, end=6))).column("value").to_list() == [1.0]
assert not list(ask("temp", start=datetime.datetime(1970, 1, 1, 0, 0, 1, tzinfo=utc), end="1970-01-02"))
assert next(iter(ask("temp", start="-1h", every="1h30m", agg="max"))).column("value").to_list() == [2.5]
assert checks > 80, checks
print("ok: what is left takes what it should")
