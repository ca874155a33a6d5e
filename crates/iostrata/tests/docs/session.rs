//! The commands of a page, one after the other, in a new directory of a new ext4 with a journal.
//!
//! The directory is seen as `/mnt`, by these commands only.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use iostrata_lab::interrupt::Interrupt;
use iostrata_lab::scratch::{ImageKind, Images, Plan, Prepared, isolate, prepare};
use iostrata_tracer::kernel::PrivateMounts;
use rustix::mount::{UnmountFlags, mount_bind, unmount};

use crate::install::install;

/// Where the commands run.
const SEEN_AS: &str = "/mnt";

const TEMPORARY: &str = "/tmp";

const IMAGE_BYTES: u64 = 1 << 30;

/// Where the programs of the system are; these come before those that users install.
const SYSTEM: &str = "/usr/bin:/bin:/usr/sbin:/sbin";

/// Removed when it is dropped, unmounted first.
pub(crate) struct Session {
    _prepared: Prepared,
    _mounts: PrivateMounts,
    home: tempfile::TempDir,
    directory: PathBuf,
    status: i32,
}

impl Session {
    /// For the calling thread, whose mounts become its own.
    pub(crate) fn new() -> Self {
        let mounts = isolate().unwrap();
        let home = tempfile::Builder::new();
        let home = { home }
            .prefix("iostrata-docs-")
            .tempdir_in("/var/tmp")
            .unwrap();
        let plan = Plan {
            dir: home.path(),
            enter: false,
            host_bytes: 0,
            images: Some(Images {
                kinds: &[ImageKind::Ext4],
                bytes: IMAGE_BYTES,
                mounts: &mounts,
            }),
        };
        let prepared = prepare(&plan, None, &Interrupt::never()).unwrap();
        mount_bind(prepared.images()[0].path(), SEEN_AS).unwrap();
        for own in ["bin", "tmp"] {
            std::fs::create_dir(home.path().join(own)).unwrap();
        }
        install(
            env!("CARGO_BIN_EXE_iostrata"),
            home.path().join("bin/iostrata"),
        );
        // Just-in-time compilers leave files in /tmp, whatever TMPDIR says.
        mount_bind(home.path().join("tmp"), TEMPORARY).unwrap();
        Self {
            _prepared: prepared,
            _mounts: mounts,
            home,
            directory: SEEN_AS.into(),
            status: 0,
        }
    }

    /// Writes a file of the page.
    pub(crate) fn write(&self, name: &str, lines: &[String]) {
        let path = self.directory.join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, lines.join("\n") + "\n").unwrap();
    }

    /// Whether a program is there.
    pub(crate) fn has(&self, program: &str) -> bool {
        let path = self.path();
        std::env::split_paths(&path).any(|directory| directory.join(program).exists())
    }

    /// What a command prints, on both streams. Its exit code is `$?` of the next.
    pub(crate) fn run(&mut self, command: &str) -> Vec<String> {
        let script = format!("(exit {})\n{{ {command}\n}} 2>&1", self.status);
        let home = self.home.path();
        let mut shell = Command::new("sh");
        shell
            .args(["-c", &script])
            .current_dir(&self.directory)
            .env_clear()
            .env("PATH", self.path())
            .env("HOME", home)
            .env("COLUMNS", "100")
            .env("LANG", "C.UTF-8")
            .env("NO_COLOR", "1")
            .stdin(Stdio::null());
        if let Some(rustup) = rustup_home() {
            shell.env("RUSTUP_HOME", rustup);
        }
        let output = shell.output().unwrap();
        self.status = output.status.code().unwrap_or(128);
        let text = String::from_utf8(output.stdout).unwrap();
        text.lines()
            .map(|line| line.trim_end().to_owned())
            .collect()
    }

    /// The exit code of the last command.
    pub(crate) fn status(&self) -> i32 {
        self.status
    }

    fn path(&self) -> OsString {
        let mut path = self.home.path().join("bin").into_os_string();
        path.push(":");
        path.push(SYSTEM);
        if let Some(rest) = std::env::var_os("PATH") {
            path.push(":");
            path.push(rest);
        }
        path
    }
}

/// Where rustup keeps its toolchains: below the user's `HOME`, which is another here.
fn rustup_home() -> Option<PathBuf> {
    let named = std::env::var_os("RUSTUP_HOME").map(PathBuf::from);
    let usual = || Some(Path::new(&std::env::var_os("HOME")?).join(".rustup"));
    named.or_else(usual).filter(|path| path.is_dir())
}

impl Drop for Session {
    fn drop(&mut self) {
        // Before the image's own mount, which could not be unmounted below it.
        for path in [SEEN_AS, TEMPORARY] {
            _ = unmount(path, UnmountFlags::DETACH);
        }
    }
}
