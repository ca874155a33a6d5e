//! Numbers of the system, by the C library.
//!
//! Not by `rustix::param`: that reads /proc/self/auxv before Linux 6.4, which a program file with capabilities may not
//! when a user runs it, and panics.

pub fn page_size() -> usize {
    usize::try_from(sysconf(libc::_SC_PAGESIZE)).unwrap_or(4096)
}

/// In which `/proc/PID/stat` counts time.
pub fn clock_ticks_per_second() -> u64 {
    u64::try_from(sysconf(libc::_SC_CLK_TCK)).unwrap_or(100)
}

fn sysconf(name: libc::c_int) -> libc::c_long {
    // SAFETY: the call takes an integer, and changes no memory.
    unsafe { libc::sysconf(name) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The kernel tells every program both (`getauxval(3)`: `AT_PAGESZ`, `AT_CLKTCK`).
    #[test]
    fn they_are_what_the_kernel_says() {
        let auxv = std::fs::read("/proc/self/auxv").unwrap();
        let entry = |kind: u64| {
            let mut words = auxv.chunks_exact(16).map(|entry| {
                let (kind, value) = entry.split_at(8);
                let word = |bytes: &[u8]| u64::from_ne_bytes(bytes.try_into().unwrap());
                (word(kind), word(value))
            });
            words.find(|(one, _)| *one == kind).unwrap().1
        };
        assert_eq!(page_size() as u64, entry(6));
        assert_eq!(clock_ticks_per_second(), entry(17));
    }
}
