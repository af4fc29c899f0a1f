"""kill -9 of a program loses nothing that was pushed: the next recorder takes it from the ring."""

import os
import signal
import subprocess
import sys

import barograph

folder = sys.argv[1]
PROGRAM = """
import barograph, sys
rec = barograph.Recorder(sys.argv[1], create="16M", durable_within="30s")
temp, texts = rec.series("temp"), rec.series("texts", type="text")
for at in range(20_000):
    rec.push(temp, at / 3, time_ns=at)
    if at % 100 == 0:
        rec.push(texts, str(at), time_ns=at)
print("pushed", flush=True)
sys.stdin.read()
"""
child = subprocess.Popen(
    [sys.executable, "-W", "ignore", "-c", PROGRAM, folder + "/store"],
    stdin=subprocess.PIPE,
    stdout=subprocess.PIPE,
    text=True,
)
assert child.stdout.readline() == "pushed\n"
child.send_signal(signal.SIGKILL)
assert child.wait() == -signal.SIGKILL
print("ok: killed")
with barograph.Recorder(folder + "/store") as rec:
    pass
store = barograph.open(folder + "/store")


def rows(name):
    batches = list(store.query(name))
    return [value for batch in batches for value in batch.column("value").to_list()]


assert rows("temp") == [at / 3 for at in range(20_000)], len(rows("temp"))
assert rows("texts") == [str(at) for at in range(0, 20_000, 100)]
print("ok: all of it is there")
