"""A thousand opens and queries, and many recorders, leak neither files nor memory nor threads."""

import gc
import os
import sys
import time

import barograph

folder = sys.argv[1]
with barograph.Recorder(folder + "/store", create="8M") as rec:
    rec.push_many(rec.series("temp"), list(range(1000)), [float(at) for at in range(1000)])


def counts():
    gc.collect()
    with open("/proc/self/status") as status:
        found = dict(line.split(":\t") for line in status if ":\t" in line)
    files = len(os.listdir("/proc/self/fd"))
    return files, int(found["Threads"]), int(found["VmRSS"].split()[0])


def once():
    store = barograph.open(folder + "/store")
    rows = store.query("temp")
    capsule = rows.__arrow_c_stream__()
    batches = list(rows)
    batches[0].__arrow_c_array__()
    # Given up in the middle.
    next(iter(rows.iter_batches(10)))
    del capsule, store


for _ in range(50):
    once()
time.sleep(0.2)
before = counts()
for _ in range(1000):
    once()


def settled():
    """The counts, once threads that were given up have ended."""
    for _ in range(200):
        found = counts()
        if found[0] <= before[0] and found[1] <= before[1]:
            break
        time.sleep(0.05)
    return found


after = settled()
assert after[0] <= before[0] and after[1] <= before[1], (before, after)
print("ok: no files and threads")
assert after[2] - before[2] < 8 * 1024, f"memory grew from {before[2]} to {after[2]} KiB"
print("ok: no memory")
for _ in range(10):
    rec = barograph.Recorder(folder + "/store")
    rec.push(rec.series("temp"), 1.0)
    rec.close()
for at in range(3):
    # Nobody closes it: it ends when it is given up.
    rec = barograph.Recorder(folder + "/store")
    rec.push(rec.series("given.up"), at, time_ns=at)
    del rec
    gc.collect()
found = next(iter(barograph.open(folder + "/store").query("given.up")))
assert found.column("value").to_list() == [0, 1, 2], found
rings = [name for name in os.listdir("/dev/shm") if str(os.getpid()) in name]
assert settled()[0] <= before[0] and not rings, (counts(), before, rings)
print("ok: no rings of recorders that were closed")
