"""Kinds of another shape: two causes at once, short stalls, many threads, layers of mounts, and further ways in.

As `kinds`, whose list they join.
"""

import contextlib
import ctypes
import mmap
import os
import random
import struct
import threading
import time

from kinds import BEHIND, COLD, KINDS, SLOW_READ, kind
from stage import (
    LIBC, MIB, PLACE, Task, aligned, appends, disk, ext4, group, once, put, run, until, writes_and_syncs, written,
)

__all__ = ["KINDS"]

CLONE_NEWNS, CLONE_NEWPID, MS_PRIVATE = 0x20000, 0x20000000, 1 << 18 | 1 << 14
IO_SETUP, IO_GETEVENTS, IO_SUBMIT = 206, 208, 209
DIRECT = os.O_RDONLY | os.O_DIRECT


def stream(path, seconds, sync=None):
    """A task that writes as fast as it may."""

    def act(_):
        file, end = os.open(path, os.O_CREAT | os.O_WRONLY), until(seconds)
        while time.monotonic() < end:
            os.write(file, b"z" * MIB)
            if sync:
                sync(file)

    return act


@contextlib.contextmanager
def mounted(kind_, options, path):
    os.makedirs(path, exist_ok=True)
    run(f"mount -t {kind_} {kind_} -o {options} {path}")
    try:
        yield path
    finally:
        run(f"umount {path}")


@kind("device", "device_queue", "direct_io")
def short_direct_reads(run_):
    """reads past the page cache of 40 ms each, 25 a second"""
    with ext4(file=32) as one:
        one.slow(read_iops=25)
        run_.record()

        def act(call):
            file, buffer, end = os.open(one.mount + "/file", DIRECT), aligned(4096), until(2)
            while time.monotonic() < end:
                call("preadv", os.preadv, file, [buffer], random.randrange(8000) * 4096)

        run_.judge(Task("victim", act))


@kind(*BEHIND)
def short_syncs(run_):
    """fdatasync() of 100 bytes of 20 to 60 ms each: 120 writes a second"""
    with ext4(options="-E lazy_itable_init=0", file=1) as one:
        one.slow(write_iops=120)
        run_.record()
        run_.judge(Task("victim", appends(one.mount + "/file", 2, os.fdatasync)))


@kind(*BEHIND)
def threads_that_sync(run_):
    """fsync() of 16 threads of one program, each its own file, 60 writes a second"""
    with ext4(options="-E lazy_itable_init=0") as one:
        one.slow(write_iops=60)
        run_.record()

        def act(call):
            acts = [appends(f"{one.mount}/{number}", 2.5, os.fsync) for number in range(16)]
            threads = [threading.Thread(target=one_act, args=(call,)) for one_act in acts]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()

        run_.judge(Task("victim", act))


@kind("inode_lock", "dirty_limit_device")
def lock_of_a_writer_at_its_limit(run_):
    """pwrite() of a file that another writes, who is held at 8 MiB of dirty data; 4 MiB/s: two causes"""
    with ext4(options="-E lazy_itable_init=0") as one:
        one.limit_dirty(8 * MIB)
        one.slow(write_bps=4 * MIB)
        file = os.open(one.mount + "/file", os.O_CREAT | os.O_WRONLY)
        run_.record()

        def write(_):
            for at in range(3):
                os.pwrite(file, b"z" * (16 * MIB), at * 16 * MIB)

        def act(call):
            end = until(4)
            while time.monotonic() < end:
                call("pwrite64", os.pwrite, file, b"y", 0)
                time.sleep(0.01)

        other = Task("holder", write)
        run_.judge(Task("victim", act), other)
        os.close(file)


@kind(*BEHIND, "folder_lock")
def create_and_sync_beside_a_stream(run_):
    """creat() and fsync() in a folder in which another does so too, beside a third's stream, 6 MiB/s"""
    with ext4(options="-E lazy_itable_init=0") as one:
        one.slow(write_bps=6 * MIB)
        run_.record()

        def act(call):
            end, number = until(4), 0
            while time.monotonic() < end:
                path = f"{one.mount}/{os.getpid()}-{number}"
                file = call("openat", os.open, path, os.O_CREAT | os.O_WRONLY)
                os.write(file, b"x" * 4096)
                call("fsync", os.fsync, file)
                os.close(file)
                number += 1

        others = [Task("other", act), Task("antagonist", stream(one.mount + "/big", 4))]
        run_.judge(Task("victim", act), *others)


