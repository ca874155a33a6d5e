//! States that `crash` goes through in a second on one core, each built, hashed and told from others, without a
//! checker: a database that updates pages through a journal, transaction after transaction.
#![expect(
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a benchmark prints its figures and stops at the first error"
)]

use std::borrow::Cow;
use std::convert::Infallible;
use std::time::Instant;

use iostrata_core::crash::{
    Budget, Builder, Builtin, Check, Coverage, Digest, Found, History, Model, Seen, Stopped,
    Verdicts, search,
};
use iostrata_core::op::{FileId, FileKind};
use iostrata_core::record::{
    Change, Contents, Description, Durability, Name, Operation, Payload, Piece, Place,
};

const ROOT: FileId = file(2);
const DATABASE: FileId = file(3);

/// Pages that a transaction changes.
const PAGES: u64 = 6;
const TRANSACTIONS: u64 = 10;

const fn file(inode: u64) -> FileId {
    FileId {
        device: 1,
        inode,
        generation: 0,
    }
}

fn page(number: u64) -> Payload {
    Payload {
        pieces: vec![Piece::Stored {
            chunk: number,
            at: 0,
            bytes: 4096,
        }],
    }
}

fn wrote(node: FileId, offset: u64, payload: Payload) -> Change {
    Change::Wrote {
        node,
        description: None,
        offset,
        flags: 0,
        payload,
    }
}

fn synced(node: FileId) -> Change {
    Change::Synced {
        node: Some(node),
        description: None,
        scope: Durability::File,
    }
}

fn found(node: FileId, kind: FileKind, place: Place, contents: Option<Payload>) -> Change {
    Change::Found {
        node,
        kind,
        place,
        mode: Some(0o644),
        size_bytes: contents.as_ref().map_or(0, Payload::bytes),
        contents,
    }
}

fn changes() -> Vec<Change> {
    let pages = (0..64).flat_map(|number| page(number).pieces).collect();
    let database = Name::new(ROOT, "t.db");
    let contents = Some(Payload { pieces: pages });
    let mut all = vec![
        found(ROOT, FileKind::Directory, Place::Root, None),
        found(DATABASE, FileKind::Regular, Place::Name(database), contents),
    ];
    let mut written = 100;
    for transaction in 0..TRANSACTIONS {
        let journal = file(10 + transaction);
        let name = Name::new(ROOT, "t.db-journal");
        all.push(Change::Opened {
            node: journal,
            description: Description(transaction),
            flags: 0,
            created: Some(Place::Name(name.clone())),
            mode: Some(0o644),
            truncated: false,
        });
        for number in 0..PAGES {
            all.push(wrote(journal, number * 4096, page(number)));
        }
        all.push(synced(journal));
        for number in 0..PAGES {
            written += 1;
            let at = (transaction * 7 + number * 3) % 64;
            all.push(wrote(DATABASE, at * 4096, page(written)));
        }
        all.push(synced(DATABASE));
        all.push(Change::Unlinked {
            node: journal,
            name,
            directory: false,
        });
    }
    all
}

fn history() -> History {
    built(changes())
}

/// So many appends to one file, or new files with a block each; nothing is synced.
fn long(operations: u64, of_one_file: bool) -> History {
    let mut all = vec![found(ROOT, FileKind::Directory, Place::Root, None)];
    let mut node = DATABASE;
    for number in 0..operations {
        if number == 0 || !of_one_file {
            node = file(10 + number);
            let name = Name::new(ROOT, format!("f{number}"));
            all.push(Change::Opened {
                node,
                description: Description(number),
                flags: 0,
                created: Some(Place::Name(name)),
                mode: Some(0o644),
                truncated: false,
            });
        }
        let at = if of_one_file { number * 100 } else { 0 };
        let bytes = Piece::Stored {
            chunk: number,
            at: 0,
            bytes: 100,
        };
        all.push(wrote(
            node,
            at,
            Payload {
                pieces: vec![bytes],
            },
        ));
    }
    built(all)
}

fn built(changes: Vec<Change>) -> History {
    let mut builder = Builder::new("/");
    for (id, change) in (0..).zip(changes) {
        let operation = Operation {
            id,
            process: 1,
            thread: 1,
            started_ns: id * 10,
            took_ns: 5,
            call: Cow::Borrowed("call"),
            outcome: Ok(0),
            change,
        };
        builder.add(&operation, |_, _| Vec::new()).unwrap();
    }
    builder.finish(|_| Vec::new()).unwrap()
}

/// What a search finds, and its seconds.
fn searched(
    history: &History,
    model: Model,
    budget: Budget,
    check: &mut Check<'_, Infallible>,
) -> (Found, f64) {
    let begun = Instant::now();
    let mut found = Found::default();
    let mut verdicts = Verdicts::new(1);
    search(history, model, budget, &mut verdicts, check, &mut found).unwrap();
    (found, begun.elapsed().as_secs_f64())
}

/// Explores with the built-in rules, places in the log standing for bytes. Targets: each point covered in 30 s, and
/// 500 states a second.
fn explored(what: &str, history: &History, model: Model, states: u64) {
    let hashed = |contents: &Contents| -> Result<Digest, Infallible> {
        let mut hasher = blake3::Hasher::new();
        for (offset, extent) in contents.extents() {
            hasher.update(format!("{offset} {extent:?}").as_bytes());
        }
        Ok(*hasher.finalize().as_bytes())
    };
    let mut rules = Builtin::new(history, hashed, &[]).unwrap();
    let mut check = |seen: &[Seen], _: &Coverage| {
        let said = seen
            .iter()
            .map(|(tree, told)| rules.check(tree, *told).unwrap());
        Ok::<_, Stopped<Infallible>>(said.collect())
    };
    let budget = Budget {
        states,
        ..Budget::default()
    };
    let (found, seconds) = searched(history, model, budget, &mut check);
    let Coverage {
        states,
        points,
        not_tried,
        ..
    } = found.coverage;
    println!(
        "crash: {}: {what}: {points} points covered, {not_tried} not, {states} states in {seconds:.1} s: {:.0} states/s",
        model.as_str(),
        states as f64 / seconds
    );
}

fn main() {
    const OPERATIONS: u64 = 10_000;
    for (what, of_one_file) in [("appends", true), ("new files", false)] {
        let history = long(OPERATIONS, of_one_file);
        for model in [Model::Ext4, Model::Btrfs] {
            // Nothing is reported, so each step is a point of one state.
            let points = history.steps.len() as u64;
            for states in [points, points + OPERATIONS] {
                explored(what, &history, model, states);
            }
        }
    }
    let history = history();
    let mut check =
        |seen: &[Seen], _: &Coverage| Ok::<_, Stopped<Infallible>>(vec![None; seen.len()]);
    for model in Model::ALL {
        let (found, seconds) = searched(&history, model, Budget::default(), &mut check);
        let (states, points) = (found.coverage.states, found.coverage.points);
        println!(
            "crash: {}: {states} states at {points} points, {} different, in {seconds:.2} s: {:.0} states/s",
            model.as_str(),
            found.distinct,
            states as f64 / seconds
        );
    }
}
