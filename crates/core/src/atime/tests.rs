//! Verdicts on rows made by hand: the effect of opposite figures, noise and missing rows.

use super::fixture::{READS, looped, looped_on, matrix, result, touch};
use super::*;
use crate::answer::{Answer, Verdict};
use crate::timing::Sample;

const QUICK_US: [f64; 7] = [100.0, 101.0, 102.0, 103.0, 104.0, 105.0, 106.0];
const SLOW_US: [f64; 7] = [200.0, 202.0, 204.0, 206.0, 208.0, 210.0, 212.0];

#[track_caller]
fn verdict(result: &AtimeResult, part_of_claim: &str) -> Verdict {
    let mut found = result
        .answers
        .iter()
        .filter(|a| a.claim.contains(part_of_claim));
    let answer = found
        .next()
        .unwrap_or_else(|| panic!("no claim with {part_of_claim:?}"));
    assert!(found.next().is_none(), "{part_of_claim:?} is not one claim");
    answer.verdict
}

fn is_claimed(result: &AtimeResult, part_of_claim: &str) -> bool {
    result
        .answers
        .iter()
        .any(|a| a.claim.contains(part_of_claim))
}

#[test]
fn the_matrix_of_the_rules_supports_the_article_but_for_copies() {
    let result = result(matrix(&["ext4", "xfs", "btrfs", "tmpfs"]));
    for claim in [
        "data is read",
        "count as reading",
        "no file's atime",
        "noatime stops",
        "nodiratime",
    ] {
        assert_eq!(verdict(&result, claim), Verdict::Holds, "{claim}");
    }
    assert_eq!(verdict(&result, "way of copying a file"), Verdict::Refuted);
    let copies = result
        .answers
        .iter()
        .find(|a| a.claim.contains("copying a file"))
        .unwrap();
    assert_eq!(
        copies.because,
        "copy_file_range_from, cp did not change it on xfs, btrfs"
    );
    let cited = |answer: &Answer| answer.rows.iter().all(|n| (1..=440).contains(n));
    assert!(result.answers.iter().all(cited));
}

#[test]
fn one_row_against_it_refutes_a_claim() {
    for (operation, claim) in [
        (Operation::Stat, "data is read"),
        (Operation::Read, "data is read"),
        (Operation::Find, "no file's atime"),
        (Operation::Readlink, "count as reading"),
    ] {
        let mut rows = matrix(&["ext4"]);
        for row in &mut rows {
            let AtimeRow::Touch(row) = row else { continue };
            if row.row.case.operation == operation && row.row.case.mount == Mount::Strictatime {
                row.atime_changed = !row.atime_changed;
            }
        }
        assert_eq!(
            verdict(&result(rows), claim),
            Verdict::Refuted,
            "{operation:?}"
        );
    }
}

#[test]
fn a_mount_that_lets_too_much_through_is_refuted() {
    for (mount, claim) in [
        (Mount::Noatime, "noatime stops"),
        (Mount::Nodiratime, "nodiratime"),
    ] {
        let mut rows = matrix(&["ext4"]);
        for row in &mut rows {
            let AtimeRow::Touch(row) = row else { continue };
            if row.row.case.mount == mount && row.subject == Subject::Directory {
                row.atime_changed = true;
            }
        }
        assert_eq!(verdict(&result(rows), claim), Verdict::Refuted, "{mount:?}");
    }
}

#[test]
fn nothing_is_claimed_about_operations_that_were_not_done() {
    let only = |operation| {
        result(vec![AtimeRow::Touch(Box::new(touch(
            operation,
            Mount::Strictatime,
            "ext4",
        )))])
    };
    assert!(
        !is_claimed(&only(Operation::Read), "data is read"),
        "no other side"
    );
    assert!(is_claimed(&only(Operation::Find), "no file's atime"));
    assert!(result(Vec::new()).answers.is_empty());
    // Under noatime no access time moves.
    let noatime = touch(Operation::Find, Mount::Noatime, "ext4");
    assert!(
        result(vec![AtimeRow::Touch(Box::new(noatime))])
            .answers
            .is_empty()
    );
}

