"""A store that is missing, in use, damaged, of a newer version, or gone while it is open: each has its
exception, with the sentence of the store."""

import os
import shutil
import subprocess
import sys

import barograph

folder = sys.argv[1]
path = folder + "/store"


def raises(kind, call, *words):
    try:
        found = call()
    except kind as error:
        said = str(error)
        assert type(error) is kind and all(word in said for word in words), (type(error), said)
        return
    except Exception as error:
        sys.exit(f"expected {kind.__name__}, found {type(error).__name__}: {error}")
    sys.exit(f"expected {kind.__name__}, found {found!r}")


os.mkdir(folder + "/empty")
raises(barograph.NotAStore, lambda: barograph.open(folder + "/empty"), "/empty", "no store")
raises(barograph.NotAStore, lambda: barograph.open(folder + "/nothing"), "/nothing")
raises(barograph.NotAStore, lambda: barograph.open(__file__), "stores.py")
raises(barograph.NotAStore, lambda: barograph.Recorder(folder + "/empty"), "/empty")
print("ok: no store")

rec = barograph.Recorder(path, create="8M")
rec.push_many(rec.series("temp"), list(range(5000)), [at / 7 for at in range(5000)])
PROGRAM = """
import barograph, sys
try:
    barograph.Recorder(sys.argv[1])
except barograph.InUse as error:
    print(error)
"""
said = subprocess.run([sys.executable, "-c", PROGRAM, path], capture_output=True, text=True).stdout
assert f"process {os.getpid()} records" in said, said
raises(ValueError, lambda: barograph.attach(path), "none free")
rec.close()
print("ok: in use")

identity = bytearray(open(path + "/store", "rb").read())
newer = bytearray(identity)
newer[8] += 40
open(path + "/store", "wb").write(newer)
raises(barograph.NewerVersion, lambda: barograph.open(path), "version")
raises(barograph.NewerVersion, lambda: barograph.Recorder(path), "version")
print("ok: of a newer version")

damaged = bytearray(identity)
damaged[40] ^= 1
open(path + "/store", "wb").write(damaged)
raises(barograph.Damaged, lambda: barograph.open(path), "store")
open(path + "/store", "wb").write(identity)
store = barograph.open(path)
before = sum(len(batch) for batch in store.query("temp"))
assert before == 5000
log = path + "/log/00000000.seg"
data = open(log, "rb").read()
units = [at for at in range(0, len(data), 4096) if any(data[at : at + 4096])]
with open(log, "r+b") as file:
    # Neither the segment's header nor its end.
    for at in units[1:-1]:
        file.seek(at + 2000)
        file.write(b"\xff" * 64)
store = barograph.open(path)
for read in (
    lambda: list(store.query("temp")),
    lambda: store.query("temp").__arrow_c_stream__(),
    lambda: next(iter(store.query("temp", wide=True))),
):
    raises(barograph.Damaged, read, "rows are missing", "00000000.seg", "damaged=")
skipped = sum(len(batch) for batch in store.query("temp", damaged="skip"))
assert skipped < 5000, skipped
print("ok: damaged")

channel = folder + "/channel"
rec = barograph.Recorder(channel, create="8M")
camera = rec.channel("camera")
for at in range(40):
    rec.push(camera, b"frame %d" % at, time_ns=at + 1)
    rec.wait_durable()
rec.close()
assert len(list(barograph.open(channel).frames("camera"))) == 40
log = channel + "/log/00000000.seg"
data = open(log, "rb").read()
units = [at for at in range(0, len(data), 4096) if any(data[at : at + 4096])]
with open(log, "r+b") as file:
    # The header of a block with frames.
    file.seek(units[len(units) // 2] + 100)
    byte = file.read(1)[0]
    file.seek(-1, 1)
    file.write(bytes([byte ^ 1]))
raises(barograph.Damaged, lambda: list(barograph.open(channel).frames("camera")), "frames are missing")
print("ok: frames are missing")

shutil.rmtree(path)
raises(barograph.Gone, lambda: store.refresh(), path, "not there any more")
raises(barograph.NotAStore, lambda: barograph.open(path), path)
store.close()
raises(barograph.Closed, lambda: store.query("temp"), "closed")
print("ok: gone")
