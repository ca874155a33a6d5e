//! Formats of files that are repaired when their library opens them.

/// Whose library repairs a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// A database of `SQLite`.
    Sqlite,
    Lmdb,
}

/// sqlite.org/fileformat.html, 1.3.1
const SQLITE: &[u8] = b"SQLite format 3\0";

/// `MDB_MAGIC`, behind the header of the page (`struct MDB_meta`, `mdb.c`).
const LMDB: [u8; 4] = 0xBEEF_C0DE_u32.to_le_bytes();
const LMDB_AT: usize = 16;

impl Format {
    /// What tells the format, from the begin of a file, bytes.
    pub const HEAD_BYTES: u64 = 20;

    /// That of a file that begins like this.
    pub fn of(head: &[u8]) -> Option<Self> {
        if head.starts_with(SQLITE) {
            Some(Self::Sqlite)
        } else if head.get(LMDB_AT..LMDB_AT + LMDB.len()) == Some(&LMDB) {
            Some(Self::Lmdb)
        } else {
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_told_by_its_begin() {
        assert_eq!(
            Format::of(b"SQLite format 3\0\x10\0\x02\x02"),
            Some(Format::Sqlite)
        );
        assert_eq!(Format::of(b"SQLite format 3"), None);
        let mut page = [0; 4096];
        page[16..20].copy_from_slice(&[0xDE, 0xC0, 0xEF, 0xBE]);
        assert_eq!(Format::of(&page), Some(Format::Lmdb));
        assert_eq!(Format::of(&page[..20]), Some(Format::Lmdb));
        assert_eq!(Format::of(&page[..19]), None);
        assert_eq!(Format::of(b""), None);
    }
}
