//! The check at the end of a recording: compares the files in the log with the real ones.
//!
//! The log is read back and applied to a tree in memory; each reachable node is compared: kind,
//! length, permissions, the target of a link, the names in directories that the program created,
//! and all bytes in the log.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs::{self, File, Metadata};
use std::io::{self, BufReader};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{FileExt as _, MetadataExt as _};
use std::path::Path;

use iostrata_core::gap::{Countable, Difference, Gap, Missing, Reason};
use iostrata_core::op::FileId;
use iostrata_core::record::{
    Body, Change, Check, Contents, Entry, FileKind, Limits, Node, ReadError, Reader, Refused, Tree,
    Was,
};

use super::nodes::NAMED_ONLY;
use crate::foreign;

/// Differences that are reported individually.
const TOLD: usize = 10;

const READ_BYTES: usize = 256 << 10;

/// Compares a log with its files. Returns the outcome and the differences.
pub(super) fn check(log: &Path) -> (Check, Vec<Gap>) {
    match compare(log) {
        Ok(compared) => compared.finish(),
        Err(error) => {
            let because = Reason::ReadBack(error.to_string());
            let gap = Gap::new(Missing::LogCheck, because.clone());
            (Check::Skipped { because }, vec![gap])
        }
    }
}

#[derive(Default)]
struct Compared {
    nodes: u64,
    skipped: u64,
    differing: u64,
    gaps: Vec<Gap>,
}

impl Compared {
    fn differs(&mut self, path: &[u8], difference: Difference) {
        self.differing += 1;
        if self.gaps.len() < TOLD {
            let path = String::from_utf8_lossy(path).into_owned();
            let what = Missing::ChangedFile { path };
            self.gaps.push(Gap::new(what, Reason::Differs(difference)));
        }
    }

    fn finish(mut self) -> (Check, Vec<Gap>) {
        let told = self.gaps.len() as u64;
        let more = self.differing.saturating_sub(told);
        let more = Gap::counted(more, Countable::MoreChangedFiles, Reason::MoreDiffer);
        self.gaps.extend(more);
        let check = Check::Compared {
            nodes: self.nodes,
            differing: self.differing,
            skipped: self.skipped,
        };
        (check, self.gaps)
    }
}

fn compare(log: &Path) -> Result<Compared, ReadError> {
    // The payload comes from the program's own files, and is as long as these; the rest is bounded.
    let limits = Limits {
        expanded_bytes: u64::MAX,
        ..Limits::default()
    };
    let mut reader = Reader::within(BufReader::new(File::open(log)?), limits)?;
    let mut tree = Tree::within(limits);
    let mut whole = BTreeSet::new();
    let itself = fs::metadata(log)?;
    let mut compared = Compared::default();
    while let Some(entry) = reader.next_entry()? {
        if let Entry::Operation(operation) = entry {
            if let Change::Made {
                node,
                kind: FileKind::Directory,
                ..
            }
            | Change::Before {
                node,
                was: Was::Listed,
            } = operation.change
            {
                whole.insert(node);
            }
            match tree.apply(&operation) {
                Ok(()) => {}
                Err(Refused::Impossible(impossible)) => {
                    let gap = Gap::new(Missing::Operation, Reason::Error(impossible.to_string()));
                    compared.gaps.push(gap);
                    compared.differing += 1;
                    return Ok(compared);
                }
                Err(Refused::Exceeded(exceeded)) => return Err(exceeded.into()),
            }
        }
    }
    let (misfits, first) = tree.misfits();
    if let Some(first) = first.first() {
        let why = Reason::Misfit(first.clone());
        let gap = Gap::counted(misfits, Countable::MisfitOperations, why);
        compared.gaps.extend(gap);
    }
    let mut waiting: Vec<(FileId, Vec<u8>)> = Vec::new();
    waiting.extend(tree.root().map(|root| (root, Vec::new())));
    let mut waiting_bytes = 0;
    while let Some((directory, path)) = waiting.pop() {
        waiting_bytes -= path.len() as u64;
        if !is_there(&tree, directory, &path) {
            compared.skipped += tree.entries(directory).count() as u64;
            continue;
        }
        if whole.contains(&directory) {
            names(&tree, directory, &path, &itself, &mut compared);
        }
        for (name, id) in tree.entries(directory) {
            let path = [&path, &b"/"[..], name].concat();
            let Some(node) = tree.node(id) else { continue };
            one(node, &path, &mut reader, &mut compared)?;
            if node.kind == FileKind::Directory {
                waiting_bytes += path.len() as u64;
                limits.check_memory(waiting_bytes)?;
                waiting.push((id, path));
            }
        }
    }
    Ok(compared)
}

fn real(path: &[u8]) -> &Path {
    Path::new(OsStr::from_bytes(if path.is_empty() { b"/" } else { path }))
}

/// Whether the directory is the one that the program saw: not hidden by a mount, and not in a
/// removed directory.
fn is_there(tree: &Tree, directory: FileId, path: &[u8]) -> bool {
    let is_known = tree.root() != Some(directory) && directory.device != NAMED_ONLY;
    fs::symlink_metadata(real(path))
        .is_ok_and(|is| is.is_dir() && (!is_known || is.ino() == directory.inode))
}

