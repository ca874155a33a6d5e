//! Both back ends see the same operations of the same program. Needs root, for eBPF.
#![expect(
    clippy::unwrap_used,
    reason = "a test stops at the first thing that fails"
)]

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use iostrata_core::observe::{Observation, Observer as _, Stream};
use iostrata_core::op::FileId;
use iostrata_core::trace::Shape;
use iostrata_core::trace::timeline::Purpose;
use iostrata_tracer::ebpf::{EbpfObserver, Limits};
use iostrata_tracer::program::Blocked;
use iostrata_tracer::ptrace::{Session, Stops};
use iostrata_tracer::signals::Mask;
use serde_json::Value;

use crate::ground::{command, scratch, workload};
use crate::wait::until;

/// A row without the times, which differ from run to run.
#[derive(Debug, PartialEq)]
struct Row {
    count: u64,
    errors: u64,
    moved_bytes: u64,
    shape: Option<Shape>,
}

/// What the two must agree on, with paths for files.
#[derive(Debug, PartialEq)]
struct Seen {
    rows: BTreeMap<(String, String, bool), Row>,
    files: BTreeMap<String, Value>,
    renamed: BTreeMap<String, String>,
    directories: Vec<Value>,
    not_found: BTreeMap<String, u64>,
    tasks: Vec<(String, u64, u64)>,
    /// Calls and bytes of each purpose over the whole run.
    purposes: BTreeMap<Purpose, (u64, u64)>,
}

fn by_ebpf(words: &[OsString]) -> Observation {
    let mut observer = EbpfObserver::with_limits(Limits::trace()).unwrap();
    let blocked = Blocked::prepare(words, Mask::own().unwrap()).unwrap();
    observer.start(blocked.pid(), Stream::default()).unwrap();
    blocked.go().unwrap().wait().unwrap();
    until(|| match observer.alive().unwrap() {
        0 => Ok(()),
        alive => Err(alive),
    });
    observer.program_ended().unwrap();
    let observation = observer.stop().unwrap();
    assert_eq!(observation.raw.losses.total(), 0);
    observation
}

fn by_ptrace(words: &[OsString], stops: Stops) -> Observation {
    let session = Session::start(words, stops).unwrap();
    session.wait().unwrap().observation
}

/// The part about files below `dir`.
fn below(dir: &Path, observation: &Observation) -> Seen {
    let seen = observation.seen.as_ref().unwrap();
    let prefix = [dir.as_os_str().as_bytes(), b"/"].concat();
    let inside = |path: &[u8]| {
        let rest = path.strip_prefix(&prefix[..])?;
        Some(String::from_utf8_lossy(rest).into_owned())
    };
    let names = names(seen, inside);
    let rows = observation.raw.syscalls.iter().flatten();
    let mut tasks: Vec<_> = seen
        .tasks
        .iter()
        .map(|task| {
            let name = String::from_utf8_lossy(&task.name).into_owned();
            (name, task.read_bytes, task.written_bytes)
        })
        .collect();
    tasks.sort();
    let mut directories: Vec<Value> = seen
        .followed
        .directories
        .iter()
        .filter(|row| row.path.as_bytes().starts_with(&prefix[..prefix.len() - 1]))
        .map(|row| timeless(serde_json::to_value(row).unwrap()))
        .collect();
    directories.sort_by_key(ToString::to_string);
    Seen {
        rows: rows
            .filter_map(|row| {
                let path = names.get(&row.file?)?.clone();
                let key = (path, row.name.to_owned(), row.is_source);
                let row = Row {
                    count: row.count,
                    errors: row.errors,
                    moved_bytes: row.returned,
                    shape: row.shape.as_deref().cloned(),
                };
                Some((key, row))
            })
            .collect(),
        files: seen
            .followed
            .files
            .iter()
            .filter_map(|(file, history)| {
                let history = timeless(serde_json::to_value(history).unwrap());
                Some((names.get(file)?.clone(), history))
            })
            .collect(),
        renamed: seen
            .followed
            .renamed_to
            .iter()
            .filter_map(|(file, path)| Some((names.get(file)?.clone(), inside(path)?)))
            .collect(),
        directories,
        purposes: purposes(seen),
        not_found: seen
            .followed
            .not_found
            .iter()
            .filter_map(|searched| Some((inside(searched.path.as_bytes())?, searched.count)))
            .collect(),
        tasks,
    }
}

