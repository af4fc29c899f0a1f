"""The native part. `Batch`, `Column`, `Series` and `Channel` are handed out by the package; the classes
below them are what its Python files call, with arguments that were checked."""

from os import PathLike
from typing import Any, Final, Iterator, List, Optional, Tuple, final

from typing_extensions import Self, disjoint_base

__all__ = [
    "Attached",
    "Batch",
    "Batches",
    "Channel",
    "Column",
    "Frames",
    "Query",
    "Recorder",
    "Series",
    "Store",
    "VERSION",
    "roles_of",
]

VERSION: Final[str]
"""Version of the package."""

def roles_of(names: List[str], roles: Any) -> Tuple[str, Optional[str], List[str]]: ...
@final
class Batch:
    """Rows as columns. Any package that takes Arrow takes it, without a copy.

    ``len(batch)`` is its number of rows.
    """

    @property
    def names(self) -> List[str]:
        """Names of the columns."""

    @property
    def units(self) -> dict[str, str]:
        """Units of the columns that have one, by the columns' names."""

    def column(self, name: str) -> Column:
        """A column by its name.

        Raises:
            ValueError: there is none of this name.
        """

    def __len__(self) -> int: ...
    def __arrow_c_array__(self, requested_schema: Optional[object] = None) -> Tuple[object, object]: ...
    def __arrow_c_stream__(self, requested_schema: Optional[object] = None) -> object: ...
    def __arrow_c_schema__(self) -> object: ...

@final
class Column:
    """A column of a batch. ``numpy.asarray(column)`` is its memory, without a copy; not of texts."""

    @property
    def kind(self) -> str:
        """What its values are: ``f64``, ``i64``, ``u64``, ``bool``, ``text``, ``time`` or ``series``."""

    @property
    def __array_interface__(self) -> dict[str, Any]: ...
    def __len__(self) -> int: ...
    def memory(self) -> memoryview:
        """A copy of the values as a typed buffer, for who has no numpy: times as int64 nanoseconds, series
        as numbers of `names`.

        Raises:
            AttributeError: it has texts.
        """

    def nulls(self) -> Optional[bytes]:
        """Which rows have no value, a byte of 0 or 1 each; None if all have one."""

    def names(self) -> List[str]:
        """Names that the numbers of a column of series stand for.

        Raises:
            ValueError: it is another column.
        """

    def to_list(self) -> List[Any]:
        """The values as Python has them: times as nanoseconds since 1970, None where there is none."""

    def __arrow_c_array__(self, requested_schema: Optional[object] = None) -> Tuple[object, object]: ...

@final
class Series:
    """A declared series: what samples are pushed to. Made by ``series()`` of a recorder."""

    @property
    def name(self) -> str:
        """Its name with its labels."""

    @property
    def unit(self) -> str:
        """Its unit as it was asked for; empty if none was."""

    @property
    def type(self) -> str:
        """``float64``, ``int64``, ``bool`` or ``text``."""

@final
class Channel:
    """A declared channel: what frames of bytes are pushed to. Made by ``channel()`` of a recorder."""

    @property
    def name(self) -> str:
        """Its name."""

@final
class Batches(Iterator[Batch]):
    def __iter__(self) -> Batches: ...
    def __next__(self) -> Batch: ...

@final
class Frames(Iterator[Tuple[int, memoryview]]):
    def __iter__(self) -> Frames: ...
    def __next__(self) -> Tuple[int, memoryview]: ...

@final
class Query:
    def read(self, of_one: bool = False) -> Tuple[List[Batch], List[str]]: ...
    def wide(self) -> Batch: ...
    def batches(self, rows: int) -> Batches: ...
    def stream(self, rows: int) -> object: ...
    def schema(self) -> object: ...
    def wide_schema(self) -> object: ...
    def series(self) -> List[Tuple[str, str, str]]: ...

