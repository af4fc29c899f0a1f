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
runs = [
    os.path.join(place, name)
    for place, _, names in os.walk(path)
    for name in names
    if os.path.getsize(os.path.join(place, name)) > 4096 and name != "store" and "catalog" not in name
]
for name in runs:
    with open(name, "r+b") as file:
        for offset in range(8192, os.path.getsize(name), 16384):
            file.seek(offset)
            file.write(b"\xff" * 64)
store = barograph.open(path)
missing = 0
try:
    missing = 5000 - sum(len(batch) for batch in store.query("temp"))
    assert store.damage, "rows are missing, and nobody says so"
except barograph.Damaged as error:
    assert "rows are missing" in str(error) and "damaged=" in str(error), error
    skipped = sum(len(batch) for batch in store.query("temp", damaged="skip"))
    assert skipped < 5000
print("ok: damaged")

shutil.rmtree(path)
raises(barograph.Gone, lambda: store.refresh(), "")
raises(barograph.NotAStore, lambda: barograph.open(path), path)
store.close()
raises(barograph.Closed, lambda: store.query("temp"), "closed")
print("ok: gone")
