//! Addresses of the completion functions that show why a bio was created.

use std::fs::File;
use std::io::{BufRead, BufReader};

use super::lookup;
use super::wire::END_IOS;

/// Kernel functions, in the order of `enum end_io` in `bpf/wire.h`.
const WANTED: [&str; END_IOS] = [
    "journal_end_buffer_io_sync", // fs/jbd2/commit.c
    "ext4_end_buffer_io_sync",    // fs/ext4/fast_commit.c
    "end_bio_bh_io_sync",         // fs/buffer.c
    "bio_chain_endio",            // block/bio.c
    "xlog_bio_end_io",            // fs/xfs/xfs_log.c
    "xfs_buf_bio_end_io",         // fs/xfs/xfs_buf.c
    "btrfs_end_super_write",      // fs/btrfs/disk-io.c
    "iomap_dio_bio_end_io",       // fs/iomap/direct-io.c
];

/// Whether any address is known: the kernel hides all or none.
pub(super) fn known(addresses: &[u64; END_IOS]) -> bool {
    addresses.iter().any(|address| *address != 0)
}

/// Addresses, 0 where unknown. Without `CAP_SYSLOG` the kernel hides them all; a file system that
/// is not loaded has none.
pub(super) fn read() -> [u64; END_IOS] {
    lookup::addresses(&WANTED).unwrap_or_else(|_not_offered| listed())
}

/// The addresses in `/proc/kallsyms`.
fn listed() -> [u64; END_IOS] {
    File::open("/proc/kallsyms").map_or([0; END_IOS], |file| parse(BufReader::new(file)))
}

pub(crate) fn parse(mut lines: impl BufRead) -> [u64; END_IOS] {
    let mut found = [0; END_IOS];
    let mut left = WANTED.len();
    let mut line = Vec::with_capacity(128);
    while left > 0 {
        line.clear();
        match lines.read_until(b'\n', &mut line) {
            Ok(0) | Err(_) => break,
            Ok(_) => {}
        }
        if let Some((which, address)) = wanted(&line) {
            found[which] = address;
            left -= 1;
        }
    }
    found
}

/// Index and address, if the line is one of the functions:
/// `ffffffff8171b710 t end_bio_bh_io_sync [module]`.
fn wanted(line: &[u8]) -> Option<(usize, u64)> {
    let mut fields = std::str::from_utf8(line).ok()?.split_ascii_whitespace();
    let (address, kind, symbol) = (fields.next()?, fields.next()?, fields.next()?);
    let which = WANTED.iter().position(|name| *name == symbol)?;
    let is_function = kind.eq_ignore_ascii_case("t");
    Some((which, u64::from_str_radix(address, 16).ok()?)).filter(|_| is_function)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn takes_functions_of_kernel_and_modules() {
        let text = b"ffffffff8171b710 t end_bio_bh_io_sync\n\
                     ffffffff81000000 d bio_chain_endio\n\
                     ffffffffc0000010 t xlog_bio_end_io\t[xfs]\n";
        let addresses = parse(&text[..]);
        assert_eq!(addresses[2], 0xffff_ffff_8171_b710);
        assert_eq!(addresses[4], 0xffff_ffff_c000_0010);
        assert_eq!(
            addresses[3], 0,
            "a data symbol of that name is not the function"
        );
        assert!(known(&addresses));
    }

    #[test]
    fn the_kernels_look_up_agrees_with_its_list() {
        let found = lookup::addresses(&WANTED).unwrap();
        assert_eq!(found, listed());
        assert!(known(&found));
    }

    #[test]
    fn hidden_addresses_are_unknown() {
        assert!(!known(&parse(
            &b"0000000000000000 t end_bio_bh_io_sync\n"[..]
        )));
    }
}
