//! What a search finds does not depend on how the work is shared out, nor on where it is ended.

use std::convert::Infallible;

use super::{Log, ROOT, letters, shown};
use crate::crash::Looked;
use crate::crash::{
    Budget, Check, Coverage, Explorer, FaultKind, Found, History, Model, Seen, Share, State,
    Stopped, Verdicts, search,
};

/// A file replaced twice without syncs, then reported.
fn program() -> Log {
    let mut log = Log::new();
    log.found(ROOT, "f", letters('a', 5_000));
    for letter in ['b', 'c'] {
        let new = log.create(ROOT, "t");
        log.write(new, 0, letters(letter, 9_000));
        log.rename(new, (ROOT, "t"), (ROOT, "f"));
    }
    log.print();
    log
}

/// No byte of `f` may be missing, and what was acknowledged must survive.
fn look((tree, told): &Seen) -> Option<String> {
    let all = shown(tree);
    let file = all.split(' ').find_map(|file| file.strip_prefix("f="));
    match file {
        Some("a*5000" | "b*9000") if *told > 0 => Some("old".to_owned()),
        Some("a*5000" | "b*9000" | "c*9000") => None,
        Some("empty") => Some("empty".to_owned()),
        Some(_) => Some("torn".to_owned()),
        None => Some("missing".to_owned()),
    }
}

fn found(model: Model, beside: usize, share: Share) -> Found {
    let history = program().history();
    let mut found = Found::default();
    let mut verdicts = Verdicts::new(beside);
    let budget = Budget {
        share,
        ..Budget::default()
    };
    let mut check =
        |seen: &[Seen], _: &Coverage| Ok::<_, Stopped<Infallible>>(seen.iter().map(look).collect());
    search(
        &history,
        model,
        budget,
        &mut verdicts,
        &mut check,
        &mut found,
    )
    .unwrap();
    found
}

#[test]
fn the_same_is_found_however_many_are_looked_at_side_by_side() {
    for model in Model::ALL {
        let alone = found(model, 1, Share::ALL);
        assert!(
            alone
                .faults
                .iter()
                .any(|fault| fault.kind == FaultKind::LostAfterAck)
        );
        for beside in [2, 3, 7, 64] {
            assert_eq!(
                found(model, beside, Share::ALL),
                alone,
                "{model:?}, {beside}"
            );
        }
    }
}

#[test]
fn shares_have_each_state_once() {
    for model in Model::ALL {
        let whole = found(model, 1, Share::ALL);
        let parts: Vec<Found> = (1..=4)
            .map(|number| found(model, 2, Share { number, of: 4 }))
            .collect();
        let sum = |of: fn(&Found) -> u64| parts.iter().map(of).sum::<u64>();
        assert_eq!(sum(|part| part.distinct), whole.distinct, "{model:?}");
        assert_eq!(sum(|part| part.failing), whole.failing, "{model:?}");
        for part in &parts {
            assert_eq!(part.coverage, whole.coverage, "all states are gone through");
        }
    }
}

#[test]
fn states_that_are_known_can_end_a_search() {
    let history = program().history();
    let mut asked = 0;
    let mut check = |seen: &[Seen], coverage: &Coverage| {
        asked += 1;
        if seen.is_empty() && coverage.states > 20 {
            return Err("ended".into());
        }
        Ok(seen.iter().map(|_| None).collect())
    };
    let (ended, found) = searched(&history, 1, &mut check);
    assert_eq!(ended, Err("ended"));
    assert!(asked >= found.coverage.states, "{:?}", found.coverage);
}

#[test]
fn an_ended_search_keeps_what_it_found() {
    let history = program().history();
    let mut looked = 0;
    let mut check = |seen: &[Seen], _: &Coverage| {
        looked += seen.len();
        if looked > 12 {
            return Err("ended".into());
        }
        Ok(seen.iter().map(look).collect())
    };
    let (ended, found) = searched(&history, 4, &mut check);
    assert_eq!(ended, Err("ended"));
    assert!(!found.faults.is_empty() && found.failing > 0);
    assert!(found.coverage.sampled > 0, "{:?}", found.coverage);
}

