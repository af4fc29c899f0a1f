"""Times, durations and sizes as people write them. All become integers: nanoseconds, bytes."""

from __future__ import annotations

import datetime as _dt
import re
import time as _time
from typing import TYPE_CHECKING, Any, Union

if TYPE_CHECKING:
    import numpy

EARLIEST_NS = -(2**63)
LATEST_NS = 2**63 - 1

#: What is taken for a moment.
Moment = Union[int, str, _dt.datetime, "numpy.datetime64"]
#: What is taken for a length of time.
Duration = Union[str, float, _dt.timedelta, "numpy.timedelta64"]

_UNITS_NS = {
    "ns": 1,
    "us": 1_000,
    "ms": 1_000_000,
    "s": 1_000_000_000,
    "m": 60_000_000_000,
    "min": 60_000_000_000,
    "h": 3_600_000_000_000,
    "d": 86_400_000_000_000,
    "w": 604_800_000_000_000,
}
_SIZES = {
    "": 1,
    "B": 1,
    **{unit: 1 << 10 for unit in ("K", "k", "KiB")},
    **{unit: 1 << 20 for unit in ("M", "MiB")},
    **{unit: 1 << 30 for unit in ("G", "GiB")},
    **{unit: 1 << 40 for unit in ("T", "TiB")},
    **{unit: 1000 for unit in ("kB", "KB")},
    "MB": 1000**2,
    "GB": 1000**3,
    "TB": 1000**4,
}
_PART = re.compile(r"(\d+(?:\.\d+)?)\s*([a-zA-Z]+)")
_RFC3339 = re.compile(
    r"(\d{4})-(\d\d)-(\d\d)(?:[T ](\d\d):(\d\d)(?::(\d\d)(?:\.(\d{1,9}))?)?)?\s*(Z|[+-]\d\d:\d\d)?"
)
_EPOCH = _dt.datetime(1970, 1, 1, tzinfo=_dt.timezone.utc)


def _wrong(name: str, expected: str, found: object) -> ValueError:
    return ValueError(f"{name}: expected {expected}, found {found!r}")


def _type(name: str, expected: str, found: object) -> TypeError:
    return TypeError(f"{name}: expected {expected}, found {type(found).__name__}")


def _fits(name: str, time_ns: int, found: object) -> int:
    if not EARLIEST_NS <= time_ns <= LATEST_NS:
        raise _wrong(name, "a time from 1677 to 2262", found)
    return time_ns


def duration_ns(name: str, value: Any) -> int:
    """Nanoseconds of ``"1m"``, ``"1h30m"``, a timedelta, or one of numpy."""
    wanted = 'a length of time such as "100ms", "1m" or a timedelta'
    if isinstance(value, str):
        rest, total, before = value.strip(), 0, None
        if not rest:
            raise _wrong(name, wanted, value)
        while rest:
            part = _PART.match(rest)
            unit = part and _UNITS_NS.get(part[2])
            if not part or not unit or (before is not None and unit >= before):
                raise _wrong(name, wanted, value)
            number = part[1]
            if "." in number:
                whole, fraction = number.split(".")
                total += int(whole) * unit + int(fraction) * unit // 10 ** len(fraction)
            else:
                total += int(number) * unit
            rest, before = rest[part.end() :].strip(), unit
        return _fits(name, total, value)
    if isinstance(value, _dt.timedelta):
        return _fits(
            name,
            (value.days * 86_400 + value.seconds) * 1_000_000_000
            + value.microseconds * 1_000
            + getattr(value, "nanoseconds", 0),
            value,
        )
    if getattr(getattr(value, "dtype", None), "kind", None) == "m":
        length = value.astype("timedelta64[ns]")
        if length.astype(value.dtype) != value:
            raise _wrong(name, wanted, value)
        return int(length.astype("int64"))
    raise _type(name, wanted, value)


def is_calendar(text: str) -> bool:
    """Whether steps of this length are those of the calendar."""
    return re.fullmatch(r"[1-9]\d{0,4}\s*(d|w|mo|y)", text) is not None


