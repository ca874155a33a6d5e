//! Who looks at crashed trees: the user's command, or without one the built-in rules, and at files of formats that these do
//! not know the programs of these formats.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use iostrata_core::crash::{Coverage, FormatRow, Seen};
use iostrata_lab::crash::SharedLog;

use super::look::{Judge, locked};
use super::named::{self, Held, Named, There, write_list};
use super::{ENDS, cannot};
use crate::cli::Crash;
use crate::error::Failure;

#[derive(Debug, Default)]
pub(super) struct Checks {
    /// For `/bin/sh`; `None` where nobody but the built-in rules looks.
    pub(super) command: Option<String>,
    /// Whether it tells contents: its messages are no failures.
    pub(super) tells: bool,
    /// Whether the built-in rules look at all that `formats` do not cover.
    pub(super) has_rules: bool,
    /// Files of formats that the built-in rules do not know.
    pub(super) formats: Vec<FormatRow>,
    /// Files that the command reads.
    pub(super) lists: Vec<PathBuf>,
    /// Whether it is noted which states the command changes.
    pub(super) notes_changes: bool,
}

/// States of a file in the run of which the contents are read: as many as are explored, each takes some 10 ms.
const MOST_STATES: usize = 20_000;

/// States that are read between two looks at the clock.
const AT_ONCE: usize = 64;

impl Checks {
    /// By the command that the user gave, or by what the log has. the caller removes the directory `scratch`.
    pub(super) fn find(
        options: &Crash,
        command: Option<String>,
        scratch: &Path,
        log: &SharedLog,
    ) -> Result<Self, Failure> {
        if command.is_some() {
            return Ok(Self {
                command,
                notes_changes: options.again,
                ..Self::default()
            });
        }
        let mut formats = locked(log).formats();
        let has_super_journal = has_super_journal(&formats, log);
        let (mut arguments, mut lists) = (String::new(), Vec::new());
        for (number, row) in formats.iter_mut().enumerate() {
            if has_super_journal && row.check.starts_with("sqlite:") {
                row.unchecked_because = Some(SUPER_JOURNAL.to_owned());
                continue;
            }
            let own = scratch.join(format!("format-{number}"));
            match found(options, row, &own, log)? {
                Ok(own_arguments) => {
                    row.checked = true;
                    arguments.push_str(&own_arguments);
                    lists.push(list_in(&own));
                }
                Err(because) => row.unchecked_because = Some(because),
            }
        }
        Ok(Self {
            command: (!lists.is_empty())
                .then(|| named::command(&arguments))
                .transpose()?,
            has_rules: true,
            formats,
            lists,
            ..Self::default()
        })
    }
}

/// The arguments of the process that looks at the files of a format, and wants them to hold what they held in the run; or why there are none.
fn found(
    options: &Crash,
    row: &FormatRow,
    scratch: &Path,
    log: &SharedLog,
) -> Result<Result<String, String>, Failure> {
    let Some(named) = Named::of(OsStr::new(&row.check))? else {
        return Ok(Err("it has no checker".to_owned()));
    };
    if let Some(missing) = named.missing() {
        return Ok(Err(format!("its checker needs {missing}")));
    }
    let (was_there, trees) = {
        let log = locked(log);
        let history = &log.history;
        let was_there = named.was_there(|path| history.began_with(path).map(There::from));
        (
            was_there,
            history.trees_with(|path| row.covers(path), MOST_STATES),
        )
    };
    let Some(trees) = trees else {
        return Ok(Err(format!(
            "it changed more than {MOST_STATES} times in the run; --check {} looks whether it is sound",
            row.check
        )));
    };
    let list = list_in(scratch);
    let for_contents = named.arguments_for_contents(was_there);
    let for_contents = for_contents.and_then(|arguments| named::command(&arguments));
    let (Ok(for_contents), Ok(arguments)) = (for_contents, named.arguments(was_there, &list))
    else {
        return Ok(Err(
            "the path of iostrata itself, or of TMPDIR, is not UTF-8".to_owned(),
        ));
    };
    std::fs::create_dir(scratch).map_err(cannot("make a directory"))?;
    let said = contents(options, (row, for_contents), &trees, scratch, log)?;
    for (message, when) in [said.first(), said.last()].into_iter().zip(ENDS) {
        if let Some(message) = message.filter(|message| Held::of(message).is_none()) {
            return Ok(Err(format!(
                "its checker refuses it as it was {when}: {message}"
            )));
        }
    }
    let mut all = Vec::new();
    for (message, (_, told)) in said.iter().zip(&trees) {
        // What is not sound without a crash is found as a state.
        if let Some(held) = Held::of(message) {
            all.push((held, locked(log).history.printed(*told).size_bytes()));
        }
    }
    write_list(&list, &all).map_err(cannot("write what files hold"))?;
    Ok(Ok(arguments))
}

fn list_in(scratch: &Path) -> PathBuf {
    scratch.join("contents")
}

const SUPER_JOURNAL: &str = "a transaction of several databases has a journal that names their paths, and a crashed copy has \
                             other paths";

/// Whether a transaction had several databases (`vdbeCommit`, vdbeaux.c, has the name of its journal).
fn has_super_journal(formats: &[FormatRow], log: &SharedLog) -> bool {
    let begins = formats
        .iter()
        .map(|row| format!("/{}-mj", row.file).into_bytes());
    let begins: Vec<Vec<u8>> = begins.collect();
    let log = locked(log);
    let mut paths = log
        .history
        .steps
        .iter()
        .filter_map(|step| step.path.as_ref());
    paths.any(|path| {
        let is_there = |begin: &Vec<u8>| path.windows(begin.len()).any(|part| part == begin);
        begins.iter().any(is_there)
    })
}

/// What the files hold in these trees, or what is wrong with them.
fn contents(
    options: &Crash,
    (row, command): (&FormatRow, String),
    trees: &[Seen],
    scratch: &Path,
    log: &SharedLog,
) -> Result<Vec<String>, Failure> {
    let checks = Checks {
        command: Some(command),
        tells: true,
        ..Checks::default()
    };
    let mut judge = Judge::new(options, &checks, scratch, log)?;
    judge.begin(
        &format!("reading what {} held at {} times", row.file, trees.len()),
        0,
    );
    let mut said = Vec::new();
    for some in trees.chunks(AT_ONCE) {
        let coverage = Coverage {
            states: said.len() as u64,
            ..Coverage::default()
        };
        let some = judge.check(some, &coverage).map_err(|stopped| stopped.by)?;
        said.extend(some.into_iter().map(Option::unwrap_or_default));
    }
    judge.finish();
    Ok(said)
}
