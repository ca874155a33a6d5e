//! Namespaces, nested and mixed: what is seen is right, or nothing is started.

use std::fs;

use crate::ending::Run;
use crate::ground::{check_files, check_kernel};
use crate::place::Place;
use crate::seeded::Seeded;
use crate::trials::{Fault, Outcome, Trials, holds, variable};

const FEW: u64 = 8;

/// 20 synchronous writes and one sync.
const PROGRAM: &str = "exec dd if=/dev/zero of=x bs=4k count=20 oflag=sync conv=fsync 2>/dev/null";

/// What `unshare(1)` takes. The last has no `/proc` of its own.
const KINDS: [&[&str]; 9] = [
    &["-m"],
    &["-u"],
    &["-i"],
    &["-n"],
    &["-C"],
    &["-T"],
    &["-U", "-r"],
    &["-p", "-f", "--mount-proc"],
    &["-p", "-f"],
];

#[test]
fn namespaces() {
    let mut trials = Trials::begin();
    if rustix::process::geteuid().is_root() {
        let few = variable("NAMESPACES").unwrap_or(FEW);
        trials.attack("namespaces", few, one);
    }
    trials.end();
}

fn one(seeded: &mut Seeded) -> Outcome {
    let place = Place::new();
    let mut words: Vec<&str> = Vec::new();
    for _ in 0..=seeded.below(3) {
        let kinds = (0..=seeded.below(3)).flat_map(|_| *seeded.one_of(&KINDS));
        words.extend(["unshare"].iter().chain(kinds));
    }
    let backend = *seeded.one_of(&["ebpf", "ptrace"]);
    words.push(env!("CARGO_BIN_EXE_iostrata"));
    words.extend([
        "trace",
        "--no-measure",
        "--backend",
        backend,
        "-o",
        "result",
    ]);
    let records = seeded.is_rare(2);
    if records {
        words.extend(["--record", "log"]);
    }
    words.extend(["--", "/bin/sh", "-c", PROGRAM]);
    let mut command = place.iostrata("");
    let environment: Vec<_> = command
        .get_envs()
        .filter_map(|(name, value)| Some((name.to_owned(), value?.to_owned())))
        .collect();
    command = std::process::Command::new(words[0]);
    command.args(&words[1..]).env_clear().envs(environment);
    command.env("PATH", "/usr/bin:/bin:/usr/sbin:/sbin");
    command.current_dir(place.dir());
    let ended = Run::start(command).end()?;
    let what = || format!("{}: {:?}: {}", words.join(" "), ended.status, ended.said);
    ended.check_words()?;
    check_kernel(&place)?;
    let (x, log) = (place.dir().join("x"), place.dir().join("log"));
    let result = place.dir().join("result");
    if !ended.is_success() {
        let is_told = ["error: ", "unshare: "]
            .iter()
            .any(|word| ended.said.contains(word));
        holds(is_told && !x.exists(), Fault::Code, what)?;
        check_files(&place, &[], |_| false)?;
        return Ok("refused, nothing started");
    }
    let text = fs::read(&result).unwrap_or_default();
    let seen: Result<iostrata_core::trace::TraceResult, _> = serde_json::from_slice(&text);
    holds(seen.is_ok(), Fault::Half, what)?;
    let seen = seen.unwrap();
    let row = seen.files.iter().find(|file| file.path.ends_with("/x"));
    let writes = row.map(|row| (row.writes.count, row.writes.bytes));
    let is_right = writes == Some((20, 20 * 4096)) && seen.lost_events == 0 && seen.processes == 1;
    holds(is_right, Fault::Code, || {
        format!(
            "{writes:?}, {} lost, {} processes: {}",
            seen.lost_events,
            seen.processes,
            what()
        )
    })?;
    let because = seen.recording.map(|recording| recording.incomplete_because);
    holds(because.is_some() == records, Fault::Code, what)?;
    let because = because.unwrap_or_default();
    holds(because.is_empty(), Fault::Code, || {
        format!("{because:?}: {}", what())
    })?;
    check_files(&place, &[x, log, result], |_| false)?;
    Ok("all seen")
}
