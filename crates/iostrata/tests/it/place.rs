//! Where a test's program runs, and what it may have left there.

use std::ffi::OsStr;
use std::fmt::Write as _;
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{PermissionsExt as _, chown};
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::thread;
use std::time::Duration;

use crate::install::install;

/// More than anything here takes, also on a busy machine. Reached only when a test fails.
pub(crate) const PATIENCE: Duration = Duration::from_mins(5);

/// A user without any privilege.
pub(crate) const NOBODY: u32 = 65_534;

/// A directory of a test's own, on a real disk, with all that its programs may use.
pub(crate) struct Place {
    root: tempfile::TempDir,
}

impl Place {
    pub(crate) fn new() -> Self {
        let root = tempfile::Builder::new()
            .prefix("iostrata-it-")
            .tempdir_in("/var/tmp")
            .unwrap();
        let place = Self { root };
        fs::set_permissions(place.root.path(), fs::Permissions::from_mode(0o755)).unwrap();
        fs::create_dir(place.dir()).unwrap();
        fs::create_dir(place.path("home")).unwrap();
        place
    }

    /// The directory that is measured. Empty.
    pub(crate) fn dir(&self) -> PathBuf {
        self.path("dir")
    }

    /// A path beside it.
    pub(crate) fn path(&self, name: impl AsRef<Path>) -> PathBuf {
        self.root.path().join(name)
    }

    /// The program in the measured directory, with an environment of its own in which no tool is
    /// found.
    pub(crate) fn iostrata(&self, arguments: &str) -> Command {
        self.program(Path::new(env!("CARGO_BIN_EXE_iostrata")), arguments)
    }

    /// The same as [`NOBODY`], to whom the measured directory belongs.
    pub(crate) fn iostrata_of_nobody(&self, arguments: &str) -> Command {
        self.iostrata_of(NOBODY, arguments)
    }

    /// The same as a user without privilege, to whom the measured directory belongs.
    pub(crate) fn iostrata_of(&self, user: u32, arguments: &str) -> Command {
        if !rustix::process::geteuid().is_root() {
            return self.iostrata(arguments);
        }
        for own in [self.dir(), self.path("home")] {
            chown(own, Some(user), Some(user)).unwrap();
        }
        // The build directory may be closed to others.
        let copy = self.path("iostrata");
        install(env!("CARGO_BIN_EXE_iostrata"), &copy);
        let mut command = self.program(&copy, arguments);
        command.uid(user).gid(user);
        command
    }

    fn program(&self, program: &Path, arguments: &str) -> Command {
        let mut command = Command::new(program);
        command
            .args(arguments.split_whitespace())
            .env_clear()
            .env("COLUMNS", "100")
            .env("HOME", self.path("home"))
            .env("LANG", "C.UTF-8")
            .env("NO_COLOR", "1")
            .env("PATH", "/nonexistent")
            .env("TMPDIR", self.path("home"))
            .current_dir(self.dir())
            .stdin(Stdio::null());
        command
    }

    /// Asserts that nothing is left: no file, mount, loop device or process.
    #[track_caller]
    pub(crate) fn assert_nothing_left(&self) {
        self.assert_kernel_is_clean();
        assert_eq!(entries(&self.dir()), Vec::<PathBuf>::new());
    }

    /// Loop devices with an image here; processes that run here or see a mount here.
    pub(crate) fn in_use(&self) -> (usize, usize) {
        (loop_devices(self.root.path()), users(self.root.path()))
    }

    /// The kernel ends a killed program's mounts and devices in its own time.
    #[track_caller]
    pub(crate) fn assert_kernel_is_clean(&self) {
        until("loop devices, mounts or processes are left", || {
            (self.in_use() == (0, 0)).then_some(())
        });
    }
}

/// Waits for something.
#[track_caller]
pub(crate) fn until<T>(what_is_wrong: &str, mut found: impl FnMut() -> Option<T>) -> T {
    crate::wait::until(|| found().ok_or(what_is_wrong))
}

/// Entries of a directory.
pub(crate) fn entries(dir: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(dir).unwrap();
    entries.map(|entry| entry.unwrap().path()).collect()
}

fn loop_devices(root: &Path) -> usize {
    let devices = entries(Path::new("/sys/block")).into_iter();
    let backing_files = devices.map(|device| device.join("loop/backing_file"));
    backing_files.filter(|file| mentions(file, root)).count()
}

