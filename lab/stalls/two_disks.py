"""Kinds on a machine with another disk, which is fast and always in use: it ends requests at any time, and has
no part in what the victim waits for. What is told has to name the victim's disk.

As `kinds`, whose list they join.
"""

import mmap
import os
import random
import time

from fuse import slow_file
from kinds import BEHIND, KINDS, SLOW_READ, kind
from stage import MIB, Task, aligned, appends, ext4, once, put, until

__all__ = ["KINDS"]

DIRECT = os.O_RDWR | os.O_DIRECT
FILE_MIB = 64


def busy(other, seconds):
    """Tasks that have the other disk in use: reads of 64 KiB past the page cache, and small writes with a sync."""

    def reads(_):
        file, buffer, end = os.open(other.mount + "/file", DIRECT), aligned(64 << 10), until(seconds)
        while time.monotonic() < end:
            os.preadv(file, [buffer], random.randrange(FILE_MIB * 16) * (64 << 10))

    def writes(_):
        file, end = os.open(other.mount + "/log", os.O_CREAT | os.O_WRONLY | os.O_APPEND), until(seconds)
        while time.monotonic() < end:
            os.write(file, b"l" * 500)
            os.fdatasync(file)

    return [Task("other-reads", reads), Task("other-writes", writes)]


def beside(run_, one, act, seconds=3):
    """Records the victim beside a disk in use."""
    with ext4(options="-E lazy_itable_init=0", file=FILE_MIB) as other:
        others = busy(other, seconds + 2)
        run_.record()
        run_.judge(Task("victim", act), *others, disk=one)


@kind("throttle", "direct_io")
def held_back_beside_a_busy_disk(run_):
    """pwrite() past the page cache of 64 KiB each, held to 128 KiB/s by a limit on its disk"""
    with ext4(options="-E lazy_itable_init=0", file=1) as one:
        path = "/sys/fs/cgroup/blkio/blkio.throttle.write_bps_device"
        put(path, f"{one.number()} {128 << 10}")

        def act(call):
            file, buffer, end = os.open(one.mount + "/file", DIRECT), aligned(64 << 10), until(3)
            while time.monotonic() < end:
                call("pwritev", os.pwritev, file, [buffer], 0)

        try:
            beside(run_, one, act)
        finally:
            put(path, f"{one.number()} 0")


@kind("device", "device_queue", "direct_io")
def direct_read_beside_a_busy_disk(run_):
    """reads past the page cache, 5 a second"""
    with ext4(options="-E lazy_itable_init=0", file=16) as one:
        one.slow(read_iops=5)

        def act(call):
            file, buffer, end = os.open(one.mount + "/file", DIRECT), aligned(4096), until(3)
            while time.monotonic() < end:
                call("preadv", os.preadv, file, [buffer], random.randrange(4000) * 4096)

        beside(run_, one, act)


@kind(*BEHIND)
def sync_beside_a_busy_disk(run_):
    """fsync() of 100 bytes, 20 writes a second"""
    with ext4(options="-E lazy_itable_init=0") as one:
        one.slow(write_iops=20)
        beside(run_, one, appends(one.mount + "/log", 3, os.fsync))


@kind(*SLOW_READ)
def cold_read_beside_a_busy_disk(run_):
    """read() of 8 MiB that are not in memory, 8 reads a second"""
    with ext4(options="-E lazy_itable_init=0", file=8) as one:
        one.cold()
        one.slow(read_iops=8)

        def act(call):
            file = os.open(one.mount + "/file", os.O_RDONLY)
            call("pread64", os.pread, file, 8 * MIB, 0)

        beside(run_, one, act, seconds=5)


@kind(*SLOW_READ)
def cold_page_beside_a_busy_disk(run_):
    """a touch of a mapped page that is not in memory, 2 reads a second"""
    with ext4(options="-E lazy_itable_init=0", file=8) as one:
        one.cold()
        file = os.open(one.mount + "/file", os.O_RDONLY)
        one.slow(read_iops=2)

        def act(call):
            mapped = mmap.mmap(file, 8 * MIB, mmap.MAP_SHARED, mmap.PROT_READ)
            mapped.madvise(mmap.MADV_RANDOM)
            for at in range(4):
                call("page fault", mapped.__getitem__, at * 2 * MIB)

        beside(run_, one, act)
        os.close(file)


@kind(*SLOW_READ)
def cold_open_beside_a_busy_disk(run_):
    """open() of a file whose folder is not in memory, 4 reads a second"""
    with ext4(options="-E lazy_itable_init=0") as one:
        os.makedirs(one.mount + "/a/b/c")
        with open(one.mount + "/a/b/c/d", "w", encoding="utf-8") as file:
            file.write("x")
        one.cold()
        one.slow(read_iops=4)
        beside(run_, one, once("openat", os.open, one.mount + "/a/b/c/d", os.O_RDONLY))


@kind("writeback", "device", "device_queue", "ordered_data")
def writeback_beside_a_busy_disk(run_):
    """fdatasync() of 4 MiB, 2 MiB/s"""
    with ext4(options="-E lazy_itable_init=0") as one:
        one.slow(write_bps=2 * MIB)

        def act(call):
            file = os.open(one.mount + "/large", os.O_CREAT | os.O_WRONLY)
            os.write(file, b"z" * (4 * MIB))
            call("fdatasync", os.fdatasync, file)

        beside(run_, one, act)


@kind("daemon")
def fuse_read_beside_a_busy_disk(run_):
    """reads of a file system that is a program, which takes 0.2 s for each"""
    with slow_file(0.2) as path:

        def act(call):
            file = os.open(path, os.O_RDONLY)
            for index in range(5):
                call("pread64", os.pread, file, 4096, (3 + 3000 * index) * 4096)

        beside(run_, None, act)