/// Files inside the directory, by their paths there.
fn names(
    seen: &iostrata_core::trace::Seen,
    inside: impl Fn(&[u8]) -> Option<String>,
) -> BTreeMap<FileId, String> {
    let path_of = |named: &iostrata_core::trace::NamedFile| {
        let path = inside(&named.path)?;
        // The kernel's name for a file without a name contains its inode number.
        let linked = seen.followed.renamed_to.get(&named.file);
        let linked = linked.filter(|_| path.starts_with('#'));
        Some((named.file, linked.map_or(Some(path), |to| inside(to))?))
    };
    seen.names.iter().filter_map(path_of).collect()
}

fn purposes(seen: &iostrata_core::trace::Seen) -> BTreeMap<Purpose, (u64, u64)> {
    let mut sums: BTreeMap<Purpose, (u64, u64)> = BTreeMap::new();
    for moment in &seen.moments.calls {
        let sum = sums.entry(moment.purpose).or_default();
        *sum = (sum.0 + moment.count, sum.1 + moment.bytes);
    }
    sums
}

/// Removes what differs from run to run: times and processes.
fn timeless(mut value: Value) -> Value {
    match &mut value {
        Value::Object(fields) => {
            fields.retain(|name, _| !name.ends_with("_ns") && !name.ends_with("_by"));
            for field in fields.values_mut() {
                *field = timeless(field.take());
            }
        }
        Value::Array(items) => {
            for item in items {
                *item = timeless(item.take());
            }
        }
        _ => {}
    }
    value
}

/// Runs `words` in three equal directories, one after the other at the same path.
fn assert_agreement(words: impl Fn(&Path) -> Vec<OsString>, what: &str) {
    let above = scratch();
    let dir = above.path().join("run");
    let fresh = || {
        if dir.exists() {
            std::fs::remove_dir_all(&dir).unwrap();
        }
        std::fs::create_dir(&dir).unwrap();
        words(&dir)
    };
    let ebpf = below(&dir, &by_ebpf(&fresh()));
    assert!(!ebpf.rows.is_empty(), "{what}");
    for stops in [Stops::Io, Stops::All] {
        let ptrace = below(&dir, &by_ptrace(&fresh(), stops));
        assert_equal_parts(&ptrace, &ebpf, &format!("{what}, {stops:?}"));
    }
}

/// Part by part, so that a difference is readable.
fn assert_equal_parts(one: &Seen, other: &Seen, what: &str) {
    for (key, row) in &one.rows {
        assert_eq!(Some(row), other.rows.get(key), "{what}: {key:?}");
    }
    for (path, history) in &one.files {
        assert_eq!(Some(history), other.files.get(path), "{what}: {path}");
    }
    assert_eq!(one, other, "{what}");
}

#[test]
fn on_programs_whose_io_is_known() {
    let file = |dir: &Path| dir.join("f").to_str().unwrap().to_owned();
    let cases: [(&str, &[&str]); 10] = [
        ("append", &["FILE", "300", "1000", "fsync"]),
        ("append", &["FILE", "50", "5000", "fdatasync", "overwrite"]),
        ("execs", &["FILE", "4", "vfork"]),
        ("execs", &["FILE", "3", "thread"]),
        ("execs", &["FILE", "6", "busy"]),
        ("forges", &["FILE"]),
        ("tree", &["DIR", "3", "4", "50", "100"]),
        ("threads", &["DIR", "4", "50"]),
        ("detours", &["DIR"]),
        ("nameless", &["DIR"]),
    ];
    for (program, arguments) in cases {
        let words = |dir: &Path| {
            let arguments: Vec<String> = arguments
                .iter()
                .map(|word| match *word {
                    "FILE" => file(dir),
                    "DIR" => dir.to_str().unwrap().to_owned(),
                    word => word.to_owned(),
                })
                .collect();
            let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
            command(&workload(program), &arguments)
        };
        assert_agreement(words, &format!("{program} {arguments:?}"));
    }
}