#[test]
fn relatimes_rule_is_judged_by_its_probes() {
    let probes = |wrong: Option<Probe>| {
        let mut made = result(Vec::new());
        for probe in Probe::BY_CALL.into_iter().chain(Probe::BY_IMAGE) {
            let moved = !matches!(probe, Probe::AfterBoth | Probe::NotDayOld);
            made.own.relatime.push(RelatimeProbe {
                filesystem: "ext4".to_owned(),
                probe,
                atime_changed: moved != (wrong == Some(probe)),
                machine: None,
            });
        }
        made.answers = answers(&made);
        made
    };
    assert_eq!(verdict(&probes(None), "or a day old"), Verdict::Holds);
    for probe in [
        Probe::DayOld,
        Probe::NotDayOld,
        Probe::BeforeCtime,
        Probe::AfterBoth,
    ] {
        assert_eq!(
            verdict(&probes(Some(probe)), "or a day old"),
            Verdict::Refuted,
            "{probe:?}"
        );
    }
    let mut without_day = probes(None);
    without_day.own.relatime.truncate(3);
    without_day.answers = answers(&without_day);
    assert!(
        !is_claimed(&without_day, "day old"),
        "not probed, not claimed"
    );
}

/// First and second reading of many files under relatime and noatime.
fn many(relatime: [(&[f64], u64); 2], noatime: [(&[f64], u64); 2]) -> AtimeResult {
    let mut rows = Vec::new();
    for (mount, readings) in [(Mount::Relatime, relatime), (Mount::Noatime, noatime)] {
        for (reading, (times, sectors)) in
            [Reading::First, Reading::Second].into_iter().zip(readings)
        {
            rows.push(looped(
                (Loop::ManyFiles, reading, mount),
                times,
                Some(sectors),
            ));
        }
    }
    result(rows)
}

#[test]
fn first_readings_write_and_second_ones_do_not() {
    let measured = many(
        [(&SLOW_US, READS), (&QUICK_US, 0)],
        [(&QUICK_US, 0), (&QUICK_US, 0)],
    );
    assert_eq!(verdict(&measured, "causes device writes"), Verdict::Holds);
    assert_eq!(
        verdict(&measured, "causes no further writes"),
        Verdict::Holds
    );
    let otherwise = many(
        [(&SLOW_US, 0), (&QUICK_US, READS)],
        [(&QUICK_US, 0), (&QUICK_US, 0)],
    );
    assert_eq!(
        verdict(&otherwise, "causes device writes"),
        Verdict::Refuted
    );
    assert_eq!(
        verdict(&otherwise, "causes no further writes"),
        Verdict::Refuted
    );
}

#[test]
fn noatime_is_faster_slower_or_neither() {
    let idle = (&QUICK_US[..], 0);
    for (relatime, expected) in [
        (&SLOW_US[..], Verdict::Holds),
        (
            &[50.0, 51.0, 52.0, 53.0, 54.0, 55.0, 56.0],
            Verdict::Refuted,
        ),
        (&QUICK_US, Verdict::Inconclusive),
    ] {
        let measured = many([(relatime, 0), (relatime, 0)], [idle, idle]);
        assert_eq!(verdict(&measured, "changed files faster"), expected);
        assert_eq!(verdict(&measured, "files again faster"), expected);
    }
    // Three samples a side have no 95 % interval, however far apart they are.
    let few = many(
        [(&SLOW_US[..3], 0), (&SLOW_US[..3], 0)],
        [(&QUICK_US[..3], 0), (&QUICK_US[..3], 0)],
    );
    assert_eq!(verdict(&few, "changed files faster"), Verdict::Inconclusive);
}

fn one_file(strict_us: &[f64], relatime_sectors: Option<u64>) -> AtimeResult {
    let case = |mount| (Loop::OneFile, Reading::First, mount);
    result(vec![
        looped(case(Mount::Strictatime), strict_us, Some(2)),
        looped(case(Mount::Relatime), &QUICK_US, relatime_sectors),
        looped(case(Mount::Noatime), &QUICK_US, Some(0)),
    ])
}

#[test]
fn a_loop_over_one_file_shows_nothing_when_one_inode_is_written() {
    let claim = "one file shows";
    assert_eq!(
        verdict(&one_file(&QUICK_US, Some(8)), claim),
        Verdict::Refuted
    );
    assert_eq!(
        verdict(&one_file(&QUICK_US, Some(READS)), claim),
        Verdict::Holds
    );
    assert_eq!(
        verdict(&one_file(&QUICK_US, Some(50)), claim),
        Verdict::Inconclusive
    );
    let unseen = one_file(&QUICK_US, None);
    assert_eq!(verdict(&unseen, claim), Verdict::Inconclusive);
}

