"""Recording into a store: series and channels are declared once, then pushed to."""

from __future__ import annotations

import atexit
import os
import warnings
import weakref
from types import TracebackType
from typing import TYPE_CHECKING, Any, Callable, List, Optional, Sequence, Tuple, Type, Union

from . import _barograph, _columns, _times
from ._barograph import Channel, Series
from ._errors import Forked, Lost, NotDurable, ReservationWarning
from ._store import _path

if TYPE_CHECKING:
    from typing_extensions import Self

_MINUTE_NS = 60_000_000_000
#: How often an event loop looks what is durable: a few microseconds each.
_LOOK_S = 0.005
_TYPES = {
    "float64": "float64",
    "f64": "float64",
    "float": "float64",
    "int64": "int64",
    "i64": "int64",
    "int": "int64",
    "bool": "bool",
    "text": "text",
    "str": "text",
}
_open: "weakref.WeakSet[Recorder]" = weakref.WeakSet()


def _type_name(kind: str) -> str:
    if not isinstance(kind, str):
        raise TypeError(f"type: expected a text, found {type(kind).__name__}")
    if kind not in _TYPES:
        raise ValueError(f"type: expected float64, int64, bool or text, found {kind!r}")
    return _TYPES[kind]


class _Roles:
    """Which columns of a table are what."""

    def __init__(self, time: str, series: Optional[str], values: Optional[List[str]]) -> None:
        self.time, self.series, self.values = time, series, values


