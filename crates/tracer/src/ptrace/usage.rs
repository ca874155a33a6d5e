//! The resource usage of a thread and the bytes moved by its process, as `/proc` reports them.

use iostrata_core::trace::tally::Used;

use super::request::Tid;

/// CPU time and faults of a thread so far. `PTRACE_EVENT_EXIT` is the last moment to read them.
pub(super) fn of(process: u32, thread: Tid) -> Option<Used> {
    let directory = format!("/proc/{process}/task/{thread}");
    let stat = std::fs::read(format!("{directory}/stat")).ok()?;
    let mut used = parse_stat(&stat)?;
    let times = std::fs::read_to_string(format!("{directory}/schedstat")).ok();
    // Without CONFIG_SCHED_INFO this file does not exist; the time is then in ticks.
    let on_cpu_ns = times.and_then(|times| times.split(' ').next()?.parse().ok());
    if let Some(on_cpu_ns) = on_cpu_ns {
        used.on_cpu_ns = on_cpu_ns;
    }
    Some(used)
}

/// `used` minus the usage `before`.
pub(super) fn since(used: Used, before: &Used) -> Used {
    Used {
        on_cpu_ns: used.on_cpu_ns.saturating_sub(before.on_cpu_ns),
        minor_faults: used.minor_faults.saturating_sub(before.minor_faults),
        major_faults: used.major_faults.saturating_sub(before.major_faults),
        name: used.name,
    }
}

/// From `proc_pid_stat(5)`: the name is in parentheses and may hold any byte.
pub(super) fn parse_stat(stat: &[u8]) -> Option<Used> {
    let open = stat.iter().position(|byte| *byte == b'(')?;
    let close = stat.iter().rposition(|byte| *byte == b')')?;
    let rest = std::str::from_utf8(stat.get(close + 2..)?).ok()?;
    let mut fields = rest.split(' ');
    // Field 3 follows the name.
    let mut field = |skipped: usize| fields.nth(skipped)?.trim().parse::<u64>().ok();
    let minor_faults = field(7)?;
    let major_faults = field(1)?;
    let ticks = field(1)?.saturating_add(field(0)?);
    let tick_ns = 1_000_000_000 / crate::kernel::clock_ticks_per_second().max(1);
    Some(Used {
        name: stat.get(open + 1..close)?.to_vec(),
        on_cpu_ns: ticks.saturating_mul(tick_ns),
        minor_faults,
        major_faults,
    })
}

/// Whether a thread sleeps interruptibly (`S` in `proc_pid_stat(5)`).
pub(super) fn is_asleep(thread: Tid) -> bool {
    let stat = std::fs::read(format!("/proc/{thread}/stat")).unwrap_or_default();
    let end = stat.iter().rposition(|byte| *byte == b')');
    end.is_some_and(|end| stat.get(end + 2) == Some(&b'S'))
}

/// Thread group and parent of a thread, from `/proc/PID/status`.
pub(super) fn family(thread: Tid) -> Option<(u32, u32)> {
    let status = std::fs::read(format!("/proc/{thread}/status")).ok()?;
    Some((number(&status, b"Tgid:")?, number(&status, b"PPid:")?))
}

/// Whether the process and programs that it executes can gain no privileges.
pub(super) fn has_no_new_privileges(process: u32) -> bool {
    let status = std::fs::read(format!("/proc/{process}/status"));
    status.is_ok_and(|status| number(&status, b"NoNewPrivs:") == Some(1_u32))
}

/// Who traces this thread.
pub(super) fn tracer() -> Option<u32> {
    let status = std::fs::read("/proc/thread-self/status").ok()?;
    number(&status, b"TracerPid:").filter(|tracer| *tracer > 0)
}

/// The number after its name in a file of lines `name: number` or `name: number kB`.
pub(super) fn number<T: std::str::FromStr>(text: &[u8], name: &[u8]) -> Option<T> {
    let mut lines = text.split(|byte| *byte == b'\n');
    let value = lines.find_map(|line| line.strip_prefix(name))?;
    let value = value.trim_ascii();
    let value = value.strip_suffix(b" kB").unwrap_or(value);
    std::str::from_utf8(value).ok()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_may_hold_anything() {
        let stat = b"7 (a) R 1) S 1 7 7 0 -1 4194304 21 2 3 4 50 6 7 8 20 0 1 0 900\n";
        let used = parse_stat(stat).unwrap();
        assert_eq!(used.name, b"a) R 1");
        assert_eq!((used.minor_faults, used.major_faults), (21, 3));
        let tick_ns = 1_000_000_000 / crate::kernel::clock_ticks_per_second();
        assert_eq!(used.on_cpu_ns, 56 * tick_ns);
        assert_eq!(parse_stat(b"7 (a"), None);
    }

    #[test]
    fn threads_have_a_process_and_a_parent() {
        let me = std::process::id();
        let parent = rustix::process::getppid().unwrap().as_raw_nonzero().get();
        let (process, its_parent) = family(me).unwrap();
        assert_eq!((process, i32::try_from(its_parent).unwrap()), (me, parent));
        let used = of(me, me).unwrap();
        assert!(!used.name.is_empty() && used.on_cpu_ns > 0);
        assert_eq!(number::<u64>(b"rchar: 5\nwchar: 12\n", b"wchar:"), Some(12));
    }
}
