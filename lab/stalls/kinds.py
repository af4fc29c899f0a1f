"""Kinds of stalls, most of them from public reports, each made so that its cause is fixed by how it is made.

A kind gets a `Run`, makes the disk, begins the recording by `run.record()`, and ends it by `run.judge(victim)`
while all is as it was. `expected` are the names of causes of which one must be told; none: nothing may be
told. The doc line says what is made.
"""

import ctypes
import fcntl
import mmap
import os
import random
import signal
import time

from stage import (
    LIBC, MIB, PLACE, Task, aligned, appends, disk, ext4, group, once, put, run, until, writes_and_syncs, written,
)

KINDS = []
SLOW_READ = ("metadata_read", "data_read", "device")
BEHIND = ("device_queue", "device", "commit", "writeback", "ordered_data", "journal_write")
COLD = "-O ^metadata_csum,^uninit_bg,^flex_bg -g 2048 -N 8192"
COLLAPSE, COLLAPSED = 8, 4096


def kind(*expected):
    def add(function):
        KINDS.append((function.__name__.replace("_", "-"), expected, function))
        return function

    return add


@kind(*SLOW_READ)
def fallocate_large(run_):
    """fallocate() of 300 MiB whose bitmaps are to be read, 20 reads a second"""
    with ext4(512, COLD) as one:
        written(one.mount + "/small", 1)
        one.cold("no_prefetch_block_bitmaps")
        file = os.open(one.mount + "/large", os.O_CREAT | os.O_WRONLY)
        one.slow(read_iops=20)
        run_.record()
        run_.judge(Task("victim", once("fallocate", os.posix_fallocate, file, 0, 300 * MIB)))
        os.close(file)


@kind(*SLOW_READ)
def rename_in_large_folder(run_):
    """rename() over a file of a folder with 6,000 entries that is not in memory, 4 reads a second"""
    with ext4(256) as one:
        os.mkdir(one.mount + "/folder")
        for number in range(6000):
            open(f"{one.mount}/folder/{'n' * 60}{number}", "w").close()
        open(one.mount + "/new", "w").close()
        one.cold()
        one.slow(read_iops=4)
        run_.record()
        there = f"{one.mount}/folder/{'n' * 60}4711"
        run_.judge(Task("victim", once("rename", os.rename, one.mount + "/new", there)))


@kind(*SLOW_READ)
def truncate_many_extents(run_):
    """ftruncate() of a file with 6,000 extents that are not in memory, 8 reads a second"""
    with ext4(256) as one:
        file = os.open(one.mount + "/file", os.O_CREAT | os.O_WRONLY)
        for number in range(6000):
            os.pwrite(file, b"x" * 4096, number * 8192)
        os.close(file)
        one.cold()
        file = os.open(one.mount + "/file", os.O_WRONLY)
        one.slow(read_iops=8)
        run_.record()
        run_.judge(Task("victim", once("ftruncate", os.ftruncate, file, 0)))
        os.close(file)


@kind(*BEHIND)
def fdatasync_behind_fsync(run_):
    """fdatasync() of 100 bytes behind another's fsync() of 12 MiB, 6 MiB/s"""
    with ext4(options="-E lazy_itable_init=0") as one:
        # Tables of inodes are there: nothing is made beside.
        written(one.mount + "/small", 1)
        one.slow(write_bps=6 * MIB)
        run_.record()
        other = Task("antagonist", writes_and_syncs(one.mount + "/big", 2, 12))
        time.sleep(0.3)
        run_.judge(Task("victim", appends(one.mount + "/small", 3, os.fdatasync)), other)


@kind("throttle")
def limit_of_own_group(run_):
    """pread() past the page cache in a group that may have 2 reads a second of a fast disk"""
    with ext4(file=8) as one, group("blkio", "stalls-limit") as path:
        put(path + "/blkio.throttle.read_iops_device", f"{one.number()} 2")
        run_.record()

        def act(call):
            file = os.open(one.mount + "/file", os.O_RDONLY | os.O_DIRECT)
            buffer, end = aligned(4096), until(3)
            while time.monotonic() < end:
                call("preadv", os.preadv, file, [buffer], random.randrange(2000) * 4096)

        run_.judge(Task("victim", act, [path]))


