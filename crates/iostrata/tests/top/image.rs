//! An ext4 with a journal, mounted for a test.

use std::path::{Path, PathBuf};
use std::process::Command;

/// Unmounted and removed when the test ends.
pub(crate) struct Image {
    root: tempfile::TempDir,
}

impl Image {
    pub(crate) fn new() -> Self {
        let mut root = tempfile::Builder::new();
        let root = root.prefix("iostrata-top-").tempdir_in("/var/tmp").unwrap();
        let image = Self { root };
        let file = std::fs::File::create(image.file()).unwrap();
        file.set_len(256 << 20).unwrap();
        std::fs::create_dir(image.path("")).unwrap();
        done("mkfs.ext4", &["-q", "-F", &text(&image.file())]);
        done(
            "mount",
            &["-o", "loop", &text(&image.file()), &text(&image.path(""))],
        );
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

    fn file(&self) -> PathBuf {
        self.root.path().join("image")
    }
}

impl Drop for Image {
    fn drop(&mut self) {
        done("umount", &[&text(&self.path(""))]);
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
