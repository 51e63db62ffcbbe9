"""Makes the Parquet files beside it, as several programs write them.

    python -m venv v && v/bin/pip install pyarrow pandas fastparquet polars duckdb
    v/bin/python make.py

In every file whose name does not begin with `other-`, the column of samples is 5, 7, 6, 1000000 (nanoseconds), with names
that the test knows.
"""

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

NS = [5, 7, 6, 1_000_000]


def arrow(name, columns, **options):
    table = columns if isinstance(columns, pa.Table) else pa.table(columns)
    pq.write_table(table, name, **options)


ints = {"latency": pa.array(NS, pa.int64())}
for compression in ["snappy", "gzip", "zstd", "lz4", "brotli", "none"]:
    arrow(f"pyarrow-{compression}.parquet", ints, compression=compression)
for kind in [pa.int32(), pa.uint32(), pa.uint64(), pa.float32(), pa.float64()]:
    arrow(f"pyarrow-{kind}.parquet", {"latency": pa.array(NS, kind)})
required = pa.schema([pa.field("latency", pa.int64(), nullable=False)])
arrow("pyarrow-required.parquet", pa.table(ints).cast(required))
arrow("pyarrow-v2-delta.parquet", ints, data_page_version="2.0", version="2.6", use_dictionary=False,
      column_encoding={"latency": "DELTA_BINARY_PACKED"})
arrow("pyarrow-split.parquet", {"latency": pa.array(NS, pa.float64())}, use_dictionary=False,
      column_encoding={"latency": "BYTE_STREAM_SPLIT"})
arrow("pyarrow-groups.parquet", ints, row_group_size=1)
arrow("pyarrow-text-beside.parquet", {"host": ["a", "b", "c", "d"], **ints})
arrow("pyarrow-duration-ns.parquet", {"latency": pa.array(NS, pa.duration("ns"))})
arrow("other-microseconds.parquet", {"latency": pa.array(NS, pa.duration("us"))})
arrow("other-two-columns.parquet", {"iteration": [1, 2, 3, 4], **ints})
arrow("other-nulls.parquet", {"latency": pa.array([5, None, 6, None])})
arrow("other-nan.parquet", {"latency": pa.array([5.0, 7.0, float("nan")])})
arrow("other-negative.parquet", {"latency": pa.array([5, -7])})
arrow("other-empty.parquet", {"latency": pa.array([], pa.int64())})
arrow("other-texts.parquet", {"host": ["a"], "on": [True]})
arrow("other-timestamps.parquet", {"at": pa.array(NS, pa.timestamp("ns"))})
arrow("other-lists.parquet", {"latency": pa.array([[5], [7, 6]])})
arrow("other-fractions.parquet", {"latency": pa.array([5.5, 7.25])})

frame = pd.DataFrame({"latency": NS})
frame.to_parquet("pandas.parquet")
frame.set_index(pd.Index([9, 8, 7, 6])).to_parquet("pandas-index.parquet")
frame.set_index(pd.Index([9, 8, 7, 6], name="iteration")).to_parquet("pandas-named-index.parquet")
frame.astype("Int64").to_parquet("pandas-nullable.parquet")
pd.DataFrame({"latency": pd.to_timedelta(NS, unit="ns")}).to_parquet("pandas-timedelta.parquet")
frame.to_parquet("fastparquet.parquet", engine="fastparquet")
pl.DataFrame({"latency": NS}).write_parquet("polars.parquet")
pl.DataFrame({"latency": NS}).cast(pl.Duration("ns")).write_parquet("polars-duration.parquet")
numbers = ", ".join(f"({n})" for n in NS)
for codec in ["snappy", "zstd"]:
    query = f"SELECT * FROM (VALUES {numbers}) AS t(latency)"
    duckdb.sql(f"COPY ({query}) TO 'duckdb-{codec}.parquet' (FORMAT parquet, COMPRESSION {codec})")