@kind("log_space", "transaction_full", "transaction_locked", "commit", "journal_buffer")
def creates_fill_the_journal(run_):
    """creat() while another makes files as fast as it can, journal of 4 MiB, 100 writes a second"""
    with ext4(512, "-J size=4 -N 65536 -E lazy_itable_init=0") as one:
        for name in "storm", "own":
            os.mkdir(f"{one.mount}/{name}")
        one.slow(write_iops=100)
        run_.record()

        def storm(_):
            end, number = until(6), 0
            while time.monotonic() < end:
                if number % 500 == 0:
                    os.mkdir(f"{one.mount}/storm/{number}")
                path = f"{one.mount}/storm/{number // 500 * 500}/{number}"
                os.close(os.open(path, os.O_CREAT | os.O_WRONLY))
                number += 1

        def act(call):
            end, number = until(6), 0
            while time.monotonic() < end:
                path = f"{one.mount}/own/{number}"
                os.close(call("openat", os.open, path, os.O_CREAT | os.O_WRONLY))
                number += 1
                time.sleep(0.02)

        other = Task("antagonist", storm)
        run_.judge(Task("victim", act), other)


@kind("data_read", "device", "reclaim")
def readahead_thrash(run_):
    """page faults of a file of 96 MiB in a group of 24 MiB, 1 MiB/s, no swap"""
    with ext4(file=96) as one, group("memory", "stalls-thrash") as path:
        one.cold()
        put(path + "/memory.limit_in_bytes", 24 * MIB)
        one.slow(read_bps=MIB)
        run_.record()

        def act(call):
            file = os.open(one.mount + "/file", os.O_RDONLY)
            mapped = mmap.mmap(file, 96 * MIB, mmap.MAP_SHARED, mmap.PROT_READ)
            end = until(3)
            while time.monotonic() < end:
                at = random.randrange(96 * 256) * 4096
                call("page fault", mapped.__getitem__, at)

        run_.judge(Task("victim", act, [path]))


@kind("writeback", "device")
def direct_falls_back(run_):
    """pwritev() with O_DIRECT into a hole without extents, which goes through the page cache; 2 MiB/s"""
    with ext4(options="-O ^extent,^64bit") as one:
        one.slow(write_bps=2 * MIB)
        run_.record()

        def act(call):
            file = os.open(one.mount + "/file", os.O_CREAT | os.O_WRONLY | os.O_DIRECT)
            os.ftruncate(file, 64 * MIB)
            buffer = aligned(2 * MIB)
            for at in range(3):
                call("pwritev", os.pwritev, file, [buffer], at * 8 * MIB)

        run_.judge(Task("victim", act))


@kind(*BEHIND)
def overlay_fsync(run_):
    """fsync() of a file of an overlay behind another's stream below, 6 MiB/s"""
    with ext4() as one:
        for name in "low", "up", "work":
            os.mkdir(f"{one.mount}/{name}")
        merged = f"{PLACE}/mounted/overlay"
        os.makedirs(merged, exist_ok=True)
        layers = f"lowerdir={one.mount}/low,upperdir={one.mount}/up,workdir={one.mount}/work"
        run(f"mount -t overlay overlay -o {layers} {merged}")
        try:
            open(merged + "/small", "w").close()
            one.slow(write_bps=6 * MIB)
            run_.record()
            other = Task("antagonist", writes_and_syncs(one.mount + "/big", 1, 12))
            time.sleep(0.3)
            run_.judge(Task("victim", appends(merged + "/small", 2.5, os.fsync)), other)
        finally:
            one.slow()
            run(f"umount {merged}")


def two_causes(run_, frozen_s, bytes_):
    with ext4(file=4) as one:
        file = os.open(one.mount + "/file", os.O_WRONLY | os.O_SYNC)
        one.slow(write_bps=MIB)
        run_.record()
        run(f"fsfreeze -f {one.mount}")
        victim = Task("victim", once("pwrite64", os.pwrite, file, b"y" * bytes_, 0))
        time.sleep(frozen_s)
        run(f"fsfreeze -u {one.mount}")
        run_.judge(victim)
        os.close(file)


@kind("freeze")
def freeze_then_disk(run_):
    """one write() of O_SYNC: 1.2 s for a frozen file system, then 0.4 s for the disk"""
    two_causes(run_, 1.2, 400 << 10)


