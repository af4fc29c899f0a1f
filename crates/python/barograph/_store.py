"""Reading a store: queries, and their rows as other packages take them."""

from __future__ import annotations

import datetime as _dt
import os
from types import TracebackType
from typing import TYPE_CHECKING, Any, Iterator, List, NamedTuple, Optional, Sequence, Type, Union

from . import _barograph, _frames, _times
from ._barograph import Batch
from ._times import EARLIEST_NS, LATEST_NS, Duration, Moment

if TYPE_CHECKING:
    import numpy
    import numpy.typing
    import pandas
    import polars

#: Rows of a batch where the caller does not say.
_BATCH_ROWS = 65_536
#: Rows of a batch in a stream to other packages.
_STREAM_ROWS = 1 << 20


class Sample(NamedTuple):
    """One sample of a series."""

    series: str
    """Name of the series, with its labels."""
    time_ns: int
    """Nanoseconds since 1970, UTC."""
    value: Union[float, int, bool, str]
    """The value, of the type of the series."""

    @property
    def time(self) -> _dt.datetime:
        """The time as a datetime in UTC, cut to microseconds."""
        return _dt.datetime(1970, 1, 1, tzinfo=_dt.timezone.utc) + _dt.timedelta(
            microseconds=self.time_ns // 1000
        )


class Frame(NamedTuple):
    """One frame of a channel."""

    time_ns: int
    """Nanoseconds since 1970, UTC."""
    data: memoryview
    """Its bytes, not to be written to."""


class NumpyColumns(NamedTuple):
    """Times and values of one series, by rising time."""

    time: "numpy.typing.NDArray[numpy.datetime64]"
    """``datetime64[ns]``, UTC."""
    value: "numpy.typing.NDArray[Any]"
    """float64, int64, uint64, bool, or objects of texts."""


class Rows:
    """The rows of a query. Nothing is read before they are wanted, and each use reads anew.

    Columns: ``series`` (dictionary of texts), ``time`` (timestamp[ns, UTC]), and ``value``; or, where the
    series are of several types, one column for each type (``value_f64``, ``value_i64``, ``value_u64``,
    ``value_bool``, ``value_text``) with nulls in the others. A wide query has ``time`` and a column for
    each series. A column of values has the metadata ``unit`` if all its series have the same.

    Any package that takes Arrow takes it: ``polars.DataFrame(rows)``, ``pyarrow.table(rows)``,
    ``duckdb.sql("from rows")``, ``nanoarrow.Array(rows)``.
    """

    def __init__(self, query: _barograph.Query, wide: bool) -> None:
        self._query = query
        self._wide = wide

    def __repr__(self) -> str:
        series = self._query.series()
        names = ", ".join(name for name, _, _ in series[:3])
        more = f" and {len(series) - 3} more" if len(series) > 3 else ""
        return f"<barograph.Rows of {names}{more}>"

    def __arrow_c_stream__(self, requested_schema: Optional[object] = None) -> object:
        """A capsule with an Arrow stream of the rows. Reads up to 256 MB before it returns, the rest as it is
        taken.

        Raises:
            Damaged: rows are missing.
        """
        if self._wide:
            return self._read()[0].__arrow_c_stream__(requested_schema)
        return self._query.stream(_STREAM_ROWS)

    def __arrow_c_schema__(self) -> object:
        """A capsule with the Arrow schema of the rows."""
        return self._query.wide_schema() if self._wide else self._query.schema()

    def _read(self) -> List[Batch]:
        return [self._query.wide()] if self._wide else self._query.read()[0]

    def iter_batches(self, rows: int = _BATCH_ROWS) -> Iterator[Batch]:
        """Batches of at most `rows` rows, read as they are asked for: memory does not grow with the answer.

        Raises:
            Damaged: rows are missing; after the last batch.
        """
        if isinstance(rows, bool) or not isinstance(rows, int):
            raise TypeError(f"rows: expected an integer, found {type(rows).__name__}")
        if rows < 1:
            raise ValueError(f"rows: expected 1 or more, found {rows}")
        if self._wide:
            return iter(self._read())
        return self._query.batches(rows)

    def __iter__(self) -> Iterator[Batch]:
        return self.iter_batches()

    def to_numpy(self) -> NumpyColumns:
        """Times and values of the one series of the query, without a copy; not to be written to.

        Steps without a value (`fill="null"`) are NaN where values are floats, else a masked array, both copied.

        Raises:
            ValueError: the query is of several series.
            ImportError: numpy is not installed.
            Damaged: rows are missing.
        """
        series = self._query.series()
        if len(series) != 1:
            raise ValueError(
                f"to_numpy: expected a query of one series, found {len(series)}; use to_pandas() or to_polars()"
            )
        return NumpyColumns(*_frames.numpy_columns(self._query.read(True)[0]))

    def to_pandas(self) -> "pandas.DataFrame":
        """A pandas DataFrame; pyarrow is not needed. ``df.attrs["units"]`` has the units.

        Raises:
            ImportError: pandas is not installed.
            Damaged: rows are missing.
        """
        return _frames.to_pandas(self._read())

    def to_polars(self) -> "polars.DataFrame":
        """A Polars DataFrame.

        Raises:
            ImportError: polars is not installed.
            Damaged: rows are missing.
        """
        return _frames.to_polars(self._read())


