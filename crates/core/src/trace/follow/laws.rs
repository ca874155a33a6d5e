//! Laws that hold for every history.

use proptest::prelude::*;

use super::tests::{event, id, name, synced, wrote};
use super::*;

/// What a thread does, and how long it takes.
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
            4 => synced(one.file, Scope::Data),
            _ => synced(one.file, Scope::File),
        };
        events.push(Event {
            thread: u32::try_from(thread).unwrap(),
            started_ns: now,
            ended_ns: now + one.took,
            ..event(0, step)
        });
        now += one.took;
    }
    events
}

/// In the order of their ends; with `late`, writes come only just before the next step of
/// their thread that is none, as the kernel side sends them.
fn in_order(threads: &[Vec<Event>], late: bool) -> Vec<Event> {
    let mut keyed: Vec<(u64, usize, usize, Event)> = Vec::new();
    for (thread, events) in threads.iter().enumerate() {
        for (place, event) in events.iter().enumerate() {
            let is_write = |event: &&Event| matches!(event.step, Step::Wrote { .. });
            let next = events[place..].iter().find(|event| !is_write(event));
            let sent = match next {
                _ if !late => event.ended_ns,
                Some(next) => next.ended_ns,
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

/// Of a kind that lost one of its first moments, the fourth is not known any more.
fn without_moments(mut followed: Followed) -> Followed {
    for history in followed.files.values_mut() {
        history.syncs_of_nothing.first_ns.clear();
        history.steady_syncs.first_ns.clear();
    }
    followed
}

fn any_step() -> impl Strategy<Value = Step> {
    let file = (0_u64..4).prop_map(id);
    let path = prop::sample::select(vec!["/d/old", "/d/new", "/d", "/d/x/y", "/e", "", "/"]);
    let path = path.prop_map(|text| text.as_bytes().to_vec());
    let scope = prop::sample::select(vec![
        Scope::File,
        Scope::Data,
        Scope::Hint,
        Scope::FileSystem,
        Scope::Everything,
    ]);
    prop_oneof![
        (file.clone(), any::<[bool; 4]>()).prop_map(|(file, flags)| Step::Opened {
            file,
            created: flags[0],
            truncated: flags[1],
            synchronous: flags[2],
            direct: flags[3],
        }),
        (file.clone(), any::<[u64; 5]>(), any::<bool>()).prop_map(|(file, n, durable)| {
            Step::Wrote {
                file,
                count: n[0],
                bytes: n[1],
                from: n[2],
                to: n[3],
                sequential: n[4],
                durable,
            }
        }),
        (prop::option::of(file.clone()), scope)
            .prop_map(|(file, scope)| Step::Synced { file, scope }),
        (file.clone(), any::<u64>()).prop_map(|(file, bytes)| Step::Resized { file, bytes }),
        file.clone().prop_map(|file| Step::Allocated { file }),
        file.clone().prop_map(|file| Step::Closed { file }),
        file.prop_map(|file| Step::Mapped { file, bytes: 1 }),
        (path.clone(), path.clone(), any::<bool>())
            .prop_map(|(from, to, exchange)| Step::Renamed { from, to, exchange }),
        (
            prop::option::of((0_u64..4).prop_map(id)),
            path.clone(),
            path.clone()
        )
            .prop_map(|(file, from, to)| Step::Linked { file, from, to }),
        Just(Step::Reported { count: 1 }),
        (path.clone(), any::<bool>())
            .prop_map(|(path, directory)| Step::Unlinked { path, directory }),
        (path.clone(), any::<bool>()).prop_map(|(path, directory)| Step::Made { path, directory }),
        path.prop_map(|path| Step::Looked { path }),
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
            follower.event(&Event {
                started_ns: *started_ns,
                ended_ns: *ended_ns,
                error: *error,
                ..event(0, step.clone())
            });
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
