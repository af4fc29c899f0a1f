"""Columns that are pushed, as native code takes them: Arrow as it is, else memory or a list of texts."""

from __future__ import annotations

from typing import Any, Iterator, List, Optional, Sequence, Tuple


def text(name: str, value: str) -> str:
    """`value`, if it is a text."""
    if not isinstance(value, str):
        raise TypeError(f"{name}: expected a text, found {type(value).__name__}")
    return value


def times_column(times: Any) -> Tuple[Any, int]:
    """A column of times as native code takes it, and the nanoseconds of its unit."""
    dtype: Any = getattr(times, "dtype", None)
    if getattr(dtype, "kind", None) == "M" and hasattr(times, "to_numpy"):
        if getattr(dtype, "tz", None) is not None:
            # To an array of numpy as they are; with a zone they would be objects.
            times = getattr(times, "dt", times).tz_convert("UTC")
            times = getattr(times, "dt", times).tz_localize(None)
        times = times.to_numpy()
        dtype = times.dtype
    if getattr(dtype, "kind", None) == "M" and hasattr(times, "view"):
        import numpy

        unit, count = numpy.datetime_data(dtype)
        units = {"ns": 1, "us": 1_000, "ms": 1_000_000, "s": 1_000_000_000}
        if unit not in units:
            raise ValueError(f"times_ns: expected datetime64 in ns, us, ms or s, found {unit}")
        if numpy.isnat(times).any():
            row = int(numpy.isnat(times).argmax())
            raise ValueError(f"times_ns: expected a time in each row, found NaT in row {row}")
        _none_masked("times_ns", times)
        # Of the other byte order too.
        return times.astype(dtype.newbyteorder("=")).view("int64"), units[unit] * count
    return column("times_ns", times), 1


def column(name: str, values: Any) -> Any:
    """A column as native code takes it."""
    if isinstance(values, (str, bytes)):
        raise TypeError(f"{name}: expected a column of values, found {type(values).__name__}")
    if isinstance(values, (list, tuple)):
        return list_column(name, values)
    dtype: Any = getattr(values, "dtype", None)
    if type(values).__module__.partition(".")[0] == "pandas" and dtype is not None:
        # Its own Arrow columns need pyarrow.
        if getattr(dtype, "kind", "O") in "fiub":
            if _has_nulls(values) and values.isna().any():
                raise _missing(name, int(values.isna().to_numpy().argmax()))
            return values.to_numpy(dtype=getattr(dtype, "numpy_dtype", dtype))
        return list_column(name, list(values))
    if hasattr(values, "__arrow_c_array__") or hasattr(values, "__arrow_c_stream__"):
        return values
    _none_masked(name, values)
    if getattr(dtype, "kind", None) in ("O", "U", "T"):
        return list_column(name, values.tolist())
    if getattr(dtype, "isnative", True) is False:
        return values.astype(dtype.newbyteorder("="))
    return values


def _missing(name: str, row: int) -> ValueError:
    return ValueError(
        f"{name}: expected a value in each row, found none in row {row}; leave such rows out, or use write_frame()"
    )


def _none_masked(name: str, values: Any) -> None:
    """Refuses an array of numpy.ma that hides rows: its memory has something in them."""
    mask = getattr(values, "mask", None)
    if mask is None or not hasattr(values, "filled"):
        return
    import numpy

    hidden = numpy.ma.getmaskarray(values)
    if hidden.any():
        raise _missing(name, int(hidden.argmax()))


def _has_nulls(column: Any) -> bool:
    """Whether a column of pandas keeps apart what has no value and NaN."""
    array = getattr(column, "array", column)
    return hasattr(array, "_mask") or hasattr(array, "_pa_array")


def list_column(name: str, values: Sequence[Any]) -> Any:
    import array

    kinds = {type(value) for value in values}
    if not kinds or kinds <= {str, type(None)} and str in kinds:
        return list(values)
    for kind, code in ((bool, "b"), (int, "q"), (float, "d")):
        if kinds == {kind}:
            try:
                column = array.array(code, values)
            except OverflowError:
                raise ValueError(f"{name}: expected integers of 64 bits, found a larger one") from None
            return memoryview(column).cast("B").cast("?") if kind is bool else column
    if kinds == {int, float}:
        return array.array("d", _floats(name, values))
    found = ", ".join(sorted(kind.__name__ for kind in kinds))
    raise TypeError(f"{name}: expected values of one type (float, int, bool or str), found {found}")


def _floats(name: str, values: Sequence[Any]) -> Iterator[float]:
    """Integers and floats as floats, if each integer is one."""
    for row, value in enumerate(values):
        try:
            as_float = float(value)
        except OverflowError:
            as_float = float("inf")
        if isinstance(value, int) and as_float != value:
            raise ValueError(f"{name}: expected integers that a float64 holds, found {value} in row {row}")
        yield as_float


def pandas_parts(
    data: Any, time: str, series: Optional[str], values: List[str]
) -> Iterator[Tuple[str, str, Any, Any]]:
    """Name of the series, name of the column, times and values of each series in a DataFrame."""
    for value in values:
        column = data[value]
        # NaN of a plain float is a value; what has no value is none.
        there = None if column.dtype.kind in "fiubM" and not _has_nulls(column) else column.notna()
        rows = data if there is None or there.all() else data[there]
        if series is None:
            yield value, value, rows[time], rows[value]
            continue
        if rows[series].isna().any():
            raise ValueError(f"{series}: expected a name in each row, found none in some")
        for name, group in rows.groupby(series, sort=False, observed=True):
            yield text(series, name), value, group[time], group[value]


def pandas_kind(name: str, column: Any) -> str:
    """The type of series that a column of pandas is pushed to."""
    dtype = column.dtype
    kinds = {"f": "float64", "i": "int64", "u": "int64", "b": "bool"}
    if dtype.kind in kinds:
        return kinds[dtype.kind]
    categories = getattr(dtype, "categories", None)
    if categories is not None:
        return pandas_kind(name, categories)
    if dtype.kind in ("O", "U") or dtype.name in ("str", "string"):
        for row, value in enumerate(column):
            if not isinstance(value, str):
                raise TypeError(f"{name}: expected texts in a column of objects, found {type(value).__name__} in row {row}")
        return "text"
    raise TypeError(f"{name}: expected numbers, truth values or texts, found {dtype}")