class _Pushes:
    """What recorders of this process and of others have in common."""

    # Of the native class beside it.
    declare: Any
    declare_channel: Any
    push_columns: Any
    push_table: Any
    wait_durable_ns: Any
    pushed: int
    durable_below: int

    def series(self, name: str, *, unit: str = "", type: str = "float64") -> Series:
        """The series of this name, with labels as in ``temp{site="a"}``; declared durably if it is new.

        Args:
            name: its name.
            unit: the unit of its values, such as ``"°C"``.
            type: ``"float64"``, ``"int64"``, ``"bool"`` or ``"text"``.

        Blocks for the disk if it is new: declare before recording.

        Raises:
            ValueError: the name is in use with another type, or too long.
        """
        return self.group([_columns.text("name", name)], unit=unit, type=type)[0]

    def group(self, names: Sequence[str], *, unit: str = "", type: str = "float64") -> List[Series]:
        """Several series of one type and unit: see `series`."""
        names = [_columns.text("names", name) for name in names]
        found: List[Series] = self.declare(names, _columns.text("unit", unit), _type_name(type))
        return found

    def channel(self, name: str, *, layout: str = "") -> Channel:
        """The channel of this name, for frames of bytes; declared durably if it is new.

        Args:
            name: its name.
            layout: fields of its frames, which are read back as series ``channel.field``:
                ``"speed:f32@0(m/s), n:u16@4"``. Empty: there are none.

        Blocks for the disk if it is new.

        Raises:
            ValueError: the layout is not understood, or another one than that declared.
        """
        found: Channel = self.declare_channel(_columns.text("name", name), _columns.text("layout", layout))
        return found

    def push_many(
        self, series: Series, times_ns: Any, values: Any, *, timeout: Optional[_times.Duration] = 60.0
    ) -> int:
        """Pushes many samples of one series; waits for room in the ring, without Python's lock.

        Args:
            series: what is pushed to.
            times_ns: a column of nanoseconds since 1970 (int64), of ``datetime64`` in s, ms, us or ns (UTC), or
                of Arrow timestamps. In any order.
            values: a column of the same length: numpy, Arrow, any buffer, or a list. Nulls are no samples.
            timeout: seconds that are waited for room at most; 0: not at all.

        Returns:
            The number of samples pushed.

        Raises:
            TypeError, ValueError: a column does not fit; nothing was pushed.
            RingFull: no room in time; the text says how many samples were pushed.
        """
        column, unit_ns = _columns.times_column(times_ns)
        timeout_ns = _times.seconds_ns("timeout", timeout, _MINUTE_NS)
        pushed: int = self.push_columns(series, column, unit_ns, _columns.column("values", values), timeout_ns)
        return pushed

    def write_frame(
        self,
        data: Any,
        *,
        time: str = "time",
        series: Optional[str] = None,
        value: Union[str, Sequence[str], None] = None,
        unit: str = "",
        timeout: Optional[_times.Duration] = 60.0,
    ) -> int:
        """Pushes all rows of a table: a DataFrame of Polars or pandas, a Table of pyarrow, a relation of DuckDB,
        rows of a query, or anything else that hands out Arrow columns.

        Two layouts are taken. Long: columns of time, series and value; rows of one query are so. Wide: a
        column of time, and one for each series, named as it. A null is no sample.

        Args:
            data: the table.
            time: its column of times: datetimes of any unit, with a zone or in UTC, or int64 nanoseconds.
            series: its column of names. None: ``"series"`` if there is one, else the table is wide.
            value: its column of values, or several. None: ``"value"``, or all ``"value_*"``.
            unit: of series that are new.
            timeout: seconds that are waited for room at most.

        Returns:
            The number of samples pushed.

        Raises:
            TypeError, ValueError: a column does not fit; batches before the one with it were pushed.
            RingFull: no room in time.
        """
        for name, given in (("time", time), ("series", series or "")):
            _columns.text(name, given)
        if isinstance(value, str):
            value = [value]
        values = None if value is None else [_columns.text("value", one) for one in value]
        timeout_ns = _times.seconds_ns("timeout", timeout, _MINUTE_NS)
        unit = _columns.text("unit", unit)

        def declare(names: List[str], kind: str) -> List[Series]:
            found: List[Series] = self.declare(names, unit, kind)
            return found

        if type(data).__module__.partition(".")[0] == "pandas":
            return self._write_pandas(data, (time, series, values), declare, timeout_ns)
        pushed: int = self.push_table(data, _Roles(time, series, values), declare, timeout_ns)
        return pushed

    def _write_pandas(
        self,
        data: Any,
        roles: Tuple[str, Optional[str], Optional[List[str]]],
        declare: Callable[[List[str], str], List[Series]],
        timeout_ns: int,
    ) -> int:
        """pandas hands out Arrow columns only with pyarrow beside it; so its columns are taken one by one."""
        if not hasattr(data, "columns"):
            raise TypeError(f"data: expected a DataFrame, found {type(data).__name__}")
        if data.index.name is not None and data.index.name not in data.columns:
            data = data.reset_index()
        names = list(data.columns)
        if not all(isinstance(name, str) for name in names):
            raise ValueError("data: expected columns whose names are texts")
        parts = _barograph.roles_of(names, _Roles(*roles))
        # All columns before any is pushed.
        taken = [
            (name, times, _columns.pandas_kind(column_name, values), values)
            for name, column_name, times, values in _columns.pandas_parts(data, *parts)
        ]
        pushed = 0
        for name, times, kind, values in taken:
            series = declare([name], kind)[0]
            column, unit_ns = _columns.times_column(times)
            pushed += self.push_columns(series, column, unit_ns, _columns.column(name, values), timeout_ns)
        return pushed

    def wait_durable(self, sequence: Optional[int] = None, *, timeout: Optional[_times.Duration] = 60.0) -> None:
        """Waits until all that was pushed is durable: survives a power cut. Without Python's lock.

        Args:
            sequence: what `push` returned: waits for that record and those before it alone.
            timeout: seconds that are waited at most.

        Raises:
            NotDurable: it is not in time.
        """
        wanted = None if sequence is None else _sequence(sequence) + 1
        self.wait_durable_ns(wanted, _times.seconds_ns("timeout", timeout, _MINUTE_NS))

    async def durable(
        self, sequence: Optional[int] = None, *, timeout: Optional[_times.Duration] = None
    ) -> None:
        """Waits as `wait_durable` does, for an event loop: others run meanwhile. Without a timeout for ever.

        Raises:
            NotDurable: it is not in time.
        """
        # Here and not above: it takes as long to import as all of this package.
        import asyncio

        wanted = self.pushed if sequence is None else _sequence(sequence) + 1
        left_s = None if timeout is None else _times.seconds_ns("timeout", timeout, 0) / 1e9
        while self.durable_below < wanted:
            if left_s is not None:
                if left_s <= 0:
                    raise NotDurable(
                        f"of the records below {wanted}, those below {self.durable_below} are durable in the "
                        "time given"
                    )
                left_s -= _LOOK_S
            await asyncio.sleep(_LOOK_S)


def _sequence(sequence: int) -> int:
    if isinstance(sequence, bool) or not isinstance(sequence, int):
        raise TypeError(f"sequence: expected an integer, found {type(sequence).__name__}")
    if not 0 <= sequence < 2**63:
        raise ValueError(f"sequence: expected what push returned, found {sequence}")
    return sequence