/// Checks that the log has all names in a directory that the program created or that was recorded
/// completely, except the name of the log itself.
fn names(tree: &Tree, directory: FileId, path: &[u8], itself: &Metadata, compared: &mut Compared) {
    let Ok(entries) = fs::read_dir(real(path)) else {
        return;
    };
    let known: BTreeSet<&[u8]> = tree.entries(directory).map(|(name, _)| name).collect();
    for entry in entries.flatten() {
        let name = entry.file_name();
        let is_itself = entry
            .metadata()
            .is_ok_and(|is| (is.dev(), is.ino()) == (itself.dev(), itself.ino()));
        if !known.contains(name.as_bytes()) && !is_itself {
            let path = [path, b"/", name.as_bytes()].concat();
            compared.differs(&path, Difference::NotInLog);
        }
    }
}

fn one(
    node: &Node,
    path: &[u8],
    reader: &mut Reader<BufReader<File>>,
    compared: &mut Compared,
) -> Result<(), ReadError> {
    let is = match fs::symlink_metadata(real(path)) {
        Ok(is) => is,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            compared.differs(path, Difference::Absent);
            return Ok(());
        }
        Err(_) => {
            compared.skipped += 1;
            return Ok(());
        }
    };
    match difference(node, path, &is, reader)? {
        Seen::Same => compared.nodes += 1,
        Seen::Unknown => compared.skipped += 1,
        Seen::Different(what) => {
            compared.nodes += 1;
            compared.differs(path, what);
        }
    }
    Ok(())
}

enum Seen {
    Same,
    Unknown,
    Different(Difference),
}

fn difference(
    node: &Node,
    path: &[u8],
    is: &Metadata,
    reader: &mut Reader<BufReader<File>>,
) -> Result<Seen, ReadError> {
    let kind = FileKind::from_mode(is.mode());
    if kind != node.kind {
        return Ok(Seen::Different(Difference::Kind {
            file: kind.as_str().to_owned(),
            log: node.kind.as_str().to_owned(),
        }));
    }
    let mode = is.mode() & 0o7777;
    if let Some(log) = node.attributes.mode.filter(|log| *log != mode) {
        return Ok(Seen::Different(Difference::Mode { file: mode, log }));
    }
    match &node.body {
        Body::File(contents) => file(contents, path, is, reader),
        Body::Symlink(Some(target)) => {
            let says = fs::read_link(real(path));
            Ok(match says {
                Ok(says) if says.as_os_str().as_bytes() == target => Seen::Same,
                Ok(_) => Seen::Different(Difference::Target),
                Err(_) => Seen::Unknown,
            })
        }
        Body::Symlink(None) => Ok(Seen::Unknown),
        Body::Directory(_) | Body::Special { .. } => Ok(Seen::Same),
    }
}

/// The length, and all bytes that the log has.
fn file(
    contents: &Contents,
    path: &[u8],
    is: &Metadata,
    reader: &mut Reader<BufReader<File>>,
) -> Result<Seen, ReadError> {
    let (log, real_bytes) = (contents.size_bytes(), is.len());
    if log != real_bytes {
        let file = real_bytes;
        return Ok(Seen::Different(Difference::Length { file, log }));
    }
    let Ok(handle) = foreign::open_itself(real(path)) else {
        return Ok(Seen::Unknown);
    };
    let mut hole = 0;
    for (offset, extent) in contents.extents() {
        if hole < offset && !is_zero(&handle, hole, offset) {
            return Ok(Seen::Different(Difference::NotZeroAt { byte: hole }));
        }
        hole = offset.saturating_add(extent.bytes);
    }
    if !is_zero(&handle, hole, log) {
        return Ok(Seen::Different(Difference::NotZeroAfter { byte: hole }));
    }
    let mut other = None;
    reader.contents(contents, |offset, bytes| {
        // One difference is enough to report.
        if other.is_none() {
            let mut there = vec![0; bytes.len()];
            let is_same = handle.read_exact_at(&mut there, offset).is_ok() && there == bytes;
            other = (!is_same).then(|| (offset, offset.saturating_add(bytes.len() as u64)));
        }
        Ok(())
    })?;
    Ok(other.map_or(Seen::Same, |(from, to)| {
        Seen::Different(Difference::Bytes { from, to })
    }))
}

/// Whether a range has only zeros; holes of the file are not read.
fn is_zero(handle: &File, from: u64, to: u64) -> bool {
    let mut at = from;
    let mut buffer = vec![0; READ_BYTES];
    while at < to {
        // ENXIO: no data after this offset (lseek(2)).
        let Ok(data) = rustix::fs::seek(handle, rustix::fs::SeekFrom::Data(at)) else {
            return true;
        };
        at = data.max(at);
        if at >= to {
            return true;
        }
        let wanted = usize::try_from(to - at)
            .unwrap_or(READ_BYTES)
            .min(READ_BYTES);
        match handle.read_at(&mut buffer[..wanted], at) {
            Ok(had @ 1..) if buffer[..had].iter().all(|byte| *byte == 0) => at += had as u64,
            _ => return false,
        }
    }
    true
}
