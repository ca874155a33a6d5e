//! Running processes to attach to: what was requested, and which processes match.

use std::collections::{BTreeMap, BTreeSet};

use iostrata_core::gap::{Countable, Gap, Missing, Reason};
use iostrata_core::noun::counted;
use iostrata_core::trace::{Asked, AskedBy, Attached, Joined, Matched, MatchedBy};
use iostrata_tracer::attach::{Group, Hierarchy, name_of, named};
use iostrata_tracer::ebpf::{Joiner, Wanted};
use iostrata_tracer::permission::caller;

use super::{ending, itself};
use crate::cli::{Attach, Trace, TraceBackend};
use crate::error::Failure;

/// Maximum processes in a result.
const LISTED: usize = 4096;

/// The request, resolved to processes and groups.
pub(super) struct Attachment {
    asked: Vec<Asked>,
    /// As `/proc` shows it at the start; the options if more than one process was requested.
    pub(super) command: Vec<String>,
    pub(super) processes: Vec<u32>,
    names: Vec<Vec<u8>>,
    pub(super) groups: Vec<Group>,
    /// Whether processes that start later may be observed too.
    follows: bool,
    found: Found,
}

#[derive(Default)]
struct Found {
    matched: BTreeMap<u32, (String, Vec<MatchedBy>)>,
    /// Processes that this user may not trace.
    refused: BTreeSet<u32>,
    joined: Vec<Joiner>,
    unlisted: u64,
}

/// The processes that the options name; `None` if a program is started. Fails if no process matches.
pub(super) fn target(options: &Trace) -> Result<Option<Attachment>, Failure> {
    let by_stops = options.backend == Some(TraceBackend::Ptrace);
    let options = &options.attach;
    if !options.is_asked() {
        return Ok(None);
    }
    let mut target = Attachment {
        asked: Vec::new(),
        command: Vec::new(),
        processes: options.pid.clone(),
        names: options
            .name
            .iter()
            .map(|name| name.clone().into_bytes())
            .collect(),
        groups: Vec::new(),
        follows: !by_stops && caller::may_trace_all(),
        found: Found::default(),
    };
    for pid in &options.pid {
        ending::check_adoptable(*pid)?;
        target.ask(AskedBy::Pid, pid.to_string(), None);
    }
    for name in &options.name {
        target.ask(AskedBy::Name, name.clone(), None);
    }
    if !options.has_no_groups() {
        let hierarchy = Hierarchy::read().map_err(itself)?;
        target.ask_groups(options, &hierarchy)?;
    }
    if target.names.len().max(target.groups.len()) > Wanted::MOST {
        return Err(itself(format!(
            "at most {} names and cgroups can be observed at a time; name fewer, or a cgroup above them",
            Wanted::MOST
        )));
    }
    target.find();
    target.check_somebody()?;
    target.command = target
        .only_process()
        .map_or_else(|| target.options(), command_of);
    Ok(Some(target))
}

fn command_of(process: u32) -> Vec<String> {
    let line = std::fs::read(format!("/proc/{process}/cmdline")).unwrap_or_default();
    let words = line
        .split(|byte| *byte == 0)
        .filter(|word| !word.is_empty());
    let words: Vec<String> = words
        .map(|word| String::from_utf8_lossy(word).into_owned())
        .collect();
    if !words.is_empty() {
        return words;
    }
    // A process whose first thread has ended has no command line; ps(1) shows its name so.
    vec![format!("[{}]", name_of(process))]
}

impl Attachment {
    fn ask(&mut self, by: AskedBy, value: String, group: Option<Group>) {
        self.asked.push(Asked {
            by,
            value,
            cgroup: group.as_ref().map(|group| group.path.clone()),
        });
        self.groups.extend(group);
    }

    fn ask_groups(&mut self, options: &Attach, hierarchy: &Hierarchy) -> Result<(), Failure> {
        for unit in &options.unit {
            let group = hierarchy.unit(unit).map_err(itself)?;
            self.ask(AskedBy::Unit, unit.clone(), Some(group));
        }
        for path in &options.cgroup {
            let group = hierarchy.group(path).map_err(itself)?;
            self.ask(
                AskedBy::Cgroup,
                path.to_string_lossy().into_owned(),
                Some(group),
            );
        }
        for container in &options.container {
            let group = hierarchy.container(container);
            let group = group.map_err(itself)?;
            self.ask(AskedBy::Container, container.clone(), Some(group));
        }
        Ok(())
    }

    /// Looks for matching processes now. Returns those that the back end needs by number: members of a
    /// group only if it does not follow the group itself.
    pub(super) fn find(&mut self) -> Vec<u32> {
        let mut now: BTreeMap<u32, Vec<MatchedBy>> = BTreeMap::new();
        for process in &self.processes {
            now.entry(*process).or_default().push(MatchedBy::Pid);
        }
        if !self.names.is_empty() {
            for one in named(&self.names) {
                now.entry(one.process).or_default().extend(one.by);
            }
        }
        let told: BTreeSet<u32> = now.keys().copied().collect();
        for process in self.groups.iter().flat_map(Group::members) {
            let by = now.entry(process).or_default();
            if !by.contains(&MatchedBy::Cgroup) {
                by.push(MatchedBy::Cgroup);
            }
        }
        now.remove(&std::process::id());
        for (process, by) in now {
            let is_new = !self.found.matched.contains_key(&process);
            if is_new && !self.found.refused.contains(&process) {
                if self.may(process) {
                    self.found.matched.insert(process, (name_of(process), by));
                } else {
                    self.found.refused.insert(process);
                }
            }
        }
        let matched = self.found.matched.keys().copied();
        let is_told = |process: &u32| !self.follows || told.contains(process);
        matched.filter(is_told).collect()
    }

