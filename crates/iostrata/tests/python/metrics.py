"""Checks metrics with the parser of Prometheus's own client, and against their results.

usage: metrics.py METRICS RESULT.json...
"""

import json
import os
import sys

from prometheus_client.parser import text_fd_to_metric_families

UNITS = ("_seconds", "_bytes", "_info")
COUNTS = ("calls", "errors", "requests", "opens", "syncs", "files", "findings", "processes")
COUNTS += ("threads", "events", "runs", "flushes", "answer", "code", "signal")

path, *results = sys.argv[1:]
with open(path, encoding="utf-8", newline="\n") as file:
    families = list(text_fd_to_metric_families(file))
names = [family.name for family in families]
assert len(set(names)) == len(names), "a metric comes twice"
samples = {}
for family in families:
    assert family.name.startswith("iostrata_"), family.name
    assert family.documentation and family.type == "gauge", family
    assert family.name.endswith(UNITS + COUNTS), f"{family.name} has no base unit"
    assert family.samples, family.name
    for sample in family.samples:
        key = (sample.name, frozenset(sample.labels.items()))
        assert key not in samples, f"{key} comes twice"
        samples[key] = sample.value


def value(name, **labels):
    return samples[(f"iostrata_{name}", frozenset(labels.items()))]


def text(file):
    """Of a path that is no text, the bytes that are none as \\xff; what acts on a terminal as \\u{d}."""
    hexadecimal = file.get("path_hex")
    path = bytes.fromhex(hexadecimal).decode("utf-8", "backslashreplace") if hexadecimal else file["path"]
    return "".join(f"\\u{{{ord(char):x}}}" if char < " " and char != "\n" else char for char in path)


for path in results:
    with open(path, "rb") as file:
        result = json.load(file)
    name = os.fsencode(path).decode("utf-8", "backslashreplace")
    if result["schema"] == "iostrata.trace/1":
        assert value("trace_wall_seconds", result=name) == result["wall_s"]
        assert value("trace_read_bytes", result=name) == result["bytes"]["read_bytes"]
        for call in result["syscalls"]:
            assert value("trace_calls", result=name, call=call["name"]) == call["count"]
            assert value("trace_call_seconds", result=name, call=call["name"]) == call["time_s"]
        for file in result["files"][:20]:
            key = {"path": text(file), "device": file["device"], "inode": str(file["inode"])}
            key |= {"generation": str(file["generation"]), "result": name}
            assert value("trace_file_opens", **key) == file["opens"]
            assert value("trace_file_written_bytes", **key) == file["writes"]["bytes"]
        opens = [key for key in samples if key[0] == "iostrata_trace_file_opens"]
        assert len(opens) == min(20, len(result["files"]))
        # What was not seen has no sample.
        unseen = result["evidence"]["device"] is None
        assert unseen != any(key[0] == "iostrata_trace_device_requests" for key in samples)
    else:
        for experiment in result["experiments"]:
            for place, row in enumerate(experiment["rows"], 1):
                key = {name: str(text).lower() if isinstance(text, bool) else str(text)
                       for name, text in row["case"].items() if text is not None}
                key |= {"result": name, "experiment": experiment["id"], "row": str(place)}
                key |= {"target": row["target"]}
                if row["timing"]:
                    assert value("lab_median_seconds", **key) == row["timing"]["median_s"]
                assert value("lab_lost_events", **key) == row["evidence"]["lost_events"]
