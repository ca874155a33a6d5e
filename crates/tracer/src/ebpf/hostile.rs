//! Ring records with hostile contents: whatever they contain, nothing panics, from the reader to
//! the result.

use iostrata_core::gap::Missing;
use std::collections::BTreeMap;
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::path::Path;

use iostrata_core::environment::Backend;
use iostrata_core::evidence::{Losses, RawEvidence, Totals};
use iostrata_core::record::{Begin, Completeness};
use iostrata_core::trace::timeline::Moments;
use iostrata_core::trace::{Facts, Storage, assemble};
use rustix::fs::{CWD, FileType, Mode, OFlags, mknodat, open};
use zerocopy::{FromZeros as _, IntoBytes as _};

use super::Limits;
use super::object::Object;
use super::payload::Payloads;
use super::readout::{rows_of_calls, rows_of_pages, summed};
use super::stopping::Stopping;
use super::stream::{Events, take};
use super::sums::Sums;
use super::wire::{self, event};
use crate::machine;
use crate::record::Recording;
use crate::sites::Sites;

/// Each kind, and the length of its fixed part.
const KINDS: [(u32, usize); 14] = [
    (event::CALL, size_of::<wire::CallEvent>()),
    (event::REQUEST, size_of::<wire::RequestEvent>()),
    (event::NAME, size_of::<wire::NameEvent>()),
    (event::TOUCHED, size_of::<wire::TouchedEvent>()),
    (event::STEP, size_of::<wire::StepEvent>()),
    (event::ASKED, size_of::<wire::StepEvent>()),
    (event::RUN, size_of::<wire::RunEvent>()),
    (event::REPORT, size_of::<wire::ReportEvent>()),
    (event::TASK, size_of::<wire::TaskEvent>()),
    (event::PAYLOAD, size_of::<wire::PayloadEvent>()),
    (event::STOP, size_of::<wire::StopEvent>()),
    (event::FEW, size_of::<wire::FewEvent>()),
    (event::CACHE, size_of::<wire::CacheEvent>()),
    (event::SITE, size_of::<wire::SiteEvent>()),
];

/// Values that arithmetic is likely to overflow on. No half of one is a real process id, since that
/// process would be inspected and continued.
const WORDS: [u64; 14] = [
    0,
    0,
    u64::MAX,
    u64::MAX,
    u64::MAX - 1,
    1 << 63,
    (1 << 63) - 1,
    (1 << 63) | (1 << 31),
    0x7fff_ffff,
    0x8000_0000,
    1 << 56,
    0x7f00_0000_0000_0000,
    0x8000_0000_8000_0000,
    0x7f61_7f62_7f63_7f00,
];

/// xorshift64.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn below(&mut self, end: usize) -> usize {
        usize::try_from(self.next() % end as u64).unwrap()
    }

    fn word(&mut self) -> u64 {
        match self.below(8) {
            0 => self.next() | 1 << 31 | 1 << 63,
            _ => WORDS[self.below(WORDS.len())],
        }
    }

    fn record(&mut self) -> Vec<u8> {
        let (kind, length) = KINDS[self.below(KINDS.len())];
        let length = match self.below(4) {
            0 => self.below(2 * length),
            1 => length + self.below(300),
            _ => length,
        };
        let words = (0..=length / 8).flat_map(|_| self.word().to_le_bytes());
        let mut record: Vec<u8> = words.collect();
        record[..4].copy_from_slice(&kind.to_le_bytes());
        // A call number, or a file mode.
        let number = match self.below(4) {
            0 => 0o100_644,
            1 => 0o040_755,
            _ => u32::try_from(self.below(1_200)).unwrap(),
        };
        if kind != event::STOP {
            record[4..8].copy_from_slice(&number.to_le_bytes());
        }
        record.truncate(length);
        record
    }
}

