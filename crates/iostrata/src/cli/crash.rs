//! Options of `iostrata crash`.

use std::ffi::OsString;
use std::fs;
use std::num::NonZeroUsize;
use std::path::{Component, Path, PathBuf};
use std::time::Duration;

use clap::builder::NonEmptyStringValueParser;
use clap::{Args, FromArgMatches as _, ValueEnum};
use glob::Pattern;
use iostrata_core::crash::block::Pressure;
use iostrata_core::crash::litmus::Litmus;
use iostrata_core::crash::{BLOCK_BYTES, CrashResult, Model, Settings, Share};
use iostrata_core::distinct;

use super::trace::{TraceBackend, duration};
use super::{Html, named};
use crate::passwd;

#[derive(Debug, Args)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is an option on the command line"
)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Crash {
    /// Directory whose files are at stake; a copy of it is used, it is not touched
    #[arg(long, value_name = "DIR", required_unless_present_any = ["from", "calibrate"])]
    pub(crate) dir: Option<PathBuf>,

    /// Command for /bin/sh that prepares the copy
    #[arg(long, value_name = "COMMAND")]
    pub(crate) init: Option<String>,

    /// Command for /bin/sh that looks at a crashed copy and exits with 0 if it is fine
    #[arg(
        long,
        group = CHECKER,
        value_name = "COMMAND",
        value_parser = NonEmptyStringValueParser::new(),
        long_help = "Command for /bin/sh that looks at a crashed copy and exits with 0 if it is fine; else its \
                     first line of output is the message, or the exception where that line begins a \
                     Python traceback. It runs in that copy, IOSTRATA_DIR; IOSTRATA_STDOUT is a file \
                     with what the program had printed. Or one by name, for the file or directory PATH: \
                     sqlite:PATH, git[:PATH], lmdb:PATH, json:PATH, archive:PATH. Without it, each file must \
                     be as it was or as the program completed it; SQLite, LMDB and git files must be sound \
                     and hold something that they held in the run"
    )]
    pub(crate) check: Option<String>,

    /// Command for /bin/sh that keeps running, and is asked about one crashed copy after another
    #[arg(
        long,
        group = CHECKER,
        value_name = "COMMAND",
        value_parser = NonEmptyStringValueParser::new(),
        long_help = "Command for /bin/sh that keeps running, where its start takes longer than its look. It reads \
                     lines: the path of a crashed copy, a tab, and the path of a file with what the program had \
                     printed. It answers each with a line: `ok`, or `fail` and a message. Each state that \
                     fails, and some that do not, are checked again by the same command started anew"
    )]
    pub(crate) check_server: Option<String>,

    /// Seconds after which a checker is ended and fails
    #[arg(long, value_name = "SECONDS", default_value_t = 10.0, value_parser = seconds)]
    pub(crate) check_timeout: f64,

    /// Who runs the checker, by name or as UID:GID; the owner of the directory by default. Needs root
    #[arg(long, value_name = "USER", value_parser = user, requires = CHECKER)]
    pub(crate) check_user: Option<(u32, u32)>,

    /// Let the checker gain the privileges of set-user-ID programs in the copy, in block mode
    #[arg(long, requires = CHECKER)]
    pub(crate) check_suid: bool,

    /// Show the checker this file or directory too, read-only, besides the one in which iostrata starts and what everybody may
    /// read
    #[arg(long, value_name = "PATH", requires = CHECKER)]
    pub(crate) check_sees: Vec<PathBuf>,

    /// Also look at second crashes, while the checker recovers from the first one: what it does in a copy is recorded and
    /// explored
    #[arg(long, conflicts_with = "partition")]
    pub(crate) again: bool,

    /// Give the checker this variable of the environment too, besides PATH, LANG and IOSTRATA_*
    #[arg(long, value_name = "NAME", requires = CHECKER)]
    pub(crate) pass_env: Vec<OsString>,

    /// Leave out the files whose paths in the directory match GLOB: what a crash leaves of them does not matter
    #[arg(long, value_name = "GLOB", value_parser = glob)]
    pub(crate) ignore: Vec<Pattern>,

    /// Look for damage alone, not for the loss of what the program had reported
    #[arg(
        long,
        value_enum,
        value_name = "WHAT",
        help = "Look for damage alone, not for the loss of what the program had reported; IOSTRATA_STDOUT stays empty"
    )]
    pub(crate) only: Option<Only>,

    /// What may be lost: what POSIX allows, or what a file system does
    #[arg(long, value_parser = named(MODELS), value_name = "MODEL", default_value = "all")]
    pub(crate) model: &'static [Model],

    /// Bytes that the device writes whole or not at all (its atomic write unit): 512 tears pages of data too
    #[arg(long, value_name = "BYTES", default_value = "4096", value_parser = sector)]
    pub(crate) sector: u64,

    /// States to explore at most, for each model
    #[arg(long, value_name = "COUNT", default_value_t = 20_000, value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) states: u64,

    /// Time for the exploration, such as 10min: an equal part for each model, for the syncs that help, and for each run of block mode
    #[arg(long, value_name = "TIME", value_parser = duration, conflicts_with_all = ["partition", "state"])]
    pub(crate) time: Option<Duration>,

    /// Look only at one of so many points in time at which the power could fail, and at each after a report
    #[arg(long, value_name = "COUNT", default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) every: u64,

    /// Look only at points after this mark, which the program makes with iostrata mark NAME
    #[arg(long, value_name = "NAME")]
    pub(crate) after: Option<String>,

    /// Exit with 0, not 3, where nothing that was explored breaks, and not all points were explored
    #[arg(long)]
    pub(crate) accept_partial: bool,

    /// Seed of the random states
    #[arg(long, default_value_t = 1)]
    pub(crate) seed: u64,

    /// Checkers that run side by side; as many as CPUs by default
    #[arg(long, value_name = "COUNT")]
    pub(crate) jobs: Option<NonZeroUsize>,

    /// Keep the smallest state of each finding in DIR, an empty or new directory
    #[arg(long, value_name = "DIR")]
    pub(crate) keep: Option<PathBuf>,

    /// Only rebuild the state with this number, in --keep or a new directory
    #[arg(long, value_name = "NUMBER", conflicts_with_all = ["json", "html", "partition"])]
    pub(crate) state: Option<u64>,

    /// Look only at part I of N of the states, such as 2/4; iostrata merge joins the results
    #[arg(long, value_name = "I/N", value_parser = share)]
    pub(crate) partition: Option<Share>,

    /// Keep the recording of the program in DIR, a new directory, for --from
    #[arg(long, value_name = "DIR", conflicts_with = "from")]
    pub(crate) record: Option<PathBuf>,

    /// Explore a recording that --record kept, instead of running a program
    #[arg(long, value_name = "DIR", conflicts_with_all = ["dir", "init"])]
    pub(crate) from: Option<PathBuf>,

    /// How to observe the program: ptrace reads shared mappings before and after each call; eBPF, where it is permitted, also
    /// sees what io_uring does
    #[arg(long, value_enum, conflicts_with = "from")]
    pub(crate) backend: Option<TraceBackend>,

    /// Where a crash is tried: on models of file systems, or on real ones, which needs root
    #[arg(long, value_enum, value_name = "MODE", default_value = "syscall")]
    pub(crate) mode: CrashMode,

    /// Real file systems that the program runs on, in block mode, such as ext4,xfs; all by default
    #[arg(long, value_parser = named(REAL), value_name = "FS", value_delimiter = ',')]
    pub(crate) fs: Vec<&'static [Model]>,

    /// Who else makes the file system commit, in block mode; all in turn by default
    #[arg(long, value_parser = named(PRESSURES), value_name = "WHO")]
    pub(crate) pressure: Option<&'static [Pressure]>,

    /// Milliseconds that each request to the device takes at least, in block mode; 2 by default
    #[arg(long, value_name = "MS", value_parser = milliseconds)]
    pub(crate) delay: Option<f64>,

    /// Images to recover at most, for each run in block mode; 600 by default
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u64).range(2..))]
    pub(crate) images: Option<u64>,

    /// Instead of a program, run litmus programs on real file systems and compare what they recover with what
    /// the models allow; needs root
    #[arg(long, conflicts_with_all = OF_PROGRAMS.split(' '))]
    pub(crate) calibrate: bool,

    /// Litmus programs to run, by name, such as append,rewrite; all by default
    #[arg(
        long,
        value_name = "NAME",
        value_delimiter = ',',
        value_parser = litmus
    )]
    pub(crate) litmus: Vec<&'static Litmus>,

    /// Times that each litmus program runs on each file system under each pressure; 1 by default
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u32).range(1..=1_000))]
    pub(crate) repeats: Option<u32>,

    /// Also write the result as JSON (iostrata.crash/1, or iostrata.calibrate/1); - for standard output, without
    /// text
    #[arg(long, value_name = "FILE")]
    pub(crate) json: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) html: Html,

    /// Program and its arguments; runs in the copy
    #[arg(
        last = true,
        required_unless_present_any = ["from", "calibrate"],
        conflicts_with_all = ["from", "calibrate"],
        value_name = "COMMAND"
    )]
    pub(crate) command: Vec<OsString>,
}

