"""Ctrl-C ends every wait, and other threads run meanwhile."""

import array
import os
import signal
import subprocess
import sys
import threading
import time

import barograph

# Who starts this in the background of a shell has it ignore interrupts.
signal.signal(signal.SIGINT, signal.default_int_handler)

folder = sys.argv[1]
main = threading.main_thread().ident


def rings(process):
    """Files of the rings of a process, which outlive it: nobody will record into these stores again."""
    with open(f"/proc/{process}/maps") as maps:
        return {line.split()[-1] for line in maps if "/barograph-" in line and line.split()[-1].startswith(("/dev/shm/", "/run/"))}


rec = barograph.Recorder(folder + "/store", create="8M", durable_within="1h", ring="8M", settle=False)
temp = rec.series("temp")
rec.push(temp, 1.0)


def interrupted(call, turns=[]):
    """Whether an interrupt ends `call`, and another thread counts meanwhile."""
    counted, over = [0], threading.Event()

    def count():
        # It needs Python's lock for each turn.
        while not over.is_set():
            counted[0] += 1
            if counted[0] == 20:
                signal.pthread_kill(main, signal.SIGINT)
            time.sleep(0.005)

    thread = threading.Thread(target=count)
    thread.start()
    try:
        call()
    except KeyboardInterrupt:
        return counted[0] >= 20
    finally:
        over.set()
        thread.join()
        turns.append(counted[0])
    return False


assert interrupted(lambda: rec.wait_durable(timeout=600))
print("ok: waiting until it is durable")
# More than log and ring have room for: a store that does not recycle.
full = barograph.Recorder(folder + "/full", create="4M", recycle=False, ring="4M", settle=False)
series = full.series("x", type="int64")
times = array.array("q", range(1_000_000))
# Random ones, since others would be packed.
values = array.array("q", os.urandom(8 * len(times)))
assert interrupted(lambda: full.push_many(series, times, values, timeout=600))
PROGRAM = """
import barograph, sys
rec = barograph.Recorder(sys.argv[1], create="8M")
rec.allow_attach()
print("ready", flush=True)
sys.stdin.read()
"""
command = [sys.executable, "-W", "ignore", "-c", PROGRAM, folder + "/elsewhere"]
other = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
assert other.stdout.readline() == "ready\n"
rig = barograph.attach(folder + "/elsewhere", timeout=60)
other.send_signal(signal.SIGSTOP)
# Nobody answers: who does not look for an interrupt waits a minute.
turns = []
assert interrupted(lambda: rig.series("new"), turns)
assert turns[0] < 4000, turns
left = rings(other.pid)
other.kill()
batches = iter(barograph.open(folder + "/full").query("x").iter_batches(1000))
seen = 0


def take_all():
    global seen
    for batch in batches:
        seen += len(batch)
        time.sleep(0.001)


# What comes after an interrupt goes on where it was.
interrupted(take_all)
take_all()
whole = sum(len(batch) for batch in barograph.open(folder + "/full").query("x"))
assert seen in (whole, whole - 1000), (seen, whole)
print("ok: waiting for room, and for another process")
try:
    full.push_many(series, times, values, timeout=0.1)
except barograph.RingFull as error:
    assert "were pushed" in str(error), error
else:
    sys.exit("more went in than there is room for")
try:
    while True:
        full.push(series, 1)
except barograph.RingFull:
    pass
assert full.refused[0] == 1, full.refused
for _ in range(200):
    # The writer counts when it comes to it.
    if full.lost >= 1:
        break
    time.sleep(0.05)
assert full.lost >= 1, full.lost
print("ok: refusals are told and counted")
sys.stdout.flush()
# Neither is closed: one waits an hour, the other has no room.
for ring in left | rings("self"):
    os.unlink(ring)
    try:
        os.rmdir(os.path.dirname(ring))
    except OSError:
        pass
os._exit(0)
