//! An item of the measurement: a copy on a target, or a yardstick.

use std::cell::Cell;
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::Path;

use iostrata_core::bytes::{self, grouped};
use iostrata_core::cache::{Process, named};
use iostrata_core::copy::{Case, CopyMethod, Destination, Measure, Source};
use iostrata_core::evidence::{Charge, Evidence, RawEvidence, SyscallRow, assemble};
use iostrata_core::is_one_of;
use iostrata_core::lab::Row;
use iostrata_core::observe::Stream;
use iostrata_core::timing::Sample;

use super::methods::CopyJob;
use super::source::{OTHER_SEED, SourceFile, fill};
use super::yardsticks::YardstickJob;
use crate::engine::{KernelFile, Residency, residency};
use crate::error::LabError;
use crate::session::{self, Observed, RunFile, Session, Timed, identity, sync_file_system};
use crate::target::Target;

/// The call that the stopwatch makes before and after the copy.
const OWN_CALL: &str = "getrusage";

/// Calls by which a program is started and waited for. `cp` itself makes none of them.
const LAUNCHING: &str =
    "clone clone3 fork vfork pipe2 poll prctl recvfrom socketpair wait4 waitid waitpid";

#[derive(Clone, Copy)]
pub(super) struct Item<'a> {
    pub(super) target: &'a Target,
    pub(super) source: &'a SourceFile,
    pub(super) case: Case,
    /// Copies compared with their sources.
    pub(super) verified: &'a Cell<u64>,
}

impl session::Item for Item<'_> {
    type Gathered = States;
    /// The state of the source before the copy, where it is known.
    type Found = Option<Residency>;
    type Row = Row<Case>;

    /// `read_write 64 KiB, cold, durable, on host`.
    fn label(&self) -> String {
        let case = &self.case;
        let mut text = case.method.as_str().to_owned();
        if let Some(buffer) = case.buffer_bytes {
            text = format!("{text} {}", bytes::exact(buffer));
        }
        if case.source == Source::Cold {
            text.push_str(", cold");
        }
        if case.durable {
            text.push_str(", durable");
        }
        format!("{text}, on {}", self.target.name)
    }

    fn run(&self, session: &mut Session<'_>, gathered: &mut States) -> Result<Sample, LabError> {
        let state = self.source.prepare(self.case.source, self.target)?;
        let copy = self.destination(session)?;
        let work = session.work(&self.job(&copy))?;
        self.verify(&copy, session)?;
        copy.remove()?;
        gathered.add(&self.case, state.as_ref());
        Ok(work.sample)
    }

    fn observe(&self, session: &mut Session<'_>) -> Result<Observed<Self::Found>, LabError> {
        let target = self.target;
        let copy = self.destination(session)?;
        let mut workload = session.start(&self.job(&copy))?;
        let pid = workload.pid();
        let pipes = [0, 1].map(|fd| identity(Path::new(&format!("/proc/{pid}/fd/{fd}"))));
        let source = identity(self.source.path())?;
        // Write-back left by earlier runs does not belong to this one, and would keep pages.
        sync_file_system(&target.dir)?;
        let state = self.source.prepare(self.case.source, target)?;
        let settle = Some(target.dir.as_path());
        let ((work, made), observation) =
            session.observed(pid, Stream::default(), settle, |session, _| {
                Ok((workload.go(session.stop)?, copy.identity()?))
            })?;
        workload.exit()?;
        let resident_after = residency(self.source.path()).ok();
        self.verify(&copy, session)?;
        copy.remove()?;

        let files = [source, made];
        let mut observed: Observed<Self::Found> =
            Observed::of(session, target, &files, &work, observation.as_ref());
        if let Some(observation) = observation {
            let [input, output] = pipes;
            let pipes = [input?, output?];
            all_calls(&mut observed.evidence, &observation.raw, &pipes, &self.case);
        }
        let bytes = |seen: &Residency| seen.resident_bytes();
        let cache = &mut observed.evidence.cache;
        cache.resident_before_bytes = state.as_ref().map(bytes);
        cache.resident_after_bytes = resident_after
            .as_ref()
            .filter(|_| target.unknown_cache().is_none())
            .map(bytes);
        observed.found = state;
        Ok(observed)
    }

    fn row(
        &self,
        timed: Timed,
        mut gathered: States,
        mut observed: Observed<Self::Found>,
    ) -> Row<Case> {
        gathered.add(&self.case, observed.found.as_ref());
        observed.notes.extend(gathered.notes(&self.case));
        observed.row(self.case, self.target, timed)
    }
}

impl Item<'_> {
    /// The destination of the next copy, created or overwritten.
    fn destination(&self, session: &Session<'_>) -> Result<RunFile, LabError> {
        let copy = RunFile::new(&self.target.dir, "copy");
        if self.case.destination == Destination::Existing {
            fill(copy.path(), self.case.size_bytes, OTHER_SEED, session.stop)?;
        }
        Ok(copy)
    }

    fn job(&self, copy: &RunFile) -> CopyJob {
        CopyJob {
            case: self.case,
            from: self.source.path().into(),
            to: copy.path().into(),
        }
    }

    /// Fails unless the copy has the source's contents: a wrong copy is not worth reporting.
    fn verify(&self, copy: &RunFile, session: &Session<'_>) -> Result<(), LabError> {
        if self.source.is_copied_to(copy.path(), session.stop)? {
            self.verified.set(self.verified.get() + 1);
            return Ok(());
        }
        Err(LabError::Differs {
            method: self.case.method.as_str(),
            copy: copy.path().to_owned(),
        })
    }
}

