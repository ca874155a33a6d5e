//! Trials: how many, how they ended, which failed and how they are repeated.

use std::any::Any;
use std::collections::BTreeMap;
use std::env;
use std::fmt::Write as _;
use std::fs::OpenOptions;
use std::io::Write as _;
use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::seeded::Seeded;

/// What must never be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Fault {
    /// A mount, a loop device, a process, a file or a directory is left.
    Left,
    /// Half a result, or an old one destroyed.
    Half,
    /// Success that is none, or an end without a word.
    Code,
    /// A panic, a hang, too much memory, an escape; or the trial itself failed.
    Other,
}

/// Each is a column of the table.
const FAULTS: [Fault; 4] = [Fault::Left, Fault::Half, Fault::Code, Fault::Other];

pub(crate) struct Failure {
    pub(crate) fault: Fault,
    pub(crate) what: String,
}

impl Failure {
    pub(crate) fn new(fault: Fault, what: impl Into<String>) -> Self {
        Self {
            fault,
            what: what.into(),
        }
    }
}

/// How a trial ended, in a few words, of which there are few different ones.
pub(crate) type Outcome = Result<&'static str, Failure>;

/// Fails unless it holds.
pub(crate) fn holds(
    is_so: bool,
    fault: Fault,
    what: impl FnOnce() -> String,
) -> Result<(), Failure> {
    if is_so {
        return Ok(());
    }
    Err(Failure::new(fault, what()))
}

/// A number from the environment.
pub(crate) fn variable(name: &str) -> Option<u64> {
    let value = env::var(format!("IOSTRATA_ATTACK_{name}")).ok()?;
    Some(value.parse().unwrap())
}

/// The seed of all: one for every test run, so that a change is judged by what it changes.
/// `make soak` draws another each time.
fn seed() -> u64 {
    variable("SEED").unwrap_or(3085)
}

/// One attack after another, and what came of them.
pub(crate) struct Trials {
    seed: u64,
    /// One attack, or one trial of it.
    only: Option<(String, Option<u64>)>,
    rows: String,
    failures: Vec<String>,
}

impl Trials {
    pub(crate) fn begin() -> Self {
        let only = env::var("IOSTRATA_ATTACK_ONLY").ok().map(|only| {
            let parts = only.rsplit_once('/');
            let (attack, number) = parts.map_or((&*only, None), |(attack, number)| {
                (attack, Some(number.parse().unwrap()))
            });
            (attack.to_owned(), number)
        });
        let seed = seed();
        // Programs that end by SIGQUIT leave no core.
        let no_core = rustix::process::Rlimit {
            current: Some(0),
            maximum: Some(0),
        };
        rustix::process::setrlimit(rustix::process::Resource::Core, no_core).unwrap();
        Self {
            seed,
            only,
            rows: String::new(),
            failures: Vec::new(),
        }
    }

    /// What is decided once for an attack.
    pub(crate) fn random(&self, name: &str) -> Seeded {
        Seeded::new(self.seed, name, u64::MAX)
    }

    /// Makes so many trials.
    pub(crate) fn attack(
        &mut self,
        name: &str,
        trials: u64,
        trial: impl Fn(&mut Seeded) -> Outcome,
    ) {
        let numbers = match &self.only {
            Some((attack, Some(number))) if attack == name => *number..number + 1,
            Some((attack, None)) if attack == name => 0..trials,
            Some(_) => return,
            None => 0..trials,
        };
        if numbers.is_empty() {
            return;
        }
        let mut ends: BTreeMap<&str, u64> = BTreeMap::new();
        let mut faults: BTreeMap<Fault, u64> = BTreeMap::new();
        let made = numbers.end - numbers.start;
        for number in numbers {
            let mut seeded = Seeded::new(self.seed, name, number);
            match outcome(|| trial(&mut seeded)) {
                Ok(end) => *ends.entry(end).or_default() += 1,
                Err(failure) => {
                    *faults.entry(failure.fault).or_default() += 1;
                    let seed = self.seed;
                    self.failures.push(format!(
                        "{:?}: {}\n    again: make soak SEED={seed} ONLY='{name}/{number}'",
                        failure.fault, failure.what
                    ));
                    eprintln!("{name}/{number}: {}", self.failures.last().unwrap());
                }
            }
        }
        self.row(name, made, &ends, &faults);
    }

    fn row(
        &mut self,
        name: &str,
        made: u64,
        ends: &BTreeMap<&str, u64>,
        faults: &BTreeMap<Fault, u64>,
    ) {
        let mut ends: Vec<(&&str, &u64)> = ends.iter().collect();
        ends.sort_by_key(|(end, count)| (std::cmp::Reverse(**count), **end));
        let ends: Vec<String> = ends
            .iter()
            .map(|(end, count)| format!("{end} {count}"))
            .collect();
        let mut row = format!("| {name} | {made} ");
        for fault in FAULTS {
            let count = faults.get(&fault).copied().unwrap_or_default();
            _ = write!(row, "| {count} ");
        }
        _ = writeln!(row, "| {} |", ends.join(", "));
        eprint!("{row}");
        self.rows.push_str(&row);
    }

    /// Shows the rows, and fails when something did.
    pub(crate) fn end(self) {
        eprintln!("seed {}", self.seed);
        if let Some(path) = env::var_os("IOSTRATA_ATTACK_TABLE") {
            let mut table = OpenOptions::new();
            let table = table.append(true).create(true).open(path);
            table.unwrap().write_all(self.rows.as_bytes()).unwrap();
        }
        assert!(
            self.failures.is_empty(),
            "{} trials failed:\n{}",
            self.failures.len(),
            self.failures.join("\n")
        );
    }
}

/// A trial whose own assertion fails is one that failed.
fn outcome(trial: impl FnOnce() -> Outcome) -> Outcome {
    let words = |panic: Box<dyn Any + Send>| match panic.downcast::<String>() {
        Ok(text) => *text,
        Err(other) => other
            .downcast_ref::<&str>()
            .map_or_else(|| "a panic".to_owned(), |text| (*text).to_owned()),
    };
    catch_unwind(AssertUnwindSafe(trial))
        .unwrap_or_else(|panic| Err(Failure::new(Fault::Other, words(panic))))
}
