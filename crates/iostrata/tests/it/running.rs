//! A program that a test watches and interrupts.

use std::fs::{self, File};
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};

use rustix::process::{Pid, Signal, kill_process, kill_process_group};

use crate::place::{Outcome, Place, entries, until};

/// A running program, killed when the test ends.
pub(crate) struct Running<'p> {
    child: Child,
    place: &'p Place,
    name: &'static str,
}

impl<'p> Running<'p> {
    /// Starts it; `name` tells its output files from those of others.
    pub(crate) fn start(place: &'p Place, name: &'static str, mut command: Command) -> Self {
        let output = |stream: &str| File::create(place.path(format!("{name}.{stream}"))).unwrap();
        let child = command
            .stdout(output("stdout"))
            .stderr(output("stderr"))
            .spawn()
            .unwrap();
        Self { child, place, name }
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    pub(crate) fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).unwrap();
    }

    /// To all processes of its group, as the keyboard does.
    pub(crate) fn signal_group(&self, signal: Signal) {
        kill_process_group(Pid::from_child(&self.child), signal).unwrap();
    }

    pub(crate) fn has_ended(&mut self) -> bool {
        self.child.try_wait().unwrap().is_some()
    }

    /// Waits for its end.
    #[track_caller]
    pub(crate) fn finish(mut self) -> Outcome {
        let status = until("the program does not end", || {
            self.child.try_wait().unwrap()
        });
        let read = |stream: &str| {
            let path = self.place.path(format!("{}.{stream}", self.name));
            fs::read_to_string(path).unwrap()
        };
        Outcome {
            code: status.code(),
            signal: status.signal(),
            stdout: read("stdout"),
            stderr: read("stderr"),
        }
    }

    /// Waits until its workload process writes the file called `name`, and gives the process.
    #[track_caller]
    pub(crate) fn workload(&self, target: &str, name: &str) -> Pid {
        let dir = self.place.dir();
        until("no workload process writes", || {
            let written = |scratch: &PathBuf| {
                let file = scratch.join(target).join(name);
                fs::metadata(file).is_ok_and(|file| file.len() > 0)
            };
            entries(&dir).iter().find(|scratch| written(scratch))?;
            self.children()
                .into_iter()
                .find(|process| is_workload(*process))
        })
    }

    /// Waits until a scratch file has so many bytes.
    #[track_caller]
    pub(crate) fn scratch_file(&self, target: &str, name: &str, bytes: u64) {
        let dir = self.place.dir();
        until("a scratch file does not get its length", || {
            let whole = |scratch: &PathBuf| {
                let file = scratch.join(target).join(name);
                fs::metadata(file).is_ok_and(|file| file.len() == bytes)
            };
            entries(&dir).iter().any(whole).then_some(())
        });
    }

    /// Waits for a workload process. What it writes in an image is not seen from here.
    #[track_caller]
    pub(crate) fn any_workload(&self) -> Pid {
        until("no workload process is started", || {
            self.children()
                .into_iter()
                .find(|process| is_workload(*process))
        })
    }

    /// The process that removes what it leaves when it is killed.
    #[track_caller]
    pub(crate) fn guard(&self) -> Pid {
        let children = self.children().into_iter();
        let mut guards = children.filter(|process| is_run_as(*process, b"__guard"));
        guards.next().unwrap()
    }

    fn children(&self) -> Vec<Pid> {
        let parent = self.child.id().to_string();
        let processes = entries(Path::new("/proc")).into_iter();
        processes
            .filter(|process| parent_of(process).as_ref() == Some(&parent))
            .filter_map(|process| Pid::from_raw(process.file_name()?.to_str()?.parse().ok()?))
            .collect()
    }
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// The fourth field of `/proc/PID/stat`; the second may hold spaces.
fn parent_of(process: &Path) -> Option<String> {
    let stat = fs::read_to_string(process.join("stat")).ok()?;
    let (_, after) = stat.rsplit_once(") ")?;
    after.split(' ').nth(1).map(str::to_owned)
}

fn is_workload(process: Pid) -> bool {
    is_run_as(process, b"__workload")
}

/// Whether this hidden command is what it was started with.
fn is_run_as(process: Pid, command: &[u8]) -> bool {
    let line = fs::read(format!("/proc/{}/cmdline", process.as_raw_nonzero()));
    line.is_ok_and(|line| line.ends_with(&[b"\0", command, b"\0"].concat()))
}
