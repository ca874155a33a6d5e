//! The screen on a real terminal, by tmux.

use std::path::PathBuf;
use std::process::{Child, Command};
use std::time::Duration;

use rustix::process::geteuid;

use crate::wait::until;
use crate::watched::Room;

/// A tmux server of its own, ended with the test.
pub(crate) struct Terminal {
    socket: PathBuf,
    _dir: tempfile::TempDir,
}

impl Terminal {
    /// Runs a command of the shell in 100 columns and 30 lines.
    pub(crate) fn run(command: &str) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let terminal = Self {
            socket: dir.path().join("tmux"),
            _dir: dir,
        };
        let arguments = [
            "-f",
            "/dev/null",
            "new-session",
            "-d",
            "-x",
            "100",
            "-y",
            "30",
        ];
        terminal.tmux(&[&arguments[..], &[command]].concat());
        terminal
    }

    fn tmux(&self, arguments: &[&str]) -> String {
        let mut tmux = Command::new("tmux");
        tmux.arg("-S").arg(&self.socket).args(arguments);
        tmux.env_remove("TMUX");
        let output = tmux.output().unwrap();
        assert!(output.status.success(), "{arguments:?}: {output:?}");
        String::from_utf8(output.stdout).unwrap()
    }

    pub(crate) fn press(&self, keys: &[&str]) {
        self.tmux(&[&["send-keys"], keys].concat());
    }

    fn screen(&self) -> String {
        self.tmux(&["capture-pane", "-p"])
    }

    /// The screen with its attributes, as escape sequences.
    pub(crate) fn drawn(&self) -> String {
        self.tmux(&["capture-pane", "-p", "-e"])
    }

    /// Waits until the screen has this and is whole: nothing is drawn any more.
    fn rests_with(&self, text: &str) -> String {
        until(|| {
            let screen = self.screen();
            std::thread::sleep(Duration::from_millis(500));
            let is_whole = screen.contains(text) && self.screen() == screen;
            is_whole.then_some(screen.clone()).ok_or((text, screen))
        })
    }

    /// Waits until the screen has this. The rest may still be drawn.
    pub(crate) fn shows(&self, text: &str) -> String {
        until(|| {
            let screen = self.screen();
            if screen.contains(text) {
                Ok(screen)
            } else {
                Err((text, screen))
            }
        })
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        let mut tmux = Command::new("tmux");
        drop(tmux.arg("-S").arg(&self.socket).arg("kill-server").output());
    }
}

pub(crate) fn skips() -> bool {
    if !geteuid().is_root() {
        crate::skip::skip("observing programs in the kernel needs root");
        return true;
    }
    if Command::new("tmux").arg("-V").output().is_err() {
        crate::skip::skip("tmux is not installed; scripts/deps test installs it");
        return true;
    }
    false
}

/// What ended it is shown on the screen that was there before.
fn watch() -> Terminal {
    let program = env!("CARGO_BIN_EXE_iostrata");
    Terminal::run(&format!(
        "echo before; {program} top --every 200ms; echo ended $?; sleep 600"
    ))
}

#[test]
fn keys_choose_what_is_shown() {
    if skips() {
        return;
    }
    let terminal = watch();
    terminal.shows("processes, by disk bytes");
    let screen = terminal.shows("Space freeze  q quit");
    assert!(!screen.contains("before"), "a screen of its own");
    terminal.press(&["2"]);
    terminal.shows("files, by disk bytes");
    terminal.press(&["s", "/", "x", "y"]);
    terminal.shows("files, by time in calls, filter: xy_");
    terminal.press(&["Escape"]);
    // A key that comes with it would be one with Alt.
    terminal.shows("files, by time in calls\n");
    terminal.press(&["Space"]);
    let frozen = terminal.rests_with("files, by time in calls, frozen");
    std::thread::sleep(Duration::from_secs(1));
    assert_eq!(terminal.screen(), frozen);
    terminal.tmux(&["resize-window", "-x", "80", "-y", "24"]);
    let narrow = terminal.shows("frozen");
    assert!(narrow.lines().all(|line| line.chars().count() <= 80));
    terminal.press(&["q"]);
    let after = terminal.shows("ended 0");
    assert!(after.contains("before"), "{after}");
}