@kind(*BEHIND)
def nested_overlay_in_a_container(run_):
    """fsync() in an overlay on an overlay, in namespaces of its own, behind a stream below; 6 MiB/s"""
    with ext4(options="-E lazy_itable_init=0") as one:
        for name in ("low", "up", "work", "up2", "work2"):
            os.mkdir(f"{one.mount}/{name}")
        at = one.mount
        lower = f"lowerdir={at}/low,upperdir={at}/up,workdir={at}/work"
        with mounted("overlay", lower, f"{PLACE}/mounted/lower") as below:
            one.slow(write_bps=6 * MIB)
            run_.record()

            def act(call):
                LIBC.unshare(CLONE_NEWNS | CLONE_NEWPID)
                LIBC.mount(None, b"/", None, MS_PRIVATE, None)
                upper = f"lowerdir={below},upperdir={at}/up2,workdir={at}/work2"
                os.makedirs(f"{PLACE}/mounted/upper", exist_ok=True)
                run(f"mount -t overlay overlay -o {upper} {PLACE}/mounted/upper")
                appends(f"{PLACE}/mounted/upper/small", 2.5, os.fsync)(call)

            other = Task("antagonist", writes_and_syncs(one.mount + "/big", 1, 12))
            time.sleep(0.3)
            run_.judge(Task("victim", act), other)
            one.slow()


@kind("data_read", "device", "device_queue", "swap")
def tmpfs_from_swap(run_):
    """read() of a file of a tmpfs that is in swap, 30 reads a second"""
    with disk(256) as one, group("memory", "stalls-swap") as path:
        run(f"mkswap {one.path} && swapon {one.path}")
        try:
            with mounted("tmpfs", "size=128M", f"{PLACE}/mounted/swapped") as at:

                def fill(_):
                    written_in = open(at + "/file", "wb")
                    for _ in range(48):
                        written_in.write(os.urandom(MIB))

                put(path + "/memory.limit_in_bytes", 24 * MIB)
                Task("filler", fill, [path]).wait()
                one.slow(read_iops=30)
                run_.record()

                def act(call):
                    file, end = os.open(at + "/file", os.O_RDONLY), until(3)
                    while time.monotonic() < end:
                        call("pread64", os.pread, file, 65536, random.randrange(700) * 65536)

                run_.judge(Task("victim", act))
                one.slow()
        finally:
            one.slow()
            run(f"swapoff {one.path}")


@kind(*BEHIND, "log_space", "flush")
def xfs_sync_behind_a_stream(run_):
    """XFS: fsync() of 100 bytes behind another's fsync() of 12 MiB, 6 MiB/s"""
    with disk(512) as one:
        one.make("xfs")
        written(one.mount + "/small", 1)
        one.slow(write_bps=6 * MIB)
        run_.record()
        other = Task("antagonist", writes_and_syncs(one.mount + "/big", 2, 12))
        time.sleep(0.3)
        run_.judge(Task("victim", appends(one.mount + "/small", 3, os.fsync)), other)


@kind("dirty_limit_device")
def page_faults_at_a_limit(run_):
    """writes to mapped memory of a file whose disk may have 8 MiB of dirty data, 4 MiB/s"""
    with ext4(file=64) as one:
        one.limit_dirty(8 * MIB)
        one.slow(write_bps=4 * MIB)
        run_.record()

        def act(call):
            file = os.open(one.mount + "/file", os.O_RDWR)
            mapped, end, at = mmap.mmap(file, 64 * MIB), until(4), 0
            while time.monotonic() < end:
                call("page fault", mapped.__setitem__, at, 7)
                at = (at + 4096) % (64 * MIB)

        run_.judge(Task("victim", act))


