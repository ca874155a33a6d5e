//! How much of files is dirty: `/proc/meminfo`, `proc_meminfo(5)`.

use iostrata_core::top::Dirty;

/// At this moment; `None` where the kernel does not say.
pub(super) fn dirty() -> Option<Dirty> {
    parse(&std::fs::read_to_string("/proc/meminfo").ok()?)
}

fn parse(text: &str) -> Option<Dirty> {
    let bytes = |name: &str| {
        let mut lines = text.lines();
        let value = lines.find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?;
        let kibibytes: u64 = value.trim().strip_suffix(" kB")?.trim().parse().ok()?;
        kibibytes.checked_mul(1024)
    };
    Some(Dirty {
        waiting_bytes: bytes("Dirty")?,
        writeback_bytes: bytes("Writeback")?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_of_the_name_is_read_and_no_other() {
        let text =
            "Dirty:              20 kB\nWriteback:           8 kB\nWritebackTmp:        4 kB\n";
        let dirty = Dirty {
            waiting_bytes: 20_480,
            writeback_bytes: 8192,
        };
        assert_eq!(parse(text), Some(dirty));
        assert_eq!(parse("Dirty: 20 kB\n"), None);
        assert_eq!(parse("Dirty: many kB\nWriteback: 8 kB\n"), None);
    }
}