#[test]
fn the_articles_twelve_per_cent_are_compared_with_the_interval() {
    let claim = "12 % faster";
    let slower = |factor: f64| QUICK_US.map(|us| us * factor);
    assert_eq!(
        verdict(&one_file(&slower(1.0), Some(8)), claim),
        Verdict::Refuted
    );
    assert_eq!(
        verdict(&one_file(&slower(1.0 / 0.88), Some(8)), claim),
        Verdict::Holds
    );
    assert_eq!(
        verdict(&one_file(&slower(2.0), Some(8)), claim),
        Verdict::Refuted,
        "far more"
    );
    let noisy = [60.0, 80.0, 100.0, 115.0, 130.0, 150.0, 170.0];
    assert_eq!(
        verdict(&one_file(&noisy, Some(8)), claim),
        Verdict::Inconclusive
    );
}

#[test]
fn lazytime_is_judged_by_what_is_written_up_to_the_sync() {
    let claim = "lazytime avoids";
    let made = |lazy: u64, relatime: u64| {
        let case = |mount| (Loop::ManyFiles, Reading::First, mount);
        result(vec![
            looped(case(Mount::Relatime), &QUICK_US, Some(relatime)),
            looped(case(Mount::Lazytime), &QUICK_US, Some(lazy)),
        ])
    };
    assert_eq!(verdict(&made(READS, READS), claim), Verdict::Refuted);
    assert_eq!(verdict(&made(0, READS), claim), Verdict::Holds);
    assert_eq!(
        verdict(&made(READS / 2, READS), claim),
        Verdict::Inconclusive
    );
    assert_eq!(
        verdict(&made(0, 0), claim),
        Verdict::Inconclusive,
        "nothing to spare"
    );
}

#[test]
fn memory_has_no_device_to_spare() {
    let case = (Loop::ManyFiles, Reading::First, Mount::Relatime);
    let made = result(vec![looped_on("tmpfs", case, &QUICK_US, Some(0))]);
    assert!(!is_claimed(&made, "device write"));
}

#[test]
fn savings_are_per_cent_of_the_slower_option() {
    let made = one_file(&SLOW_US, Some(8));
    let strict = &made.own.comparisons[0];
    assert_eq!((strict.mount, strict.rows), (Mount::Strictatime, [1, 3]));
    assert!((strict.timing.percent - 50.0).abs() < 1.0, "{strict:?}");
    assert_eq!(strict.timing.differs(), Some(true));
    let same = &made.own.comparisons[1];
    assert_eq!(
        (same.mount, same.timing.differs()),
        (Mount::Relatime, Some(false))
    );
    assert_eq!(
        made.own.comparisons.len(),
        2,
        "noatime is not compared with itself"
    );
}

#[test]
fn the_spread_is_the_articles() {
    let sample = |real_s| Sample {
        real_s,
        user_s: 0.0,
        system_s: 0.0,
    };
    let timing =
        Timing::from_samples(&[2.0, 4.0, 4.0, 4.0, 5.0, 5.0, 7.0, 9.0].map(sample)).unwrap();
    let spread = Spread::of(&timing).unwrap();
    assert_eq!(
        (
            spread.mean_s,
            spread.standard_deviation_s,
            spread.standard_deviation_percent
        ),
        (5.0, 2.0, 40.0)
    );
}

#[test]
fn sectors_are_unknown_when_events_were_lost() {
    let AtimeRow::Loop(row) = looped(
        (Loop::ManyFiles, Reading::First, Mount::Relatime),
        &QUICK_US,
        Some(9),
    ) else {
        unreachable!()
    };
    assert_eq!(row.sectors, Some(9));
    let mut lossy = row.row.clone();
    lossy.evidence.lost_events = 1;
    assert_eq!(LoopRow::new(lossy, None).sectors, None);
}

#[test]
fn both_kinds_of_rows_are_read_back() {
    let mut rows = matrix(&["btrfs"]);
    rows.push(looped(
        (Loop::OneFile, Reading::First, Mount::Noatime),
        &QUICK_US,
        Some(3),
    ));
    let made = result(rows);
    let json = serde_json::to_string(&made).unwrap();
    let read: AtimeResult = serde_json::from_str(&json).unwrap();
    assert_eq!(read, made);
    let value: serde_json::Value = serde_json::from_str(&json).unwrap();
    let last = &value["rows"][110];
    assert_eq!(last["case"]["loop"], "one_file");
    assert_eq!(value["rows"][0]["case"]["operation"], "stat");
    assert_eq!(value["rows"][0]["atime_changed"], false);
}