class Recorder(_Pushes, _barograph.Recorder):
    """A store that this process records into. Use it in a ``with`` statement, or `close` it.

    `push` never waits: it copies into memory that a thread behind it makes durable. What was pushed
    survives the death of this process; what is durable survives a power cut. May be used by several
    threads at once. A forked child is refused.
    """

    def __new__(
        cls,
        path: Union[str, "os.PathLike[str]"],
        *,
        create: Union[int, str, None] = None,
        recycle: bool = True,
        durable_within: Optional[_times.Duration] = None,
        ring: Union[int, str, None] = None,
        frame_max: Union[int, str, None] = None,
        priority: Optional[int] = None,
        settle: bool = True,
    ) -> "Self":
        """Opens the store at `path` for recording.

        Args:
            path: its folder.
            create: makes the store if there is none, with a log of this size: ``"1G"``. It is written in
                full at once. None: the store is there.
            recycle: a store that is made begins again with its oldest records when its log is full; else it
                refuses new ones.
            durable_within: the longest time from push to durable that is aimed at: ``"100ms"``.
            ring: bytes of memory for what comes in while the disk answers nothing: ``"16M"``.
            frame_max: bytes of the largest frame: ``"256K"``, at most 4 MiB and a quarter of the ring.
            priority: SCHED_FIFO priority of the writing threads, 1 to 99, where the kernel grants it.
            settle: settles samples into runs, sorted by series and time, beside the recording.

        Blocks for the disk, without Python's lock.

        Raises:
            InUse: another process records into the store.
            NotAStore, Damaged, NewerVersion: it cannot be opened.
            ValueError, TypeError: an argument is not understood; the text names it.
        """
        for name, flag in (("recycle", recycle), ("settle", settle)):
            if not isinstance(flag, bool):
                raise TypeError(f"{name}: expected True or False, found {type(flag).__name__}")
        if priority is not None:
            if isinstance(priority, bool) or not isinstance(priority, int):
                raise TypeError(f"priority: expected an integer, found {type(priority).__name__}")
            if not 1 <= priority <= 99:
                raise ValueError(f"priority: expected 1 to 99, found {priority}")
        within_ns = None if durable_within is None else _times.duration_ns("durable_within", durable_within)
        recorder = super().__new__(
            cls,
            os.fspath(_path(path)),
            None if create is None else _times.size_bytes("create", create),
            recycle,
            within_ns,
            None if ring is None else _times.size_bytes("ring", ring),
            None if frame_max is None else _times.size_bytes("frame_max", frame_max),
            priority,
            settle,
        )
        _open.add(recorder)
        _warn_of_memory(recorder.reservations)
        return recorder

    def __repr__(self) -> str:
        return f"<barograph.Recorder {os.fspath(self.path)!r}>"

    def __enter__(self) -> "Recorder":
        return self

    def __exit__(
        self,
        kind: Optional[Type[BaseException]],
        error: Optional[BaseException],
        trace: Optional[TracebackType],
    ) -> None:
        try:
            self.close()
        except Lost:
            # The exception under way says more.
            if error is None:
                raise

    def allow_attach(self, count: int = 1) -> None:
        """Makes rings for so many producers in other processes: see `attach`. 64 rings at most."""
        if isinstance(count, bool) or not isinstance(count, int):
            raise TypeError(f"count: expected an integer, found {type(count).__name__}")
        if not 1 <= count <= 63:
            raise ValueError(f"count: expected 1 to 63, found {count}")
        for _ in range(count):
            self.ring_to_attach()

    def close(self) -> None:
        """Makes durable what was pushed, and ends. Blocks for the disk. A second call does nothing.

        Raises:
            Lost: records were lost that no exception has told of, or damage was found.
        """
        told = 0
        try:
            told = sum(self.refused)
        except Exception:
            pass
        ended = self.end()
        _open.discard(self)
        if ended is None:
            return
        lost, damage = ended
        if lost > told or damage:
            said = "; ".join(damage)
            raise Lost(f"{lost} records were lost, of which {told} were refused with an exception. {said}".rstrip())


class Attached(_Pushes, _barograph.Attached):
    """A producer of a store that another process records: see `attach`."""

    def __new__(
        cls, path: Union[str, "os.PathLike[str]"], *, timeout: Optional[_times.Duration] = 60.0
    ) -> "Self":
        """Attaches to the process that records into the store at `path`.

        Args:
            path: the folder of the store.
            timeout: seconds that the recorder is waited for when it is asked to declare.

        Raises:
            ValueError: no ring is free.
        """
        return super().__new__(cls, os.fspath(_path(path)), _times.seconds_ns("timeout", timeout, _MINUTE_NS))

    def __repr__(self) -> str:
        return f"<barograph.Attached {os.fspath(self.path)!r}>"

    def __enter__(self) -> "Attached":
        return self

    def __exit__(
        self,
        kind: Optional[Type[BaseException]],
        error: Optional[BaseException],
        trace: Optional[TracebackType],
    ) -> None:
        self.close()

    def close(self) -> None:
        """Gives the ring back. What was pushed becomes durable all the same."""
        self.end()


def attach(path: Union[str, "os.PathLike[str]"], *, timeout: Optional[_times.Duration] = 60.0) -> Attached:
    """Attaches to the process that records into the store at `path`: see `Attached`."""
    return Attached(path, timeout=timeout)


_warned = False


def _warn_of_memory(reservations: List[str]) -> None:
    """Says once that memory is not locked: the rest is in `Recorder.reservations`."""
    global _warned
    for said in reservations:
        if not _warned and "cannot be locked" in said:
            _warned = True
            warnings.warn(said, ReservationWarning, stacklevel=3)


@atexit.register
def _close_all() -> None:
    """What was pushed is durable when the process ends by itself."""
    for recorder in list(_open):
        try:
            recorder.close()
        except Forked:
            # Its parent's.
            pass
        except Exception as error:
            warnings.warn(f"{recorder!r}: {error}", stacklevel=1)
