"""pyarrow alone: reading, batch by batch too, and writing of every type that is taken."""

import sys

import pyarrow
from recorded import COUNTS, FLOATS, TEXTS, TIMES, TRUTHS, check, float_bits, record

import barograph

store = record(sys.argv[1])
table = pyarrow.table(store.query('temp{site="a"}'))
table.validate(full=True)
check(table.schema.names, ["series", "time", "value"], "columns")
check(str(table.schema.field("time").type), "timestamp[ns, tz=UTC]", "zone")
check(table.schema.field("value").metadata, {b"unit": "°C".encode()}, "unit")
check(table["time"].cast("int64").to_pylist(), TIMES, "times")
check(float_bits(table["value"].to_pylist()), float_bits(FLOATS), "floats to the bit")
check(set(table["series"].to_pylist()), {'temp{site="a"}'}, "names")
for name, wanted in (("count", COUNTS), ("truth", TRUTHS), ("text", TEXTS)):
    check(pyarrow.table(store.query(name))["value"].to_pylist(), wanted, name)
mixed = pyarrow.table(store.query(["count", "text"]))
mixed.validate(full=True)
check(mixed["value_text"].to_pylist(), [None] * len(TIMES) + TEXTS, "texts beside integers")
batches = [pyarrow.record_batch(batch) for batch in store.query("count").iter_batches(3)]
check([batch.num_rows for batch in batches], [3, 3, 2], "batches")
reader = pyarrow.RecordBatchReader.from_stream(store.query("count", wide=True))
check(reader.schema, pyarrow.schema(store.query("count", wide=True)), "schema")
reader.close()

with barograph.Recorder(sys.argv[1] + "/store") as rec:
    kinds = ["int8", "uint16", "int32", "uint64", "float32", "bool"]
    times = pyarrow.array([1, 2, 3], pyarrow.timestamp("ms"))
    for kind in kinds:
        values = pyarrow.array([1, None, 0], "int64").cast(kind)
        check(rec.write_frame(pyarrow.table({"time": times, f"w{kind}": values})), 2, kind)
    chunked = pyarrow.chunked_array([[1.5], [None, 2.5]])
    check(rec.push_many(rec.series("chunked"), times, chunked), 2, "pieces")
    names = pyarrow.array(["d.a", "d.b", "d.a"]).dictionary_encode()
    check(rec.write_frame(pyarrow.table({"time": times, "series": names, "value": [1, 2, 3]})), 3, "a dictionary")
    for column, name in (
        (pyarrow.array([[1], [2], [3]]), "lists"),
        (pyarrow.array([1, 2, 3], pyarrow.date32()), "dates"),
        (pyarrow.array([1, 2, 3], pyarrow.decimal128(5, 2)), "decimals"),
    ):
        try:
            rec.write_frame(pyarrow.table({"time": times, name: column}))
        except TypeError as error:
            check(str(error).startswith(f"{name}:"), True, f"{name} are refused")
        else:
            sys.exit(f"{name} were taken")
    twice = pyarrow.table([times, chunked, chunked], names=["time", "twice", "twice"])
    try:
        rec.write_frame(twice)
    except ValueError as error:
        check("twice" in str(error), True, "columns of one name are refused")
    else:
        sys.exit("columns of one name were taken")
store.refresh()
check(pyarrow.table(store.query("d.a"))["value"].to_pylist(), [1, 3], "rows of a dictionary")
check(pyarrow.table(store.query("wuint64"))["value"].to_pylist(), [1, 0], "unsigned integers")
check(pyarrow.table(store.query("chunked"))["time"].cast("int64").to_pylist(), [1_000_000, 3_000_000], "pieces come back")
