"""Compares exported tables with the results they were made of.

usage: tables.py PARQUET_DIR CSV_DIR RESULT.json...

Every table is read by DuckDB and by pyarrow, which must agree, and as CSV. Then every value of
every JSON row is looked for in its table, and every value of the table in the JSON: names are the
paths of the JSON joined by `_`.
"""

import csv
import json
import pathlib
import sys

import duckdb
import pyarrow.parquet

# Parts of a path that are left out of a column's name.
SILENT = {"evidence", "case", "timing", "interference", "figures", "spent"}


def read(parquet, text):
    """All tables by name: lists of rows."""
    tables = {}
    for path in sorted(parquet.glob("*.parquet")):
        cursor = duckdb.execute("select * from read_parquet(?)", [str(path)])
        names = [column[0] for column in cursor.description]
        rows = [dict(zip(names, row)) for row in cursor.fetchall()]
        assert len(set(names)) == len(names), f"{path}: a name is there twice"
        arrow = pyarrow.parquet.read_table(path).to_pylist()
        assert arrow == rows, f"{path}: DuckDB and pyarrow differ"
        with open(text / f"{path.stem}.csv", encoding="utf-8", newline="") as file:
            head, *fields = csv.reader(file, strict=True)
        assert head == names, f"{path.stem}.csv: {head}"
        assert len(fields) == len(rows), f"{path.stem}.csv: {len(fields)} rows"
        for row, cells in zip(rows, fields):
            for name, cell in zip(names, cells):
                assert is_written(row[name], cell), f"{path.stem}.{name}: {row[name]!r}, {cell!r}"
        tables[path.stem] = rows
    assert {path.stem for path in text.iterdir()} == set(tables)
    return tables


def is_written(value, cell):
    if value is None:
        return cell == ""
    if isinstance(value, bool):
        return cell == str(value).lower()
    if isinstance(value, float):
        return float(cell) == value
    return cell == str(value)


def flat(value, prefix=""):
    """Scalars of a JSON object by their joined names; what is in a list is left out."""
    found = {}
    for key, inner in value.items():
        name = prefix if key in SILENT else f"{prefix}{key}_"
        if isinstance(inner, dict):
            found.update(flat(inner, name))
        # What is null stands for all that could be below it.
        elif inner is not None and not isinstance(inner, list):
            found[f"{prefix}{key}"] = inner
    return found


def compare(where, row, expected, renamed=None, apart=(), made=()):
    """`row` of a table and the scalars of a JSON row, but for what is `made` or kept `apart`."""
    renamed = renamed or {}
    left = dict(expected)
    for name, value in row.items():
        if name in made:
            continue
        key = renamed.get(name, name)
        # What a result leaves out is unknown.
        wanted = left.pop(key, None)
        assert type(wanted) is type(value) or (
            isinstance(wanted, int) and isinstance(value, float) and not isinstance(wanted, bool)
        ), f"{where}.{name}: {value!r}, not {wanted!r}"
        assert value == wanted, f"{where}.{name}: {value!r}, not {wanted!r}"
    left = {key for key, value in left.items() if value is not None}
    left = {key for key in left if not any(key.startswith(part) for part in apart)}
    assert not left, f"{where}: in no column: {sorted(left)}"


def without(value, *keys):
    return {key: inner for key, inner in value.items() if key not in keys}


class Left:
    """Rows of tables that were not compared yet, by result."""

    def __init__(self, tables):
        self.rows = {name: list(rows) for name, rows in tables.items()}
        self.nulls = 0

    def next(self, table, result):
        row = self.rows[table].pop(0)
        assert row.pop("result") == result, f"{table}: {row} is not of result {result}"
        self.nulls += sum(value is None for value in row.values())
        return row


def of_result(left, number, path, kind, result):
    row = left.next("results", number)
    expected = flat(result["environment"])
    expected |= {"kind": kind, "file": path}
    devices = json.loads(row.pop("target_devices"))
    assert devices == result["environment"]["target"]["devices"]
    assert json.loads(row.pop("ways")) == result["environment"].get("ways", [])
    compare("results", row, expected, made=("file_hex",))


DEVICE = ("reads", "data", "journal", "commit", "metadata", "unknown")


