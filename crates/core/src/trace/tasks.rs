//! Threads drawn together to processes.

use std::collections::BTreeMap;

use super::TaskRow;

/// One row for each process, most time first: sums over its threads, from the start of the
/// first to the end of the last. The thread number is the process's, the name that of its
/// first thread.
pub fn by_process(threads: &[TaskRow]) -> Vec<TaskRow> {
    let mut processes: BTreeMap<u32, TaskRow> = BTreeMap::new();
    for thread in threads {
        let known = processes.get_mut(&thread.process);
        if let Some(process) = known {
            add(process, thread);
        } else {
            let mut first = thread.clone();
            first.thread = first.process;
            processes.insert(thread.process, first);
        }
    }
    let mut rows: Vec<TaskRow> = processes.into_values().collect();
    rows.sort_by(|one, other| other.time_s.total_cmp(&one.time_s));
    rows
}

fn add(process: &mut TaskRow, thread: &TaskRow) {
    // The first thread has the process's number and its name.
    if thread.thread == thread.process {
        process.name.clone_from(&thread.name);
        process.parent = thread.parent;
    }
    process.started_s = process.started_s.min(thread.started_s);
    process.ended_s = process
        .ended_s
        .zip(thread.ended_s)
        .map(|(one, other)| one.max(other));
    process.on_cpu_s = sum(process.on_cpu_s, thread.on_cpu_s);
    process.calls = process.calls.saturating_add(thread.calls);
    process.time_s += thread.time_s;
    process.blocked_s = sum(process.blocked_s, thread.blocked_s);
    process.read_bytes = process.read_bytes.saturating_add(thread.read_bytes);
    process.written_bytes = process.written_bytes.saturating_add(thread.written_bytes);
}

/// Of a part that is unknown the whole is unknown.
fn sum(one: Option<f64>, other: Option<f64>) -> Option<f64> {
    one.zip(other).map(|(one, other)| one + other)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn thread(process: u32, thread: u32, name: &str, time_s: f64) -> TaskRow {
        TaskRow {
            thread,
            process,
            parent: 1,
            name: name.to_owned(),
            started_s: f64::from(thread),
            ended_s: Some(f64::from(thread) + 10.0),
            on_cpu_s: Some(0.5),
            calls: 2,
            time_s,
            blocked_s: None,
            read_bytes: 3,
            written_bytes: u64::MAX,
        }
    }

    #[test]
    fn threads_add_up() {
        let threads = [
            thread(7, 9, "worker", 1.0),
            thread(7, 7, "main", 0.5),
            thread(8, 8, "other", 2.0),
        ];
        let rows = by_process(&threads);
        assert_eq!(rows.len(), 2);
        assert_eq!((rows[0].process, rows[0].calls), (8, 2));
        let summed = &rows[1];
        assert_eq!((summed.thread, summed.name.as_str()), (7, "main"));
        assert_eq!((summed.calls, summed.read_bytes), (4, 6));
        assert_eq!(summed.written_bytes, u64::MAX);
        assert_eq!((summed.started_s, summed.ended_s), (7.0, Some(19.0)));
        assert_eq!((summed.on_cpu_s, summed.blocked_s), (Some(1.0), None));
        assert!((summed.time_s - 1.5).abs() < 1e-9);
    }

    #[test]
    fn what_goes_on_has_no_end() {
        let mut threads = [thread(7, 7, "main", 1.0), thread(7, 9, "worker", 1.0)];
        threads[1].ended_s = None;
        assert_eq!(by_process(&threads)[0].ended_s, None);
    }
}
