//! Checkers by name: what each accepts, and what it refuses.

use std::fs;
use std::path::Path;
use std::process::Command;

use super::{Case, NEW, has};
use crate::place::{Place, run, script};

/// Runs a script in a directory.
fn sh(directory: &Path, script: &str) {
    let status = Command::new("/bin/sh")
        .args(["-ec", script])
        .current_dir(directory)
        .status();
    assert!(status.unwrap().success(), "{script}");
}

/// What a checker says of a path in the directory of a place.
fn said(place: &Place, kind: &str, path: &str) -> Result<(), String> {
    said_of(place, [kind, "there", path])
}

/// The same of one that was not there before the program ran.
fn said_of_new(place: &Place, kind: &str, path: &str) -> Result<(), String> {
    said_of(place, [kind, "absent", path])
}

fn said_of(place: &Place, arguments: [&str; 3]) -> Result<(), String> {
    asked(place, &arguments, &std::env::var("PATH").unwrap())
}

/// What the process of a checker answers for one state.
fn asked(place: &Place, arguments: &[&str], path: &str) -> Result<(), String> {
    let question = place.path("question");
    fs::write(&question, format!("{}\t/none\n", place.dir().display())).unwrap();
    let mut command = place.iostrata("__check");
    command
        .args(arguments)
        .args((arguments.len() == 3).then_some(""));
    command.env("PATH", path);
    command.stdin(fs::File::open(question).unwrap());
    let outcome = command.output().unwrap();
    assert!(outcome.status.success(), "{outcome:?}");
    let said = String::from_utf8(outcome.stdout).unwrap();
    if let Some(message) = said.strip_prefix("fail ") {
        return Err(message.trim().to_owned());
    }
    assert_eq!(said, "ok\n");
    Ok(())
}

/// Whether these programs are installed; otherwise says why the test is skipped.
pub(super) fn have(programs: &[&str]) -> bool {
    let path = std::env::var_os("PATH").unwrap();
    let is_there =
        |program: &&&str| std::env::split_paths(&path).any(|at| at.join(program).is_file());
    let missing = programs.iter().find(|program| !is_there(program));
    if let Some(missing) = missing {
        crate::skip::skip(format_args!("{missing} is not installed"));
    }
    missing.is_none()
}

/// Damages the middle of a file, and cuts another copy in half.
fn damaged(directory: &Path, path: &str) {
    let mut bytes = fs::read(directory.join(path)).unwrap();
    let half = bytes.len() / 2;
    fs::write(directory.join(format!("cut-{path}")), &bytes[..half]).unwrap();
    for byte in &mut bytes[half..half + 16] {
        *byte ^= 0xff;
    }
    fs::write(directory.join(format!("bad-{path}")), bytes).unwrap();
    fs::write(directory.join(format!("empty-{path}")), "").unwrap();
}

#[test]
fn json_and_sqlite() {
    let place = Place::new();
    let dir = place.dir();
    fs::write(
        dir.join("a.json"),
        "{\"a\": [1, 2], \"b\": \"long enough to be cut in half\"}",
    )
    .unwrap();
    damaged(&dir, "a.json");
    assert_eq!(said(&place, "json", "a.json"), Ok(()));
    assert_eq!(
        said(&place, "json", "none.json"),
        Err("none.json is missing".to_owned())
    );
    assert_eq!(
        said(&place, "json", "empty-a.json"),
        Err("empty-a.json is empty".to_owned())
    );
    assert!(
        said(&place, "json", "cut-a.json")
            .unwrap_err()
            .contains("is not JSON")
    );
    sh(
        &dir,
        "seq 5000 | sqlite3 t.db 'create table t(a)' '.import /dev/stdin t'",
    );
    damaged(&dir, "t.db");
    assert_eq!(said(&place, "sqlite", "t.db"), Ok(()));
    for name in ["cut-t.db", "bad-t.db", "empty-t.db", "none.db"] {
        let message = said(&place, "sqlite", name).unwrap_err();
        assert!(message.starts_with(name), "{message}");
        // What it is about, not the headline of its part.
        assert!(!message.contains("***"), "{message}");
    }
    // A library takes an empty file for a database that it has yet to make.
    for name in ["empty-t.db", "none.db"] {
        assert_eq!(said_of_new(&place, "sqlite", name), Ok(()));
    }
    assert!(said_of_new(&place, "sqlite", "cut-t.db").is_err());
    assert!(said_of_new(&place, "json", "empty-a.json").is_err());
}

