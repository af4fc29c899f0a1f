"""A program that is a file system (FUSE): one file, `slow`, each read of which takes a time.

It speaks to /dev/fuse itself, as its protocol (include/uapi/linux/fuse.h) has it since 7.31, so that no library is
needed.
"""

import contextlib
import ctypes
import os
import struct
import time

from stage import LIBC, MIB, PLACE, Task, run

FILE_BYTES = 64 * MIB
ENOENT, ENOSYS = 2, 38
LOOKUP, FORGET, GETATTR, OPEN, READ, RELEASE, INIT, DESTROY = 1, 2, 3, 14, 15, 18, 26, 38
FLUSH, INTERRUPT, BATCH_FORGET = 25, 36, 42
ASYNC_READ = 1
VALID_S = 60


def attributes(number):
    mode, size = (0o040755, 0) if number == 1 else (0o100644, FILE_BYTES)
    return struct.pack("<6Q10I", number, size, 0, 0, 0, 0, 0, 0, 0, mode, 1, 0, 0, 0, 4096, 0)


def answer(kind, number, body, seconds):
    """What is answered to a request: an error number, and bytes; None to one that wants no answer."""
    if kind in (FORGET, INTERRUPT, BATCH_FORGET):
        return None
    if kind == INIT:
        ahead = struct.unpack_from("<4I", body)[2]
        # As long as it is since 7.23.
        return 0, struct.pack("<4I2H2I", 7, 31, ahead, ASYNC_READ, 12, 9, MIB, 1) + bytes(36)
    if kind == LOOKUP and body.split(b"\0")[0] == b"slow":
        return 0, struct.pack("<4Q2I", 2, 0, VALID_S, VALID_S, 0, 0) + attributes(2)
    if kind == LOOKUP:
        return ENOENT, b""
    if kind == GETATTR:
        return 0, struct.pack("<Q2I", VALID_S, 0, 0) + attributes(number)
    if kind == OPEN:
        return 0, struct.pack("<Q2I", 1, 0, 0)
    if kind == READ:
        at, size = struct.unpack_from("<QI", body, 8)
        time.sleep(seconds)
        return 0, b"x" * max(0, min(size, FILE_BYTES - at))
    return (0 if kind in (RELEASE, FLUSH, DESTROY) else ENOSYS), b""


@contextlib.contextmanager
def slow_file(seconds):
    """Mounts it: the path of the file."""
    folder = f"{PLACE}/mounted/fuse"
    os.makedirs(folder, exist_ok=True)
    device = os.open("/dev/fuse", os.O_RDWR)
    options = f"fd={device},rootmode=40000,user_id=0,group_id=0".encode()
    if LIBC.mount(b"slow", folder.encode(), b"fuse.slow", 0, options):
        raise OSError(ctypes.get_errno(), "mount of FUSE")

    def serve(_):
        with contextlib.suppress(OSError):
            while True:
                request = os.read(device, 2 * MIB)
                _, kind, unique, number = struct.unpack_from("<IIQQ", request)
                answered = answer(kind, number, request[40:], seconds)
                if answered is not None:
                    error, data = answered
                    os.writev(device, [struct.pack("<IiQ", 16 + len(data), -error, unique), data])

    server = Task("file-system", serve)
    os.close(device)
    try:
        yield folder + "/slow"
    finally:
        run(f"umount {folder}", check=False)
        server.wait()
        os.rmdir(folder)
