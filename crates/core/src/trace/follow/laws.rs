//! Laws that hold for every history.

use proptest::prelude::*;

use super::tests::{
    closed, event, id, located, looked, mapped, name, opened, resized, synced, synced_as, wrote,
};
use super::*;
use crate::record::RENAME_EXCHANGE;
use crate::trace::{Audience, NodeSeen};

/// The action of a thread, and its duration.
#[derive(Debug, Clone)]
struct Planned {
    file: u64,
    what: u8,
    pause: u64,
    took: u64,
}

fn plan() -> impl Strategy<Value = Vec<Vec<Planned>>> {
    let planned =
        (2_u64..4, 0_u8..8, 1_u64..20, 1_u64..30).prop_map(|(file, what, pause, took)| Planned {
            file,
            what,
            pause,
            took,
        });
    prop::collection::vec(prop::collection::vec(planned, 0..8), 1..4)
}

/// Overwrites (so that no length changes), syncs and one rename, with their times.
fn events_of(thread: usize, planned: &[Planned]) -> Vec<Event> {
    let mut now = 100 + thread as u64;
    let mut events = Vec::new();
    for one in planned {
        now += one.pause;
        let step = match one.what {
            0..=3 => wrote(one.file, 0, 50),
            4 => synced(one.file, Durability::Data),
            _ => synced(one.file, Durability::File),
        };
        let mut event = event(now, step);
        event.call.thread = u32::try_from(thread).unwrap();
        event.call.ended_ns = now + one.took;
        events.push(event);
        now += one.took;
    }
    events
}

/// In the order of their ends; with `late`, writes come only just before their thread's next step
/// of another kind, as the kernel side sends them.
fn in_order(threads: &[Vec<Event>], late: bool) -> Vec<Event> {
    let mut keyed: Vec<(u64, usize, usize, Event)> = Vec::new();
    for (thread, events) in threads.iter().enumerate() {
        for (place, event) in events.iter().enumerate() {
            let is_write = |event: &&Event| matches!(event.did, Did::Wrote(_));
            let next = events[place..].iter().find(|event| !is_write(event));
            let sent = match next {
                _ if !late => event.call.ended_ns,
                Some(next) => next.call.ended_ns,
                None => u64::MAX,
            };
            keyed.push((sent, thread, place, event.clone()));
        }
    }
    keyed.sort_by_key(|(sent, thread, place, _)| (*sent, *thread, *place));
    keyed.into_iter().map(|(.., event)| event).collect()
}

fn followed_in(events: &[Event]) -> Followed {
    let mut follower = Follower::default();
    name(&mut follower, 2, "/d/a", FileKind::Regular, 100);
    name(&mut follower, 3, "/d/b", FileKind::Regular, 100);
    for event in events {
        follower.event(event);
    }
    follower.finish()
}

/// If a kind loses one of its first moments, its fourth is unknown.
fn without_moments(mut followed: Followed) -> Followed {
    for history in followed.files.values_mut() {
        history.syncs_of_nothing.first_ns.clear();
        history.steady_syncs.first_ns.clear();
    }
    followed
}

fn any_step() -> impl Strategy<Value = Did> {
    let file = 0_u64..4;
    let (offset, bytes) = (0, 1);
    let scope = prop::sample::select(vec![
        Durability::File,
        Durability::Data,
        Durability::Range { offset, bytes },
        Durability::Hint,
        Durability::FileSystem,
        Durability::Everything,
    ]);
    prop_oneof![
        (file.clone(), any::<[bool; 2]>())
            .prop_map(|(file, flags)| opened(file, flags[0], flags[1])),
        (file.clone(), any::<[u64; 4]>(), any::<bool>()).prop_map(|(file, n, durable)| {
            Did::Wrote(Writes {
                file: id(file),
                count: n[0],
                bytes: n[1],
                from: n[2],
                to: n[3],
                durable,
                appends: false,
                size_bytes: None,
            })
        }),
        (prop::option::of(file.clone()), scope).prop_map(|(file, scope)| synced_as(file, scope)),
        (file.clone(), any::<u64>()).prop_map(|(file, bytes)| resized(file, bytes)),
        file.clone().prop_map(|file| {
            Did::Changed(Change::Allocated {
                node: id(file),
                description: None,
                mode: 0,
                offset: 0,
                bytes: 1,
            })
        }),
        file.clone().prop_map(closed),
        file.prop_map(mapped),
        Just(Did::Reported(Audience::Output)),
        (0..100_u64).prop_map(|heard_ns| Did::Reported(Audience::Peer { heard_ns })),
        any_path().prop_map(looked),
        any_names(),
    ]
}