/// Counts every call of the copy on any file: memory it maps, pipes it creates, programs it starts.
/// Calls on the pipes to the parent and those of the stopwatch do not belong to the copy. For `cp`,
/// neither do the calls that start it, nor those on the pipe that receives its error messages.
fn all_calls(evidence: &mut Evidence, raw: &RawEvidence, pipes: &[KernelFile; 2], case: &Case) {
    let raw = if case.method == CopyMethod::Cp {
        &without_launching(raw, pipes)
    } else {
        raw
    };
    let rows = raw.syscalls.iter().flatten();
    let files = rows
        .filter_map(|row| row.file)
        .map(|file| (file.device, file.inode));
    let parents = |file: &(u32, u64)| pipes.iter().any(|pipe| (pipe.device, pipe.inode) == *file);
    let files: BTreeSet<(u32, u64)> = files.filter(|file| !parents(file)).collect();
    let all = assemble(
        raw,
        &Charge {
            disks: Vec::new(),
            files: Some(files),
            unnamed_calls: true,
        },
    );
    evidence.syscalls = all.syscalls;
    evidence.blocked_s = all.blocked_s;
    if let Some(calls) = &mut evidence.syscalls {
        calls.remove(OWN_CALL);
    }
}

/// Calls without those of the process that starts `cp`.
fn without_launching(raw: &RawEvidence, pipes: &[KernelFile; 2]) -> RawEvidence {
    let is_pipe = |row: &SyscallRow| {
        let device = row.file.map(|file| file.device);
        pipes.iter().any(|pipe| Some(pipe.device) == device)
    };
    let own = |row: &SyscallRow| !is_one_of(LAUNCHING, row.name) && !is_pipe(row);
    let rows = raw.syscalls.as_ref().map(|rows| {
        let own = rows.iter().filter(|row| own(row)).cloned();
        own.map(|row| match row.name {
            // Failed ones searched for it in other directories.
            "execve" => SyscallRow {
                count: row.count.saturating_sub(row.errors),
                errors: 0,
                ..row
            },
            _ => row,
        })
        .collect()
    });
    RawEvidence {
        syscalls: rows,
        ..raw.clone()
    }
}

#[derive(Clone, Copy)]
pub(super) struct YardstickItem<'a> {
    pub(super) measure: Measure,
    pub(super) size_bytes: u64,
    pub(super) place: Option<(&'a Target, &'a SourceFile)>,
}

impl YardstickItem<'_> {
    pub(super) fn label(&self) -> String {
        let name = self.measure.as_str();
        match self.place {
            Some((target, _)) => format!("{name} on {}", target.name),
            None => name.to_owned(),
        }
    }

    pub(super) fn run(&self, session: &Session<'_>) -> Result<Sample, LabError> {
        let made = match (self.measure, self.place) {
            (Measure::DeviceWrite, Some((target, _))) => {
                Some(RunFile::new(&target.dir, "yardstick"))
            }
            _ => None,
        };
        let path = match (&made, self.place) {
            (Some(file), _) => file.path().into(),
            (None, Some((_, source))) => source.path().into(),
            (None, None) => OsString::new(),
        };
        let work = session.work(&YardstickJob {
            measure: self.measure,
            size_bytes: self.size_bytes,
            path,
        })?;
        made.map_or(Ok(()), RunFile::remove)?;
        Ok(work.sample)
    }
}

/// Whether the source was in the case's state, over all runs of a row.
#[derive(Debug, Clone, Default)]
pub(super) struct States {
    runs: u64,
    /// Runs before which the source was in another state.
    other: u64,
    /// Maximum number of pages that stayed, or were missing.
    pages: u64,
    mapped_by: Vec<Process>,
    unknown: bool,
}

impl States {
    pub(super) fn add(&mut self, case: &Case, seen: Option<&Residency>) {
        self.runs += 1;
        let Some(seen) = seen else {
            self.unknown = true;
            return;
        };
        let wrong_pages = match case.source {
            Source::Cold => seen.resident_pages,
            Source::Warm => seen.pages.saturating_sub(seen.resident_pages),
        };
        self.other += u64::from(wrong_pages > 0);
        self.pages = self.pages.max(wrong_pages);
        for process in &seen.mapped_by {
            if !self.mapped_by.iter().any(|known| known.pid == process.pid) {
                self.mapped_by.push(process.clone());
            }
        }
    }

