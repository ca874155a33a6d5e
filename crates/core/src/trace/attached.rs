//! Processes that ran already: what was asked for, and which were found.

use serde::{Deserialize, Serialize};

#[cfg(test)]
use schemars::JsonSchema;

use super::TraceResult;
use crate::bytes::grouped;
use crate::noun::noun_of;

/// Running processes that iostrata attached to.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct Attached {
    /// What was asked for, in the order of the options.
    pub asked: Vec<Asked>,
    /// Processes that were found, those of the start first. Their descendants are observed too, and are
    /// not listed.
    pub matched: Vec<Matched>,
    /// Threads that joined and are not in `matched` because there were too many.
    pub unlisted: u64,
}

/// One process, name, unit, cgroup or container.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct Asked {
    pub by: AskedBy,
    /// Its value, as it was typed.
    pub value: String,
    /// The cgroup that it stands for, from the root of the hierarchy; `null` for processes and names.
    pub cgroup: Option<String>,
}

/// An option that names running processes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(test, derive(JsonSchema))]
pub enum AskedBy {
    /// `-p`.
    Pid,
    /// `--name`.
    Name,
    /// `--unit`.
    Unit,
    /// `--cgroup`.
    Cgroup,
    /// `--container`.
    Container,
}

impl AskedBy {
    /// As it is called.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Pid => "process",
            Self::Name => "name",
            Self::Unit => "unit",
            Self::Cgroup => "cgroup",
            Self::Container => "container",
        }
    }
}

/// A process that was found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct Matched {
    pub process: u32,
    /// The name of its first thread (comm).
    pub name: String,
    /// What of it matches.
    pub by: Vec<MatchedBy>,
    /// How it came.
    pub joined: Joined,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(test, derive(JsonSchema))]
pub enum MatchedBy {
    /// Its number.
    Pid,
    /// The name of its first thread (comm), of at most 15 bytes. A program may set it.
    Comm,
    /// The base name of its executable.
    Executable,
    /// The base name of its first argument (`argv[0]`). A program may set it.
    Argument,
    /// The cgroup that it is in, or one above.
    Cgroup,
}

impl MatchedBy {
    /// As it is called.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Pid => "PID",
            Self::Comm => "comm",
            Self::Executable => "executable",
            Self::Argument => "argv[0]",
            Self::Cgroup => "cgroup",
        }
    }
}

/// How a process came to be observed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(test, derive(JsonSchema))]
pub enum Joined {
    /// It was there when the observation began.
    Start,
    /// It executed a program of that name.
    Exec,
    /// It was created in the cgroup.
    Fork,
    /// It was moved into the cgroup.
    Move,
}

impl Attached {
    /// What was asked for, in words: `processes 7, 8 and unit ssh.service`.
    pub fn words(&self) -> String {
        let mut parts: Vec<(AskedBy, Vec<&str>)> = Vec::new();
        for asked in &self.asked {
            match parts.iter_mut().find(|(by, _)| *by == asked.by) {
                Some((_, values)) => values.push(&asked.value),
                None => parts.push((asked.by, vec![&asked.value])),
            }
        }
        let part = |(by, values): &(AskedBy, Vec<&str>)| {
            let word = match (by, values.len()) {
                (AskedBy::Pid, 2..) => "processes",
                (AskedBy::Name, 2..) => "names",
                (AskedBy::Unit, 2..) => "units",
                (AskedBy::Cgroup, 2..) => "cgroups",
                (AskedBy::Container, 2..) => "containers",
                (by, _) => by.as_str(),
            };
            format!("{word} {}", values.join(", "))
        };
        parts.iter().map(part).collect::<Vec<_>>().join(" and ")
    }

    /// Who was found, in words, the first of them by number: `7 dd (comm, executable)`.
    pub fn found(&self, at_most: usize) -> String {
        if self.matched.is_empty() {
            return "nobody".to_owned();
        }
        let one = |matched: &Matched| {
            let by = matched.by.iter().map(|by| by.as_str());
            let by = by.collect::<Vec<_>>().join(", ");
            let later = match matched.joined {
                Joined::Start => "",
                Joined::Exec => ", started later",
                Joined::Fork => ", created there later",
                Joined::Move => ", moved there later",
            };
            format!("{} {} ({by}{later})", matched.process, matched.name)
        };
        let mut words: Vec<String> = self.matched.iter().take(at_most).map(one).collect();
        let rest = self.matched.len().saturating_sub(at_most) as u64;
        if rest > 0 || self.unlisted > 0 {
            let more = rest.saturating_add(self.unlisted);
            words.push(format!(
                "{} more {}",
                grouped(more),
                noun_of(more, "process")
            ));
        }
        words.join(", ")
    }
}

impl TraceResult {
    /// Whether the processes ran before they were observed.
    pub fn is_attached(&self) -> bool {
        self.adopted.is_some() || self.attached.is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(by: AskedBy, value: &str) -> Asked {
        Asked {
            by,
            value: value.to_owned(),
            cgroup: None,
        }
    }

    #[test]
    fn what_was_asked_for_is_told_by_kind() {
        let attached = Attached {
            asked: vec![
                asked(AskedBy::Pid, "7"),
                asked(AskedBy::Unit, "ssh"),
                asked(AskedBy::Pid, "8"),
            ],
            ..Attached::default()
        };
        assert_eq!(attached.words(), "processes 7, 8 and unit ssh");
        assert_eq!(attached.found(3), "nobody");
    }

    #[test]
    fn who_was_found_is_told_with_why() {
        let matched = |process, by: &[MatchedBy], joined| Matched {
            process,
            name: "dd".to_owned(),
            by: by.to_vec(),
            joined,
        };
        let mut attached = Attached {
            matched: vec![
                matched(7, &[MatchedBy::Comm, MatchedBy::Executable], Joined::Start),
                matched(9, &[MatchedBy::Argument], Joined::Exec),
            ],
            ..Attached::default()
        };
        let both = "7 dd (comm, executable), 9 dd (argv[0], started later)";
        assert_eq!(attached.found(2), both);
        attached.unlisted = 4;
        assert_eq!(
            attached.found(1),
            "7 dd (comm, executable), 5 more processes"
        );
    }
}
