//! The operations of a log: a slice for each call, on the track of its thread.

use std::collections::HashMap;
use std::io;

use iostrata_core::bytes::hex_unless_text;
use iostrata_core::record::{Change, Operation};
use iostrata_core::trace::timeline::Purpose;

use super::event::{Args, Event, Events, Phase};
use crate::export::log::Logged;

/// The last slice of a thread.
struct Last {
    call: String,
    started_ns: u64,
    ended_ns: u64,
}

pub(super) fn write(
    operations: &mut dyn Iterator<Item = Logged>,
    events: &mut Events<'_>,
) -> io::Result<()> {
    let mut threads: HashMap<(u32, u32), Last> = HashMap::new();
    let mut overlapping = 0;
    for logged in operations {
        let operation = &logged.operation;
        let at = match moment(&operation.change) {
            At::Nowhere => continue,
            At::Instant => {
                events.add(&event(&logged, Phase::Instant))?;
                continue;
            }
            At::Call => (operation.process, operation.thread),
        };
        let last = threads.get(&at);
        // A call that changed several things is one slice.
        if last.is_some_and(|last| {
            (last.call.as_str(), last.started_ns) == (&*operation.call, operation.started_ns)
        }) {
            continue;
        }
        // Requests of io_uring and libaio run concurrently with their thread's calls.
        let is_beside = operation.call.contains('.')
            || last.is_some_and(|last| operation.started_ns < last.ended_ns);
        if is_beside {
            overlapping += 1;
            pair(&logged, overlapping, events)?;
            continue;
        }
        let mut slice = event(&logged, Phase::Complete);
        slice.took_ns = Some(operation.took_ns);
        events.add(&slice)?;
        let last = Last {
            call: operation.call.to_string(),
            started_ns: operation.started_ns,
            ended_ns: operation.ended_ns(),
        };
        threads.insert(at, last);
    }
    Ok(())
}

enum At {
    /// A call, from its start to its end.
    Call,
    Instant,
    /// State that the log describes: nothing happened then.
    Nowhere,
}

fn moment(change: &Change) -> At {
    match change {
        Change::Found { .. } | Change::Before { .. } | Change::Stored { .. } => At::Nowhere,
        Change::Touched { .. } => At::Instant,
        _ => At::Call,
    }
}

fn event(logged: &Logged, phase: Phase) -> Event<'_> {
    let operation = &logged.operation;
    Event {
        category: category(operation),
        at_ns: Some(operation.started_ns),
        args: args(logged),
        ..Event::new(phase, &operation.call, operation.process, operation.thread)
    }
}

/// A slice that may overlap others of its thread.
fn pair(logged: &Logged, id: u64, events: &mut Events<'_>) -> io::Result<()> {
    let mut begin = event(logged, Phase::Begin);
    begin.id = Some(id);
    events.add(&begin)?;
    events.add(&Event {
        phase: Phase::End,
        at_ns: Some(logged.operation.ended_ns()),
        args: Args::default(),
        ..begin
    })
}

fn category(operation: &Operation) -> &'static str {
    match Purpose::of(&operation.call) {
        Some(Purpose::Read) => "read",
        Some(Purpose::Write) => "write",
        Some(Purpose::Sync) => "sync",
        Some(Purpose::Metadata) => "metadata",
        None => "other",
    }
}

fn args(logged: &Logged) -> Args {
    let (operation, change) = (&logged.operation, &logged.operation.change);
    let lossy = |path: &Vec<u8>| String::from_utf8_lossy(path).into_owned();
    let hex = |path: &Option<Vec<u8>>| hex_unless_text(path.as_ref()?);
    let durability = match change {
        Change::Synced { scope, .. } => Some(scope.as_str()),
        _ => None,
    };
    Args::default()
        .with("operation", Some(operation.id))
        .with("change", Some(change.kind()))
        .with("path", logged.path.as_ref().map(lossy))
        .with("path_hex", hex(&logged.path))
        .with("other_path", logged.other_path.as_ref().map(lossy))
        .with("other_path_hex", hex(&logged.other_path))
        .with("offset_bytes", change.offset())
        .with("length_bytes", change.bytes())
        .with("durability", durability)
        .with("returned", operation.outcome.ok())
        .with("errno", operation.outcome.err())
}
