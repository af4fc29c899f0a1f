"""Further kinds: memory that is mapped, queues that are drained, leases, groups that are frozen, and what is none.

As `kinds`, whose list they join.
"""

import ctypes
import fcntl
import mmap
import os
import signal
import time

from kinds import COLLAPSE, COLLAPSED, KINDS, SLOW_READ, kind
from stage import LIBC, MIB, Task, aligned, disk, ext4, group, put, run, until, written

__all__ = ["KINDS"]


@kind("writeback", "device")
def msync_slow(run_):
    """msync() of 4 MiB, 3 MiB/s"""
    with ext4(file=4) as one:
        file = os.open(one.mount + "/file", os.O_RDWR)
        mapped = mmap.mmap(file, 4 * MIB)
        mapped[:] = b"z" * (4 * MIB)
        one.slow(write_bps=3 * MIB)
        run_.record()
        run_.judge(Task("victim", lambda call: call("msync", mapped.flush)))
        mapped.close()
        os.close(file)


@kind("queue_frozen")
def queue_drained_for_a_setting(run_):
    """a direct read of a disk whose scheduler is changed, which waits for 1.5 s of another's writes"""
    with ext4(file=4) as one:
        one.slow(write_bps=2 * MIB)
        run_.record()

        def write(_):
            file, buffer = os.open(one.mount + "/big", os.O_CREAT | os.O_WRONLY | os.O_DIRECT), aligned(3 * MIB)
            os.pwritev(file, [buffer], 0)

        def change(_):
            put(f"/sys/block/{one.name}/queue/scheduler", "bfq")

        def act(call):
            file, buffer = os.open(one.mount + "/file", os.O_RDONLY | os.O_DIRECT), aligned(4096)
            call("preadv", os.preadv, file, [buffer], 0)

        writer = Task("writer", write)
        time.sleep(0.2)
        changer = Task("changer", change)
        time.sleep(0.2)
        run_.judge(Task("victim", act), writer, changer)


@kind(*SLOW_READ)
def exec_cold(run_):
    """execve() of a program that is not in memory, 4 reads a second"""
    with ext4() as one:
        run(f"cp /bin/true {one.mount}/true")
        one.cold()
        os.listdir(one.mount)
        one.slow(read_iops=4)
        run_.record()

        def act(call):
            pid = os.fork()
            if pid == 0:
                os.execv(one.mount + "/true", ["victim"])
            call("wait", os.waitpid, pid, 0)

        # What is told of a task is told of those that it made, too.
        run_.judge(Task("victim", act))


@kind("lock")
def lease_of_another(run_):
    """open() to write of a file on which another has a lease that it gives up after 1 s"""
    with ext4(64) as one:
        open(one.mount + "/leased", "w").close()
        run_.record()

        def hold(_):
            signal.signal(signal.SIGIO, lambda *_: None)
            file = os.open(one.mount + "/leased", os.O_RDONLY)
            fcntl.fcntl(file, fcntl.F_SETLEASE, fcntl.F_RDLCK)
            signal.pause()
            time.sleep(1)
            fcntl.fcntl(file, fcntl.F_SETLEASE, fcntl.F_UNLCK)

        holder = Task("holder", hold)
        time.sleep(0.3)

        def act(call):
            call("openat", os.open, one.mount + "/leased", os.O_WRONLY)

        run_.judge(Task("victim", act), holder)


@kind("stopped")
def group_frozen(run_):
    """the victim's group is frozen for 1.2 s in the midst of its writes"""
    with ext4(64) as one, group("freezer", "stalls-frozen") as path:
        run_.record()

        def act(call):
            file, end, at = os.open(one.mount + "/file", os.O_CREAT | os.O_WRONLY), until(3), 0
            while time.monotonic() < end:
                call("pwrite64", os.pwrite, file, b"y" * MIB, at % 16 * MIB)
                at += 1

        victim = Task("victim", act, [path])
        time.sleep(0.7)
        put(path + "/freezer.state", "FROZEN")
        time.sleep(1.2)
        put(path + "/freezer.state", "THAWED")
        run_.judge(victim)


@kind("inode_lock")
def write_behind_collapse(run_):
    """pwrite() of a file of which another takes out blocks, whose 3,000 extents are to be read"""
    with ext4() as one:
        file = os.open(one.mount + "/file", os.O_CREAT | os.O_WRONLY)
        for number in range(3000):
            os.pwrite(file, b"x" * 4096, number * 8192)
        os.close(file)
        one.cold()
        file = os.open(one.mount + "/file", os.O_WRONLY)
        os.pwrite(file, b"x", 0)
        one.slow(read_iops=5)
        run_.record()

        def collapse(_):
            LIBC.fallocate(file, COLLAPSE, ctypes.c_long(8192 * 100), ctypes.c_long(COLLAPSED))

        def act(call):
            end = until(3)
            while time.monotonic() < end:
                call("pwrite64", os.pwrite, file, b"y", 0)
                time.sleep(0.01)

        other = Task("holder", collapse)
        run_.judge(Task("victim", act), other)
        os.close(file)


