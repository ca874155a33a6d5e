//! Inputs for readers: valid ones that are changed here and there. Other crates' tests include
//! this file.
use std::process::Command;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

use proptest::prelude::*;
use proptest::test_runner::Config;

/// Inputs of each reader: `IOSTRATA_INPUTS`, or a thousand.
pub(crate) fn inputs() -> Config {
    let cases = std::env::var("IOSTRATA_INPUTS");
    let cases = cases.ok().and_then(|cases| cases.parse().ok());
    Config {
        cases: cases.unwrap_or(1_000),
        failure_persistence: None,
        max_shrink_iters: 200,
        ..Config::default()
    }
}

/// One change of an input. Places and lengths are taken modulo what there is.
#[derive(Debug, Clone)]
pub(crate) enum Step {
    /// A byte becomes another one.
    Set(usize, u8),
    /// A part goes.
    Cut(usize, usize),
    /// A part comes again so many times.
    Again(usize, usize, usize),
    /// A number takes the place of eight bytes.
    Word(usize, u64),
    /// A number in digits takes the place of one.
    Digits(usize, usize),
    /// Text comes between.
    Text(usize, usize),
    /// What follows is not there.
    End(usize),
}

/// Where arithmetic and formatting are likely to go wrong.
const NUMBERS: [&str; 10] = [
    "0",
    "-1",
    "18446744073709551615",
    "9223372036854775808",
    "4294967295",
    "65536",
    "1e308",
    "-1e-308",
    "null",
    "99999999999999999999999",
];
const TEXTS: [&str; 8] = ["\0", "\n", "\"", "/../", "\u{1b}[2J", "ä", "{", "]"];

pub(crate) fn steps() -> impl Strategy<Value = Vec<Step>> {
    let place = any::<usize>;
    let step = prop_oneof![
        4 => (place(), any::<u8>()).prop_map(|(at, byte)| Step::Set(at, byte)),
        1 => (place(), 0_usize..200).prop_map(|(at, bytes)| Step::Cut(at, bytes)),
        1 => (place(), 0_usize..300, 1_usize..40).prop_map(|(at, bytes, times)| Step::Again(at, bytes, times)),
        2 => (place(), prop_oneof![any::<u64>(), Just(u64::MAX), Just(1 << 63), 0_u64..300])
            .prop_map(|(at, word)| Step::Word(at, word)),
        4 => (place(), 0..NUMBERS.len()).prop_map(|(at, which)| Step::Digits(at, which)),
        2 => (place(), 0..TEXTS.len() * 3).prop_map(|(at, which)| Step::Text(at, which)),
        1 => place().prop_map(Step::End),
    ];
    prop::collection::vec(step, 1..8)
}

/// The input with its changes.
pub(crate) fn changed(valid: &[u8], steps: &[Step]) -> Vec<u8> {
    let mut bytes = valid.to_vec();
    for step in steps {
        change(&mut bytes, step);
    }
    bytes
}

fn change(bytes: &mut Vec<u8>, step: &Step) {
    let length = bytes.len();
    let range = |at: usize, long: usize| {
        let from = at % length.max(1);
        from.min(length)..(from + long).min(length)
    };
    match *step {
        Step::Set(at, byte) => bytes[range(at, 1)].fill(byte),
        Step::Cut(at, long) => drop(bytes.drain(range(at, long))),
        Step::Again(at, long, times) => {
            let range = range(at, long);
            let again = bytes[range.clone()].repeat(times);
            drop(bytes.splice(range.end..range.end, again));
        }
        Step::Word(at, word) => {
            let range = range(at, 8);
            let some = range.len();
            bytes[range].copy_from_slice(&word.to_le_bytes()[..some]);
        }
        Step::Digits(at, which) => {
            let begin = range(at, 0).start;
            let digit = bytes[begin..].iter().position(u8::is_ascii_digit);
            let Some(digit) = digit.map(|digit| begin + digit) else {
                return;
            };
            let rest = bytes[digit..].iter();
            let long = rest.take_while(|byte| byte.is_ascii_digit()).count();
            drop(bytes.splice(digit..digit + long, NUMBERS[which].bytes()));
        }
        Step::Text(at, which) => {
            let at = range(at, 0).start;
            let text = TEXTS[which % TEXTS.len()];
            // The last third is long: widths of columns are 16 bits.
            let times = [1, 3, 70_000][which / TEXTS.len()];
            drop(bytes.splice(at..at, text.repeat(times).bytes()));
        }
        Step::End(at) => bytes.truncate(range(at, 0).start),
    }
}

/// Does the work in a process that has 1 GiB of memory, and ends it when one input takes more
/// than ten seconds: both would be the defect that is looked for.
pub(crate) fn limited(test: &str, work: impl FnOnce(&Watch)) {
    const INSIDE: &str = "IOSTRATA_TEST_LIMITED";
    if std::env::var_os(INSIDE).is_some() {
        let watch = Watch::begin();
        return work(watch);
    }
    let output = Command::new("prlimit")
        .arg("--as=1073741824")
        .arg(std::env::current_exe().unwrap())
        .args(["--exact", "--nocapture", test])
        .env(INSIDE, "1")
        // Memory of its own for each thread would count.
        .env("MALLOC_ARENA_MAX", "1")
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.success() && said.contains("1 passed"),
        "{}: {said}{}",
        output.status,
        String::from_utf8_lossy(&output.stderr)
    );
}

/// Looks at how long one input takes.
#[derive(Debug)]
pub(crate) struct Watch {
    began: Instant,
    /// When the input began, in milliseconds; 0 between two.
    since_ms: AtomicU64,
}

const LONGEST: Duration = Duration::from_secs(10);

impl Watch {
    fn begin() -> &'static Self {
        let watch: &'static Self = Box::leak(Box::new(Self {
            began: Instant::now(),
            since_ms: AtomicU64::new(0),
        }));
        std::thread::spawn(move || {
            loop {
                std::thread::sleep(Duration::from_millis(200));
                let since = watch.since_ms.load(Relaxed);
                let took = watch.now_ms().saturating_sub(since);
                if since > 0 && u128::from(took) > LONGEST.as_millis() {
                    std::process::abort();
                }
            }
        });
        watch
    }

    fn now_ms(&self) -> u64 {
        u64::try_from(self.began.elapsed().as_millis()).unwrap() + 1
    }

    /// Reads one input.
    pub(crate) fn input<T>(&self, work: impl FnOnce() -> T) -> T {
        self.since_ms.store(self.now_ms(), Relaxed);
        let done = work();
        self.since_ms.store(0, Relaxed);
        done
    }
}
