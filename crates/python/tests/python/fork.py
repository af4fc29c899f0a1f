"""A forked child is refused, never waits for a thread that it does not have, and ends by itself."""

import os
import sys
import time

import barograph

folder = sys.argv[1]


def child(work):
    """Runs `work` in a forked child, whose exit code says whether it was refused."""
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            work()
        except barograph.Forked as error:
            code = 0 if "forked child" in str(error) else 2
        except BaseException as error:
            print("child:", type(error), error, file=sys.stderr)
            code = 3
        os._exit(code)
    for _ in range(300):
        ended, status = os.waitpid(pid, os.WNOHANG)
        if ended:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.1)
    os.kill(pid, 9)
    sys.exit("a child hangs")


rec = barograph.Recorder(folder + "/store", create="8M")
temp = rec.series("temp")
rec.push(temp, 1.0)
rec.wait_durable()
store = barograph.open(folder + "/store")
query = store.query("temp")
for work in (
    lambda: rec.push(temp, 2.0),
    lambda: rec.push_many(temp, [1], [2.0]),
    lambda: rec.series("new"),
    lambda: rec.wait_durable(),
    lambda: rec.close(),
    lambda: rec.lost,
):
    code = child(work)
    assert code == 0, code
print("ok: a recorder is refused in a child")
for work in (
    lambda: store.query("temp"),
    lambda: store.last("temp"),
    lambda: store.refresh(),
    lambda: list(query),
    lambda: query.__arrow_c_stream__(),
):
    code = child(work)
    assert code == 0, code
print("ok: so is a store")


def ends():
    # All of the interpreter's end: objects are given up, and what was registered runs.
    import atexit

    global rec, store
    rec = store = None
    atexit._run_exitfuncs()
    raise barograph.Forked("forked child")


assert child(ends) == 0


def opens():
    with barograph.open(folder + "/store") as own:
        assert len(next(iter(own.query("temp")))) == 1
    raise barograph.Forked("forked child")


assert child(opens) == 0
print("ok: a child ends, and may open the store itself")
assert rec.push(temp, 3.0) == 1
rec.close()
assert [len(batch) for batch in store.refresh().query("temp")] == [2]
print("ok: the parent goes on")
