"""Kinds on disks that are composed of others: device-mapper, md and btrfs. They need a kernel
that has these.

As `kinds`, whose list they join.
"""

import contextlib
import os
import time

from kinds import BEHIND, KINDS, kind
from stage import MIB, Disk, Task, aligned, appends, disk, once, run, until, writes_and_syncs, written

__all__ = ["KINDS"]

DIRECT = os.O_RDWR | os.O_DIRECT
AT_ONCE = "-E lazy_itable_init=0"


class Composed:
    """A disk made of `parts`, with a file system that is mounted while the `with` lasts."""

    def __init__(self, path, parts):
        self.path, self.parts, self.name = path, parts, None
        self.mount = f"{os.path.dirname(parts[0].mount)}/composed-{os.getpid()}"

    def make(self, options=AT_ONCE):
        run(f"mkfs.ext4 -q -F {options} {self.path}")
        os.makedirs(self.mount, exist_ok=True)
        run(f"mount {self.path} {self.mount}")

    def unmount(self):
        for part in self.parts:
            part.slow()
        for _ in range(40):
            if not os.path.ismount(self.mount):
                break
            run(f"umount {self.mount}", check=False)
            time.sleep(0.1)
        with contextlib.suppress(OSError):
            os.rmdir(self.mount)


@contextlib.contextmanager
def mapped(table="linear {} 0", mib=256):
    """A mapping of one disk, by device-mapper; `{}` stands for the disk."""
    lower = Disk(mib)
    name = f"stalls-{os.getpid()}-{Disk.made}"
    try:
        run("modprobe -a dm-mod dm-crypt", check=False)
        run(f"dmsetup create {name} --table '0 {mib * 2048} {table.format(lower.path)}'")
        minor = run(f"dmsetup info -c --noheadings -o minor {name}")
        one = Composed(f"/dev/dm-{minor}", [lower])
        one.name = name
        try:
            one.make()
            yield one
        finally:
            run(f"dmsetup resume {name}", check=False)
            one.unmount()
            for _ in range(20):
                run(f"dmsetup remove {name}", check=False)
                if not os.path.exists(one.path):
                    break
                time.sleep(0.1)
    finally:
        lower.close()


def suspended(one, seconds, how=""):
    """Suspends a mapping for a time, as who changes its table does."""
    time.sleep(0.3)
    run(f"dmsetup suspend {how} {one.name}")
    time.sleep(seconds)
    run(f"dmsetup resume {one.name}")


@kind("freeze")
def mapping_suspended_with_its_file_system(run_):
    """pwrite() on a mapping that is suspended for 1.2 s, as for a snapshot: its file system is frozen"""
    with mapped() as one:
        file = os.open(one.mount + "/file", os.O_CREAT | os.O_WRONLY)
        run_.record()

        def act(call):
            end = until(3)
            while time.monotonic() < end:
                call("pwrite64", os.pwrite, file, b"y" * 100, 0)
                time.sleep(0.01)

        victim = Task("victim", act)
        suspended(one, 1.2)
        run_.judge(victim)
        os.close(file)


@kind("queue_frozen")
def mapping_suspended(run_):
    """reads past the page cache of a mapping that is suspended for 1.2 s without its file system"""
    with mapped() as one:
        written(one.mount + "/file", 8)
        run_.record()

        def act(call):
            file, buffer, end = os.open(one.mount + "/file", DIRECT), aligned(4096), until(3)
            while time.monotonic() < end:
                call("preadv", os.preadv, file, [buffer], 0)
                time.sleep(0.01)

        victim = Task("victim", act)
        suspended(one, 1.2, "--nolockfs --noflush")
        run_.judge(victim)


@kind(*BEHIND)
def encrypted_behind_a_stream(run_):
    """fsync() of 100 bytes on dm-crypt behind another's fsync() of 12 MiB, 6 MiB/s"""
    with mapped("crypt aes-xts-plain64 " + "5a" * 64 + " 0 {} 0") as one:
        one.parts[0].slow(write_bps=6 * MIB)
        run_.record()
        other = Task("antagonist", writes_and_syncs(one.mount + "/big", 2, 12))
        run_.judge(Task("victim", appends(one.mount + "/file", 4, os.fsync)), other)


@contextlib.contextmanager
def mirror(mib=128):
    """An md of two disks that have the same."""
    parts, path = [Disk(mib), Disk(mib)], "/dev/md99"
    try:
        run("modprobe raid1", check=False)
        run(f"mdadm --create {path} --run --assume-clean --metadata=1.0 --bitmap=none --level=1 --raid-devices=2 "
            + " ".join(part.path for part in parts))
        one = Composed(path, parts)
        try:
            one.make()
            yield one
        finally:
            one.unmount()
            run(f"mdadm --stop {path}", check=False)
    finally:
        for part in parts:
            part.close()


@kind("device", "commit", "journal_write", "writeback", "flush")
def mirror_with_a_slow_disk(run_):
    """fdatasync() of 100 bytes on an md of two disks, one of which does 8 writes a second"""
    with mirror() as one:
        one.parts[1].slow(write_iops=8)
        run_.record()
        run_.judge(Task("victim", appends(one.mount + "/file", 3, os.fdatasync)))


@kind("device", "data_read", "metadata_read")
def mirror_reads(run_):
    """read() of 1 MiB that is not in memory, of an md of two disks of 8 reads a second each"""
    with mirror() as one:
        written(one.mount + "/file", 2)
        os.sync()
        with open(one.mount + "/file", "rb") as file:
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
        for part in one.parts:
            part.slow(read_iops=8)
        file = os.open(one.mount + "/file", os.O_RDONLY)
        run_.record()
        run_.judge(Task("victim", once("pread64", os.pread, file, MIB, 0)))
        os.close(file)


@kind(*BEHIND)
def btrfs_sync_behind_a_stream(run_):
    """btrfs: fsync() of 100 bytes behind another's fsync() of 12 MiB, 6 MiB/s"""
    with disk(512) as one:
        one.make("btrfs")
        written(one.mount + "/small", 1)
        one.slow(write_bps=6 * MIB)
        run_.record()
        other = Task("antagonist", writes_and_syncs(one.mount + "/big", 2, 12))
        time.sleep(0.3)
        run_.judge(Task("victim", appends(one.mount + "/small", 3, os.fsync)), other)
