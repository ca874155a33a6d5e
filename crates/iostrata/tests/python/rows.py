"""Prints the rows of a Parquet file as JSON, without what is null."""

import json
import sys

import duckdb

cursor = duckdb.execute("select * from read_parquet(?)", sys.argv[1:])
names = [column[0] for column in cursor.description]
rows = [dict(zip(names, row)) for row in cursor.fetchall()]
print(json.dumps([{name: row[name] for name in names if row[name] is not None} for row in rows]))