def seconds_ns(name: str, value: Any, default_ns: int) -> int:
    """Nanoseconds of a timeout: a number of seconds, or what `duration_ns` takes."""
    if value is None:
        return default_ns
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        if not 0 <= value < 9e9:
            raise _wrong(name, "seconds from 0 on", value)
        return int(value * 1e9)
    return duration_ns(name, value)


def moment_ns(name: str, value: Any, default_ns: int) -> int:
    """Nanoseconds since 1970 of what stands for a moment; `default_ns` for None."""
    wanted = (
        'a time: nanoseconds since 1970, a datetime with a zone, "2026-11-26T12:00:00Z", "-1h" or "now"'
    )
    if value is None:
        return default_ns
    if isinstance(value, bool):
        raise _type(name, wanted, value)
    if isinstance(value, int):
        return _fits(name, value, value)
    if isinstance(value, str):
        return _fits(name, _text_ns(name, value, wanted), value)
    if isinstance(value, _dt.datetime):
        if value.tzinfo is None:
            raise _wrong(name, "a datetime with a time zone (tzinfo=datetime.timezone.utc)", value)
        since = value.astimezone(_dt.timezone.utc) - _EPOCH
        return _fits(name, duration_ns(name, since) if since >= _dt.timedelta(0) else _signed(since), value)
    kind = getattr(getattr(value, "dtype", None), "kind", None)
    if kind == "M":
        time = value.astype("datetime64[ns]")
        # NaT equals nothing; what is too far away comes back as another time.
        if time.astype(value.dtype) != value:
            raise _wrong(name, "a time of whole nanoseconds from 1677 to 2262", value)
        return int(time.astype("int64"))
    if kind in ("i", "u"):
        return _fits(name, int(value), value)
    raise _type(name, wanted, value)


def _signed(since: _dt.timedelta) -> int:
    whole = (since.days * 86_400 + since.seconds) * 1_000_000_000 + since.microseconds * 1_000
    return whole + int(getattr(since, "nanoseconds", 0))


def _text_ns(name: str, value: str, wanted: str) -> int:
    text = value.strip()
    if text == "now":
        return _time.time_ns()
    if text.startswith("-") and not _RFC3339.fullmatch(text):
        return _time.time_ns() - duration_ns(name, text[1:])
    if text.isdigit():
        return int(text)
    found = _RFC3339.fullmatch(text)
    if not found:
        raise _wrong(name, wanted, value)
    year, month, day, hour, minute, second, fraction, zone = found.groups()
    try:
        moment = _dt.datetime(
            int(year), int(month), int(day), int(hour or 0), int(minute or 0), int(second or 0), 0, _dt.timezone.utc
        )
    except ValueError as error:
        raise ValueError(f"{name}: {value!r} is no time: {error}") from None
    time_ns = _signed(moment - _EPOCH) + int((fraction or "").ljust(9, "0"))
    if zone and zone != "Z":
        offset = int(zone[1:3]) * 3600 + int(zone[4:6]) * 60
        time_ns -= (offset if zone[0] == "+" else -offset) * 1_000_000_000
    return time_ns


def size_bytes(name: str, value: Any) -> int:
    """Bytes of ``"64M"``, ``"1G"`` (powers of 1024), ``"500MB"`` (powers of 1000), or a number."""
    wanted = 'a size such as "64M" or "500MB", or a number of bytes'
    if isinstance(value, int) and not isinstance(value, bool):
        if value <= 0:
            raise _wrong(name, wanted, value)
        return value
    if isinstance(value, str):
        found = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([a-zA-Z]*)", value.strip())
        factor = _SIZES.get(found[2]) if found else None
        if found and factor and 0 < float(found[1]) * factor < 2**63:
            return int(float(found[1]) * factor) if "." in found[1] else int(found[1]) * factor
        raise _wrong(name, wanted, value)
    raise _type(name, wanted, value)
