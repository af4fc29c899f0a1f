"""Kinds of control groups of version 2, which most machines have now. They need its controllers: the others need
those of version 1 for their slow disks, and a controller is of one version at a time.

As `kinds`, whose list they join.
"""

import contextlib
import os
import signal
import time

from kinds import KINDS, kind
from stage import MIB, Task, aligned, ext4, once, put, until, written

__all__ = ["KINDS"]

ROOT = "/sys/fs/cgroup"
DIRECT = os.O_RDWR | os.O_DIRECT
AT_ONCE = "-E lazy_itable_init=0"


@contextlib.contextmanager
def group(name, **settings):
    """A group with settings such as `io_max`; underscores stand for points."""
    if not os.path.exists(ROOT + "/cgroup.controllers"):
        raise RuntimeError("no groups of version 2")
    for controller in ("io", "memory", "cpu"):
        with contextlib.suppress(OSError):
            put(ROOT + "/cgroup.subtree_control", "+" + controller)
    path = f"{ROOT}/{name}"
    os.makedirs(path, exist_ok=True)
    try:
        for key, value in settings.items():
            put(f"{path}/{key.replace('_', '.')}", value)
        yield path
    finally:
        for _ in range(50):
            with contextlib.suppress(OSError):
                os.rmdir(path)
                break
            time.sleep(0.1)


@kind("throttle")
def newer_limit_of_own_group(run_):
    """pread() past the page cache in a group that may have 2 reads a second of a fast disk (io.max)"""
    with ext4(options=AT_ONCE, file=8) as one, group("stalls-io", io_max=f"{one.number()} riops=2") as path:
        run_.record()

        def act(call):
            file, buffer = os.open(one.mount + "/file", DIRECT), aligned(4096)
            for at in range(5):
                call("preadv", os.preadv, file, [buffer], at * 4096)

        run_.judge(Task("victim", act, [path]))


@kind("throttle")
def newer_limit_of_writes(run_):
    """fsync() of 1 MiB in a group that may write 512 KiB a second (io.max): its write-back is its own"""
    with ext4(options=AT_ONCE) as one, group("stalls-io", io_max=f"{one.number()} wbps={512 << 10}") as path:
        run_.record()

        def act(call):
            file = os.open(one.mount + "/file", os.O_CREAT | os.O_WRONLY)
            for at in range(2):
                os.pwrite(file, b"x" * MIB, at * MIB)
                call("fsync", os.fsync, file)

        run_.judge(Task("victim", act, [path]))


@kind("cpu")
def newer_share_of_processors(run_):
    """small writes in a group that may have 10 ms of each 300 ms of a processor, beside a hog in it (cpu.max)"""
    with ext4(64, options=AT_ONCE) as one, group("stalls-cpu", cpu_max="10000 300000") as path:
        run_.record()

        def hog(_):
            end = until(3)
            while time.monotonic() < end:
                pass

        def act(call):
            file, end = os.open(one.mount + "/file", os.O_CREAT | os.O_WRONLY), until(3)
            while time.monotonic() < end:
                call("pwrite64", os.pwrite, file, b"x" * 65536, 0)

        run_.judge(Task("victim", act, [path]), Task("hog", hog, [path]))


@kind("stopped")
def newer_group_frozen(run_):
    """the victim's group is frozen for 1.2 s in the midst of its writes (cgroup.freeze)"""
    with ext4(64, options=AT_ONCE) as one, group("stalls-frozen") as path:
        run_.record()

        def act(call):
            file, end = os.open(one.mount + "/file", os.O_CREAT | os.O_WRONLY), until(3)
            while time.monotonic() < end:
                call("pwrite64", os.pwrite, file, b"x" * 65536, 0)

        victim = Task("victim", act, [path])
        time.sleep(0.5)
        put(path + "/cgroup.freeze", 1)
        time.sleep(1.2)
        put(path + "/cgroup.freeze", 0)
        run_.judge(victim)


@kind("reclaim", "data_read", "device", "throttle")
def newer_memory_limit(run_):
    """page faults of a file of 64 MiB in a group of 24 MiB that may read 2 MiB/s (memory.max, io.max)"""
    limits = {"memory_max": 24 * MIB, "memory_swap_max": 0}
    with ext4(options=AT_ONCE) as one:
        written(one.mount + "/file", 64)
        with group("stalls-memory", io_max=f"{one.number()} rbps={2 * MIB}", **limits) as path:
            run_.record()

            def act(call):
                import mmap

                signal.alarm(20)
                file = os.open(one.mount + "/file", os.O_RDONLY)
                os.posix_fadvise(file, 0, 0, os.POSIX_FADV_DONTNEED)
                pages = mmap.mmap(file, 64 * MIB, prot=mmap.PROT_READ)
                end, at = until(3), 0
                while time.monotonic() < end:
                    call("page fault", pages.__getitem__, at % (64 * MIB))
                    at += 7 * MIB + 4096

            run_.judge(Task("victim", act, [path]))


@kind("reclaim", "timer")
def newer_memory_high(run_):
    """read() in a group far above its memory.high, which the kernel lets sleep on its way back"""
    with ext4(options=AT_ONCE) as one, group("stalls-memory", memory_swap_max=0) as path:
        run_.record()

        def act(call):
            put(path + "/memory.high", 8 * MIB)
            kept = []
            file = os.open("/dev/zero", os.O_RDONLY)
            end = until(3)
            while time.monotonic() < end:
                kept.append(call("read", os.read, file, MIB))

        run_.judge(Task("victim", act, [path]))


@kind("device", "metadata_read", "data_read", "commit", "journal_write", "writeback", "throttle", "transaction_locked")
def newer_neighbour_in_the_journal(run_):
    """fsync() of 100 bytes while a group that may write 256 KiB/s (io.max) has data in the same transaction"""
    with ext4(options=AT_ONCE) as one, group("stalls-io", io_max=f"{one.number()} wbps={256 << 10}") as path:
        run_.record()

        def neighbour(_):
            file = os.open(one.mount + "/big", os.O_CREAT | os.O_WRONLY)
            for at in range(3):
                os.pwrite(file, b"z" * (256 << 10), at * (256 << 10))
                os.fsync(file)

        def act(call):
            file, end = os.open(one.mount + "/file", os.O_CREAT | os.O_WRONLY), until(3)
            while time.monotonic() < end:
                os.pwrite(file, b"x" * 100, 0)
                call("fsync", os.fsync, file)
                time.sleep(0.02)

        run_.judge(Task("victim", act), Task("neighbour", neighbour, [path]))
