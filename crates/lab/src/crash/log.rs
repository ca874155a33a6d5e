//! The log of a program, as a history, and the bytes of its trees.

use std::fs::File;
use std::io::BufReader;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use glob::Pattern;
use iostrata_core::crash::{Builder, Digest, Format, History, Seen, Stacks};
use iostrata_core::gap::{Countable, Gap, Listed, Missing, Reason};
use iostrata_core::record::{
    Begin, Check, Completeness, Contents, Entry, Limits, ReadError, Reader, Refused, Tree,
};

use super::checker::{CheckError, Unreliable};
use super::stores;
use crate::interrupt::{Interrupt, Interrupted};
use crate::rebuild::{self, RebuildError};

#[derive(Debug, thiserror::Error)]
pub enum LogError {
    #[error("the operation log cannot be used: {0}")]
    Read(#[from] ReadError),
    /// It says what cannot be, or comes to too much.
    #[error("the operation log cannot be used: {0}")]
    Refused(#[from] Refused),
    #[error("the operation log does not know the directory under test")]
    NoDirectory,
    #[error("the operation log has several recordings; record the program alone")]
    Several,
    #[error(transparent)]
    Build(RebuildError),
    #[error("cannot run the checker: {0}; check the space in TMPDIR and the limits of this user")]
    Stage(std::io::Error),
    #[error("a thread that runs the checker has ended early")]
    NoChecker,
    #[error("{why}")]
    Unreliable {
        why: Unreliable,
        /// The state that it was asked about.
        seen: Option<Seen>,
    },
    #[error(transparent)]
    Interrupted(#[from] Interrupted),
    #[error("the time for the exploration is over")]
    TimeOver,
}

impl From<CheckError> for LogError {
    fn from(error: CheckError) -> Self {
        match error {
            CheckError::Run(error) => Self::Stage(error),
            CheckError::Interrupted(by) => Self::Interrupted(by),
            CheckError::Unreliable(why) => Self::Unreliable { why, seen: None },
        }
    }
}

impl From<RebuildError> for LogError {
    fn from(error: RebuildError) -> Self {
        match error {
            RebuildError::Interrupted(by) => Self::Interrupted(by),
            other => Self::Build(other),
        }
    }
}

/// A log that was read, which its trees still refer to.
pub struct Log {
    pub(super) reader: Reader<BufReader<File>>,
    interrupt: Interrupt,
    pub history: History,
    /// Why the log is not the whole truth; empty when it is.
    pub incomplete_because: Vec<Gap>,
    pub operations: u64,
    pub blake3: String,
    /// The program and its arguments.
    pub command: Vec<Vec<u8>>,
    /// The directory under test.
    pub directory: Vec<u8>,
    exit_code: Option<i32>,
    /// The signal that ended the program before its end, where it was sent to iostrata.
    pub cut_by: Option<String>,
    /// What an earlier program had printed.
    printed_before: Vec<u8>,
}

/// The bytes of a file that tell its format; none where they cannot be read.
pub(super) fn head(reader: &mut Reader<BufReader<File>>, contents: &Contents) -> Vec<u8> {
    let mut head = Vec::new();
    for (offset, extent) in contents.extents() {
        let had = head.len() as u64;
        let Some(payload) = extent.payload() else {
            break;
        };
        if had >= Format::HEAD_BYTES || offset != had {
            break;
        }
        let part = Contents::of(&payload.part(0, Format::HEAD_BYTES - had));
        let read = reader.contents(&part, |_, bytes| {
            head.extend_from_slice(bytes);
            Ok(())
        });
        if read.is_err() {
            break;
        }
    }
    head
}

/// Of stores that are not known in their order, names the files. Those of other directories are in no state.
fn name_mapped(gaps: &mut Vec<Gap>, history: &History) {
    let stores = [
        (Reason::NotInOrder, history.mapped()),
        (Reason::BetweenCalls, history.unseen()),
    ];
    for (why, named) in stores {
        let all = gaps.len();
        gaps.retain(|gap| gap.why != why);
        if gaps.len() < all {
            gaps.extend(named.gap(Listed::MappedStores, why));
        }
    }
}

/// Of files that differ from the log, names those of the directory by their paths in it. Others are in no state.
fn name_changed(gaps: &mut Vec<Gap>, directory: &[u8]) {
    let directory = format!("{}/", String::from_utf8_lossy(directory));
    gaps.retain_mut(|gap| match &mut gap.what {
        Missing::ChangedFile { path } => match path.strip_prefix(&directory) {
            Some(inside) => {
                *path = inside.to_owned();
                true
            }
            None => false,
        },
        _ => true,
    });
}

/// It is our own log, and refers to the same bytes once for each state.
const LIMITS: Limits = Limits {
    expanded_bytes: u64::MAX,
    memory_bytes: 512 << 20,
};

impl Log {
    /// Reads the log of a program, with the directory that it was started in as the one under test. `stacks` are
    /// those of its calls, as far as they are known; files that match one of `ignored` are nobody's matter. `original` is the
    /// directory that the one under test is a copy of.
    pub fn read(
        path: &Path,
        stacks: Stacks,
        ignored: &[Pattern],
        original: Option<&Path>,
        interrupt: Interrupt,
    ) -> Result<Self, LogError> {
        let mut stacks = Some(stacks);
        let mut hasher = blake3::Hasher::new();
        hasher
            .update_reader(File::open(path).map_err(ReadError::from)?)
            .map_err(ReadError::from)?;
        let file = File::open(path).map_err(ReadError::from)?;
        let mut reader = Reader::within(BufReader::new(file), LIMITS)?;
        let mut builder: Option<Builder> = None;
        let mut operations = 0;
        let mut end = None;
        let mut begun: Option<Begin> = None;
        while let Some(entry) = reader.next_entry()? {
            match entry {
                Entry::Operation(operation) => {
                    operations += 1;
                    interrupt.check()?;
                    let builder = builder.as_mut().ok_or(LogError::NoDirectory)?;
                    builder.add(&operation, |before, after| {
                        stores::differing(&mut reader, before, after)
                    })?;
                }
                Entry::End(ended) => end = Some(ended),
                Entry::Begin(_) if begun.is_some() => return Err(LogError::Several),
                Entry::Begin(begin) => {
                    builder = Some(
                        Builder::new(begin.directory.clone())
                            .with_stacks(stacks.take().unwrap_or_default())
                            .ignoring(ignored.to_vec())
                            .copied_from(original.map(|path| path.as_os_str().as_bytes().to_vec())),
                    );
                    begun = Some(begin);
                }
            }
        }
        let mut incomplete_because = match reader.completeness() {
            Completeness::Complete => Vec::new(),
            Completeness::Incomplete { because } => because,
        };
        // What other directories held is in no state.
        incomplete_because
            .retain(|gap| !matches!(gap.why, Reason::BeforeNotStored | Reason::BeforeNotKnown));
        if let Some(Check::Skipped { because }) = end.map(|end| end.check) {
            incomplete_because.push(Gap::new(Missing::LogComparison, because));
        }
        let (Some(builder), Some(begun)) = (builder, begun) else {
            return Err(LogError::NoDirectory);
        };
        let (misfits, first) = builder.end().misfits();
        if let Some(first) = first.first() {
            let why = Reason::Misfit(first.clone());
            let gap = Gap::counted(misfits, Countable::UnmatchedOperations, why);
            incomplete_because.extend(gap);
        }
        let history = builder.finish(|contents| head(&mut reader, contents));
        let history = history.ok_or(LogError::NoDirectory)?;
        if !history.is_whole {
            incomplete_because.push(Gap::new(Missing::States, Reason::NotUnderstood));
        }
        name_mapped(&mut incomplete_because, &history);
        name_changed(&mut incomplete_because, &begun.directory);
        incomplete_because.extend(
            history
                .moved_out
                .gap(Listed::MovedOut, Reason::OutsideDirectory),
        );
        incomplete_because.extend(
            history
                .past_the_copy()
                .gap(Listed::PastTheCopy, Reason::OutsideDirectory),
        );
        let unknown = history.unknown();
        incomplete_because.extend(unknown.gap(Listed::FileBytes, Reason::NotInLog));
        Ok(Self {
            reader,
            interrupt,
            history,
            incomplete_because,
            operations,
            blake3: hasher.finalize().to_hex().to_string(),
            command: begun.command,
            directory: begun.directory,
            exit_code: None,
            cut_by: None,
            printed_before: Vec::new(),
        })
    }

    /// Tells how the program ended, which the log does not have. What a program would have done that failed is in no
    /// state, so nothing can be promised of it.
    pub fn ended(&mut self, exit_code: Option<i32>) {
        self.exit_code = exit_code;
        if let Some(code) = exit_code.filter(|code| *code != 0) {
            let why = Reason::EndedWith { exit_code: code };
            self.incomplete_because
                .push(Gap::new(Missing::AfterFailure, why));
        }
    }

    /// Tells that the program recovers what an earlier one has left, which had printed this: no output of its own counts.
    pub fn recovers(&mut self, printed: Vec<u8>) {
        self.history.no_reports();
        self.printed_before = printed;
    }

    /// The program's exit code, 128 and the number of a signal that ended it; `None` where it is not known.
    pub fn exit_code(&self) -> Option<i32> {
        self.exit_code
    }

    /// Tells what reached the reader of standard output from what processes of the program wrote to
    /// their own descriptor 1, such as a pipe: of the first the bytes are in `printed`, in order. A line that is printed in
    /// parts is a report when it is whole.
    pub fn keep_printed(&mut self, printed: &[u8]) -> Result<(), LogError> {
        let mut rest = printed;
        let mut begun = None;
        for step in self.history.steps_in_order() {
            let Some(contents) = self.history.printed_by(step) else {
                continue;
            };
            let mut bytes = Vec::new();
            self.each(&contents, |part| {
                bytes.extend_from_slice(part);
                Ok(())
            })?;
            match rest
                .strip_prefix(bytes.as_slice())
                .filter(|_| !bytes.is_empty())
            {
                Some(after) => {
                    rest = after;
                    if let Some(begun) = begun.take() {
                        self.history.printed_together(begun, step);
                    }
                    let is_part = !rest.is_empty() && !bytes.ends_with(b"\n");
                    begun = is_part.then_some(step);
                }
                None => self.history.was_not_printed(step),
            }
        }
        Ok(())
    }

    /// Bytes of the largest of the trees: as many as any state has.
    pub fn tree_bytes(&self) -> u64 {
        let (base, end) = self.history.ends();
        let of = |tree: &Tree| -> u64 { tree.nodes().map(|(node, _)| tree.size_bytes(node)).sum() };
        of(&base).saturating_add(of(&end))
    }

    /// From now on nothing ends what it does: it is short, and what was found would be lost.
    pub fn ends_by_itself(&mut self) {
        self.interrupt = Interrupt::never();
    }

    /// Whether an end was asked for, now and later.
    pub fn interrupt(&self) -> &Interrupt {
        &self.interrupt
    }

    /// Whether an end was asked for.
    pub fn check_interrupt(&self) -> Result<(), LogError> {
        Ok(self.interrupt.check()?)
    }

    /// Makes a tree in an empty directory.
    pub fn build(&mut self, tree: &Tree, into: &Path) -> Result<(), LogError> {
        let top = self.history.root;
        rebuild::build(tree, top, &mut self.reader, into, &self.interrupt)?;
        Ok(())
    }

    /// The bytes of contents, one part after the other, with zeros where there are none.
    fn each(
        &mut self,
        contents: &Contents,
        mut part: impl FnMut(&[u8]) -> std::io::Result<()>,
    ) -> Result<(), LogError> {
        let mut at = 0;
        // One after the other: the reader gives those of one chunk of the log together.
        for (offset, extent) in contents.extents() {
            zeros(offset.saturating_sub(at), &mut part).map_err(ReadError::from)?;
            at = offset.saturating_add(extent.bytes);
            match extent.payload() {
                Some(payload) => {
                    let own = Contents::of(&payload);
                    self.reader.contents(&own, |_, bytes| part(bytes))?;
                }
                None => zeros(extent.bytes, &mut part).map_err(ReadError::from)?,
            }
        }
        zeros(contents.size_bytes().saturating_sub(at), &mut part).map_err(ReadError::from)?;
        Ok(())
    }

    /// The names by which the program marked a time, each with the number of the first operation that did.
    pub fn marks(&mut self) -> Result<Vec<(String, u64)>, LogError> {
        let mut marks: Vec<(String, u64)> = Vec::new();
        for (operation, payload) in self.history.marks.clone() {
            let bytes = self.reader.payload_bytes(&payload)?;
            for name in String::from_utf8_lossy(&bytes).lines() {
                if !name.is_empty() && !marks.iter().any(|(known, _)| known == name) {
                    marks.push((name.to_owned(), operation));
                }
            }
        }
        Ok(marks)
    }

    /// The hash of bytes, zeros where the log has none.
    pub fn digest(&mut self, contents: &Contents) -> Result<Digest, LogError> {
        let mut hasher = blake3::Hasher::new();
        self.each(contents, |bytes| {
            hasher.update(bytes);
            Ok(())
        })?;
        Ok(*hasher.finalize().as_bytes())
    }

    /// What had been printed after so many acknowledgements.
    pub fn printed(&mut self, told: usize) -> Result<Vec<u8>, LogError> {
        let contents = self.history.printed(told);
        let mut all = self.printed_before.clone();
        self.each(&contents, |bytes| {
            all.extend_from_slice(bytes);
            Ok(())
        })?;
        Ok(all)
    }
}

fn zeros(
    mut bytes: u64,
    part: &mut impl FnMut(&[u8]) -> std::io::Result<()>,
) -> std::io::Result<()> {
    let block = [0; 4096];
    while bytes > 0 {
        let taken = usize::try_from(bytes).map_or(block.len(), |bytes| bytes.min(block.len()));
        part(&block[..taken])?;
        bytes -= taken as u64;
    }
    Ok(())
}