fn any_path() -> impl Strategy<Value = &'static str> + Clone {
    prop::sample::select(vec!["/d/old", "/d/new", "/d", "/d/x/y", "/e", "", "/"])
}

fn any_names() -> impl Strategy<Value = Did> {
    let path = any_path();
    prop_oneof![
        (path.clone(), path.clone(), any::<bool>()).prop_map(|(from, to, exchange)| {
            Did::Named(NameChange::Renamed {
                node: None,
                from: located(from),
                to: located(to),
                flags: u32::from(exchange) * RENAME_EXCHANGE,
            })
        }),
        (prop::option::of(0_u64..4), path.clone(), path.clone()).prop_map(|(file, from, to)| {
            Did::Named(NameChange::Linked {
                node: file.map(|file| NodeSeen {
                    id: id(file),
                    kind: None,
                    mode: None,
                    size_bytes: 0,
                }),
                from: Some(located(from)),
                to: located(to),
            })
        }),
        (path.clone(), any::<bool>()).prop_map(|(path, directory)| {
            Did::Named(NameChange::Unlinked {
                node: None,
                at: located(path),
                directory,
            })
        }),
        (path.clone(), any::<bool>()).prop_map(|(path, directory)| {
            Did::Named(NameChange::Made {
                node: None,
                at: located(path),
                kind: if directory {
                    FileKind::Directory
                } else {
                    FileKind::Symlink
                },
                device_number: 0,
                target: Vec::new(),
            })
        }),
    ]
}

proptest! {
    #[test]
    fn late_runs_of_writes_give_the_same_history(plans in plan()) {
        let threads: Vec<Vec<Event>> = plans
            .iter()
            .enumerate()
            .map(|(thread, planned)| events_of(thread, planned))
            .collect();
        let at_once = without_moments(followed_in(&in_order(&threads, false)));
        let late = without_moments(followed_in(&in_order(&threads, true)));
        prop_assert_eq!(at_once, late);
    }

    #[test]
    fn whatever_comes_it_is_counted_and_nothing_breaks(
        steps in prop::collection::vec(
            (any_step(), any::<u64>(), any::<u64>(), prop::option::of(0_i32..140)),
            0..60,
        )
    ) {
        let mut follower = Follower::default();
        name(&mut follower, 1, "/d", FileKind::Directory, 0);
        name(&mut follower, 2, "/d/old", FileKind::Regular, 100);
        name(&mut follower, 3, "/d/new", FileKind::Regular, 0);
        for (step, started_ns, ended_ns, error) in &steps {
            let mut event = event(*started_ns, step.clone());
            event.call.ended_ns = *ended_ns;
            event.call.outcome = error.map_or(Ok(0), Err);
            follower.event(&event);
        }
        let followed = follower.finish();
        prop_assert_eq!(followed.events, steps.len() as u64);
        for history in followed.files.values() {
            prop_assert!(history.unsynced_bytes <= history.written_bytes);
            prop_assert!(history.data_syncs <= history.syncs.count);
            let told = history.syncs_of_nothing.count
                + history.steady_syncs.count
                + history.growing_syncs.count;
            prop_assert!(told <= history.syncs.count);
            prop_assert!(history.rewritten.count <= history.emptied.count);
        }
    }
}