#[test]
fn on_operations_of_libaio() {
    let words = |dir: &Path| command(&workload("aio"), &[dir.to_str().unwrap()]);
    assert_agreement(words, "aio");
}

#[test]
fn on_what_only_the_arguments_tell() {
    let words = |dir: &Path| {
        for name in ["emptied", "shortened", "mapped"] {
            std::fs::write(dir.join(name), [7; 8192]).unwrap();
        }
        command(&workload("told"), &[dir.to_str().unwrap()])
    };
    assert_agreement(words, "told");
}

#[test]
fn on_tools_that_change_names() {
    let script = "cd \"$0\"; exec > out 2>&1; mkdir d; echo one > d/a; cp d/a b; mv b c; ln c e; ln -s c s; \
                  cat s missing e; truncate -s 100 c; dd if=c of=g bs=7 conv=fsync status=none; \
                  echo more >> c; rm -f e; mv -T d h; sync g; tail -c 5 h/a; rm -r h; exit 0";
    let words = |dir: &Path| {
        let words = ["-c", script, dir.to_str().unwrap()];
        command(Path::new("/bin/sh"), &words)
    };
    assert_agreement(words, "the script");
}

#[test]
fn on_what_was_durable_named_and_reported() {
    let words = |dir: &Path| command(&workload("promises"), &[dir.to_str().unwrap()]);
    assert_agreement(words, "promises");
    let dir = scratch();
    let observed = by_ebpf(&words(dir.path()));
    let seen = observed.seen.unwrap();
    let history = |name: &str| {
        let path = dir.path().join(name);
        let named = |it: &&iostrata_core::trace::NamedFile| it.path == path.as_os_str().as_bytes();
        let renamed = seen.followed.renamed_to.iter();
        let mut renamed = renamed.filter(|(_, to)| to.as_slice() == path.as_os_str().as_bytes());
        let file = match seen.names.iter().find(named) {
            Some(named) => named.file,
            None => *renamed.next().unwrap().0,
        };
        &seen.followed.files[&file]
    };
    let log = history("log");
    assert_eq!(
        (log.writes, log.acknowledged.count, log.unsynced_bytes),
        (5, 5, 50)
    );
    assert_eq!(
        history("answers").acknowledged.count,
        3,
        "each sent on the socket"
    );
    assert_eq!(history("answers").answered.count, 3);
    let asks = history("asks");
    // A client's requests promise nothing; what is printed next does.
    assert_eq!((asks.answered.count, asks.acknowledged.count), (0, 1));
    for durable in ["dsync", "flagged"] {
        let file = history(durable);
        assert!(file.synchronous && !file.acknowledged.is_any(), "{durable}");
        assert_eq!((file.writes, file.unsynced_bytes), (4, 0), "{durable}");
    }
    let half = history("half");
    assert_eq!(
        (half.synchronous, half.writes, half.unsynced_bytes),
        (false, 4, 20)
    );
    for published in ["by-path", "by-descriptor"] {
        let file = history(published);
        assert!(file.created && !file.unlinked, "{published}");
        assert_eq!(file.renamed_unsynced.count, 1, "{published}");
    }
}

#[test]
fn on_which_life_of_which_file_it_is() {
    let dir = scratch();
    let path = dir.path().join("f");
    std::fs::write(&path, "was here").unwrap();
    let words = command(
        &workload("append"),
        &[path.to_str().unwrap(), "3", "1", "none"],
    );
    let named = |observation: Observation| {
        let names = observation.seen.unwrap().names;
        let mut found = names.into_iter();
        let found = found.find(|named| named.path == path.as_os_str().as_bytes());
        found.unwrap()
    };
    let ebpf = named(by_ebpf(&words));
    assert_ne!(ebpf.file.generation, 0);
    assert_eq!(named(by_ptrace(&words, Stops::Io)), ebpf);
}
