//! The exact system calls that a case must make on its file.

use std::collections::BTreeMap;

use iostrata_core::buffering::{APPLICATION_BUFFER_BYTES, Case, GROUP_WRITES, Mode};

/// Most bytes of one `write`: `MAX_RW_COUNT` in include/linux/fs.h, for pages of 4 KiB.
const MAX_WRITE_BYTES: u64 = 0x7fff_f000;

/// Number of calls, and the bytes they return.
pub type Calls = (u64, u64);

/// The calls of a case on its file, by name, computed from its parameters alone.
///
/// A buffer of `B` bytes takes `k = B / size` records and is written when the
/// next does not fit, so `n` records between two flushes make `n / k` writes,
/// rounded up. A record that is not smaller than the buffer bypasses it.
pub fn expected_calls(case: &Case) -> BTreeMap<&'static str, Calls> {
    let Case {
        mode,
        size_bytes: size,
        count,
    } = *case;
    let bytes = size * count;
    let each = count * size.div_ceil(MAX_WRITE_BYTES);
    let (writes, sync) = match mode {
        Mode::Buffered => (buffered_writes(count, size), None),
        Mode::Flush | Mode::OSync | Mode::ODsync | Mode::RwfDsync => (each, None),
        Mode::Fsync => (each, Some(("fsync", count))),
        Mode::Fdatasync => (each, Some(("fdatasync", count))),
        Mode::SyncFileRange => (each, Some(("sync_file_range", count))),
        Mode::FinalFsync => (buffered_writes(count, size), Some(("fsync", 1))),
        Mode::GroupFsync => {
            let (groups, rest) = (count / GROUP_WRITES, count % GROUP_WRITES);
            let writes = groups * buffered_writes(GROUP_WRITES, size) + buffered_writes(rest, size);
            (writes, Some(("fsync", count.div_ceil(GROUP_WRITES))))
        }
    };
    let write = if mode == Mode::RwfDsync {
        "pwritev2"
    } else {
        "write"
    };
    let mut calls = BTreeMap::from([(write, (writes, bytes))]);
    calls.extend(sync.map(|(name, count)| (name, (count, 0))));
    calls
}

fn buffered_writes(count: u64, size: u64) -> u64 {
    if size < APPLICATION_BUFFER_BYTES {
        count.div_ceil(APPLICATION_BUFFER_BYTES / size)
    } else {
        count * size.div_ceil(MAX_WRITE_BYTES)
    }
}

#[cfg(test)]
mod tests {
    use std::io::{self, BufWriter, Write};

    use super::*;

    /// Sizes on both sides of every boundary of the buffer, and larger ones.
    const SIZES: [u64; 14] = [
        1, 2, 3, 100, 1000, 1024, 4095, 4096, 4097, 8191, 8192, 8193, 20_000, 100_000,
    ];
    const COUNTS: [u64; 12] = [1, 2, 3, 8, 9, 99, 100, 101, 200, 250, 8192, 8193];

    /// Counts the writes that reach the file.
    #[derive(Default)]
    struct Counting(Calls);

    impl Write for Counting {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.0 += 1;
            self.0.1 += bytes.len() as u64;
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    /// The buffer's rule, record by record.
    #[derive(Default)]
    struct Simulated {
        held: u64,
        seen: Calls,
    }

    impl Simulated {
        fn put(&mut self, size: u64) {
            if self.held + size > APPLICATION_BUFFER_BYTES {
                self.flush();
            }
            self.held += size;
            if size >= APPLICATION_BUFFER_BYTES {
                self.flush();
            }
        }

        fn flush(&mut self) {
            if self.held > 0 {
                self.seen = (self.seen.0 + 1, self.seen.1 + self.held);
                self.held = 0;
            }
        }
    }

    fn group_of(mode: Mode) -> u64 {
        if mode == Mode::GroupFsync {
            GROUP_WRITES
        } else {
            u64::MAX
        }
    }

    fn cases() -> impl Iterator<Item = Case> {
        [Mode::Buffered, Mode::FinalFsync, Mode::GroupFsync]
            .into_iter()
            .flat_map(|mode| {
                SIZES.into_iter().flat_map(move |size_bytes| {
                    COUNTS.into_iter().map(move |count| Case {
                        mode,
                        size_bytes,
                        count,
                    })
                })
            })
    }

    #[test]
    fn agrees_with_a_buffer_simulated_record_by_record() {
        for case in cases() {
            let mut buffer = Simulated::default();
            for number in 1..=case.count {
                buffer.put(case.size_bytes);
                if number % group_of(case.mode) == 0 {
                    buffer.flush();
                }
            }
            buffer.flush();
            assert_eq!(expected_calls(&case)["write"], buffer.seen, "{case:?}");
        }
    }

    #[test]
    fn agrees_with_the_standard_buffer() {
        let capacity = usize::try_from(APPLICATION_BUFFER_BYTES).unwrap();
        for case in cases().filter(|case| case.size_bytes * case.count < 30_000_000) {
            let mut buffer = BufWriter::with_capacity(capacity, Counting::default());
            let record = vec![7; usize::try_from(case.size_bytes).unwrap()];
            for number in 1..=case.count {
                buffer.write_all(&record).unwrap();
                if number % group_of(case.mode) == 0 {
                    buffer.flush().unwrap();
                }
            }
            buffer.flush().unwrap();
            assert_eq!(
                expected_calls(&case)["write"],
                buffer.get_ref().0,
                "{case:?}"
            );
        }
    }

    #[test]
    fn the_articles_cases() {
        let calls = |mode, size_bytes| {
            expected_calls(&Case {
                mode,
                size_bytes,
                count: 10_000,
            })
            .into_iter()
            .collect::<Vec<_>>()
        };
        assert_eq!(calls(Mode::Buffered, 1), [("write", (2, 10_000))]);
        assert_eq!(calls(Mode::Flush, 1), [("write", (10_000, 10_000))]);
        assert_eq!(
            calls(Mode::Fsync, 1),
            [("fsync", (10_000, 0)), ("write", (10_000, 10_000))]
        );
        assert_eq!(
            calls(Mode::GroupFsync, 1),
            [("fsync", (100, 0)), ("write", (100, 10_000))]
        );
        assert_eq!(
            calls(Mode::Buffered, 100_000),
            [("write", (10_000, 1_000_000_000))]
        );
    }

    #[test]
    fn a_record_above_the_kernels_limit_takes_two_calls() {
        let case = Case {
            mode: Mode::RwfDsync,
            size_bytes: 3 << 30,
            count: 2,
        };
        assert_eq!(expected_calls(&case)["pwritev2"], (4, 6 << 30));
    }
}
