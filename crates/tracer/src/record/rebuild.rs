//! Rebuilds files from a log.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::ffi::OsStr;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{FileExt as _, symlink};
use std::path::{Path, PathBuf};

use iostrata_core::op::FileId;
use iostrata_core::record::{
    Change, Completeness, Entry as Next, Names, Node, Operation, Payload, Reader,
};

use super::RecordError;

/// Files that are kept open; beyond, all are closed and opened again when needed.
const OPEN: usize = 256;

/// Where contents wait until their names are known, in the directory that is rebuilt.
const WAITING: &str = ".contents";

/// What was rebuilt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rebuilt {
    /// Names of files.
    pub files: u64,
    /// Bytes that the log does not have; they are zero.
    pub unknown_bytes: u64,
    /// Files that were there before and whose earlier contents the log does not have:
    /// where the program did not write, they are zero.
    pub without_base: Vec<Vec<u8>>,
    /// Whether every change is in the log.
    pub completeness: Completeness,
}

/// Rebuilds the files of a log below `into`, each at its absolute path, as they were
/// after all operations. `into` must be empty.
///
/// # Errors
/// When the log is not whole or the directory cannot be written to.
pub fn rebuild<R: Read + Seek>(log: R, into: &Path) -> Result<Rebuilt, RecordError> {
    let mut reader = Reader::new(log)?;
    let mut contents = Contents::new(into)?;
    let mut names = Names::default();
    let mut without_base = HashMap::new();
    while let Some(entry) = reader.next_entry()? {
        let Next::Operation(operation) = entry else {
            continue;
        };
        names.apply(&operation);
        if let Change::Found {
            file,
            path,
            size_bytes: 1..,
            contents: None,
        } = &operation.change
        {
            without_base.insert(*file, path.clone());
        }
        if let Change::Opened {
            file,
            truncated: true,
            ..
        } = &operation.change
            && operation.outcome.is_ok()
        {
            without_base.remove(file);
        }
        contents.apply(&operation, &mut reader)?;
    }
    let files = contents.place(&names)?;
    let mut without_base: Vec<_> = without_base.into_values().collect();
    without_base.sort();
    Ok(Rebuilt {
        files,
        unknown_bytes: contents.unknown_bytes,
        without_base,
        completeness: reader.completeness(),
    })
}

/// The contents of all files, by identity.
struct Contents<'a> {
    into: &'a Path,
    numbers: HashMap<FileId, usize>,
    open: HashMap<FileId, File>,
    unknown_bytes: u64,
}

impl<'a> Contents<'a> {
    fn new(into: &'a Path) -> Result<Self, RecordError> {
        let waiting = into.join(WAITING);
        fs::create_dir(&waiting).map_err(failed(&waiting))?;
        Ok(Self {
            into,
            numbers: HashMap::new(),
            open: HashMap::new(),
            unknown_bytes: 0,
        })
    }

    fn path(&self, number: usize) -> PathBuf {
        self.into.join(WAITING).join(number.to_string())
    }

    /// The open file, made when it is needed first.
    fn file(&mut self, file: FileId) -> io::Result<&File> {
        if self.open.len() >= OPEN && !self.open.contains_key(&file) {
            self.open.clear();
        }
        let next = self.numbers.len();
        let number = *self.numbers.entry(file).or_insert(next);
        let path = self.path(number);
        Ok(match self.open.entry(file) {
            Entry::Occupied(open) => open.into_mut(),
            Entry::Vacant(closed) => closed.insert(
                OpenOptions::new()
                    .create(true)
                    .truncate(false)
                    .write(true)
                    .open(path)?,
            ),
        })
    }

    fn apply<R: Read + Seek>(
        &mut self,
        operation: &Operation,
        reader: &mut Reader<R>,
    ) -> Result<(), RecordError> {
        if operation.outcome.is_err() {
            return Ok(());
        }
        match &operation.change {
            Change::Found {
                file,
                size_bytes,
                contents,
                ..
            } => {
                self.resize(*file, *size_bytes)?;
                if let Some(payload) = contents {
                    self.write(*file, 0, payload, reader)?;
                }
            }
            Change::Opened {
                file,
                created,
                truncated,
                ..
            } if *created || *truncated => self.resize(*file, 0)?,
            Change::Resized { file, bytes } => self.resize(*file, *bytes)?,
            Change::Wrote {
                file,
                offset,
                payload,
            }
            | Change::Stored {
                file,
                offset,
                payload,
            } => self.write(*file, *offset, payload, reader)?,
            Change::Allocated {
                file,
                mode,
                offset,
                bytes,
            } => self.allocate(*file, *mode, *offset, *bytes)?,
            _ => {}
        }
        Ok(())
    }

    fn resize(&mut self, file: FileId, bytes: u64) -> Result<(), RecordError> {
        let done = self.file(file).and_then(|file| file.set_len(bytes));
        done.map_err(failed(self.into))
    }

    fn write<R: Read + Seek>(
        &mut self,
        file: FileId,
        mut offset: u64,
        payload: &Payload,
        reader: &mut Reader<R>,
    ) -> Result<(), RecordError> {
        self.unknown_bytes += payload.unknown_bytes();
        let into = self.into;
        let file = self.file(file).map_err(failed(into))?;
        let mut refused = None;
        reader.payload(payload, |bytes, part| {
            let length = file.metadata()?.len();
            let end = offset.saturating_add(bytes);
            let written = match part {
                Some(part) => file.write_all_at(part, offset),
                None if end > length => file.set_len(end),
                None => Ok(()),
            };
            offset = end;
            refused = refused.take().or(written.err());
            Ok(())
        })?;
        refused.map_or(Ok(()), |source| Err(failed(into)(source)))
    }

    /// As fallocate(2) did; the kernel that rebuilds has to know the same modes.
    fn allocate(
        &mut self,
        file: FileId,
        mode: u32,
        offset: u64,
        bytes: u64,
    ) -> Result<(), RecordError> {
        let into = self.into;
        let file = self.file(file).map_err(failed(into))?;
        let flags = rustix::fs::FallocateFlags::from_bits_retain(mode);
        rustix::fs::fallocate(file, flags, offset, bytes)
            .map_err(|errno| failed(into)(errno.into()))
    }

    /// Gives the contents their names.
    fn place(&mut self, names: &Names) -> Result<u64, RecordError> {
        self.open.clear();
        let mut placed = 0;
        for (path, node) in names.iter() {
            let relative = OsStr::from_bytes(path.strip_prefix(b"/").unwrap_or(path));
            let to = self.into.join(relative);
            self.place_one(&to, node).map_err(failed(&to))?;
            placed += u64::from(matches!(node, Node::File(_)));
        }
        let waiting = self.into.join(WAITING);
        fs::remove_dir_all(&waiting).map_err(failed(&waiting))?;
        Ok(placed)
    }

    fn place_one(&self, to: &Path, node: &Node) -> io::Result<()> {
        if let Some(parent) = to.parent() {
            fs::create_dir_all(parent)?;
        }
        match node {
            Node::Directory => fs::create_dir_all(to),
            Node::Symlink(target) => symlink(OsStr::from_bytes(target), to),
            Node::Special => Ok(()),
            Node::File(file) => match self.numbers.get(file) {
                Some(number) => fs::hard_link(self.path(*number), to),
                // Nothing was ever done to its contents.
                None => File::create_new(to).map(drop),
            },
        }
    }
}

fn failed(path: &Path) -> impl Fn(io::Error) -> RecordError + use<> {
    let path = path.to_owned();
    move |source| RecordError::Rebuild {
        path: path.clone(),
        source,
    }
}