#[test]
fn a_key_that_comes_with_a_resize_is_not_lost() {
    if skips() {
        return;
    }
    let terminal = watch();
    terminal.shows("processes, by disk bytes");
    let kinds = [("2", "files"), ("1", "processes")];
    for (round, (key, kind)) in kinds.iter().cycle().take(30).enumerate() {
        let columns = (80 + round).to_string();
        let resize = ["resize-window", "-x", &columns, "-y", "24", ";"];
        terminal.tmux(&[&resize[..], &["send-keys", key]].concat());
        terminal.shows(&format!("{kind}, by disk bytes"));
    }
}

/// Writes to as many files as it makes in a second, one after the other, without end.
const WRITE: &str = "
import itertools, os, sys, time
begun, files = time.monotonic(), None
for number in itertools.count():
    fd = os.open(f'{sys.argv[1]}/{number % files if files else number}', os.O_WRONLY | os.O_CREAT)
    os.write(fd, b'x')
    os.close(fd)
    if files is None and time.monotonic() - begun > 1:
        files = number + 1
";

/// Killed when the test ends.
struct Writer(Child);

impl Drop for Writer {
    fn drop(&mut self) {
        drop(self.0.kill());
        drop(self.0.wait());
    }
}

/// So many rows take longer to collect and to draw than an interval lasts.
#[test]
fn keys_are_read_where_no_time_is_left() {
    if skips() {
        return;
    }
    let _room = Room::own();
    let dir = tempfile::tempdir_in("/dev/shm").unwrap();
    let mut python = Command::new("python3");
    python.args(["-c", WRITE]).arg(dir.path());
    let _writer = Writer(python.spawn().unwrap());
    let program = env!("CARGO_BIN_EXE_iostrata");
    let terminal = Terminal::run(&format!(
        "{program} top --every 100ms; echo ended $?; sleep 600"
    ));
    terminal.shows("python3");
    for key in ["2", "1", "2"] {
        terminal.press(&[key]);
        let kind = if key == "1" { "processes" } else { "files" };
        terminal.shows(&format!("{kind}, by disk bytes"));
    }
    terminal.press(&["q"]);
    terminal.shows("ended 0");
}

#[test]
fn ctrl_c_ends_it_and_the_terminal_is_as_it_was() {
    if skips() {
        return;
    }
    let terminal = watch();
    terminal.shows("processes, by disk bytes");
    terminal.press(&["C-c"]);
    let after = terminal.shows("ended 0");
    assert!(after.contains("before"), "{after}");
}

#[test]
fn a_signal_leaves_the_terminal_as_it_was() {
    if skips() {
        return;
    }
    let terminal = watch();
    terminal.shows("processes, by disk bytes");
    let shell = terminal.tmux(&["display-message", "-p", "#{pane_pid}"]);
    let children = format!("/proc/{0}/task/{0}/children", shell.trim());
    let child = std::fs::read_to_string(children).unwrap();
    let pid = child.trim().parse().unwrap();
    let pid = rustix::process::Pid::from_raw(pid).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
    let after = terminal.shows("ended 143");
    assert!(
        after.contains("before") && after.contains("SIGTERM"),
        "{after}"
    );
}

#[test]
fn a_closed_terminal_ends_it() {
    if skips() {
        return;
    }
    let program = env!("CARGO_BIN_EXE_iostrata");
    let terminal = Terminal::run(&format!("exec {program} top --every 200ms"));
    terminal.shows("calls/s");
    let pid = terminal.tmux(&["list-panes", "-F", "#{pane_pid}"]);
    let process = PathBuf::from("/proc").join(pid.trim());
    let command = std::fs::read(process.join("cmdline")).unwrap();
    assert!(command.starts_with(program.as_bytes()));
    terminal.tmux(&["kill-server"]);
    until(|| (!process.exists()).then_some(()).ok_or("it is still there"));
}