def gaps(left, number, found, **place):
    for gap in found:
        row = left.next("missing", number)
        gap = {name: gap[name] for name in ("what", "why")}
        expected = {"experiment": None, "row": None, "file": None, "recording": None} | place | gap
        assert row == expected, f"missing: {row}, not {expected}"


def trace(left, number, result):
    gaps(left, number, result["missing"])
    gaps(left, number, result["evidence"].get("missing", []))
    run = left.next("runs", number)
    assert json.loads(run.pop("command")) == result["command"]
    # The evidence's calls are those of the table `calls`.
    apart = ("schema", "recording_", "syscalls_")
    scalars = flat(without(result, "bytes", "environment", "timeline")) | flat(result["bytes"])
    compare("runs", run, scalars, apart=apart, made=("recording_complete", "runs_cold_left_files"))
    runs = result.get("runs") or {"each": [], "cold": None}
    for place, row in enumerate(runs["each"], 1):
        compare("timed_runs", left.next("timed_runs", number), row | {"run": place})
    for place, row in enumerate((runs["cold"] or {"left": []})["left"], 1):
        compare("stayed_cached", left.next("stayed_cached", number), row | {"place": place})
    for place, call in enumerate(result["syscalls"], 1):
        compare("calls", left.next("calls", number), flat(call) | {"call": place})
        for power, count in enumerate(call.get("took", [])):
            if count:
                row = left.next("call_times", number)
                assert row == {"name": call["name"], "at_least_ns": 1 << power, "count": count}
    timeline(left, number, result["timeline"])
    requests(left, number, None, result["evidence"])
    for place, file in enumerate(result["files"], 1):
        compare_file(left, number, place, file)
    for place, judged in enumerate(result["audit"], 1):
        (unit, ours), (_, witness) = (*judged["ours"].items(), *judged["witness"].items())
        expected = {"place": place, "unit": unit, "ours": ours, "witness": witness}
        compare("audit", left.next("audit", number), without(judged, "ours", "witness") | expected)
    for table, key, name in (
        ("tasks", "tasks", "task"),
        ("findings", "findings", "finding"),
        ("not_found", "not_found", "place"),
        ("directories", "directories", "place"),
    ):
        for place, row in enumerate(result[key], 1):
            compare(table, left.next(table, number), flat(row) | {name: place})
    for place, finding in enumerate(result["findings"], 1):
        for cited in finding["evidence"]:
            row = left.next("finding_evidence", number)
            compare("finding_evidence", row, cited | {"finding": place})


def timeline(left, number, line):
    if line is None:
        return
    series = [("call", one["group"], one) for one in line["calls"]]
    series += [("request", one["cause"], one) for one in line["requests"] or []]
    series += [("flush", None, {"counts": line["flushes"] or []})]
    for what, kind, one in series:
        for bucket, count in enumerate(one["counts"]):
            if count:
                row = left.next("timeline", number)
                expected = {"what": what, "kind": kind, "bucket": bucket, "count": count}
                expected |= {"start_s": line["bucket_s"] * bucket, "length_s": line["bucket_s"]}
                expected |= {"bytes": one["bytes"][bucket] if "bytes" in one else None}
                expected |= {"time_s": one["time_s"][bucket] if "time_s" in one else None}
                expected |= {"shared": line["shared"]}
                assert row == expected, f"timeline: {row}, not {expected}"


def residency(left, number, place, file):
    found = file.get("residency")
    for index, resident in enumerate(found["resident_bytes"] if found else []):
        row = left.next("residency", number)
        expected = {"file": place, "path": file["path"], "range_bytes": found["range_bytes"]}
        expected |= {"start_bytes": found["range_bytes"] * index, "resident_bytes": resident}
        for key in ("dirty_bytes", "writeback_bytes"):
            expected[key] = found[key][index] if found[key] else None
        assert row == expected, f"residency: {row}, not {expected}"