impl Crash {
    /// The command that looks at crashed copies, once or for all of them.
    pub(crate) fn checker(&self) -> Option<&str> {
        self.check.as_deref().or(self.check_server.as_deref())
    }

    /// Real file systems that block mode has, each once.
    pub(crate) fn filesystems(&self) -> Vec<Model> {
        match self.fs.as_slice() {
            [] => FILESYSTEMS.to_vec(),
            asked => distinct(asked.concat()),
        }
    }

    /// How many checkers run side by side.
    pub(crate) fn jobs(&self) -> usize {
        let cpus = || std::thread::available_parallelism().map_or(1, NonZeroUsize::get);
        self.jobs.map_or_else(cpus, NonZeroUsize::get)
    }
}

/// The options that explore a recording with the checker of a result.
pub(crate) fn crash_from(from: &Path, result: &CrashResult, settings: &Settings) -> Crash {
    let command = Crash::augment_args(clap::Command::new("crash"));
    let mut words = vec![OsString::from("crash"), "--from".into(), from.into()];
    let timeout = settings.check_timeout_s.to_string();
    words.extend(["--check-timeout".into(), timeout.into()]);
    // What a write is made of depends on it.
    if let [model] = settings.models.as_slice() {
        words.extend(["--model".into(), model.as_str().into()]);
    }
    words.extend(["--sector".into(), settings.sector_bytes.to_string().into()]);
    if let Some(check) = &result.check {
        let option = if result.check_keeps_running {
            "--check-server"
        } else {
            "--check"
        };
        words.extend([option.into(), check.into()]);
    }
    if result.only_damage {
        words.extend(["--only".into(), "damage".into()]);
    }
    for pattern in &result.ignored {
        words.extend(["--ignore".into(), pattern.into()]);
    }
    let matches = command.get_matches_from(words);
    let parsed = Crash::from_arg_matches(&matches);
    parsed.unwrap_or_else(|error| error.exit())
}

