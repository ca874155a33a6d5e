//! Without a checker, files of known formats are looked at by the programs of these formats.

use std::fs;

use serde_json::Value;

use super::named::have;
use super::{Case, fixes, has, kinds};
use crate::place::run;

const MADE: &str = "create table t(a); insert into t values (1)";

/// A connection that ends without closing the database, so that its log is never written into that. Prints when it
/// has committed.
const KILLED: &str = "exec /usr/bin/python3 -c 'import os, sqlite3
t = sqlite3.connect(\"t.db\", isolation_level=None)
t.execute(\"pragma synchronous=SYNC\")
t.execute(\"update t set a = 2\")
os.write(1, b\"committed\\n\")
os._exit(0)'";

fn explored(init: &str, script: &str, code: i32) -> Value {
    let case = Case::new("unused", "");
    let result = case.crash(&["--init", init], script, code);
    for mode in result["modes"].as_array().unwrap() {
        assert!(mode["states"]["distinct"].as_u64() > Some(1), "{mode:#}");
    }
    case.place.assert_nothing_left();
    result
}

/// The only file of a format, as each model has it.
fn format(result: &Value) -> &Value {
    let modes = result["modes"].as_array().unwrap();
    for mode in modes {
        assert_eq!(mode["formats"], modes[0]["formats"]);
        assert_eq!(mode["formats"].as_array().unwrap().len(), 1, "{mode:#}");
    }
    &modes[0]["formats"][0]
}

#[test]
fn a_database_that_is_repaired_is_whole() {
    if !have(&["sqlite3", "mdb_load"]) {
        return;
    }
    let database = format!("mkdir d; sqlite3 d/t.db '{MADE}'");
    let update = "sqlite3 d/t.db 'pragma synchronous=extra; update t set a = 2'; echo done";
    let result = explored(&database, update, 0);
    assert_eq!(result["verdict"], "clean");
    assert_eq!(result["check"], Value::Null);
    let sqlite = format(&result);
    assert_eq!(sqlite["file"], "d/t.db");
    assert_eq!(sqlite["format"], "an SQLite database");
    assert_eq!(sqlite["check"], "sqlite:d/t.db");
    assert_eq!(sqlite["checked"], true);
    assert_eq!(sqlite["unchecked_because"], Value::Null);
    // One that the program makes is none before, or empty.
    let result = explored(
        "true",
        &format!("sqlite3 t.db 'pragma synchronous=extra; {MADE}'; echo done"),
        0,
    );
    assert_eq!(format(&result)["checked"], true);
    let loaded = |value| format!("seq 20 | sed 's/.*/k&\\n{value}&/' | mdb_load -T e");
    let init = format!("mkdir e; {}", loaded("old"));
    let result = explored(&init, &format!("{}; echo done", loaded("new")), 0);
    let lmdb = format(&result);
    assert_eq!(lmdb["file"], "e/data.mdb");
    assert_eq!(lmdb["checked"], true);
    // Both meta pages of a new one are a single write, which may be torn (mdb_env_init_meta, mdb.c).
    let result = explored("mkdir e", &loaded("new"), 1);
    assert_eq!(format(&result)["checked"], true);
    assert!(
        has(&result, "atomicity", "not an LMDB file", "ext4"),
        "{result:#}"
    );
}

#[test]
fn a_database_that_was_not_synced_is_not_what_it_was() {
    if !have(&["sqlite3"]) {
        return;
    }
    let wal = format!("sqlite3 t.db 'pragma journal_mode=wal; {MADE}'");
    let result = explored(&wal, &KILLED.replace("SYNC", "full"), 0);
    assert_eq!(format(&result)["checked"], true);
    let result = explored(&wal, &KILLED.replace("SYNC", "normal"), 1);
    let older = "t.db is older than it was when the program reported it";
    for model in ["posix", "ext4", "xfs", "btrfs"] {
        assert!(has(&result, "lost-after-ack", older, model), "{result:#}");
    }
    assert!(
        kinds(&result)
            .iter()
            .all(|(kind, ..)| kind == "lost-after-ack")
    );
    assert_eq!(fixes(&result), ["t.db-wal before write"]);
    // SQLite's page of pragmas: only EXTRA syncs the directory when the journal is removed, which is what commits.
    let update = "sqlite3 t.db 'pragma synchronous=full; update t set a = 2'; echo committed";
    let result = explored(&format!("sqlite3 t.db '{MADE}'"), update, 1);
    assert!(has(&result, "lost-after-ack", older, "ext4"), "{result:#}");
    let fix = result["fix"].as_array().unwrap();
    assert_eq!(fix.len(), 1, "{fix:?}");
    assert_eq!(fix[0]["is_directory"], true, "{fix:?}");
    // Two pages of one transaction, of which a crash leaves one: sound, and no state of the database.
    let wide =
        "create table a(x); create table b(x); insert into a values (1); insert into b values (1)";
    let halves = "sqlite3 t.db 'pragma journal_mode=off; pragma synchronous=off; begin; \
                  update a set x = 2; update b set x = 2; commit'";
    let result = explored(&format!("sqlite3 t.db '{wide}'"), halves, 1);
    let never = "t.db is sound, but holds what it never held in the run";
    assert!(
        has(&result, "atomicity", never, "ext4") || has(&result, "ordering", never, "ext4"),
        "{result:#}"
    );
}

#[test]
fn files_beside_a_database_are_those_of_the_rules() {
    if !have(&["sqlite3"]) {
        return;
    }
    let init = format!("sqlite3 t.db '{MADE}'; echo old > f; echo old > t.db-settings");
    let script = "sqlite3 t.db 'update t set a = 2'; echo new > f; echo new > t.db-settings";
    let result = explored(&init, script, 1);
    assert_eq!(format(&result)["checked"], true);
    for name in ["f", "t.db-settings"] {
        assert!(
            has(&result, "prefix", &format!("{name} is empty"), "ext4"),
            "{result:#}"
        );
    }
    let damaged: Vec<_> = kinds(&result)
        .into_iter()
        .map(|(_, message, _)| message)
        .collect();
    assert!(
        damaged.iter().all(|message| !message.starts_with("t.db ")),
        "{damaged:?}"
    );
}

/// Their common journal names each of them by a path of the run.
#[test]
fn databases_of_one_transaction_are_left_to_the_rules() {
    if !have(&["sqlite3"]) {
        return;
    }
    let case = Case::new("unused", "");
    let init = format!("for name in a b; do sqlite3 $name.db '{MADE}'; done");
    let script = "sqlite3 a.db 'attach \"b.db\" as b; begin; update main.t set a = 2; update b.t set a = 2; commit'";
    let options = ["--init", &init, "--model", "ext4", "--states", "500"];
    let result = case.crash(&options, script, 1);
    let formats = result["modes"][0]["formats"].as_array().unwrap();
    assert_eq!(formats.len(), 2);
    for row in formats {
        let because = row["unchecked_because"].as_str().unwrap();
        assert!(
            because.starts_with("a transaction of several databases"),
            "{row}"
        );
    }
}

#[test]
fn references_are_compared_one_by_one() {
    if !have(&["git"]) {
        return;
    }
    let commit = "git -C r -c user.name=a -c user.email=b commit -q --allow-empty -m";
    let init =
        format!("git init -q r; {commit} one; git -C r branch a; git -C r branch b; {commit} two");
    // Of two that are moved, either may be lost without the other: nothing says which comes first.
    let moved = "git -C r -c core.fsync=all branch -f";
    let script = format!("{moved} a master; {moved} b master");
    let case = Case::new("unused", "");
    let options = ["--init", &init, "--model", "posix"];
    let result = case.crash(&options, &script, 0);
    let git = &result["modes"][0]["formats"][0];
    assert_eq!(git["check"], "git:r");
    assert_eq!(git["checked"], true);
    let result = case.crash(&options, &format!("{script}; echo moved"), 1);
    let older = "r is older in refs/heads/b than it was when the program reported it";
    assert!(has(&result, "lost-after-ack", older, "posix"), "{result:#}");
}

/// What the text says of a program without a checker, with these programs besides a shell and cp.
fn said(programs: &[&str], init: &str, script: &str) -> String {
    let case = Case::new("unused", "");
    let own = case.place.path("programs");
    fs::create_dir(&own).unwrap();
    for program in programs.iter().chain(&["sh", "cp"]) {
        std::os::unix::fs::symlink(format!("/usr/bin/{program}"), own.join(program)).unwrap();
    }
    let options = ["--model", "ext4", "--states", "500", "--init", init];
    let mut command = case.command(&options, script);
    command.env("PATH", own);
    let outcome = run(command).expect(1);
    let words: Vec<_> = outcome.stdout.split_whitespace().collect();
    words.join(" ")
}

#[test]
fn a_format_without_its_program_is_left_to_the_rules_and_that_is_said() {
    let made = format!(
        "/usr/bin/python3 -c 'import sqlite3; sqlite3.connect(\"t.db\").executescript(\"{MADE}\")'"
    );
    let killed = KILLED.replace("SYNC", "full");
    let said_of = said(&[], &made, &killed);
    assert!(
        said_of.contains("By the built-in rules a crash can break this on ext4: t.db is "),
        "{said_of}"
    );
    let but = "But t.db is an SQLite database, which these rules do not know; its checker needs sqlite3, which is not \
               installed; install the package sqlite3.";
    assert!(said_of.contains(but), "{said_of}");
    // One that its checker refuses before anything has happened.
    if !have(&["sqlite3"]) {
        return;
    }
    let damaged = format!(
        "{made}; printf damage | /usr/bin/dd of=t.db bs=1 seek=4096 conv=notrunc status=none"
    );
    let script =
        "printf z | /usr/bin/dd of=t.db bs=1 seek=100 conv=notrunc status=none; echo new > f";
    let said_of = said(&["sqlite3"], &format!("{damaged}; echo old > f"), script);
    let refused = "t.db is an SQLite database, which the built-in rules do not know, and was checked by them alone: its \
                   checker refuses it as it was before the program ran: t.db: ";
    assert!(said_of.contains(refused), "{said_of}");
    let said_of = said(&[], "echo old > f", "echo new > f");
    assert!(
        said_of.contains("A crash can break this on ext4: f is "),
        "{said_of}"
    );
}
