"""Batches as numpy arrays and as DataFrames of pandas and Polars. None of these is needed to import this."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, List, Tuple

from ._barograph import Batch, Column

if TYPE_CHECKING:
    import numpy
    import pandas
    import polars


def _array(numpy: Any, column: Column) -> Any:
    """A column as a numpy array: its memory, or objects for texts. What has no value is NaN in a column of
    floats, and masked in one of integers or truth values.
    """
    if column.kind == "text":
        return numpy.array(column.to_list(), dtype=object)
    values = numpy.asarray(column)
    nulls = column.nulls()
    if nulls is None:
        return values
    mask = numpy.frombuffer(nulls, dtype=bool)
    return numpy.where(mask, numpy.nan, values) if column.kind == "f64" else numpy.ma.array(values, mask=mask)


def _value_name(batch: Batch) -> str:
    return batch.names[-1]


def numpy_columns(batches: List[Batch]) -> Tuple[Any, Any]:
    """Times and values of batches of one series."""
    import numpy

    if not batches:
        return numpy.empty(0, "datetime64[ns]"), numpy.empty(0, "float64")
    times = [numpy.asarray(batch.column("time")) for batch in batches]
    values = [_array(numpy, batch.column(_value_name(batch))) for batch in batches]
    if len(batches) == 1:
        return times[0], values[0]
    masked = any(isinstance(one, numpy.ma.MaskedArray) for one in values)
    return numpy.concatenate(times), (numpy.ma if masked else numpy).concatenate(values)


def _pandas_column(numpy: Any, pandas: Any, column: Column) -> Any:
    if column.kind == "series":
        return pandas.Categorical.from_codes(numpy.asarray(column), categories=column.names())
    if column.kind == "time":
        return pandas.DatetimeIndex(numpy.asarray(column)).tz_localize("UTC")
    if column.kind == "text":
        return pandas.array(column.to_list(), dtype="str" if int(pandas.__version__.split(".")[0]) >= 3 else object)
    values = numpy.asarray(column)
    nulls = column.nulls()
    if nulls is None:
        return values
    # With a mask, so that "no value" stays apart from NaN, and integers stay integers.
    mask = numpy.frombuffer(nulls, dtype=bool)
    kinds = {
        "f64": pandas.arrays.FloatingArray,
        "i64": pandas.arrays.IntegerArray,
        "u64": pandas.arrays.IntegerArray,
        "bool": pandas.arrays.BooleanArray,
    }
    return kinds[column.kind](values, mask)


def to_pandas(batches: List[Batch]) -> "pandas.DataFrame":
    """A DataFrame of all batches."""
    import numpy
    import pandas

    frames = []
    units = {}
    for batch in batches:
        columns = {name: _pandas_column(numpy, pandas, batch.column(name)) for name in batch.names}
        frames.append(pandas.DataFrame(columns, copy=False))
        units.update(batch.units)
    if len(frames) == 1:
        frame = frames[0]
    else:
        for frame in frames:
            if "series" in frame:
                names = pandas.api.types.union_categoricals([one["series"] for one in frames]).categories
                frame["series"] = frame["series"].cat.set_categories(names)
        frame = pandas.concat(frames, ignore_index=True)
    frame.attrs["units"] = units
    return frame


def to_polars(batches: List[Batch]) -> "polars.DataFrame":
    """A DataFrame of all batches."""
    import polars

    frames = [polars.DataFrame(batch) for batch in batches]
    return frames[0] if len(frames) == 1 else polars.concat(frames, rechunk=False)
