//! Whether the contents of a file are, or come from, those of another one that is still there.

use super::calls::{has, is_stored};
use super::fault::name_of;
use crate::trace::{FileHistory, FileRow, TraceResult};

/// Where programs, libraries and their settings are (hier(7)).
const OF_PROGRAMS: &[&str] = &["/usr/", "/lib", "/bin/", "/sbin/", "/etc/", "/opt/"];

/// Whether the run read the file to its end, or may have, through a mapping.
pub(super) fn was_read(file: &FileRow) -> bool {
    let bytes = file.size_before_bytes;
    bytes > 0 && (file.reads.bytes >= bytes || has(file, "mmap"))
}

/// Whether as many bytes were written to the file as another one has that the run read to its end
/// and left alone: who loses the copy copies once more.
pub(super) fn is_copy(run: &TraceResult, file: &FileRow) -> bool {
    let Some(history) = &file.history else {
        return false;
    };
    let bytes = history.written_bytes;
    let is_original = |other: &&FileRow| other.size_before_bytes == bytes;
    bytes > 0 && sources(run, file).any(|other| is_original(&other))
}

/// Whether the run read any data to its end that it left alone: what it made of that can be made
/// again, as an archive can be unpacked again.
pub(super) fn is_derived(run: &TraceResult, file: &FileRow) -> bool {
    sources(run, file).any(|other| {
        !OF_PROGRAMS
            .iter()
            .any(|place| other.path.starts_with(place))
    })
}

/// Files that the run read to their end, and left as they are.
fn sources<'a>(run: &'a TraceResult, file: &'a FileRow) -> impl Iterator<Item = &'a FileRow> {
    let is_left_alone = |history: &FileHistory| {
        !history.created && !history.unlinked && !history.removed.is_any() && history.writes == 0
    };
    run.files
        .iter()
        .filter(|other| is_stored(other) && was_read(other) && name_of(other) != name_of(file))
        .filter(move |other| other.history.as_deref().is_none_or(is_left_alone))
}

#[cfg(test)]
mod tests {
    use super::super::fixture::{changed, file, run};
    use super::*;

    fn read(path: &str) -> FileRow {
        let mut read = file(path);
        read.size_before_bytes = 300;
        read.reads.bytes = 300;
        read
    }

    fn written(bytes: u64) -> FileRow {
        let history = FileHistory {
            created: true,
            writes: 1,
            written_bytes: bytes,
            ..FileHistory::default()
        };
        changed("/data/new", history)
    }

    #[test]
    fn a_copy_is_as_long_as_what_was_read_and_is_left() {
        let is = |bytes, source: FileRow| {
            let new = written(bytes);
            let run = run(vec![source]);
            (is_copy(&run, &new), is_derived(&run, &new))
        };
        assert_eq!(is(300, read("/data/old")), (true, true));
        assert_eq!(is(200, read("/data/old")), (false, true));
        assert_eq!(is(200, read("/usr/lib/x.so")), (false, false));
        let mut half = read("/data/old");
        half.reads.bytes = 100;
        assert_eq!(is(300, half), (false, false));
        let mut gone = read("/data/old");
        gone.history = Some(Box::new(FileHistory {
            unlinked: true,
            ..FileHistory::default()
        }));
        assert_eq!(is(300, gone), (false, false));
    }
}
