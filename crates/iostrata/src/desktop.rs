//! The desktop of the user, for `--open`.

use std::env;
use std::fs;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::error::Failure;
use crate::passwd;

/// Opens files with the desktop's program for them (xdg-utils).
const OPENER: &str = "xdg-open";

#[derive(Debug)]
pub(crate) struct Desktop {
    opener: PathBuf,
}

impl Desktop {
    /// Looks for a display and a program that opens files on it.
    pub(crate) fn find() -> Result<Self, Failure> {
        let is_set = |name| env::var_os(name).is_some_and(|value| !value.is_empty());
        if !is_set("DISPLAY") && !is_set("WAYLAND_DISPLAY") {
            return Err(Failure::cannot(
                "cannot open the page: there is no desktop here: neither DISPLAY nor \
                 WAYLAND_DISPLAY is set; leave --open out and open the file in a browser \
                 elsewhere",
            ));
        }
        let directories = env::var_os("PATH").unwrap_or_default();
        let mut candidates = env::split_paths(&directories).map(|one| one.join(OPENER));
        let opener = candidates.find(|candidate| candidate.is_file());
        opener.map(|opener| Self { opener }).ok_or_else(|| {
            Failure::Cannot(format!(
                "cannot open the page: {OPENER} is not on the PATH; install xdg-utils, or leave \
                 --open out and open the file in a browser"
            ))
        })
    }

    /// Hands the file over and does not wait.
    pub(crate) fn show(&self, path: &Path) -> Result<(), Failure> {
        let failed = |error: std::io::Error| {
            let path = path.display();
            Failure::Cannot(format!(
                "cannot open {path}: {error}; the page was written, open it in a browser"
            ))
        };
        let mut command = Command::new(&self.opener);
        // A relative path could be taken for an option.
        command.arg(path.canonicalize().map_err(failed)?);
        command
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .process_group(0);
        if let Some(user) = User::behind_sudo() {
            user.take_over(&mut command);
        }
        command.spawn().map(drop).map_err(failed)
    }
}

/// The user who ran sudo: a browser should not run as root.
#[derive(Debug, PartialEq, Eq)]
struct User {
    uid: u32,
    gid: u32,
}

impl User {
    fn behind_sudo() -> Option<Self> {
        if !rustix::process::geteuid().is_root() {
            return None;
        }
        let number = |name| env::var(name).ok()?.parse().ok();
        Some(Self {
            uid: number("SUDO_UID")?,
            gid: number("SUDO_GID")?,
        })
    }

    fn take_over(&self, command: &mut Command) {
        command.uid(self.uid).gid(self.gid);
        command.env("XDG_RUNTIME_DIR", format!("/run/user/{}", self.uid));
        let users = fs::read_to_string("/etc/passwd").unwrap_or_default();
        match passwd::home(&users, self.uid) {
            Some(home) => command.env("HOME", home),
            None => command.env_remove("HOME"),
        };
    }
}
