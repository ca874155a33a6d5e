//! Inputs for readers: valid ones with some changes. Other crates' tests include this file.
use std::fs::OpenOptions;
use std::io::Write as _;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::process::Command;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

/// The number of inputs that a reader got, for the caller's count.
const COUNTED: &str = "inputs: ";

/// Seeded numbers (xorshift64*): better generators take longer than the readers.
pub(crate) struct Random(u64);

impl Random {
    fn of(seed: u64, number: u64) -> Self {
        // The final step of splitmix64, so that similar seeds give unrelated numbers.
        let mut mixed = seed ^ number.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        Self((mixed ^ (mixed >> 31)).max(1))
    }

    /// Any number.
    pub(crate) fn any(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    /// A number below `bound`, which must not be 0.
    pub(crate) fn below(&mut self, bound: usize) -> usize {
        usize::try_from(self.any() >> 33).unwrap() % bound
    }
}

fn variable(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

/// Makes a reader read inputs: `IOSTRATA_INPUTS` of them, or a thousand. `IOSTRATA_ATTACK_SEED` and
/// its number determine each; `IOSTRATA_INPUT` selects a single one by its number.
pub(crate) fn inputs(read: impl Fn(&mut Random)) {
    let seed = variable("IOSTRATA_ATTACK_SEED").unwrap_or_else(|| u64::from(std::process::id()));
    let count = variable("IOSTRATA_INPUTS").unwrap_or(1_000);
    let numbers = variable("IOSTRATA_INPUT").map_or(0..count, |only| only..only + 1);
    // On a separate line, whatever the test runner has printed before.
    tell(&format!("\n{COUNTED}{}", numbers.end - numbers.start));
    SEED.store(seed, Relaxed);
    for number in numbers {
        NUMBER.store(number, Relaxed);
        let done = catch_unwind(AssertUnwindSafe(|| read(&mut Random::of(seed, number))));
        if let Err(panic) = done {
            tell_input();
            resume_unwind(panic);
        }
    }
}

/// The current input.
static SEED: AtomicU64 = AtomicU64::new(0);
static NUMBER: AtomicU64 = AtomicU64::new(0);

/// The command that repeats this input.
fn tell_input() {
    let (seed, number) = (SEED.load(Relaxed), NUMBER.load(Relaxed));
    tell(&format!(
        "again: IOSTRATA_ATTACK_SEED={seed} IOSTRATA_INPUT={number}"
    ));
}

/// Message to the process that waits for this one.
fn tell(line: &str) {
    let line = format!("{line}\n");
    std::io::stdout().write_all(line.as_bytes()).unwrap();
}

/// One change of an input. Positions and lengths are taken modulo the length of the input.
#[derive(Debug, Clone)]
pub(crate) enum Step {
    /// Replaces a byte.
    Set(usize, u8),
    /// Removes a part.
    Cut(usize, usize),
    /// Repeats a part this many times.
    Again(usize, usize, usize),
    /// Replaces eight bytes by a number.
    Word(usize, u64),
    /// Replaces a decimal number by another.
    Digits(usize, usize),
    /// Inserts text.
    Text(usize, usize),
    /// Removes the rest.
    End(usize),
}

/// Numbers on which arithmetic and formatting are likely to fail.
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

/// Random changes.
pub(crate) fn steps(random: &mut Random) -> Vec<Step> {
    (0..=random.below(7)).map(|_| step(random)).collect()
}

fn step(random: &mut Random) -> Step {
    let at = random.below(usize::MAX >> 33);
    match random.below(15) {
        0..4 => Step::Set(at, random.any().to_le_bytes()[7]),
        4 => Step::Cut(at, random.below(200)),
        5 => Step::Again(at, random.below(300), 1 + random.below(39)),
        6..8 => Step::Word(
            at,
            match random.below(4) {
                0 => random.any(),
                1 => u64::MAX,
                2 => 1 << 63,
                _ => random.any() % 300,
            },
        ),
        8..12 => Step::Digits(at, random.below(NUMBERS.len())),
        12..14 => Step::Text(at, random.below(TEXTS.len() * 3)),
        _ => Step::End(at),
    }
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

/// Does the work in a process limited to 1 GiB of memory, and ends it when one input takes more
/// than ten seconds: both would be defects.
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
        // Otherwise each thread's own memory would count.
        .env("MALLOC_ARENA_MAX", "1")
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    let is_well = output.status.success() && said.contains("1 passed");
    add_row(test, &said, is_well);
    assert!(
        is_well,
        "{}: {said}{}",
        output.status,
        String::from_utf8_lossy(&output.stderr)
    );
}

/// A row for the table of `scripts/soak`.
fn add_row(test: &str, said: &str, is_well: bool) {
    let counts = said.lines().filter_map(|line| line.strip_prefix(COUNTED));
    let inputs: u64 = counts.filter_map(|count| count.parse::<u64>().ok()).sum();
    let Some(path) = std::env::var_os("IOSTRATA_ATTACK_TABLE") else {
        return;
    };
    let (test, failures) = (test.replace('_', " "), u64::from(!is_well));
    let row = format!("| inputs: {test} | {inputs} | 0 | 0 | 0 | {failures} | |\n");
    let table = OpenOptions::new().append(true).create(true).open(path);
    table.unwrap().write_all(row.as_bytes()).unwrap();
}

/// Watches the duration of one input.
#[derive(Debug)]
pub(crate) struct Watch {
    began: Instant,
    /// Start of the input, in milliseconds; 0 between two inputs.
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
                    tell_input();
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