@disjoint_base
class Store:
    def __new__(cls, path: str) -> Self: ...
    @property
    def path(self) -> PathLike[str]: ...
    @property
    def damage(self) -> List[str]: ...
    def refresh(self) -> None: ...
    def close(self) -> None: ...
    def series_table(self, selectors: Optional[List[str]] = None) -> Batch: ...
    def ask(
        self,
        selectors: Optional[List[str]],
        start_ns: int,
        end_ns: int,
        every: Optional[Any] = None,
        last: Optional[int] = None,
        limit: Optional[int] = None,
        fill: Optional[Any] = None,
        keep_damaged: bool = False,
    ) -> Query: ...
    def last(self, series: str) -> Optional[Tuple[str, int, Any]]: ...
    def frames(self, channel: str, start_ns: int, end_ns: int) -> Frames: ...

@disjoint_base
class Recorder:
    def __new__(
        cls,
        path: str,
        create_bytes: Optional[int],
        recycle: bool,
        durable_within_ns: Optional[int],
        ring_bytes: Optional[int],
        frame_max: Optional[int],
        priority: Optional[int],
        settle: bool,
    ) -> Self: ...
    @property
    def path(self) -> PathLike[str]:
        """The folder."""

    @property
    def reservations(self) -> List[str]:
        """What holds on this machine only in part, in sentences."""

    @property
    def complaints(self) -> List[str]:
        """What was found wrong while recording so far, in sentences."""

    @property
    def lost(self) -> int:
        """Records that are lost so far: refused, given up, or durable once and not there any more."""

    @property
    def refused(self) -> Tuple[int, int]:
        """Records of this object that were refused: since the ring was full, and since they were too large."""

    @property
    def pushed(self) -> int:
        """Sequence number of the next push."""

    @property
    def durable_below(self) -> int:
        """Every record below this sequence number is durable, or was refused. Does not block."""

    def declare(self, names: List[str], unit: str, kind: str) -> List[Series]: ...
    def declare_channel(self, name: str, layout: str) -> Channel: ...
    def push(self, target: Series | Channel, value: Any, *, time_ns: Optional[int] = None) -> int:
        """Pushes one sample or frame. Never waits.

        Args:
            target: a series or channel of this recorder.
            value: of the type of the series; of a channel bytes, or any buffer of them.
            time_ns: nanoseconds since 1970; None: now.

        Returns:
            Its sequence number, for `durable` and `wait_durable`.

        Raises:
            TypeError, ValueError: the value is not of the type of the series; nothing was pushed.
            RingFull, TooLarge: it was refused: it is lost, and counted.
            Closed: the recorder is closed.
            Forked: this is a forked child.
        """

    def push_columns(
        self, target: Any, times: Any, time_unit_ns: int, values: Any, timeout_ns: int
    ) -> int: ...
    def push_table(self, table: Any, roles: Any, declare: Any, timeout_ns: int) -> int: ...
    def wait_durable_ns(self, wanted: Optional[int], timeout_ns: int) -> None: ...
    def ring_to_attach(self) -> None: ...
    def end(self) -> Optional[Tuple[int, List[str]]]: ...

@disjoint_base
class Attached:
    def __new__(cls, path: str, timeout_ns: int) -> Self: ...
    @property
    def path(self) -> PathLike[str]:
        """The folder."""

    @property
    def refused(self) -> Tuple[int, int]:
        """Records of this object that were refused: since the ring was full, and since they were too large."""

    @property
    def pushed(self) -> int:
        """Sequence number of the next push."""

    @property
    def durable_below(self) -> int:
        """Every record below this sequence number is durable, or was refused. Does not block."""

    def declare(self, names: List[str], unit: str, kind: str) -> List[Series]: ...
    def declare_channel(self, name: str, layout: str) -> Channel: ...
    def push(self, target: Series | Channel, value: Any, *, time_ns: Optional[int] = None) -> int:
        """Pushes one sample or frame. Never waits: see `Recorder.push`."""

    def push_columns(
        self, target: Any, times: Any, time_unit_ns: int, values: Any, timeout_ns: int
    ) -> int: ...
    def push_table(self, table: Any, roles: Any, declare: Any, timeout_ns: int) -> int: ...
    def wait_durable_ns(self, wanted: Optional[int], timeout_ns: int) -> None: ...
    def end(self) -> None: ...