@kind()
def empty_pipe_beside_a_stream(run_):
    """read() of an empty pipe for 1.5 s while another writes to a slow disk: nothing is late"""
    with ext4() as one:
        one.slow(write_bps=6 * MIB)
        reader, writer = os.pipe()
        run_.record()

        def stream(_):
            file, end = os.open(one.mount + "/big", os.O_CREAT | os.O_WRONLY), until(2)
            while time.monotonic() < end:
                os.write(file, b"z" * MIB)
                os.fdatasync(file)

        other = Task("antagonist", stream)
        victim = Task("victim", lambda call: call("read", os.read, reader, 1))
        time.sleep(1.5)
        os.write(writer, b"x")
        run_.judge(victim, other)
        os.close(reader)
        os.close(writer)


@kind("device", "direct_io")
def reads_of_a_loop(run_):
    """a read of 2 MiB past the page cache of a disk alone, 2 MiB/s: no file system"""
    with disk() as one:
        one.slow(read_bps=2 * MIB)
        run_.record()

        def act(call):
            file, buffer = os.open(one.path, os.O_RDONLY | os.O_DIRECT), aligned(2 * MIB)
            call("preadv", os.preadv, file, [buffer], 0)

        run_.judge(Task("victim", act))


@kind("lock", "transaction_locked")
def create_behind_lazy_tables(run_):
    """creat() in groups of inodes whose tables the kernel makes after the first mount, 1 MiB/s"""
    with ext4(256, "-N 200000 -E lazy_itable_init=1") as one:
        run(f"mount -o remount,init_itable=0 {one.mount}")
        for number in range(12):
            os.mkdir(f"{one.mount}/{number}")
        one.slow(write_bps=MIB)
        run_.record()

        def act(call):
            end, number = until(8), 0
            while time.monotonic() < end:
                path = f"{one.mount}/{number % 12}/new{number}"
                os.close(call("openat", os.open, path, os.O_CREAT | os.O_WRONLY))
                number += 1
                time.sleep(0.01)

        run_.judge(Task("victim", act))


@kind("writeback", "device")
def direct_read_of_a_dirty_file(run_):
    """a read past the page cache of a file of which 4 MiB are dirty, which must be written first; 3 MiB/s"""
    with ext4(file=4) as one:
        file = os.open(one.mount + "/file", os.O_RDWR)
        os.pwrite(file, b"z" * (4 * MIB), 0)
        one.slow(write_bps=3 * MIB)
        run_.record()

        def act(call):
            direct, buffer = os.open(one.mount + "/file", os.O_RDONLY | os.O_DIRECT), aligned(4 * MIB)
            call("preadv", os.preadv, direct, [buffer], 0)

        run_.judge(Task("victim", act))
        os.close(file)


@kind("device_queue")
def read_behind_reads(run_):
    """reads past the page cache beside eight others' on a disk of 20 reads a second"""
    with ext4(file=32) as one:
        one.slow(read_iops=20)
        run_.record()

        def reads(call):
            file, buffer = os.open(one.mount + "/file", os.O_RDONLY | os.O_DIRECT), aligned(4096)
            end, at = until(3), os.getpid()
            while time.monotonic() < end:
                at = (at * 31 + 7) % 8000
                call("preadv", os.preadv, file, [buffer], at * 4096)

        others = [Task("antagonist", reads) for _ in range(8)]
        run_.judge(Task("victim", reads), *others)


@kind("lock")
def lock_of_a_task_that_syncs(run_):
    """flock() held by a task in an fsync() of 4 MiB, 3 MiB/s"""
    with ext4() as one:
        open(one.mount + "/lock", "w").close()
        one.slow(write_bps=3 * MIB)
        run_.record()

        def hold(_):
            lock = os.open(one.mount + "/lock", os.O_RDWR)
            fcntl.flock(lock, fcntl.LOCK_EX)
            file = os.open(one.mount + "/big", os.O_CREAT | os.O_WRONLY)
            os.write(file, b"z" * (4 * MIB))
            os.fsync(file)
            fcntl.flock(lock, fcntl.LOCK_UN)

        def act(call):
            time.sleep(0.2)
            file = os.open(one.mount + "/lock", os.O_RDWR)
            call("flock", fcntl.flock, file, fcntl.LOCK_EX)

        holder = Task("holder", hold)
        run_.judge(Task("victim", act), holder)


@kind("writeback", "device")
def sync_file_range_waits(run_):
    """sync_file_range() that waits for 4 MiB, 3 MiB/s"""
    with ext4() as one:
        file = os.open(one.mount + "/file", os.O_CREAT | os.O_WRONLY)
        os.write(file, b"z" * (4 * MIB))
        one.slow(write_bps=3 * MIB)
        run_.record()
        whole = ctypes.c_long(0)
        run_.judge(Task("victim", lambda call: call("sync_file_range", LIBC.sync_file_range, file, whole, whole, 7)))
        os.close(file)


@kind("freeze")
def removal_while_frozen(run_):
    """unlink() and mkdir() on a file system that is frozen for 1.2 s"""
    with ext4(64) as one:
        run_.record()

        def act(call):
            end, number = until(3), 0
            while time.monotonic() < end:
                call("mkdir", os.mkdir, f"{one.mount}/{number}")
                call("rmdir", os.rmdir, f"{one.mount}/{number}")
                number += 1
                time.sleep(0.01)

        victim = Task("victim", act)
        time.sleep(0.7)
        run(f"fsfreeze -f {one.mount}")
        time.sleep(1.2)
        run(f"fsfreeze -u {one.mount}")
        run_.judge(victim)