class Store:
    """A store that is read, also while a process records into it, which it does not disturb.

    It shows what was durable when it was opened; `refresh` goes on to what is now. May be used by several
    threads at once. Use it in a ``with`` statement, or `close` it, to give up its files.
    """

    def __init__(self, path: Union[str, "os.PathLike[str]"]) -> None:
        """Opens the store at `path`. Blocks for the disk, without Python's lock.

        Raises:
            NotAStore: there is no store.
            Damaged: nothing of it can be read.
            NewerVersion: a newer version of Barograph has made it.
            Gone: there is no such folder.
        """
        self._store = _barograph.Store(os.fspath(_path(path)))

    @property
    def path(self) -> str:
        """The folder."""
        return os.fspath(self._store.path)

    @property
    def damage(self) -> List[str]:
        """What was found damaged when it was opened, in sentences."""
        return self._store.damage

    def __repr__(self) -> str:
        return f"barograph.open({self.path!r})"

    def __enter__(self) -> "Store":
        return self

    def __exit__(
        self,
        kind: Optional[Type[BaseException]],
        error: Optional[BaseException],
        trace: Optional[TracebackType],
    ) -> None:
        self.close()

    def close(self) -> None:
        """Gives up its files and memory."""
        self._store.close()

    def refresh(self) -> "Store":
        """Goes on to what has been recorded since. Blocks for the disk. Returns itself."""
        self._store.refresh()
        return self

    def series(self, selector: Union[str, Sequence[str], None] = None) -> Batch:
        """All series, channels, and fields of channels, as a table of ``name``, ``type`` and ``unit``.

        Any package that takes Arrow takes it: ``polars.DataFrame(store.series())``.

        Raises:
            Unknown: nothing is selected.
            ValueError: the selector is not understood.
        """
        return self._store.series_table(_selectors(selector))

    def query(
        self,
        selector: Union[str, Sequence[str], None] = None,
        *,
        start: Optional[Moment] = None,
        end: Optional[Moment] = None,
        every: Optional[Duration] = None,
        agg: Optional[str] = None,
        zone: Optional[str] = None,
        offset: Optional[Duration] = None,
        last: Optional[int] = None,
        limit: Optional[int] = None,
        fill: Union[str, float, None] = None,
        wide: bool = False,
        damaged: str = "raise",
    ) -> Rows:
        """Rows of the series that `selector` selects, series by series, each by rising time.

        Args:
            selector: the name of a series; a pattern ``control.*``; labels ``temp{site="a",line=~"3.*"}``;
                or several of these. None: all that has values.
            start: the earliest time. Nanoseconds since 1970; a datetime with a zone; a text such as
                ``"2026-11-26T12:00:00Z"``; ``"-1h"`` before now. None: from the beginning.
            end: the first time behind it, in the same forms. None: to the end.
            every: one value for each step of this length: ``"1m"``, ``"1h30m"``, or a timedelta. Steps begin
                at multiples since 1970. ``"1d"``, ``"1w"``, ``"1mo"``, ``"1y"`` and multiples of them are
                those of the calendar. A step without a sample has no row.
            agg: how the samples of a step become a value: mean, min, max, sum, count, first, last, median,
                p99 or another percentile such as p99.9, stddev, increase, rate, delta, time-mean. Without
                `every` over the whole interval.
            zone: whose calendar: ``"UTC"``, ``"+01:00"``, or a place such as ``"Europe/Berlin"``.
            offset: lets steps begin so much later: ``"6h"``.
            last: the newest so many rows of each series.
            limit: at most so many rows in all.
            fill: what a step without a sample gets: ``"null"``, ``"previous"`` (the value before it, also from
                before `start`), or a number. From `start` to `end`, or from the first to the last row of a
                series. With ``"null"`` and a number a series without a row stays without. None: such a step has no row.
            wide: a row for each time, and a column for each series, with nulls where one has no value.
            damaged: ``"raise"``: an exception if rows are missing; ``"skip"``: the others are handed out.

        Raises:
            Unknown: nothing is selected.
            ValueError, TypeError: an argument is not understood; the text names it.
        """
        if agg is not None and not isinstance(agg, str):
            raise TypeError(f"agg: expected a text such as \"mean\", found {type(agg).__name__}")
        step = None
        if every is not None:
            if agg is None:
                raise ValueError('agg: expected how a step becomes a value, such as "mean", found None')
            step = _Steps(every, agg, zone, offset)
        elif zone is not None or offset is not None:
            name, found = ("zone", zone) if zone is not None else ("offset", offset)
            raise ValueError(f"{name}: expected none without steps (every=), found {found!r}")
        elif agg is not None:
            step = _Steps(None, agg, None, None)
        if damaged not in ("raise", "skip"):
            raise ValueError(f"damaged: expected \"raise\" or \"skip\", found {damaged!r}")
        if not isinstance(wide, bool):
            raise TypeError(f"wide: expected True or False, found {type(wide).__name__}")
        if fill is not None and (last is not None or limit is not None):
            raise ValueError("fill: expected none with last= or limit=, which count rows that are there")
        if wide and fill is not None:
            raise ValueError("fill: expected none in a wide query, whose rows have the times of all its series")
        query = self._store.ask(
            _selectors(selector),
            _times.moment_ns("start", start, EARLIEST_NS),
            _times.moment_ns("end", end, LATEST_NS),
            step,
            _count("last", last),
            _count("limit", limit),
            fill,
            damaged == "skip",
        )
        return Rows(query, wide)

    def last(self, series: str) -> Optional[Sample]:
        """The newest sample of one series, as of the last `refresh`; None if it has none.

        Raises:
            Unknown: there is no such series.
            ValueError: several are selected.
            Damaged: it cannot be read.
        """
        if not isinstance(series, str):
            raise TypeError(f"series: expected a text, found {type(series).__name__}")
        found = self._store.last(series)
        return None if found is None else Sample(*found)

    def frames(
        self, channel: str, *, start: Optional[Moment] = None, end: Optional[Moment] = None
    ) -> Iterator[Frame]:
        """Frames of a channel that are still in the log, by rising time, read as they are asked for.

        Raises:
            Unknown: there is no such channel.
            Damaged: frames are missing; after the last one.
        """
        if not isinstance(channel, str):
            raise TypeError(f"channel: expected a text, found {type(channel).__name__}")
        start_ns = _times.moment_ns("start", start, EARLIEST_NS)
        end_ns = _times.moment_ns("end", end, LATEST_NS)
        frames = self._store.frames(channel, start_ns, end_ns)
        return (Frame(time_ns, data) for time_ns, data in frames)


