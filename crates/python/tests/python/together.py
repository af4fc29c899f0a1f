"""An event loop awaits what is durable and never waits otherwise; other processes push and ask too."""

import asyncio
import subprocess
import sys
import threading

import barograph

folder = sys.argv[1]
path = folder + "/store"
rec = barograph.Recorder(path, create="16M")
frames, temp = rec.channel("control"), rec.series("temp")
turns = 0


async def other():
    global turns
    while True:
        turns += 1
        await asyncio.sleep(0)


async def work():
    task = asyncio.create_task(other())
    for at in range(100):
        rec.push(frames, bytes([at]) * 1024)
        last = rec.push(temp, at, time_ns=at)
        await asyncio.sleep(0)
    await rec.durable(last)
    assert rec.durable_below > last
    await rec.durable(timeout=30)
    try:
        await rec.durable(last + 1000, timeout=0.02)
    except barograph.NotDurable as error:
        assert isinstance(error, TimeoutError)
    else:
        sys.exit("what was not pushed was durable")
    task.cancel()


asyncio.run(work())
assert turns > 200, turns
print("ok: an event loop")

rec.allow_attach(2)
PROGRAM = """
import barograph, sys
with barograph.attach(sys.argv[1]) as rig:
    x = rig.series("rig.x", unit="mm")
    state = rig.series("rig.state", type="text")
    for at in range(1000):
        rig.push(x, at / 2, time_ns=at)
    rig.push_many(x, [5000, 6000], [1.0, 2.0])
    rig.push(state, "ready")
    rig.wait_durable()
    print(rig.pushed, rig.durable_below, sum(rig.refused))
"""
said = subprocess.run([sys.executable, "-c", PROGRAM, path], capture_output=True, text=True)
assert said.stdout == "1002 1002 0\n", said
print("ok: another process")

barrier = threading.Barrier(4)


def push(number):
    series = rec.series(f"thread{number}")
    barrier.wait()
    for at in range(2000):
        rec.push(series, at, time_ns=at)


threads = [threading.Thread(target=push, args=(number,)) for number in range(4)]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
rec.close()
print("ok: threads")

store = barograph.open(path)
rows = {
    name: [value for batch in store.query(name) for value in batch.column("value").to_list()]
    for name in ("temp", "rig.x", "rig.state", "thread0", "thread3")
}
assert rows["temp"] == list(range(100)) and rows["rig.state"] == ["ready"]
assert rows["rig.x"] == [at / 2 for at in range(1000)] + [1.0, 2.0]
assert rows["thread0"] == rows["thread3"] == list(range(2000))
assert [bytes(frame.data) for frame in store.frames("control")] == [bytes([at]) * 1024 for at in range(100)]
print("ok: all of it is there")