@kind(*SLOW_READ, "direct_io", "device_queue")
def aio_direct(run_):
    """io_getevents() for eight reads of libaio, 10 reads a second"""
    with ext4(file=32) as one:
        one.slow(read_iops=10)
        run_.record()

        def act(call):
            file, buffer = os.open(one.mount + "/file", DIRECT), aligned(8 * 4096)
            base = ctypes.addressof(ctypes.c_char.from_buffer(buffer))
            context = ctypes.c_ulong(0)
            LIBC.syscall(IO_SETUP, 16, ctypes.byref(context))
            blocks = [
                struct.pack("<QIiHhIQQqQII", at, 0, 0, 0, 0, file, base + at * 4096, 4096, at * 999 * 4096, 0, 0, 0)
                for at in range(8)
            ]
            kept = [ctypes.create_string_buffer(block, 64) for block in blocks]
            all_ = (ctypes.c_void_p * 8)(*[ctypes.addressof(one_) for one_ in kept])
            events = ctypes.create_string_buffer(32 * 8)
            for _ in range(3):
                call("io_submit", LIBC.syscall, IO_SUBMIT, context, ctypes.c_long(8), all_)
                eight = ctypes.c_long(8)
                call("io_getevents", LIBC.syscall, IO_GETEVENTS, context, eight, eight, events, None)

        run_.judge(Task("victim", act))


@kind(*SLOW_READ)
def splice_cold(run_):
    """splice() of a file that is not in memory into a pipe, 1 MiB/s"""
    with ext4(file=2) as one:
        one.cold()
        file = os.open(one.mount + "/file", os.O_RDONLY)
        reader, writer = os.pipe()
        LIBC.fcntl(writer, 1031, MIB)
        one.slow(read_bps=256 << 10)
        run_.record()
        run_.judge(Task("victim", once("splice", os.splice, file, writer, MIB)))
        for opened in (file, reader, writer):
            os.close(opened)


@kind(*BEHIND)
def sync_of_a_folder_after_rename(run_):
    """rename() over a file, then fsync() of the folder, behind another's stream, 6 MiB/s"""
    with ext4(options="-E lazy_itable_init=0") as one:
        one.slow(write_bps=6 * MIB)
        run_.record()

        def act(call):
            folder, end = os.open(one.mount, os.O_RDONLY), until(3)
            while time.monotonic() < end:
                with open(one.mount + "/new", "wb") as file:
                    file.write(b"x" * 4096)
                call("rename", os.rename, one.mount + "/new", one.mount + "/there")
                call("fsync", os.fsync, folder)

        other = Task("antagonist", writes_and_syncs(one.mount + "/big", 2, 12))
        time.sleep(0.3)
        run_.judge(Task("victim", act), other)


@kind("cpu", "cpu_quota")
def quota_of_many_threads(run_):
    """small writes in a group that may have 10 ms of each 300 ms of a processor, beside three hogs in it"""
    with ext4(64) as one, group("cpu", "stalls-quota") as path:
        put(path + "/cpu.cfs_period_us", 300000)
        put(path + "/cpu.cfs_quota_us", 10000)
        run_.record()

        def hog(_):
            end = until(3)
            while time.monotonic() < end:
                pass

        def act(call):
            file, end = os.open(one.mount + "/file", os.O_CREAT | os.O_WRONLY), until(3)
            while time.monotonic() < end:
                call("pwrite64", os.pwrite, file, b"y" * MIB, 0)

        others = [Task("hog", hog, [path]) for _ in range(3)]
        run_.judge(Task("victim", act, [path]), *others)


@kind(*SLOW_READ)
def mount_cold(run_):
    """mount() of a disk of which nothing is in memory, 4 reads a second"""
    with ext4() as one:
        one.unmount()
        put("/proc/sys/vm/drop_caches", 3)
        one.slow(read_iops=4)
        run_.record()
        source, at = one.path.encode(), one.mount.encode()
        run_.judge(Task("victim", once("mount", LIBC.mount, source, at, b"ext4", 0, None)))


@kind("writeback", "device", "device_queue")
def unmount_with_dirty_data(run_):
    """umount() of a file system with 6 MiB of dirty data, 3 MiB/s"""
    with ext4(options="-E lazy_itable_init=0") as one:
        with open(one.mount + "/file", "wb") as file:
            file.write(b"z" * (6 * MIB))
        one.slow(write_bps=3 * MIB)
        run_.record()
        run_.judge(Task("victim", once("umount2", LIBC.umount2, one.mount.encode(), 0)))


@kind(*SLOW_READ, "transaction_locked", "log_space", "commit")
def close_of_a_removed_file(run_):
    """close() of a removed file with 3,000 extents that are not in memory, 10 reads a second"""
    with ext4() as one:
        file = os.open(one.mount + "/file", os.O_CREAT | os.O_WRONLY)
        for number in range(3000):
            os.pwrite(file, b"x" * 4096, number * 8192)
        os.close(file)
        one.cold()
        one.slow(read_iops=10)
        run_.record()

        def act(call):
            opened = os.open(one.mount + "/file", os.O_RDWR)
            os.unlink(one.mount + "/file")
            call("close", os.close, opened)

        run_.judge(Task("victim", act))