/// The options of which one names a checker.
const CHECKER: &str = "checker";

/// Options about a program of the user, which litmus programs are not.
const OF_PROGRAMS: &str = "dir init check check_server check_timeout check_user check_sees check_suid again pass_env ignore only model sector states time every after accept_partial jobs \
    keep state partition record from backend mode html open";

/// `cache/*`.
fn glob(text: &str) -> Result<Pattern, String> {
    let first = Path::new(text).components().next();
    if matches!(first, None | Some(Component::RootDir | Component::CurDir)) {
        return Err(
            "give a path in the directory, such as cache/*, without ./ before it".to_owned(),
        );
    }
    Pattern::new(text).map_err(|error| error.to_string())
}

/// `append`.
fn litmus(name: &str) -> Result<&'static Litmus, String> {
    Litmus::named(name).ok_or_else(|| {
        let names: Vec<&str> = Litmus::all().map(|litmus| litmus.name).collect();
        format!(
            "no litmus program has this name; there are {}",
            names.join(", ")
        )
    })
}

/// What devices have.
fn sector(text: &str) -> Result<u64, String> {
    match text {
        "512" => Ok(512),
        "4096" => Ok(BLOCK_BYTES),
        _ => Err("give 512 or 4096".to_owned()),
    }
}

/// `2/4`.
fn share(text: &str) -> Result<Share, String> {
    let numbers = text.split_once('/');
    let numbers = numbers.and_then(|(one, all)| Some((one.parse().ok()?, all.parse().ok()?)));
    match numbers {
        Some((number, of)) if (1..=of).contains(&number) => Ok(Share { number, of }),
        _ => Err("give two numbers, such as 2/4 for the second of four parts".to_owned()),
    }
}

