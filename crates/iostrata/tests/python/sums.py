"""Prints what the operations of a Parquet file come to."""

import sys

import duckdb

sums = "count(*), sum(offset_bytes), sum(length_bytes), count(distinct payload_blake3)"
print(*duckdb.execute(f"select {sums} from read_parquet(?)", sys.argv[1:]).fetchone())