@kind(*BEHIND)
def sync_by_another_thread(run_):
    """the program waits for a thread of its own that is in fsync(), 2 MiB/s"""
    with ext4(options="-E lazy_itable_init=0") as one:
        one.slow(write_bps=2 * MIB)
        run_.record()

        def act(call):
            file = os.open(one.mount + "/file", os.O_CREAT | os.O_WRONLY)
            os.write(file, b"z" * (3 * MIB))
            thread = threading.Thread(target=call, args=("fsync", os.fsync, file))
            thread.start()
            thread.join()

        run_.judge(Task("victim", act))


@kind("writeback", "device", "device_queue", "throttle")
def syncfs_of_anothers_data(run_):
    """syncfs() while another has 6 MiB of dirty data, 3 MiB/s"""
    with ext4(options="-E lazy_itable_init=0") as one:
        with open(one.mount + "/others", "wb") as file:
            file.write(b"z" * (6 * MIB))
        folder = os.open(one.mount, os.O_RDONLY)
        one.slow(write_bps=3 * MIB)
        run_.record()
        run_.judge(Task("victim", once("syncfs", LIBC.syncfs, folder)))
        os.close(folder)


@kind("freeze", "stopped")
def stopped_while_frozen(run_):
    """write() on a frozen file system (1.2 s) of a task that is stopped meanwhile (0.5 s): two causes"""
    with ext4(64, file=1) as one:
        run_.record()
        file = os.open(one.mount + "/file", os.O_WRONLY)
        run(f"fsfreeze -f {one.mount}")
        victim = Task("victim", once("pwrite64", os.pwrite, file, b"y", 0))
        time.sleep(0.3)
        os.kill(victim.pid, 19)
        time.sleep(0.5)
        os.kill(victim.pid, 18)
        time.sleep(0.4)
        run(f"fsfreeze -u {one.mount}")
        run_.judge(victim)
        os.close(file)


@kind(*SLOW_READ)
def attributes_cold(run_):
    """getxattr() of files whose inodes are not in memory, 8 reads a second"""
    with ext4(512, COLD) as one:
        for number in range(40):
            os.mkdir(f"{one.mount}/{number}")
            with open(f"{one.mount}/{number}/file", "w", encoding="utf-8"):
                pass
            os.setxattr(f"{one.mount}/{number}/file", "user.x", b"y" * 2000)
        one.cold("no_prefetch_block_bitmaps")
        one.slow(read_iops=8)
        run_.record()

        def act(call):
            for number in range(12):
                call("getxattr", os.getxattr, f"{one.mount}/{number}/file", "user.x")

        run_.judge(Task("victim", act))


@kind(*SLOW_READ, "device_queue", "direct_io")
def uring_buffered_read(run_):
    """io_uring: a read through the page cache of 512 KiB that are not in memory, 512 KiB/s"""
    with ext4(file=4) as one:
        one.cold()
        file = os.open(one.mount + "/file", os.O_RDONLY)
        one.slow(read_bps=512 << 10)
        run_.record()
        run_.judge(Task("victim", uring(file, 512 << 10)))
        os.close(file)


def uring(file, size):
    """Gives one read to io_uring (system calls 425 and 426) and waits for it."""

    def act(call):
        params = ctypes.create_string_buffer(120)
        ring = LIBC.syscall(425, 4, params)
        entries = struct.unpack_from("<10I", params, 0)
        submission = struct.unpack_from("<8I", params, 40)
        assert ring >= 0 and entries[0] >= 4, (ring, ctypes.get_errno())
        queue = mmap.mmap(ring, submission[6] + 4 * entries[0], offset=0)
        slots = mmap.mmap(ring, 64 * entries[0], offset=0x10000000)
        buffer = mmap.mmap(-1, size)
        base = ctypes.addressof(ctypes.c_char.from_buffer(buffer))
        slots[:48] = struct.pack("<BBHiQQIIQQ", 22, 0, 0, file, 0, base, size, 0, 0, 0)[:48]
        struct.pack_into("<I", queue, submission[6], 0)
        struct.pack_into("<I", queue, submission[1], 1)
        call("io", LIBC.syscall, 426, ring, 1, 1, 1, None, ctypes.c_size_t(0))

    return act