/// `postgres` or `105:113`.
fn user(text: &str) -> Result<(u32, u32), String> {
    let numbers = text.split_once(':');
    let numbers = numbers.and_then(|(user, group)| Some((user.parse().ok()?, group.parse().ok()?)));
    let known = || fs::read_to_string("/etc/passwd").ok();
    numbers
        .or_else(|| passwd::ids(&known()?, text))
        .ok_or_else(|| {
            "/etc/passwd has no user of this name; give two numbers, such as 1000:1000".to_owned()
        })
}

/// More than nothing, and at most a day.
fn seconds(text: &str) -> Result<f64, String> {
    let seconds: f64 = text
        .parse()
        .map_err(|error| format!("not a number of seconds: {error}"))?;
    if seconds > 0.0 && seconds <= 86_400.0 {
        Ok(seconds)
    } else {
        Err("give more than 0 and at most 86400".to_owned())
    }
}

/// A request may take up to a second.
fn milliseconds(text: &str) -> Result<f64, String> {
    let milliseconds: f64 = text
        .parse()
        .map_err(|error| format!("not a number of milliseconds: {error}"))?;
    if (0.0..=1_000.0).contains(&milliseconds) {
        Ok(milliseconds)
    } else {
        Err("give at least 0 and at most 1000".to_owned())
    }
}

/// What is looked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Only {
    /// Files that are not what they were or were to become
    Damage,
}

/// Where a crash is tried.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum CrashMode {
    /// On models: which system calls a crash may undo
    Syscall,
    /// On real file systems: what they recover from a recorded device; needs root
    Block,
    /// Both, in one result
    Both,
}

/// Those that block mode has without being asked.
const FILESYSTEMS: &[Model] = &[Model::Ext4, Model::Xfs, Model::Btrfs];

const REAL: [(&str, &[Model], &str); 5] = [
    ("ext4", &[Model::Ext4], "ext4"),
    ("xfs", &[Model::Xfs], "xfs"),
    ("btrfs", &[Model::Btrfs], "btrfs"),
    (
        "ext4-journal",
        &[Model::Ext4Journal],
        "ext4 mounted with data=journal",
    ),
    ("all", FILESYSTEMS, "ext4, xfs and btrfs"),
];

/// Who else commits.
const PRESSURES: [(&str, &[Pressure], &str); 5] = [
    (
        "fsync",
        &[Pressure::Fsync],
        "Another file is synced after each change of the program",
    ),
    (
        "commit",
        &[Pressure::Commit],
        "The same, and btrfs commits a transaction at each sync",
    ),
    ("timer", &[Pressure::Timer], "The file system, every second"),
    (
        "none",
        &[Pressure::None],
        "Nobody, until everything is written after the end of the program",
    ),
    ("all", &Pressure::ALL, "Each of them"),
];

const MODELS: [(&str, &[Model], &str); 6] = [
    ("posix", &[Model::Posix], "Only syncs order anything"),
    ("ext4", &[Model::Ext4], "Defaults of ext4"),
    ("xfs", &[Model::Xfs], "Defaults of xfs"),
    ("btrfs", &[Model::Btrfs], "Defaults of btrfs"),
    (
        "ext4-journal",
        &[Model::Ext4Journal],
        "ext4 mounted with data=journal",
    ),
    (
        "all",
        &Model::DEFAULTS,
        "posix, and ext4, xfs and btrfs with their defaults",
    ),
];

const EXAMPLES: &str = "\
Examples:
  iostrata crash --dir config -- ./save-settings
  iostrata crash --dir db -- sqlite3 app.db \"insert into t values (1)\"
  iostrata crash --dir config --check './valid settings' -- ./save-settings
  iostrata crash --calibrate --fs ext4

Exit codes: 0 clean; 1 a crash can break something; 3 incomplete (the recording lacks
something, or the program failed), or clean so far: not each point was explored (0 with --accept-partial).
With --calibrate: 0 sound; 1 a model denies what a file system left; 3 incomplete.";