fn recorded(directory: &Path) -> (Object, Payloads) {
    let mut object = Object::load(&Limits::record()).unwrap();
    let stops = object.stops().unwrap();
    let (table, none) = (object.stops_fd().unwrap(), object.no_stops().unwrap());
    let stopping = Stopping::new(stops, table, none).unwrap();
    let begin = Begin {
        command: vec![],
        directory: vec![],
        started_ns: 0,
        reads: false,
    };
    let recording = Recording::create(&directory.join("log"), &begin).unwrap();
    (object, Payloads::new(recording, stopping))
}

/// All the way to a result.
fn assembled(mut events: Events, directory: &Path) {
    let mut sums = std::mem::take(&mut events.sums);
    let called = sums.take_calls();
    let raw = RawEvidence {
        summed: summed(&called),
        syscalls: Some(rows_of_calls(called)),
        cache: Some(rows_of_pages(&sums.cache)),
        totals: Some(Totals::default()),
        blocked_seen: true,
        losses: Losses {
            cache: sums.cache_lost,
            stream: u64::MAX,
            ..Losses::default()
        },
        ..RawEvidence::default()
    };
    let seen = events.history.finish(events.sites, Moments::default());
    let facts = Facts {
        environment: machine::environment(directory, Backend::Ebpf).unwrap(),
        command: vec![],
        adopted: None,
        attached: None,
        exit_code: None,
        signal: None,
        started_ns: u64::MAX,
        wall_s: 1.0,
        storage: Storage::default(),
        at_exit: BTreeMap::new(),
        residency: BTreeMap::new(),
        lower: None,
        missing: vec![],
    };
    let result = assemble(raw, seen, facts);
    assert_eq!(result.lost_events, u64::MAX);
}

#[test]
fn no_record_stops_the_reader() {
    let directory = tempfile::tempdir_in("/var/tmp").unwrap();
    for seed in 1..=40 {
        let mut random = Random(seed);
        let mut events = Events {
            sums: Sums::new(&Limits {
                calls: 300,
                files: 100,
                ..Limits::trace()
            }),
            ..Events::default()
        };
        for _ in 0..2_000 {
            take(&random.record(), &mut events);
        }
        assert!(!events.sums.is_empty() && !events.ops.is_empty());
        assembled(events, directory.path());
    }
}

#[test]
fn no_record_stops_the_log() {
    let directory = tempfile::tempdir_in("/var/tmp").unwrap();
    let (_object, payloads) = recorded(directory.path());
    let mut random = Random(77);
    let mut events = Events {
        payloads: Some(payloads),
        sites: Sites::default(),
        ..Events::default()
    };
    for _ in 0..40_000 {
        take(&random.record(), &mut events);
    }
    let recorded = events
        .payloads
        .take()
        .unwrap()
        .end(vec![], false)
        .finish()
        .unwrap();
    assert!(recorded.operations > 1_000);
    assert_ne!(recorded.completeness, Completeness::Complete);
}

/// A descriptor of a FIFO: opening it would wait for a writer.
fn fifo(directory: &Path) -> OwnedFd {
    let path = directory.join("fifo");
    mknodat(CWD, &path, FileType::Fifo, Mode::RUSR, 0).unwrap();
    open(&path, OFlags::PATH, Mode::empty()).unwrap()
}

#[test]
fn a_descriptor_that_became_a_fifo_is_not_waited_for() {
    let directory = tempfile::tempdir_in("/var/tmp").unwrap();
    let (_object, mut payloads) = recorded(directory.path());
    let fifo = fifo(directory.path());
    // The written bytes are in the file that the descriptor refers to, or referred to.
    let mut event = wire::PayloadEvent::new_zeroed();
    event.kind = event::PAYLOAD;
    event.thread = std::process::id();
    event.descriptor = fifo.as_raw_fd().try_into().unwrap();
    event.form = wire::form::IN_FILE;
    (event.bytes, event.part) = (123, 123);
    payloads.payload(event.as_bytes());
    let recorded = payloads.end(vec![], false).finish().unwrap();
    let Completeness::Incomplete { because } = recorded.completeness else {
        panic!("the bytes are missing");
    };
    assert!(
        because
            .iter()
            .any(|gap| matches!(gap.what, Missing::Count { count: 123, .. })),
        "{because:?}"
    );
}