def compare_file(left, number, place, file):
    history = file["history"] or {}
    happened = {
        f"history_{key}_{part}": value[part]
        for key, value in history.items()
        if isinstance(value, dict)
        for part in ("count", "took_ns")
    }
    scalars = {
        f"history_{key}": value for key, value in history.items() if not isinstance(value, dict)
    }
    expected = flat(without(file, "history", "calls", "residency")) | happened | scalars
    # What happened to a name of another file is a finding, and no column.
    compare(
        "files",
        left.next("files", number),
        expected | {"file": place},
        apart=("history_recreated_", "syscalls_"),
    )
    gaps(left, number, file["evidence"].get("missing", []), file=place)
    requests(left, number, place, file["evidence"])
    residency(left, number, place, file)
    for call in file["calls"]:
        row = left.next("file_calls", number)
        shape = call["shape"] or {}
        expected = without(call, "shape", "sites") | flat(shape)
        expected |= {"file": place, "path": file["path"], "is_source": call.get("is_source", False)}
        compare("file_calls", row, expected)
        for power, count in enumerate(shape.get("sizes", [])):
            if count:
                row = left.next("transfer_sizes", number)
                key = {"file": place, "path": file["path"], "name": call["name"]}
                key |= {"is_source": call.get("is_source", False)}
                assert row == key | {"at_least_bytes": 1 << power, "count": count}
        for position, site in enumerate(call.get("sites", []), 1):
            row = left.next("sites", number)
            assert json.loads(row.pop("stack")) == site["stack"]
            key = {"file": place, "path": file["path"], "name": call["name"], "site": position}
            compare("sites", row, flat(site) | key)


def requests(left, number, file, found):
    for after, key in ((False, "device"), (True, "device_after_exit")):
        device = found[key] or {}
        shared = device.get("shared", {})

        def row_is(cause, part, names):
            """`part` gives a figure of an object such as `device` by its name in the table."""
            row = left.next("requests", number)
            expected = {"file": file, "after_exit": after, "cause": cause}
            for name in ("count", "bytes", "time_s"):
                stem, unit = (name[:-2], "_s") if name.endswith("_s") else (name, "")
                exact = part(device, name) if name in names else None
                expected[name] = exact
                for bound in ("at_least", "at_most"):
                    value = None
                    if shared and name in names and exact is None:
                        value = part(shared[bound], name)
                    expected[f"{stem}_{bound}{unit}"] = value
            assert row == expected, f"requests: {row}, not {expected}"

        for cause in DEVICE:
            part = lambda counts, name: counts.get(cause, {}).get(name)
            row_is("read" if cause == "reads" else cause, part, ("count", "bytes", "time_s"))
        flush = {"count": "flushes", "time_s": "flush_time_s"}
        row_is("flush", lambda counts, name: counts.get(flush[name]), flush)
        row_is("discard", lambda counts, name: counts.get("discards"), ("count",))


TABLES = {
    "buffering": "buffering",
    "page-cache": "page_cache",
    "sync": "sync",
    "atime": "atime",
    "copy": "copy",
}

LATENCY = {f"latency_{name}_s": f"latency_s_{name}" for name in ("p50", "p90", "p99", "p999", "max")}

RENAMED = {
    "page-cache": LATENCY | {"latency_count": "latency_s_count", "spent_blocked_s": "blocked_s"},
    "sync": LATENCY
    | {
        "latency_count": "latency_s_samples",
        "steady": "series_steadiness_steady",
        "warm_up_seconds": "series_steadiness_warm_up_seconds",
        "steady_syncs_per_s": "series_steadiness_mean_per_s",
    },
    "copy": {"limit_s": "limit_time_s"},
    "atime": {
        "mean_s": "spread_mean_s",
        "standard_deviation_s": "spread_standard_deviation_s",
        "directory_atime_changed": "directory_due",
        "directory_atime_changed_when_fresh": "directory_fresh",
    },
}