    /// A user who may trace all processes is not checked for each. A process that has ended is skipped.
    fn may(&self, process: u32) -> bool {
        use std::io::ErrorKind::PermissionDenied;
        let denied = || caller::may_trace(process).is_err_and(|e| e.kind() == PermissionDenied);
        self.follows || !denied()
    }

    fn check_somebody(&self) -> Result<(), Failure> {
        // A group may fill later.
        if !self.found.matched.is_empty() || (self.follows && !self.groups.is_empty()) {
            return Ok(());
        }
        let what = self.words();
        let message = match self.found.refused.len() {
            0 if self.groups.is_empty() => format!(
                "no process matches {what}: none has it as name of its first thread (comm), executable or \
                 argv[0]; `ps -e` shows names, and `iostrata trace -- COMMAND` starts a program"
            ),
            0 => format!(
                "no process matches {what}, and this back end and user cannot wait for one; run as root, \
                 with eBPF"
            ),
            refused => format!(
                "this user may not observe {what}: the kernel does not permit tracing any of {}; observe \
                 processes of your own, or run as root",
                counted(refused as u64, "process")
            ),
        };
        Err(itself(message))
    }

    /// ptrace does not follow processes that start later.
    pub(super) fn follows_nobody(&mut self) -> Result<(), Failure> {
        self.follows = false;
        self.find();
        self.check_somebody()
    }

    /// The request, by option.
    pub(super) fn words(&self) -> String {
        let attached = Attached {
            asked: self.asked.clone(),
            ..Attached::default()
        };
        attached.words()
    }

    /// The only requested process, if it is one.
    pub(super) fn only_process(&self) -> Option<u32> {
        match self.processes[..] {
            [process] if self.asked.len() == 1 => Some(process),
            _ => None,
        }
    }

    /// What the kernel side follows without being told of processes.
    pub(super) fn wanted(&self) -> Wanted {
        if !self.follows {
            return Wanted::default();
        }
        Wanted {
            groups: self.groups.iter().map(|group| group.id).collect(),
            names: self.names.clone(),
        }
    }

    pub(super) fn joined(&mut self, (joined, unlisted): (Vec<Joiner>, u64)) {
        (self.found.joined, self.found.unlisted) = (joined, unlisted);
    }

    /// Whether processes may still join though none is left.
    pub(super) fn may_fill(&self) -> bool {
        self.follows && (!self.names.is_empty() || self.groups.iter().any(Group::is_there))
    }

    /// The groups that were removed, in words.
    pub(super) fn removed(&self) -> Option<String> {
        let gone = self.groups.iter().filter(|group| !group.is_there());
        let gone: Vec<&str> = gone.map(|group| group.path.as_str()).collect();
        (!gone.is_empty()).then(|| gone.join(", "))
    }

    pub(super) fn gaps(&self) -> Vec<Gap> {
        let mut gaps = Vec::new();
        if !self.follows && (!self.names.is_empty() || !self.groups.is_empty()) {
            gaps.push(Gap::new(
                Missing::LaterProcesses,
                Reason::FollowingNeedsEbpf,
            ));
        }
        gaps.extend(Gap::counted(
            self.found.refused.len() as u64,
            Countable::MatchingProcesses,
            Reason::MayNotTrace,
        ));
        gaps
    }

    pub(super) fn attached(&self) -> Attached {
        let found = &self.found;
        let at_start = found.matched.iter().map(|(process, (name, by))| Matched {
            process: *process,
            name: name.clone(),
            by: by.clone(),
            joined: Joined::Start,
        });
        let mut matched: Vec<Matched> = at_start.collect();
        // The threads of a process join one by one.
        let mut told: BTreeSet<u32> = found.matched.keys().copied().collect();
        for joiner in &found.joined {
            if told.insert(joiner.process) {
                matched.push(Matched {
                    process: joiner.process,
                    name: joiner.name.clone(),
                    by: joiner.by.clone(),
                    joined: joiner.joined,
                });
            }
        }
        let more = matched.len().saturating_sub(LISTED) as u64;
        matched.truncate(LISTED);
        Attached {
            asked: self.asked.clone(),
            matched,
            unlisted: self.found.unlisted.saturating_add(more),
        }
    }

    /// In place of a command line: the options as typed.
    fn options(&self) -> Vec<String> {
        let option = |asked: &Asked| {
            let name = match asked.by {
                AskedBy::Pid => "-p",
                AskedBy::Name => "--name",
                AskedBy::Unit => "--unit",
                AskedBy::Cgroup => "--cgroup",
                AskedBy::Container => "--container",
            };
            [name.to_owned(), asked.value.clone()]
        };
        self.asked.iter().flat_map(option).collect()
    }
}
