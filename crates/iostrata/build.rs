//! What `--version` says of a build beside its number: the commit that it was made from, and its
//! target. Both come from the sources alone, so that two builds of one commit have the same bytes.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

fn main() {
    let here = PathBuf::from(std::env::var_os("CARGO_MANIFEST_DIR").unwrap_or_default());
    let target = std::env::var("TARGET").unwrap_or_default();
    let commit = published(&here).or_else(|| checked_out(&here));
    let commit = commit.unwrap_or_else(|| "unknown commit".to_owned());
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rustc-env=IOSTRATA_COMMIT={commit}");
    println!("cargo::rustc-env=IOSTRATA_TARGET={target}");
}

/// The commit that `cargo package` notes in a crate, and whether its sources were another's.
fn published(here: &Path) -> Option<String> {
    let noted = fs::read_to_string(here.join(".cargo_vcs_info.json")).ok()?;
    let (_, after) = noted.split_once("\"sha1\": \"")?;
    Some(named(after, noted.contains("\"dirty\": true")))
}

/// The commit of the checkout that this crate belongs to. A crate that lies in another project's
/// repository has none.
fn checked_out(here: &Path) -> Option<String> {
    let root = here.join("../..").canonicalize().ok()?;
    if git(&root, ["rev-parse", "--show-toplevel"])? != root.to_str()? {
        return None;
    }
    let sources = sources(&root);
    let branch = git(&root, ["symbolic-ref", "--quiet", "HEAD"]);
    let moved = ["HEAD", "logs/HEAD"].into_iter().chain(branch.as_deref());
    let moved = moved.filter_map(|name| git(&root, ["rev-parse", "--git-path", name]));
    for path in moved.map(PathBuf::from).chain(sources.iter().cloned()) {
        let path = root.join(path);
        // What does not exist would have this run each time.
        if path.exists() {
            println!("cargo::rerun-if-changed={}", path.display());
        }
    }
    let status = [OsStr::new("status"), "--porcelain".as_ref(), "--".as_ref()];
    let status = status.into_iter().chain(sources.iter().map(OsStr::new));
    let changed = !git(&root, status)?.is_empty();
    Some(named(&git(&root, ["rev-parse", "HEAD"])?, changed))
}

/// What decides the program's bytes.
fn sources(root: &Path) -> Vec<PathBuf> {
    let crates = fs::read_dir(root.join("crates")).into_iter().flatten();
    let crates = crates.filter_map(|entry| Some(Path::new("crates").join(entry.ok()?.file_name())));
    let parts = |of: PathBuf| ["Cargo.toml", "build.rs", "src"].map(|part| of.join(part));
    let outside = [
        "Cargo.lock",
        "Cargo.toml",
        "docs/experiments",
        "docs/glossary.md",
        "docs/rules",
    ];
    let mut sources: Vec<PathBuf> = crates.flat_map(parts).collect();
    sources.extend(outside.map(PathBuf::from));
    sources.sort();
    sources
}

fn named(commit: &str, changed: bool) -> String {
    let short: String = commit.chars().take(12).collect();
    let changed = if changed { " with changes" } else { "" };
    format!("{short}{changed}")
}

/// What git prints, or nothing where it fails or is not installed.
fn git<Word: AsRef<OsStr>>(root: &Path, words: impl IntoIterator<Item = Word>) -> Option<String> {
    // Looking leaves the index as it is: others may be using it.
    let mut command = Command::new("git");
    command.arg("--no-optional-locks").args(words);
    let output = command.current_dir(root).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    output.status.success().then(|| text.trim_end().to_owned())
}