/// Threads that see a mount below `root`, and processes whose `HOME` is there.
fn users(root: &Path) -> usize {
    let mut users = 0;
    for process in entries(Path::new("/proc")) {
        users += usize::from(mentions(&process.join("environ"), root));
        let Ok(threads) = fs::read_dir(process.join("task")) else {
            continue;
        };
        let mounts = threads.map_while(Result::ok);
        users += mounts
            .filter(|thread| mentions(&thread.path().join("mountinfo"), root))
            .count();
    }
    users
}

fn mentions(file: &Path, path: &Path) -> bool {
    let path = path.as_os_str().as_bytes();
    fs::read(file).is_ok_and(|text| text.windows(path.len()).any(|window| window == path))
}

/// Whether this is root; otherwise says why the test is skipped.
pub(crate) fn is_root(why: &str) -> bool {
    let root = rustix::process::geteuid().is_root();
    if !root {
        crate::skip::skip(format_args!("{why} needs root"));
    }
    root
}

/// Runs a test's steps in a thread that has its own mounts, which end with it.
pub(crate) fn with_own_mounts(steps: impl FnOnce() + Send) {
    thread::scope(|scope| {
        scope.spawn(|| {
            let _mounts = iostrata_tracer::kernel::private_mounts().unwrap();
            steps();
        });
    });
}

/// What a run gave.
pub(crate) struct Outcome {
    pub(crate) code: Option<i32>,
    pub(crate) signal: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl From<Output> for Outcome {
    fn from(output: Output) -> Self {
        Self {
            code: output.status.code(),
            signal: output.status.signal(),
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: without_progress(&String::from_utf8(output.stderr).unwrap()),
        }
    }
}

/// What a run said, but not how far it was: that depends on the machine.
fn without_progress(stderr: &str) -> String {
    let is_progress = |line: &&str| {
        let names = ["buffering: ", "page-cache: ", "sync: ", "atime: ", "copy: "];
        let told = names.iter().find_map(|name| line.strip_prefix(name));
        let is_step = |text: &str| text.contains(" of ") && text.contains(" done");
        told.is_some_and(|text| is_step(text) || text.starts_with("preparing, "))
    };
    let lines = stderr.split_inclusive('\n');
    lines.filter(|line| !is_progress(line)).collect()
}

impl Outcome {
    /// All of it, for a snapshot. Lines end where their text does.
    pub(crate) fn text(&self, place: &Place) -> String {
        let mut text = match self.code {
            Some(code) => format!("exit {code}\n"),
            None => format!("signal {:?}\n", self.signal),
        };
        for (name, stream) in [("stdout", &self.stdout), ("stderr", &self.stderr)] {
            if !stream.is_empty() {
                _ = writeln!(text, "--- {name}");
                for line in stream.lines() {
                    _ = writeln!(text, "{}", line.trim_end());
                }
            }
        }
        text.replace(place.root.path().to_str().unwrap(), "/PLACE")
    }

    /// Fails unless the run ended with this code.
    #[track_caller]
    pub(crate) fn expect(self, code: i32) -> Self {
        assert!(
            self.code == Some(code),
            "exit {:?}, signal {:?}, not {code}; stderr: {}\nstdout: {}",
            self.code,
            self.signal,
            self.stderr,
            self.stdout
        );
        self
    }

    /// Fails unless standard error says all of it.
    #[track_caller]
    pub(crate) fn says(&self, words: &[&str]) {
        for word in words {
            assert!(self.stderr.contains(word), "no {word:?} in {}", self.stderr);
        }
    }
}

/// Runs a program to its end.
#[track_caller]
pub(crate) fn run(command: Command) -> Outcome {
    let output = assert_cmd::Command::from_std(command)
        .timeout(PATIENCE)
        .output();
    output.unwrap().into()
}

/// Makes an executable shell script.
pub(crate) fn script(path: &Path, text: &str) {
    let written = tempfile::NamedTempFile::new().unwrap();
    fs::write(written.path(), format!("#!/bin/sh\n{text}\n")).unwrap();
    install(written.path(), path);
}

/// `--option` and a path that need not be text.
pub(crate) fn with_path(mut command: Command, option: &str, path: impl AsRef<OsStr>) -> Command {
    command.arg(option).arg(path);
    command
}

/// A saved result of trace with many files: it takes a while to read and to write.
pub(crate) fn enlarged(small: &[u8]) -> String {
    let mut result: serde_json::Value = serde_json::from_slice(small).unwrap();
    let files = result["files"].as_array_mut().unwrap();
    let one = files[0].clone();
    for number in 0..1_000 {
        let mut file = one.clone();
        file["path"] = format!("/srv/{number}").into();
        files.push(file);
    }
    result.to_string() + "\n"
}