fn searched<E>(
    history: &History,
    beside: usize,
    check: &mut Check<'_, E>,
) -> (Result<(), E>, Found) {
    let mut found = Found::default();
    let mut verdicts = Verdicts::new(beside);
    let budget = Budget::default();
    let ended = search(
        history,
        Model::Posix,
        budget,
        &mut verdicts,
        check,
        &mut found,
    );
    (ended, found)
}

#[test]
fn what_was_said_of_some_of_the_trees_before_the_end_is_kept() {
    let history = program().history();
    let mut broken = 0;
    let mut check = |seen: &[Seen], _: &Coverage| {
        if seen.is_empty() {
            return Ok(Vec::new());
        }
        let all = seen.iter().map(look).enumerate();
        // All but the last one.
        let said: Vec<_> = all.take(seen.len() - 1).collect();
        broken = said.iter().filter(|(_, said)| said.is_some()).count() as u64;
        Err::<Vec<_>, _>(Stopped { said, by: "ended" })
    };
    let (ended, found) = searched(&history, 64, &mut check);
    assert_eq!(ended, Err("ended"));
    assert!(broken > 0);
    assert_eq!(found.failing, broken);
    assert_eq!(
        found.faults.iter().map(|fault| fault.states).sum::<u64>(),
        broken
    );
    assert!(
        found
            .faults
            .iter()
            .all(|fault| !fault.is_smallest && !fault.is_attributed)
    );
}

/// The whole and the least state of many points wait side by side when the time is over.
#[test]
fn a_point_whose_states_were_not_judged_is_not_explored() {
    let history = program().history();
    let mut check = |_: &[Seen], _: &Coverage| {
        let said = Vec::new();
        Err::<Vec<_>, _>(Stopped { said, by: "ended" })
    };
    let (ended, found) = searched(&history, 64, &mut check);
    assert_eq!(ended, Err("ended"));
    assert_eq!((found.coverage.points, found.distinct), (0, 0));
    assert_ne!(found.coverage.not_tried, 0);
    let mut batches = 0;
    let mut check = |seen: &[Seen], _: &Coverage| {
        batches += 1;
        let by = "ended";
        if batches == 3 {
            return Err(Stopped::from(by));
        }
        Ok(vec![None; seen.len()])
    };
    let (_, found) = searched(&history, 2, &mut check);
    assert_eq!(found.distinct, 4);
    let Coverage {
        points, not_tried, ..
    } = found.coverage;
    assert!(points <= 4 && not_tried > 0, "{:?}", found.coverage);
}

#[test]
fn numbers_of_states_are_of_the_budget_alone() {
    let history = program().history();
    let numbered = |budget| {
        let mut all = Vec::new();
        let mut explorer = Explorer::new(&history, Model::Xfs);
        let seen = |state: &State, Looked { tree, told, .. }: Looked<'_>, _: &Coverage| {
            all.push((state.number, shown(tree), told));
            Ok::<(), Infallible>(())
        };
        let mut coverage = Coverage::default();
        explorer.explore(budget, &mut coverage, seen).unwrap();
        all
    };
    let all = numbered(Budget::default());
    assert_eq!(all, numbered(Budget::default()));
    let numbers: Vec<u64> = all.iter().map(|(number, ..)| *number).collect();
    assert_eq!(numbers, (1..=all.len() as u64).collect::<Vec<_>>());
}

/// A loop of 400 appends: each is a point, and a few of them stand for all.
#[test]
fn few_states_are_spent_on_what_stands_for_the_rest() {
    let mut log = Log::new();
    let file = log.found(ROOT, "f", letters('a', 4_096));
    for number in 0..400 {
        log.write(file, 4_096 * (number + 1), letters('b', 4_096));
    }
    let other = log.create(ROOT, "last");
    log.write(other, 0, letters('c', 10));
    let history = log.history();
    let budget = Budget {
        states: 100,
        ..Budget::default()
    };
    let mut last = 0;
    let mut coverage = Coverage::default();
    let seen = |_: &State, Looked { tree, .. }: Looked<'_>, _: &Coverage| {
        last += u64::from(shown(tree).contains("last=c*10"));
        Ok::<(), Infallible>(())
    };
    let mut explorer = Explorer::new(&history, Model::Posix);
    explorer.explore(budget, &mut coverage, seen).unwrap();
    assert!(last > 0, "the end of the program is explored too");
    assert!(
        coverage.limit_reached && coverage.not_tried > 300,
        "{coverage:?}"
    );
}

