//! An ext4 with a journal, or an xfs, mounted for a test.

use std::path::{Path, PathBuf};
use std::process::Command;

/// mke2fs(8): the kernel has nothing to initialise when it is mounted.
const NOTHING_LATER: &str = "lazy_itable_init=0,lazy_journal_init=0";

/// Unmounted and removed when the test ends.
pub(crate) struct Image {
    root: tempfile::TempDir,
    is_mounted: bool,
}

impl Image {
    pub(crate) fn new() -> Self {
        Self::unmounted().mounted()
    }

    pub(crate) fn mounted(self) -> Self {
        let mut image = self;
        done(
            "mount",
            &["-o", "loop", &text(&image.file()), &text(&image.path(""))],
        );
        image.is_mounted = true;
        image
    }

    /// For a mount namespace of its own.
    pub(crate) fn unmounted() -> Self {
        Self::made(256 << 20, &["mkfs.ext4", "-q", "-F", "-E", NOTHING_LATER])
    }

    /// By a program that makes a file system in a file of this length.
    pub(crate) fn made(bytes: u64, make: &[&str]) -> Self {
        let mut root = tempfile::Builder::new();
        let root = root.prefix("iostrata-top-").tempdir_in("/var/tmp").unwrap();
        let image = Self {
            root,
            is_mounted: false,
        };
        let file = std::fs::File::create(image.file()).unwrap();
        file.set_len(bytes).unwrap();
        std::fs::create_dir(image.path("")).unwrap();
        let [program, options @ ..] = make else {
            panic!("no program")
        };
        done(program, &[options, &[&text(&image.file())]].concat());
        image
    }

    /// A path in it.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        let mounted = self.root.path().join("mounted");
        if name.is_empty() {
            mounted
        } else {
            mounted.join(name)
        }
    }

    /// Its loop device: `loop0`.
    pub(crate) fn disk(&self) -> String {
        let output = Command::new("findmnt")
            .args(["-n", "-o", "SOURCE", &text(&self.path(""))])
            .output()
            .unwrap();
        let source = String::from_utf8(output.stdout).unwrap();
        source.trim().trim_start_matches("/dev/").to_owned()
    }

    pub(crate) fn file(&self) -> PathBuf {
        self.root.path().join("image")
    }
}

impl Drop for Image {
    fn drop(&mut self) {
        if self.is_mounted {
            done("umount", &[&text(&self.path(""))]);
        }
    }
}

pub(crate) fn text(path: &Path) -> String {
    path.to_str().unwrap().to_owned()
}

/// Runs a program, which must succeed.
#[track_caller]
pub(crate) fn done(program: &str, arguments: &[&str]) {
    let output = Command::new(program).args(arguments).output().unwrap();
    assert!(output.status.success(), "{program}: {output:?}");
}