@kind("device", "writeback")
def disk_after_freeze(run_):
    """one write() of O_SYNC: 0.3 s for a frozen file system, then 1.2 s for the disk"""
    two_causes(run_, 0.3, 1200 << 10)


@kind("lock", "stopped")
def lock_of_a_stopped_task(run_):
    """flock() held by a task that is stopped for 1.2 s"""
    with ext4(64) as one:
        open(one.mount + "/lock", "w").close()
        run_.record()

        def hold(_):
            file = os.open(one.mount + "/lock", os.O_RDWR)
            fcntl.flock(file, fcntl.LOCK_EX)
            time.sleep(0.5)
            fcntl.flock(file, fcntl.LOCK_UN)

        def act(call):
            file = os.open(one.mount + "/lock", os.O_RDWR)
            call("flock", fcntl.flock, file, fcntl.LOCK_EX)

        holder = Task("holder", hold)
        time.sleep(0.2)
        os.kill(holder.pid, signal.SIGSTOP)
        victim = Task("victim", act)
        time.sleep(1.2)
        os.kill(holder.pid, signal.SIGCONT)
        run_.judge(victim, holder)


@kind("dirty_limit_device")
def dirty_limit_by_a_neighbour(run_):
    """small writes beside another's stream on a disk that may have 8 MiB of dirty data, 6 MiB/s"""
    with ext4() as one:
        one.limit_dirty(8 * MIB)
        one.slow(write_bps=6 * MIB)
        run_.record()

        def stream(_):
            file, end = os.open(one.mount + "/big", os.O_CREAT | os.O_WRONLY), until(4)
            while time.monotonic() < end:
                os.write(file, b"z" * MIB)

        def act(call):
            file, end, at = os.open(one.mount + "/own", os.O_CREAT | os.O_WRONLY), until(4), 0
            while time.monotonic() < end:
                call("pwrite64", os.pwrite, file, b"y" * 65536, at)
                at += 65536
                time.sleep(0.01)

        other = Task("antagonist", stream)
        run_.judge(Task("victim", act), other)


@kind("inode_lock")
def xfs_read_behind_write(run_):
    """XFS: pread() of a file of which another writes 12 MiB in one call, 8 MiB of dirty data allowed, 6 MiB/s"""
    with disk(512) as one:
        one.make("xfs")
        written(one.mount + "/file", 1)
        with open(one.mount + "/file", "rb") as file:
            file.read()
        one.limit_dirty(8 * MIB)
        one.slow(write_bps=6 * MIB)
        run_.record()

        def write(_):
            file = os.open(one.mount + "/file", os.O_WRONLY)
            for _ in range(2):
                os.pwrite(file, b"z" * (12 * MIB), 0)

        def act(call):
            file, end = os.open(one.mount + "/file", os.O_RDONLY), until(3)
            while time.monotonic() < end:
                call("pread64", os.pread, file, 4096, 0)
                time.sleep(0.01)

        other = Task("holder", write)
        run_.judge(Task("victim", act), other)


@kind(*SLOW_READ)
def sendfile_cold(run_):
    """sendfile() of 1 MiB that is not in memory, 1 MiB/s"""
    with ext4(file=2) as one:
        one.cold()
        file, sink = os.open(one.mount + "/file", os.O_RDONLY), os.open("/dev/null", os.O_WRONLY)
        one.slow(read_bps=MIB)
        run_.record()
        run_.judge(Task("victim", once("sendfile", os.sendfile, sink, file, 0, MIB)))
        os.close(file)
        os.close(sink)


@kind(*SLOW_READ)
def listing_cold(run_):
    """getdents64() of a folder with 6,000 entries that is not in memory, 10 reads a second"""
    with ext4() as one:
        os.mkdir(one.mount + "/folder")
        for number in range(6000):
            open(f"{one.mount}/folder/{'n' * 60}{number}", "w").close()
        one.cold()
        one.slow(read_iops=60)
        run_.record()
        folder, buffer = os.open(one.mount + "/folder", os.O_RDONLY), ctypes.create_string_buffer(MIB)
        list_all = once("getdents64", LIBC.syscall, 217, folder, buffer, MIB)
        run_.judge(Task("victim", list_all))
        os.close(folder)
