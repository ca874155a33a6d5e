//! Real programs: the tree rebuilt from their log is the one that they left.
#![expect(
    clippy::unwrap_used,
    reason = "a test stops at the first thing that fails"
)]

use std::fs;
use std::path::Path;
use std::process::Command;

use iostrata_core::record::{Check, Completeness};

use crate::record::{BY, By, again, rebuilt};

fn shell(directory: &Path, script: &str) -> Command {
    let mut command = Command::new("sh");
    let script = format!("set -e\ncd {}\n{script}", directory.display());
    command.args(["-c", &script]);
    command
}

/// Runs `script` in an empty directory, next to `from`, which `prepare` creates, records it and
/// compares.
#[track_caller]
fn is_rebuilt(prepare: &str, script: &str) {
    for by in BY {
        is_rebuilt_by(by, prepare, script);
    }
}

#[track_caller]
fn is_rebuilt_by(by: By, prepare: &str, script: &str) {
    let dir = tempfile::tempdir().unwrap();
    let (from, made) = (dir.path().join("from"), dir.path().join("made"));
    fs::create_dir(&from).unwrap();
    fs::create_dir(&made).unwrap();
    assert!(shell(&from, prepare).status().unwrap().success());
    let log = dir.path().join("log");
    let recorded = by.record(&log, &mut shell(&made, script));
    assert_eq!(recorded.completeness, Completeness::Complete, "{by:?}");
    assert!(
        matches!(
            recorded.check,
            Check::Compared {
                nodes: 1..,
                differing: 0,
                ..
            }
        ),
        "{:?}",
        recorded.check
    );
    let second = dir.path().join("again");
    again(&log, &second);
    let different = Command::new("diff")
        .args(["--recursive", "--no-dereference"])
        .args([&made, &rebuilt(&second, &made)])
        .output()
        .unwrap();
    assert_eq!(String::from_utf8_lossy(&different.stdout), "");
    assert!(different.status.success());
}

/// Some files to work on.
const FILES: &str = "mkdir -p tree/deep/er; for i in $(seq 40); do seq $i > tree/f$i; done
    cp tree/f30 tree/deep/er/a; ln tree/f7 tree/deep/hard; ln -s ../f1 tree/deep/link";

#[test]
fn sqlite() {
    is_rebuilt(
        "true",
        "sqlite3 db 'create table t(a, b);
            insert into t select value, randomblob(200) from generate_series(1, 2000);
            update t set b = 1 where a % 3 = 0; delete from t where a % 5 = 0; vacuum;'
         sqlite3 wal 'pragma journal_mode = delete; create table t(a); insert into t values (1);'",
    );
}

#[test]
fn git() {
    is_rebuilt(
        "true",
        "export HOME=$PWD; git init -q r; cd r; git config user.email a@b; git config user.name n
         for i in 1 2 3; do echo $i > f$i; git add .; git commit -qm $i; done
         git gc -q; git checkout -q -b x; git mv f1 g; git commit -qam y",
    );
}

#[test]
fn tar_and_rsync() {
    let pack = format!("{FILES}; tar cf s.tar tree");
    is_rebuilt(
        &pack,
        "tar xpf ../from/s.tar; rsync -a tree/ copy/; echo more >> copy/f3; rsync -a tree/ copy/
         tar czf again.tgz tree; mv tree moved; gzip moved/f9; sed -i s/1/one/ moved/f10",
    );
}

#[test]
fn cp_keeps_attributes_and_shells_append() {
    is_rebuilt(
        FILES,
        "cp -a ../from/tree copy; chmod 600 copy/f1; touch -d 2001-02-03 copy/f2
         for i in 1 2 3 4; do (for k in $(seq 200); do echo $i $k >> all; done) & done; wait",
    );
}

#[test]
fn python() {
    is_rebuilt(
        "true",
        "python3 - <<'END'
import json, os, tempfile
os.makedirs('a/b/c')
for i in range(200):
    with open(f'a/b/f{i}', 'w') as file:
        json.dump({'i': i}, file)
os.rename('a/b', 'a/z')
os.replace('a/z/f1', 'a/z/f2')
for i in range(50, 100):
    os.unlink(f'a/z/f{i}')
handle, name = tempfile.mkstemp(dir='.')
os.write(handle, b'x' * 100000)
os.truncate(name, 70000)
END",
    );
}

#[test]
fn dpkg_unpacks_a_package() {
    is_rebuilt(
        "mkdir -p p/DEBIAN p/usr/share/doc/p; seq 1000 > p/usr/share/doc/p/a; ln -s a p/usr/share/doc/p/b
         printf 'Package: p\\nVersion: 1\\nArchitecture: all\\nMaintainer: n <a@b>\\nDescription: d\\n' > p/DEBIAN/control
         dpkg-deb --build p p.deb > /dev/null",
        "mkdir -p root/var/lib/dpkg/info root/var/lib/dpkg/updates; : > root/var/lib/dpkg/status
         dpkg --root=$PWD/root --log=$PWD/log --force-all --unpack ../from/p.deb",
    );
}