def lab(left, number, result):
    for experiment in result["experiments"]:
        gaps(left, number, experiment["missing"], experiment=experiment["id"])
    for experiment in result["experiments"]:
        name = experiment["id"]
        for target in experiment["targets"]:
            row = left.next("targets", number)
            assert json.loads(row.pop("devices")) == target["devices"]
            expected = without(flat(target), "name") | {"target": target["name"]}
            compare("targets", row, expected | {"experiment": name})
        for place, answer in enumerate(experiment["answers"], 1):
            row = left.next("answers", number)
            for cited in "rows", "row_ids":
                assert json.loads(row.pop(cited)) == answer.pop(cited, [])
            expected = {"machine": None} | answer | {"experiment": name, "answer": place}
            assert row == expected, f"answers: {row}"
        for place, row in enumerate(experiment["rows"], 1):
            lab_row(left, number, name, place, row)
        for yardstick in experiment.get("yardsticks", []):
            place = {key: None for key in ("experiment", "row", "target", "read")}
            place |= {"part": "yardstick", "yardstick": yardstick["measure"]}
            place |= {"yardstick_target": yardstick["target"]}
            timed(left, number, place | {"yardstick_bytes": yardstick["size_bytes"]}, yardstick)


def lab_row(left, number, name, place, row):
    key = {"experiment": name, "row": place, "target": row["target"]} | row["case"]
    common = ("id", "target", "case", "timing", "evidence", "interference", "notes")
    table_row = left.next("rows", number)
    assert json.loads(table_row.pop("notes")) == row["notes"]
    expected = flat({part: row[part] for part in ("evidence", "interference")})
    expected = {field: value for field, value in expected.items() if "syscalls" not in field}
    timing = row["timing"] or {}
    expected |= flat(timing) | {"runs": len(timing["samples_s"]) if timing else None}
    compare("rows", table_row, expected | key | {"id": row.get("id")})
    gaps(left, number, row["evidence"].get("missing", []), experiment=name, row=place)
    for call, counts in sorted((row["evidence"]["syscalls"] or {}).items()):
        found = left.next("row_calls", number)
        expected = key | without(counts, "count") | {"name": call, "calls": counts["count"]}
        compare("row_calls", found, expected)
    rest = without(row, *common, "reading", "parsing", "memory_copy", "with_sync")
    if interval := rest.pop("syncs_per_s_interval", None):
        rest |= {"syncs_low_per_s": interval[0], "syncs_high_per_s": interval[1]}
    compare(
        TABLES[name],
        left.next(TABLES[name], number),
        flat(rest) | key,
        RENAMED.get(name),
        # Shares of the steady rate follow from the seconds, which are a table.
        apart=("series_steadiness_", "spread_standard_deviation_percent"),
    )
    series = row.get("series", [])
    parts = [("run", None, row["timing"])]
    parts += [(part, None, row.get(part)) for part in ("reading", "parsing", "memory_copy")]
    if isinstance(series, list):
        parts += [("series", read["number"], read["timing"]) for read in series]
    else:
        for position, second in enumerate(series["seconds"], 1):
            compare("sync_seconds", left.next("sync_seconds", number), second | key | {"part": position})
        for position, bucket in enumerate(row["latency_s"]["buckets"], 1):
            expected = key | {"part": position, "upto_ns": bucket["upto_ns"], "syncs": bucket["count"]}
            compare("sync_latencies", left.next("sync_latencies", number), expected)
    parts.append(("with_sync", None, row.get("with_sync")))
    for part, read, timing in parts:
        if timing:
            timed(left, number, key | {"part": part, "read": read}, {"timing": timing})


def timed(left, number, key, value):
    timing = value["timing"]
    runs = len(timing["samples_s"])
    compare("timings", left.next("timings", number), key | flat(timing) | {"runs": runs})
    for place, real_s in enumerate(timing["samples_s"], 1):
        row = left.next("samples", number)
        compare("samples", row, key | {"sample": place, "real_s": real_s})


def main():
    parquet, text, *paths = sys.argv[1:]
    left = Left(read(pathlib.Path(parquet), pathlib.Path(text)))
    # Each result has its rows in every table before the next one has.
    for number, path in enumerate(paths, 1):
        result = json.loads(pathlib.Path(path).read_text(encoding="utf-8"))
        kind = result["schema"].removeprefix("iostrata.").removesuffix("/1")
        of_result(left, number, path, kind, result)
        {"lab": lab, "trace": trace}[kind](left, number, result)
    unread = {table: rows[0] for table, rows in left.rows.items() if rows}
    assert not unread, f"rows that are in no result: {unread}"
    print(f"{left.nulls} nulls")


main()