#[test]
fn git_repositories() {
    if !have(&["git"]) {
        return;
    }
    let place = Place::new();
    let dir = place.dir();
    let commit = "git -c user.name=a -c user.email=a@b commit -qm one";
    sh(
        &dir,
        &format!("git init -q r; cd r; seq 1000 > f; git add f; {commit}; git init -q ../new"),
    );
    assert_eq!(said(&place, "git", "r"), Ok(()));
    assert_eq!(said(&place, "git", "new"), Ok(()), "without a commit");
    sh(
        &dir,
        "cp -a r empty; chmod -R u+w empty; for o in $(find empty/.git/objects -type f); do : > $o; done",
    );
    assert!(
        said(&place, "git", "empty")
            .unwrap_err()
            .starts_with("git fsck: ")
    );
    sh(&dir, "cp -a r headless; : > headless/.git/HEAD");
    assert!(said(&place, "git", "headless").is_err());
    sh(
        &dir,
        "cp -a r lost; chmod -R u+w lost; rm -r lost/.git/refs/heads/*; echo 1234567890123456789012345678901234567890 > lost/.git/HEAD",
    );
    assert!(said(&place, "git", "lost").is_err());
    sh(
        &dir,
        "cp -a r orphan; git -C orphan checkout -q --orphan next",
    );
    assert_eq!(
        said(&place, "git", "orphan"),
        Err("git: HEAD is not readable: there is no branch next".to_owned())
    );
    sh(
        &dir,
        "cp -a r gone; rm gone/.git/refs/heads/*; git -C gone gc -q",
    );
    assert_eq!(
        said(&place, "git", "gone"),
        Ok(()),
        "nothing refers to anything"
    );
}

/// By two processes; of a `HEAD` without a branch by three.
#[test]
fn what_a_git_repository_holds() {
    if !have(&["git"]) {
        return;
    }
    let place = Place::new();
    let dir = place.dir();
    let commit = "git -C r -c user.name=a -c user.email=a@b commit -q --allow-empty -m";
    sh(
        &dir,
        &format!(
            "git init -q r; {commit} one; git -C r tag t; git -C r symbolic-ref refs/remotes/o/HEAD refs/tags/t; \
             git -C r branch -m main; cp -a r detached; git -C detached checkout -q --detach; \
             git init -q new; git -C new symbolic-ref HEAD refs/heads/main; git -C r rev-parse HEAD > commit"
        ),
    );
    let commit = fs::read_to_string(dir.join("commit")).unwrap();
    let commit = commit.trim();
    let references =
        format!("refs/heads/main={commit} refs/remotes/o/HEAD={commit} refs/tags/t={commit}");
    let bin = place.path("bin");
    fs::create_dir(&bin).unwrap();
    let started = place.path("started");
    let path = std::env::var("PATH").unwrap();
    let counting = format!(
        "echo >> {}\nPATH='{path}' exec git \"$@\"",
        started.display()
    );
    script(&bin.join("git"), &counting);
    for (repository, holds, processes) in [
        ("r", format!("HEAD=refs/heads/main {references}"), 2),
        ("detached", format!("HEAD={commit} {references}"), 3),
        ("new", "HEAD=refs/heads/main".to_owned(), 2),
    ] {
        fs::write(&started, "").unwrap();
        let arguments = ["git", "there", repository, "--contents"];
        let said = asked(&place, &arguments, &format!("{}:{path}", bin.display()));
        assert_eq!(said, Err(format!("holds {holds}")));
        assert_eq!(fs::read(&started).unwrap().len(), processes, "{repository}");
    }
}

