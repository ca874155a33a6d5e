//! One file, from its first look to its row.

use std::os::unix::ffi::OsStrExt as _;
use std::path::PathBuf;

use iostrata_core::FileId;
use iostrata_core::bytes::hex_unless_text;
use iostrata_core::cache::{CacheFile, Hold, HoldKind, Outcome, Source};
use iostrata_tracer::identity::KernelFile;
use iostrata_tracer::page_cache::{
    Counted, FileSystems, LookedAt, NotTold, Regular, count, look_at,
};

/// A found file, and what is known of it so far.
#[derive(Debug)]
pub(in super::super) struct Entry {
    pub(super) path: PathBuf,
    pub(super) identity: KernelFile,
    pub(in super::super) row: CacheFile,
}

impl Entry {
    /// Counts resident bytes, with a map of at most `ranges`.
    pub(super) fn new(path: PathBuf, regular: &Regular, ranges: u64) -> Self {
        let bytes = path.as_os_str().as_bytes();
        let (major, minor) = FileId::device_numbers(regular.identity.device);
        let mut row = CacheFile {
            path: String::from_utf8_lossy(bytes).into_owned(),
            path_hex: hex_unless_text(bytes),
            device: format!("{major}:{minor}"),
            inode: regular.identity.inode,
            filesystem: regular.filesystem.clone(),
            size_bytes: regular.size_bytes,
            allocated_bytes: regular.allocated_bytes,
            source: Source::None,
            before: None,
            after: None,
            map: None,
            outcome: Outcome::Unknown,
            reasons: Vec::new(),
        };
        match count(regular, ranges) {
            Ok(counted) => {
                row.before = Some(counted.cached);
                row.outcome = Outcome::Shown;
                took(&mut row, counted);
            }
            Err(why) => not_told(&mut row, &why),
        }
        Self {
            path,
            identity: regular.identity,
            row,
        }
    }

    /// The same file again; `None`, with the reason in its row, when its path names another
    /// one by now or none.
    pub(super) fn open_again(&mut self, systems: &mut FileSystems) -> Option<Regular> {
        let why = match look_at(&self.path, true, systems) {
            Ok(LookedAt::Regular(regular)) if regular.identity == self.identity => {
                return Some(regular);
            }
            Ok(_) => "its path now names another file".to_owned(),
            Err(error) => format!("it no longer exists: {error}"),
        };
        self.row.outcome = Outcome::Unknown;
        self.row.reasons = vec![Hold::new(HoldKind::Changed, why)];
        None
    }

    pub(super) fn count_again(&mut self, regular: &Regular, ranges: u64) {
        match count(regular, ranges) {
            Ok(counted) => {
                self.row.after = Some(counted.cached);
                took(&mut self.row, counted);
            }
            Err(why) => {
                self.row.after = None;
                not_told(&mut self.row, &why);
            }
        }
    }

    pub(super) fn resident_bytes(&self) -> Option<u64> {
        self.row.now().map(|cached| cached.resident_bytes)
    }

    /// Records the outcome: `wanted` tells whether this many resident bytes are what was
    /// requested, `moved` whether they are closer to it than the first count.
    pub(super) fn judge(&mut self, wanted: impl Fn(u64) -> bool, moved: impl Fn(u64, u64) -> bool) {
        let counts = self.row.before.zip(self.row.after);
        self.row.outcome = match counts.map(|(a, b)| (a.resident_bytes, b.resident_bytes)) {
            None => Outcome::Unknown,
            Some((_, now)) if wanted(now) => Outcome::Done,
            Some((before, now)) if moved(before, now) => Outcome::Partly,
            Some(_) => Outcome::NotDone,
        };
    }
}

fn took(row: &mut CacheFile, counted: Counted) {
    row.size_bytes = counted.size_bytes;
    row.source = counted.source;
    row.map = counted.map;
}

fn not_told(row: &mut CacheFile, why: &NotTold) {
    row.source = Source::None;
    row.map = None;
    row.outcome = Outcome::Unknown;
    row.reasons = vec![Hold::new(HoldKind::NotTold, why.to_string())];
}
