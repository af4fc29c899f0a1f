"""Writes the files of this folder with pyarrow: one for each compression and version of pages.

python write.py; what is in them says tests/packed.rs of crates/export.
"""
import decimal
import pyarrow as pa
import pyarrow.parquet as pq

ROWS = 2_000
START = 1_767_225_600_000
time = pa.array([START + n * 1_000 for n in range(ROWS)], pa.timestamp("ms"))
table = pa.table({
    "time": time,
    "series": pa.array(["temp"] * ROWS).dictionary_encode(),
    "host": [f"h{n % 3}" for n in range(ROWS)],
    "value": [n / 8 for n in range(ROWS)],
})
for name in ["zstd", "gzip", "brotli", "lz4", "snappy"]:
    for version in ["1.0", "2.0"]:
        pq.write_table(table, f"{name}-{version[0]}.parquet", compression=name,
                       data_page_version=version, data_page_size=2_000, store_schema=False)

# A value column for each type.
half = pa.array([0.5, -2.0, None], pa.float32()).cast(pa.float16())
pq.write_table(pa.table({
    "date": pa.array([0, 1, 20_454], pa.date32()),
    "half": half,
    "price": pa.array([decimal.Decimal("12.34"), decimal.Decimal("-0.05"), None],
                      pa.decimal128(9, 2)),
    "whole": pa.array([decimal.Decimal(7), None, decimal.Decimal(10**18)], pa.decimal128(30, 0)),
    "long": pa.array([decimal.Decimal("12345678901234567.89"), None, decimal.Decimal("0.25")],
                     pa.decimal128(20, 2)),
    "code": pa.array([5, 5, 6], pa.int16()).dictionary_encode(),
    "ratio": pa.array([0.1, 0.2, 0.1]).dictionary_encode(),
    "unsigned": pa.array([2**64 - 1, 1, None], pa.uint64()),
}), "types.parquet")