#[test]
fn archives_of_each_format() {
    if !have(&["gzip", "xz", "zstd", "bzip2", "zip", "unzip", "tar"]) {
        return;
    }
    let place = Place::new();
    let dir = place.dir();
    sh(
        &dir,
        "seq 20000 > f; gzip -k f; xz -k f; zstd -qk f; bzip2 -k f; zip -q f.zip f; tar cf f.tar f",
    );
    for name in ["f.gz", "f.xz", "f.zst", "f.bz2", "f.zip", "f.tar"] {
        damaged(&dir, name);
        assert_eq!(said(&place, "archive", name), Ok(()));
        for damage in ["cut", "empty", "bad"] {
            // tar has no checksum of what is in it.
            if (damage, name) != ("bad", "f.tar") {
                let name = format!("{damage}-{name}");
                assert!(said(&place, "archive", &name).is_err(), "{name}");
            }
        }
    }
    assert!(
        said(&place, "archive", "f")
            .unwrap_err()
            .contains("does not begin like an archive")
    );
}

#[test]
fn lmdb_environments() {
    if !have(&["mdb_load", "mdb_dump"]) {
        return;
    }
    let place = Place::new();
    let dir = place.dir();
    sh(
        &dir,
        "mkdir e bad; seq 2000 | sed 's/$/\\n&/' | mdb_load -T e; cp e/data.mdb bad; truncate -s 4096 bad/data.mdb",
    );
    assert_eq!(said(&place, "lmdb", "e"), Ok(()));
    assert!(said(&place, "lmdb", "bad").is_err());
}

#[test]
fn in_a_run() {
    let case = Case::new("a.json", "{\"a\": 1}");
    let script = "echo '{\"a\": 2}' > a.json";
    let result = case.crash(&["--check", "json:a.json"], script, 1);
    assert_eq!(result["check"], "json:a.json");
    assert!(has(&result, "prefix", "a.json is empty", "ext4"));
    let script = "echo '{\"a\": 2}' > t; sync t; mv t a.json; sync .";
    case.crash(&["--check", "json:a.json"], script, 0);
}

/// The process that stays answers for what it starts: one that misbehaves fails where it does, or is not believed.
#[test]
fn a_program_that_crashes_hangs_or_remembers() {
    for (does, code, says) in [
        ("kill -SEGV $$", 1, "t.db: it says nothing"),
        ("sleep 1000", 1, "the checker took more than 1 s"),
        (
            "[ -e $TMPDIR/torn ] || { touch $TMPDIR/torn; echo torn; exit; }",
            3,
            "the checker came to \"fail t.db: torn\", and to \"ok\" when it was asked again",
        ),
    ] {
        let case = Case::new("t.db", "old");
        let bin = case.place.path("bin");
        fs::create_dir(&bin).unwrap();
        let torn = format!("[ $(wc -c < t.db) != 4096 ] || {{ {does}; }}; echo ok");
        script(&bin.join("sqlite3"), &torn);
        let path = [bin.to_str().unwrap(), &std::env::var("PATH").unwrap()].join(":");
        let options = [
            "--model",
            "xfs",
            "--check-timeout",
            "1",
            "--check",
            "sqlite:t.db",
        ];
        let options = [&options[..], &["--check-sees", bin.to_str().unwrap()]].concat();
        let mut command = case.command(&options, &format!("{NEW} > t.db"));
        command.env("PATH", path);
        let outcome = run(command).expect(code);
        let said = [outcome.stdout, outcome.stderr].concat();
        let said: Vec<_> = said.split_whitespace().collect();
        assert!(said.join(" ").contains(says), "{does}: {said:?}");
        case.place.assert_nothing_left();
    }
}

#[test]
fn what_cannot_be_looked_at_is_said_before_anything_runs() {
    let case = Case::new("f", "old");
    let refused = |check: &str, code: i32, words: &[&str]| {
        let mut command = case.place.iostrata("crash --dir");
        command
            .arg(&case.dir)
            .args(["--check", check, "--", "/bin/touch", "ran"]);
        run(command).expect(code).says(words);
    };
    // Nothing is found in PATH.
    refused(
        "sqlite:a.db",
        3,
        &["sqlite3, which is not installed; install the package sqlite3"],
    );
    refused("git", 3, &["the package git"]);
    refused("lmdb:env", 3, &["the package lmdb-utils"]);
    refused("archive:a.xz", 3, &["the package xz-utils"]);
    refused(
        "archive:f",
        2,
        &["neither its name nor its content tells a format"],
    );
    refused("json:../a.json", 2, &["name a path within the directory"]);
    refused("json:", 2, &["name a path within the directory"]);
}