class _Steps:
    """Which steps are asked for, as native code takes them."""

    def __init__(
        self, every: Optional[Duration], aggregate: str, zone: Optional[str], offset: Optional[Duration]
    ) -> None:
        self.aggregate, self.zone = aggregate, zone
        self.text = every.strip() if isinstance(every, str) else None
        self.length_ns: Optional[int] = None
        if zone is not None and not isinstance(zone, str):
            raise TypeError(f"zone: expected a text, found {type(zone).__name__}")
        self.offset_ns = 0 if offset is None else _times.duration_ns("offset", offset)
        if every is None or (self.text and _times.is_calendar(self.text)):
            return
        self.length_ns = _times.duration_ns("every", every)
        if self.length_ns <= 0:
            raise ValueError(f"every: expected more than 0, found {every!r}")


def _path(path: Union[str, "os.PathLike[str]"]) -> Union[str, "os.PathLike[str]"]:
    if not isinstance(path, (str, os.PathLike)):
        raise TypeError(f"path: expected a text or a path, found {type(path).__name__}")
    return path


def _selectors(selector: Union[str, Sequence[str], None]) -> Optional[List[str]]:
    if selector is None:
        return None
    if isinstance(selector, str):
        return [selector]
    if isinstance(selector, (list, tuple)) and all(isinstance(one, str) for one in selector):
        if not selector:
            raise ValueError("selector: expected one at least, found none (None selects all)")
        return list(selector)
    raise TypeError(f"selector: expected a text or several texts, found {type(selector).__name__}")


def _count(name: str, count: Optional[int]) -> Optional[int]:
    if count is None:
        return None
    if isinstance(count, bool) or not isinstance(count, int):
        raise TypeError(f"{name}: expected an integer, found {type(count).__name__}")
    if not 0 < count < 2**63:
        raise ValueError(f"{name}: expected 1 or more, found {count}")
    return count


def open(path: Union[str, "os.PathLike[str]"]) -> Store:
    """Opens the store at `path` for reading: see `Store`."""
    return Store(path)