    pub(super) fn notes(&self, case: &Case) -> Vec<String> {
        let mut notes = Vec::new();
        if self.unknown {
            notes.push(format!(
                "asked for a {} source; the kernel did not report its state",
                case.source.as_str()
            ));
        }
        if self.other > 0 {
            let (what, verb) = match case.source {
                Source::Cold => ("cold", "stayed resident"),
                Source::Warm => ("warm", "were not resident"),
            };
            let mappers = if self.mapped_by.is_empty() {
                String::new()
            } else {
                format!(", mapped by {}", named(&self.mapped_by))
            };
            notes.push(format!(
                "not {what}: before {} of {} runs up to {} pages of the source {verb}{mappers}",
                self.other,
                self.runs,
                grouped(self.pages)
            ));
        }
        notes
    }
}

#[cfg(test)]
mod tests {
    use iostrata_core::FileId;

    use super::*;

    fn row(name: &'static str, inode: Option<u64>) -> SyscallRow {
        SyscallRow {
            name,
            file: inode.map(|inode| FileId {
                device: 12,
                inode,
                generation: 0,
            }),
            count: 3,
            errors: 0,
            returned: 30,
            time_ns: 0,
            blocked_ns: 0,
            alone_ns: 0,
            histogram: Vec::new(),
            shape: None,
            span_ns: None,
            is_source: false,
        }
    }

    fn case(method: CopyMethod) -> Case {
        Case {
            method,
            buffer_bytes: None,
            source: Source::Warm,
            durable: false,
            size_bytes: 30,
            destination: Destination::Fresh,
        }
    }

    #[test]
    fn the_launchers_calls_are_not_those_of_cp() {
        let mut searched = row("execve", None);
        searched.errors = 2;
        let mut complaints = row("read", Some(9));
        complaints.file.as_mut().unwrap().device = 15;
        let raw = RawEvidence {
            syscalls: Some(vec![
                searched,
                row("clone", None),
                row("recvfrom", Some(11)),
                complaints,
                row("copy_file_range", Some(8)),
            ]),
            ..RawEvidence::default()
        };
        let pipe = |inode| KernelFile { device: 15, inode };
        let mut evidence = Evidence::default();
        all_calls(
            &mut evidence,
            &raw,
            &[pipe(1), pipe(2)],
            &case(CopyMethod::Cp),
        );
        let calls = evidence.syscalls.unwrap();
        let names: Vec<&str> = calls.keys().map(String::as_str).collect();
        assert_eq!(names, ["copy_file_range", "execve"]);
        assert_eq!(
            (
                calls.get("execve").unwrap().count,
                calls.get("execve").unwrap().errors
            ),
            (1, 0)
        );
    }

    #[test]
    fn all_calls_but_the_parents_and_the_stopwatchs() {
        let raw = RawEvidence {
            syscalls: Some(vec![
                row("read", Some(1)),
                row("write", Some(2)),
                row("read", Some(7)),
                row("splice", Some(8)),
                row("munmap", None),
                row("getrusage", None),
            ]),
            ..RawEvidence::default()
        };
        let pipe = |inode| KernelFile { device: 12, inode };
        let mut evidence = Evidence::default();
        all_calls(
            &mut evidence,
            &raw,
            &[pipe(1), pipe(2)],
            &case(CopyMethod::Splice),
        );
        let calls = evidence.syscalls.unwrap();
        let names: Vec<&str> = calls.keys().map(String::as_str).collect();
        assert_eq!(names, ["munmap", "read", "splice"]);
        assert_eq!(calls.get("read").unwrap().count, 3);
    }

    fn of_source(source: Source) -> Case {
        Case {
            method: CopyMethod::Sendfile,
            buffer_bytes: None,
            source,
            durable: false,
            size_bytes: 4096,
            destination: Destination::Fresh,
        }
    }

    fn seen(resident_pages: u64) -> Residency {
        Residency {
            pages: 2000,
            resident_pages,
            ..Residency::default()
        }
    }

    #[test]
    fn a_source_in_the_named_state_needs_no_note() {
        let mut states = States::default();
        states.add(&of_source(Source::Cold), Some(&seen(0)));
        assert!(states.notes(&of_source(Source::Cold)).is_empty());
        let mut states = States::default();
        states.add(&of_source(Source::Warm), Some(&seen(2000)));
        assert!(states.notes(&of_source(Source::Warm)).is_empty());
    }

    #[test]
    fn another_state_is_told_with_its_pages_and_mappers() {
        let mut states = States::default();
        states.add(&of_source(Source::Cold), Some(&seen(0)));
        let mapped = Residency {
            mapped_by: vec![Process {
                pid: 4211,
                command: "python3".to_owned(),
                mapped_bytes: None,
                locked_bytes: None,
            }],
            ..seen(1234)
        };
        states.add(&of_source(Source::Cold), Some(&mapped));
        assert_eq!(
            states.notes(&of_source(Source::Cold)),
            [
                "not cold: before 1 of 2 runs up to 1,234 pages of the source stayed resident, \
                 mapped by process 4211 (python3)"
            ]
        );
        let mut states = States::default();
        states.add(&of_source(Source::Warm), Some(&seen(1999)));
        assert!(
            states.notes(&of_source(Source::Warm))[0].starts_with("not warm: before 1 of 1 runs")
        );
        states.add(&of_source(Source::Warm), None);
        assert!(states.notes(&of_source(Source::Warm))[0].contains("did not report"));
    }
}
