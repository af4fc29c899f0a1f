"""Whether what was told of a stall is right: of the victim's own call, with its cause, and on its disk.

`row` is a line of results: see `scripts/stalls.py`.
"""

# What a call is told as that an account calls otherwise: by the C library's function; `wait` is for a program's
# begin. The last two are mistakes of earlier kinds.
NAMES = {
    "preadv": ("preadv2",),
    "pwritev": ("pwritev2",),
    "io": ("io_uring_enter", "io_uring", "io_getevents"),
    "wait": ("execve", "page fault"),
    "read": ("pread64",),
    "pwrite64": ("pwritev2",),
}

# What `explain` is asked for.
OVER_MS = 30


def is_own(made, told, expected):
    """Whether a call that is told is the one that was made."""
    if told == "its own code":
        # A task that is stopped on its way back from a call may be stopped behind it.
        return "stopped" in expected
    return told == made or told in NAMES.get(made, ())


def verdict(row):
    """right, another cause, nothing told where something was to be, or not made."""
    if "cannot" in row:
        return "not made"
    expected = [cause for cause in (row["expected"] or "").split("|") if cause]
    if row.get("wait_ms") is None:
        # What no call of the victim's took as long as was asked for did not come about.
        is_made = row.get("victim") is None or row["victim"]["ms"] >= OVER_MS
        return ("not told" if is_made else "not made") if expected else "right"
    made, told = (row.get("victim") or {}).get("call"), row.get("call")
    if made and told and not is_own(made, told, expected):
        return "other"
    if not row.get("disk_is_right", True):
        return "other"
    return "right" if {row["cause"], row["root"]} & set(expected) else "other"
