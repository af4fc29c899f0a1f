"""What stalls that are made on purpose have in common: a slow disk, tasks that time their calls, a recording.

A disk is a loop device on a loop device on a file in memory. The lower one is made slow by limits of I/O of
the root's control group (version 1), so that the upper one is slow as a disk is: its requests take their
time, and no limit is on it. All of it is undone when its `with` ends.
"""

import contextlib
import ctypes
import json
import mmap
import os
import signal
import shutil
import subprocess
import time

MIB = 1 << 20
BARO = os.environ.get("BARO", "baro")
PLACE = os.environ.get("STALLS", "/tmp/stalls")
MEMORY = os.path.join(PLACE, "memory")
BLKIO = "/sys/fs/cgroup/blkio"
PR_SET_NAME = 15
LIBC = ctypes.CDLL(None, use_errno=True)


# Not busybox's, where there is another: that one takes its own tools before those of the machine.
SHELL = shutil.which("bash") or "/bin/sh"


def run(command, check=True):
    done = subprocess.run(command, shell=True, executable=SHELL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if check and done.returncode:
        raise RuntimeError(f"{command}: {done.returncode} {done.stdout}")
    return done.stdout.strip()


def put(path, text):
    with open(path, "w", encoding="utf-8") as file:
        file.write(str(text))


def direct_in_memory():
    try:
        os.close(os.open(f"{MEMORY}/direct", os.O_CREAT | os.O_RDWR | os.O_DIRECT))
    except OSError:
        return False
    return True


def forget_caches():
    put("/proc/sys/vm/drop_caches", 3)


@contextlib.contextmanager
def memory():
    """Where images are: in memory, so that no other disk has a part in it."""
    os.makedirs(MEMORY, exist_ok=True)
    os.makedirs(f"{PLACE}/mounted", exist_ok=True)
    run(f"mount -t tmpfs -o size=2G stalls {MEMORY}")
    try:
        yield
    finally:
        run(f"umount {MEMORY}", check=False)


@contextlib.contextmanager
def group(controller, name):
    """A control group of version 1 for the time of a stall."""
    path = f"/sys/fs/cgroup/{controller}/{name}"
    if not os.path.exists(f"/sys/fs/cgroup/{controller}/cgroup.procs"):
        raise RuntimeError(f"no groups of version 1 for {controller}")
    os.makedirs(path, exist_ok=True)
    try:
        yield path
    finally:
        for _ in range(50):
            with contextlib.suppress(OSError):
                os.rmdir(path)
                break
            time.sleep(0.1)


class Disk:
    """See the module; a file system is made and mounted on it by `mounted`."""

    made = 0
    # Those of the stall that is made now, in their order.
    all = []

    def __init__(self, mib=256):
        Disk.made += 1
        Disk.all.append(self)
        self.image = f"{MEMORY}/disk-{os.getpid()}-{Disk.made}"
        with open(self.image, "wb") as file:
            file.truncate(mib * MIB)
        # A file in memory can be read directly since Linux 6.6; before, it is its own cache.
        direct = "--direct-io=on" if direct_in_memory() else ""
        self.lower = run(f"losetup -f --show {direct} {self.image}")
        self.path = run(f"losetup -f --show --direct-io=on {self.lower}")
        self.name = os.path.basename(self.path)
        self.mount = f"{PLACE}/mounted/{os.path.basename(self.image)}"
        self.kind = None
        self.bdi = f"/sys/class/bdi/{self.number()}"

    def number(self, path=None):
        number = os.stat(path or self.path).st_rdev
        return f"{os.major(number)}:{os.minor(number)}"

    def slow(self, **limits):
        """Limits by their names in blkio.throttle, `read_bps` and the like; none: as fast as it can."""
        if not limits and not os.path.exists(BLKIO):
            return
        for name in ("read_bps", "write_bps", "read_iops", "write_iops"):
            put(f"{BLKIO}/blkio.throttle.{name}_device", f"{self.number(self.lower)} {limits.get(name, 0)}")

    def limit_dirty(self, limit_bytes):
        """A loop device keeps it when it is detached, so `close` lifts it."""
        if not os.path.exists(f"{self.bdi}/strict_limit"):
            raise RuntimeError("no limit of dirty data for one disk, which Linux has since 6.2")
        put(f"{self.bdi}/strict_limit", 1)
        put(f"{self.bdi}/max_bytes", limit_bytes)

    def make(self, kind="ext4", options=""):
        self.kind = kind
        force = {"ext4": "-q -F", "xfs": "-q -f", "btrfs": "-q -f"}[kind]
        run(f"mkfs.{kind} {force} {options} {self.path}")
        return self.mount_it()

    def mount_it(self, options=""):
        os.makedirs(self.mount, exist_ok=True)
        run(f"mount -t {self.kind} {'-o ' + options if options else ''} {self.path} {self.mount}")
        return self.mount

    def cold(self, options=""):
        """Mounts it anew, with nothing of it in memory."""
        os.sync()
        self.unmount()
        try:
            self.mount_it(options)
        except RuntimeError:
            # An option that a kernel does not know is of what it does not do.
            self.mount_it()
        forget_caches()
        return self.mount

    def unmount(self):
        self.slow()
        for _ in range(40):
            if not os.path.ismount(self.mount):
                return
            run(f"umount {self.mount}", check=False)
            time.sleep(0.1)

    def close(self):
        self.unmount()
        put(f"{self.bdi}/max_ratio", 100)
        # Since Linux 6.2; who limits dirty data before fails there.
        if os.path.exists(f"{self.bdi}/strict_limit"):
            put(f"{self.bdi}/strict_limit", 0)
        for path in (self.path, self.lower):
            for _ in range(20):
                run(f"losetup -d {path}", check=False)
                if f"{path}:" not in run("losetup -a"):
                    break
                time.sleep(0.1)
        for remove, path in ((os.rmdir, self.mount), (os.unlink, self.image)):
            with contextlib.suppress(OSError):
                remove(path)


@contextlib.contextmanager
def disk(mib=256):
    one = Disk(mib)
    try:
        yield one
    finally:
        one.close()


@contextlib.contextmanager
def ext4(mib=256, options="", file=0):
    """A disk with an ext4; with a file of so many MiB, called `file`, that is on the disk."""
    with disk(mib) as one:
        one.make(options=options)
        if file:
            written(one.mount + "/file", file)
        yield one


class Task:
    """A process of a name that runs `act(call)`; `call(name, function, ..)` notes how long that took."""

    def __init__(self, name, act, groups=()):
        reader, writer = os.pipe()
        self.pid = os.fork()
        self.calls = []
        if self.pid:
            os.close(writer)
            self.reader = reader
            return
        try:
            os.close(reader)
            LIBC.prctl(PR_SET_NAME, name.encode()[:15], 0, 0, 0)
            signal.signal(signal.SIGINT, signal.SIG_DFL)
            for path in groups:
                put(f"{path}/cgroup.procs", os.getpid())
            made = []

            def call(what, function, *rest):
                begin = time.monotonic_ns()
                try:
                    return function(*rest)
                finally:
                    made.append((what, begin, time.monotonic_ns()))

            try:
                act(call)
            except BaseException as error:  # noqa: BLE001, told to who waits
                made.append((repr(error), 0, 0))
            made.sort(key=lambda one: one[1] - one[2])
            os.write(writer, json.dumps(made[:30]).encode())
        finally:
            os._exit(0)

    def wait(self, seconds=60):
        """Its calls, the longest first."""
        end, data = time.monotonic() + seconds, b""
        os.set_blocking(self.reader, False)
        while time.monotonic() < end:
            try:
                more = os.read(self.reader, 65536)
            except BlockingIOError:
                time.sleep(0.02)
                continue
            if not more:
                break
            data += more
        else:
            os.kill(self.pid, signal.SIGKILL)
        os.close(self.reader)
        os.waitpid(self.pid, 0)
        self.calls = json.loads(data or b"[]")
        return self.calls


class Trace:
    """A recording of all the machine."""

    def __init__(self, name, collector):
        folder = f"{PLACE}/cases/{name}"
        os.makedirs(folder, exist_ok=True)
        self.path = f"{folder}/{collector}.trace"
        for path in (self.path, self.path + ".part"):
            with contextlib.suppress(OSError):
                os.unlink(path)
        self.said = f"{folder}/{collector}.said"
        with open(self.said, "wb") as said:
            command = [BARO, "trace", "--system", "--collector", collector, "--out", self.path]
            self.process = subprocess.Popen(command, stdout=said, stderr=said)
        for _ in range(400):
            time.sleep(0.05)
            with open(self.said, encoding="utf-8") as said:
                if "ecord" in said.read():
                    break
            if self.process.poll() is not None:
                raise RuntimeError(f"the recording ended: {self.said}")
        time.sleep(0.2)

    def stop(self):
        self.process.send_signal(signal.SIGINT)
        return self.process.wait(90)


def told(path, pid, over="30ms"):
    """What is told of a task: JSON, and text beside the trace."""
    command = [BARO, "explain", path, "-p", str(pid), "--over", over, "--top", "50"]
    answer = subprocess.run(command + ["--format", "json"], capture_output=True, text=True, check=False)
    text = subprocess.run(command, capture_output=True, text=True, check=False)
    put(path[: -len("trace")] + "txt", text.stdout + text.stderr)
    try:
        return json.loads(answer.stdout)
    except ValueError:
        return {"calls": [], "error": answer.stderr[:300]}


def aligned(size):
    return mmap.mmap(-1, size)


def until(seconds):
    return time.monotonic() + seconds


def written(path, mib, data=b"1"):
    with open(path, "wb") as file:
        for _ in range(mib):
            file.write(data * MIB)
        os.fsync(file.fileno())


def appends(path, seconds, sync, size=100):
    """A task that makes a few bytes durable again and again."""

    def act(call):
        file = os.open(path, os.O_CREAT | os.O_WRONLY | os.O_APPEND)
        end = until(seconds)
        while time.monotonic() < end:
            os.write(file, b"x" * size)
            call(sync.__name__, sync, file)
            time.sleep(0.02)

    return act


def writes_and_syncs(path, rounds, mib):
    def act(_):
        file = os.open(path, os.O_CREAT | os.O_WRONLY)
        for _ in range(rounds):
            os.write(file, b"z" * (mib * MIB))
            os.fsync(file)

    return act


def once(name, function, *rest):
    return lambda call: call(name, function, *rest)
