//! iostrata in namespaces of its own.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use iostrata_core::trace::{FileRow, TraceResult};

/// Both back ends.
pub(crate) const BACKENDS: [&str; 2] = ["ebpf", "ptrace"];

/// What makes a PID namespace with a `/proc` of its own.
pub(crate) const PIDS: &[&str] = &["unshare", "-p", "-f", "--mount-proc"];

/// A directory on a real disk, removed when the test ends.
pub(crate) struct Contained {
    dir: tempfile::TempDir,
}

impl Contained {
    pub(crate) fn new() -> Self {
        let mut builder = tempfile::Builder::new();
        let dir = builder.prefix("iostrata-contained-");
        Self {
            dir: dir.tempdir_in("/var/tmp").unwrap(),
        }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// What a program has written to a file, without the end of the line.
    pub(crate) fn text(&self, name: &str) -> String {
        let text = std::fs::read_to_string(self.path(name)).unwrap();
        text.trim().to_owned()
    }

    /// `outside` runs iostrata with options, which runs a program; all in the directory.
    pub(crate) fn run(&self, outside: &[&[&str]], options: &[&str], program: &[&str]) -> Output {
        let rest = [options, &["--"], program].concat();
        self.adopt(outside, &rest)
    }

    /// `outside` runs iostrata with options, perhaps more than these.
    pub(crate) fn adopt(&self, outside: &[&[&str]], options: &[&str]) -> Output {
        let saved = self.path("result.json");
        drop(std::fs::remove_file(&saved));
        let trace = ["trace", "--no-measure", "--json", saved.to_str().unwrap()];
        let iostrata = [env!("CARGO_BIN_EXE_iostrata")];
        let words = [&outside.concat()[..], &iostrata, &trace, options].concat();
        let mut command = Command::new(words[0]);
        command.args(&words[1..]).current_dir(self.dir.path());
        command.env("NO_COLOR", "1").env("COLUMNS", "100");
        command.output().unwrap()
    }

    /// What was saved of it.
    pub(crate) fn result(&self) -> TraceResult {
        let text = std::fs::read_to_string(self.path("result.json")).unwrap();
        serde_json::from_str(&text).unwrap()
    }
}

/// The row of a file by the end of its path.
#[track_caller]
pub(crate) fn file<'r>(result: &'r TraceResult, end: &str) -> &'r FileRow {
    let mut files = result.files.iter();
    let found = files.find(|file| Path::new(&file.path).ends_with(end));
    found.unwrap_or_else(|| panic!("no file {end}"))
}
