//! Threads grouped by process.

use super::TaskRow;

/// One row for each process, most time first: sums over its threads, from the start of the first to
/// the end of the last. The thread id is the process's, the name that of its first thread.
///
/// Ids are reused: a first thread that began after the end of the previous one with the same id is
/// another process. A thread that executed a program under that id began before.
pub fn by_process(threads: &[TaskRow]) -> Vec<TaskRow> {
    let mut order: Vec<&TaskRow> = threads.iter().collect();
    order.sort_by(|one, other| {
        let key = |task: &TaskRow| (task.process, task.thread != task.process);
        let by_start = one.started_s.total_cmp(&other.started_s);
        key(one).cmp(&key(other)).then(by_start)
    });
    let mut rows: Vec<TaskRow> = Vec::new();
    for lives in order.chunk_by(|one, next| one.process == next.process) {
        let begin = rows.len();
        for &thread in lives {
            let of_number = rows.get_mut(begin..).unwrap_or_default();
            let life = if thread.thread == thread.process {
                // Those of first threads come in the order of their starts.
                let last = of_number.last_mut();
                last.filter(|last| {
                    last.ended_s
                        .is_none_or(|ended_s| thread.started_s < ended_s)
                })
            } else {
                let began = of_number.partition_point(|life| life.started_s <= thread.started_s);
                of_number.get_mut(began.saturating_sub(1))
            };
            match life {
                Some(process) => add(process, thread),
                None => rows.push(TaskRow {
                    thread: thread.process,
                    ..thread.clone()
                }),
            }
        }
    }
    rows.sort_by(|one, other| other.time_s.total_cmp(&one.time_s));
    rows
}

fn add(process: &mut TaskRow, thread: &TaskRow) {
    // The first thread has the process's id and name.
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

/// The sum is unknown if a part is unknown.
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
    fn a_number_that_is_used_again_is_another_process() {
        let life = |thread, started_s, ended_s, calls| TaskRow {
            started_s,
            ended_s,
            calls,
            ..self::thread(7, thread, "x", started_s)
        };
        let rows = by_process(&[
            life(9, 12.0, Some(20.0), 4),
            life(7, 10.0, None, 2),
            life(7, 0.0, Some(10.0), 1),
            life(8, 3.0, Some(5.0), 8),
        ]);
        let calls: Vec<u64> = rows.iter().map(|row| row.calls).collect();
        assert_eq!(calls, [6, 9]);
        // A thread executed a program, and has had the id of the first since then.
        let executed = [life(7, 0.0, Some(10.0), 1), life(7, 3.0, Some(30.0), 2)];
        let executed = by_process(&executed);
        assert_eq!(executed.len(), 1);
        assert_eq!((executed[0].calls, executed[0].ended_s), (3, Some(30.0)));
        // Threads without the first, which was not observed.
        assert_eq!(
            by_process(&[life(9, 0.0, None, 1), life(8, 1.0, None, 1)]).len(),
            1
        );
    }

    #[test]
    fn what_goes_on_has_no_end() {
        let mut threads = [thread(7, 7, "main", 1.0), thread(7, 9, "worker", 1.0)];
        threads[1].ended_s = None;
        assert_eq!(by_process(&threads)[0].ended_s, None);
    }
}
