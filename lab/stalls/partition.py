"""A kind of a file system on a partition, whose disk a group may use only so much: limits of I/O are of whole disks,
and the kernel refuses them for a partition. Beside it another disk is in use.

As `kinds`, whose list it joins. Disks that are composed of others (dm, md) have no kind: they need a kernel that has
them.
"""

import os
import struct
import time

from kinds import KINDS, kind
from stage import MIB, Disk, Task, aligned, ext4, group, put, run, until
from two_disks import DIRECT, FILE_MIB, busy

__all__ = ["KINDS"]


class Partition(Disk):
    """A disk whose file system is on its only partition."""

    def __init__(self, mib=256):
        super().__init__(mib)
        self.whole, first = self.path, 2048
        entry = struct.pack("<B3sB3sII", 0, b"", 0x83, b"", first, mib * 2048 - first)
        with open(self.path, "r+b") as file:
            file.write(b"\0" * 446 + entry + b"\0" * 48 + b"\x55\xaa")
        run(f"partx -a {self.path}")
        self.path = f"{self.whole}p1"
        end = until(5)
        while not os.path.exists(self.path) and time.monotonic() < end:
            time.sleep(0.05)
        self.part, self.bdi = self.path, f"/sys/class/bdi/{self.number(self.whole)}"

    def close(self):
        self.unmount()
        run(f"partx -d {self.whole}", check=False)
        self.path = self.whole
        super().close()


@kind("throttle")
def limit_of_a_partitions_disk(run_):
    """pwritev() past the page cache on a partition, in a group that may write 256 KiB/s on its disk, beside another"""
    one = Partition()
    try:
        one.make(options="-E lazy_itable_init=0")
        with open(one.mount + "/file", "wb") as file:
            file.write(b"1" * MIB)
            os.fsync(file.fileno())
        with ext4(options="-E lazy_itable_init=0", file=FILE_MIB) as other, group("blkio", "stalls-part") as path:
            put(path + "/blkio.throttle.write_bps_device", f"{one.number(one.whole)} {256 << 10}")
            others = busy(other, 5)
            run_.record()

            def act(call):
                file, buffer, end = os.open(one.mount + "/file", DIRECT), aligned(128 << 10), until(3)
                while time.monotonic() < end:
                    call("pwritev", os.pwritev, file, [buffer], 0)

            run_.judge(Task("victim", act, [path]), *others, disk=one)
    finally:
        one.close()