/// What is certain after a sync is looked at although it was possible before: each point has its whole and its least state
/// within twice the number of points.
#[test]
fn what_a_sync_leaves_is_looked_at_first() {
    for model in [Model::Ext4, Model::Xfs] {
        let mut log = Log::new();
        let [data, record] = ["data", "record"].map(|name| log.create(ROOT, name));
        for at in 0..20 {
            log.write(data, at * 4096, letters('a', 4096));
        }
        log.write(record, 0, letters('b', 10));
        log.fsync(record);
        let history = log.history();
        let budget = Budget {
            states: 2 * 24,
            ..Budget::default()
        };
        let mut all = Vec::new();
        let look = |_: &State, looked: Looked<'_>, _: &Coverage| {
            all.push(shown(looked.tree));
            Ok::<(), Infallible>(())
        };
        let mut explorer = Explorer::new(&history, model);
        let mut coverage = Coverage::default();
        explorer.explore(budget, &mut coverage, look).unwrap();
        assert!(
            all.contains(&"data=empty record=b*10".to_owned()),
            "{model:?}: {all:?}"
        );
    }
}

/// A loop of appends, the last of which is reported.
fn appends(count: u64) -> History {
    let mut log = Log::new();
    let file = log.found(ROOT, "f", letters('a', 4_096));
    for number in 0..count {
        log.write(file, 4_096 * (number + 1), letters('b', 4_096));
    }
    log.print();
    log.history()
}

#[test]
fn what_was_reported_is_looked_at_before_all_else() {
    let history = appends(40);
    for model in Model::ALL {
        let mut told = Vec::new();
        let seen = |_: &State, looked: Looked<'_>, _: &Coverage| {
            told.push(looked.told);
            Ok::<(), Infallible>(())
        };
        let budget = Budget {
            states: 20,
            ..Budget::default()
        };
        let mut coverage = Coverage::default();
        let mut explorer = Explorer::new(&history, model);
        explorer.explore(budget, &mut coverage, seen).unwrap();
        assert!(told[0] == 1 && told.contains(&0), "{model:?}: {told:?}");
        assert!(
            told.is_sorted_by(|one, other| one >= other),
            "{model:?}: {told:?}"
        );
    }
}

/// Each state is made from one of the last two, which it differs little from: twice as many operations are twice as much work.
#[test]
fn states_are_made_from_their_neighbours() {
    let changed = |count: u64| {
        let history = appends(count);
        let mut last = [vec![], vec![]];
        let mut changed = 0;
        let seen = |state: &State, _: Looked<'_>, _: &Coverage| {
            let apart = |kept: &Vec<bool>| {
                kept.iter()
                    .zip(&state.kept)
                    .filter(|(one, other)| one != other)
                    .count()
            };
            for kept in &mut last {
                kept.resize(state.kept.len(), false);
            }
            let nearer = usize::from(apart(&last[1]) < apart(&last[0]));
            changed += apart(&last[nearer]);
            last[nearer].clone_from(&state.kept);
            Ok::<(), Infallible>(())
        };
        let mut coverage = Coverage::default();
        let budget = Budget {
            // The whole state of each point, and both of the report.
            states: count + 2,
            ..Budget::default()
        };
        let mut explorer = Explorer::new(&history, Model::Ext4);
        explorer.explore(budget, &mut coverage, seen).unwrap();
        assert!(coverage.points >= count, "{coverage:?}");
        changed
    };
    let [few, many] = [200, 400].map(changed);
    assert!(many < 3 * few && many < 20 * 400, "{few} {many}");
}
