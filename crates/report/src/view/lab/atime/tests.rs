//! The page of a small result, as it was saved.

use iostrata_core::lab::LabResult;
use serde_json::{Value, json};
use textwrap::core::display_width;

use crate::terminal::Style;
use crate::view::lab::drawn::draw;

fn touch(operation: &str, filesystem: &str, cells: [(&str, bool, bool); 2]) -> Vec<Value> {
    let row = |(mount, due, fresh): (&str, bool, bool)| {
        let directory = (operation == "find").then(|| json!({"due": due, "fresh": fresh}));
        let own = operation != "find";
        json!({
            "case": {"operation": operation, "mount": mount, "filesystem": filesystem},
            "target": filesystem, "timing": null, "evidence": evidence(None),
            "interference": {"steal_s": null, "other_cpu_s": null, "other_requests": null},
            "notes": [], "subject": "file",
            "atime_changed": own && due, "atime_changed_when_fresh": own && fresh,
            "directory": directory,
        })
    };
    cells.map(row).to_vec()
}

fn evidence(sectors: Option<u64>) -> Value {
    let none = json!({"count": 0, "bytes": 0, "time_s": 0.0});
    let device = |bytes: u64| {
        let metadata = json!({"count": 1, "bytes": bytes, "time_s": 0.0});
        json!({"reads": none, "data": none, "journal": none, "commit": none,
               "metadata": metadata, "unknown": none, "flushes": 0, "flush_time_s": 0.0,
               "discards": 0})
    };
    json!({
        "syscalls": {}, "cache": {"lookups_pages": null, "missed_pages": null,
            "prefetched_pages": null, "dirtied_bytes": null, "resident_before_bytes": null,
            "resident_after_bytes": null},
        "device": sectors.map(|count| device(count * 512)),
        "device_after_exit": sectors.map(|_| device(0)),
        "faults": {"minor": 1, "major": 0}, "on_cpu_s": 0.01, "blocked_s": 0.0, "lost_events": 0,
    })
}

fn looped(files: &str, reading: &str, mount: &str, mean_s: f64, sectors: Option<u64>) -> Value {
    let timing = json!({"samples_s": [mean_s, mean_s], "median_s": mean_s, "low_s": mean_s,
        "high_s": mean_s, "user_s": 0.001, "system_s": 0.01});
    json!({
        "case": {"loop": files, "reading": reading, "mount": mount, "filesystem": "ext4",
                 "reads": 5000, "size_bytes": 4096},
        "target": "ext4", "timing": timing, "evidence": evidence(sectors),
        "interference": {"steal_s": 0.0, "other_cpu_s": 0.0, "other_requests": 0},
        "notes": [], "with_sync": timing, "sectors": sectors,
        "spread": {"mean_s": mean_s, "standard_deviation_s": mean_s / 20.0,
                   "standard_deviation_percent": 5.0},
    })
}

fn result() -> LabResult {
    let mut rows = Vec::new();
    for filesystem in ["ext4", "xfs"] {
        let moved = [("relatime", true, false), ("noatime", false, false)];
        let never = [("relatime", false, false), ("noatime", false, false)];
        rows.extend(touch("stat", filesystem, never));
        rows.extend(touch("read", filesystem, moved));
        rows.extend(touch(
            "cp",
            filesystem,
            if filesystem == "xfs" { never } else { moved },
        ));
        rows.extend(touch("find", filesystem, moved));
    }
    rows.push(looped("one_file", "first", "relatime", 0.0201, Some(32)));
    rows.push(looped("one_file", "first", "noatime", 0.02, Some(0)));
    rows.push(looped("many_files", "first", "relatime", 0.025, Some(5048)));
    rows.push(looped("many_files", "first", "noatime", 0.015, None));
    let saving = |percent: f64| json!({"percent": percent, "low_percent": percent - 2.0, "high_percent": percent + 2.0});
    let comparison = |files: &str, percent: f64, rows: [usize; 2]| {
        json!({"filesystem": "ext4", "target": "ext4", "loop": files, "reading": "first",
               "mount": "relatime", "timing": saving(percent), "with_sync": saving(percent),
               "rows": rows})
    };
    let probe = |probe: &str, moved: bool| json!({"filesystem": "ext4", "probe": probe, "atime_changed": moved});
    let storage = |name: &str| {
        json!({"name": name, "image": true, "path": "/m", "filesystem": name,
               "mount_options": "rw", "journal": true, "devices": []})
    };
    let target = json!({"path": "/m", "filesystem": "ext4", "mount_options": "rw", "journal": true, "devices": []});
    let value = json!({
        "schema": "iostrata.lab/1",
        "environment": {"kernel": "6.18.0", "cpus": 2, "memory_bytes": 8_589_934_592_u64,
            "virtualization": null, "target": target, "backend": "ebpf", "iostrata_version": "0", "machine": ""},
        "experiments": [{
            "id": "atime", "question": "who moves it?",
            "targets": [storage("ext4"), storage("xfs")],
            "rows": rows,
            "relatime": [probe("before_mtime", true), probe("day_old", true), probe("not_day_old", false)],
            "comparisons": [comparison("one_file", 0.5, [17, 18]), comparison("many_files", 40.0, [19, 20])],
            "answers": [{"claim": "find reads only metadata", "verdict": "holds", "because": "not by find", "rows": []}],
            "caveats": ["no seeks"],
            "missing": [{"what": "git_status on ext4", "why": "not installed: no git in PATH", "code": {
                "what": {"on_target": {"what": {"case": "git_status"}, "target": "ext4"}},
                "why": {"not_installed": "git"},
            }}],
            "method": {"timing_runs": [2, 2], "warm_up_runs": 4, "interrupted": false, "planned_rows": 20},
        }],
    });
    serde_json::from_value(value).unwrap()
}

#[test]
fn the_page_at_100_columns() {
    insta::assert_snapshot!(draw(&result(), 100, Style::default()));
}

#[test]
fn lines_fit_and_what_has_no_room_is_said() {
    for width in [80, 81, 100, 120, 200] {
        let page = draw(&result(), width, Style::default());
        for line in page.lines() {
            assert!(display_width(line) <= width, "{width}: {line:?}");
        }
        assert_eq!(page.contains("hidden at"), width < 120, "{width}: {page}");
    }
}

#[test]
fn file_systems_that_differ_have_lines_of_their_own() {
    let page = draw(&result(), 120, Style::default());
    let lines: Vec<&str> = page
        .lines()
        .filter(|line| line.starts_with("  cp "))
        .collect();
    assert_eq!(lines.len(), 2, "{page}");
    assert!(
        lines[0].contains("ext4") && lines[0].contains("due"),
        "{page}"
    );
    assert!(
        lines[1].contains("xfs") && !lines[1].contains("due"),
        "{page}"
    );
    let directory = page
        .lines()
        .find(|line| line.contains("find") && line.contains("directory"));
    assert!(directory.unwrap().contains("all"), "{page}");
}
