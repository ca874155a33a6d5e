use iostrata_core::evidence::{DeviceCounts, DeviceRange};
use iostrata_core::gap::{Missing, Reason};
use iostrata_core::trace::budget;
use iostrata_core::trace::{
    Asked, AskedBy, Attached, Joined, Matched, MatchedBy, NotFound, Site, Sort,
};

use super::*;
use crate::terminal::trace::{draw, draw_budgets};
use crate::view::trace::fixture::{by_ptrace, empty, full, hostile, many};

const EVERYTHING: Selection = Selection {
    path: None,
    call: None,
    sort: Sort::Time,
    top: None,
};

const SUMMARY: Style = Style {
    colour: false,
    findings: false,
    files: false,
    calls: false,
    by: None,
    selection: EVERYTHING,
};

const ALL: Style = Style {
    colour: false,
    findings: true,
    files: true,
    calls: true,
    by: Some(By::Thread),
    selection: EVERYTHING,
};

fn summary(result: &TraceResult, width: usize) -> String {
    draw(result, width, &SUMMARY)
}

#[track_caller]
fn assert_narrow(text: &str, width: usize) {
    let wide: Vec<&str> = text
        .lines()
        .filter(|line| textwrap::core::display_width(line) > width)
        .collect();
    assert!(wide.is_empty(), "wider than {width}: {wide:#?}");
}

#[test]
fn a_summary_of_100_columns() {
    insta::assert_snapshot!(summary(&full(), 100));
}

#[test]
fn findings_that_are_not_given_are_not_none() {
    let mut result = empty();
    assert!(summary(&result, 100).contains("findings: none"));
    let gap = Gap::new(Missing::Findings, Reason::NotFullyObserved);
    result.missing.push(gap);
    let says = "findings: none, the run was not fully observed";
    assert!(summary(&result, 100).contains(says));
    let all = draw(&result, 100, &ALL);
    assert!(all.contains("all findings: none, the run"), "{all}");
}

#[test]
fn a_summary_of_80_columns() {
    insta::assert_snapshot!(summary(&full(), 80));
}

#[test]
fn a_summary_of_60_columns() {
    insta::assert_snapshot!(summary(&full(), 60));
}

#[test]
fn a_summary_of_160_columns() {
    insta::assert_snapshot!(summary(&full(), 160));
}

/// The summary before its tables, as words.
fn prose(width: usize) -> Vec<String> {
    let text = summary(&full(), width);
    let end = text.find("\nfiles").unwrap();
    text[..end].split_whitespace().map(str::to_owned).collect()
}

#[test]
fn no_width_cuts_a_word_or_loses_advice() {
    let wide = prose(160);
    let text = wide.join(" ");
    for advice in [
        "→ write ten records, then call fsync once",
        "→ call fsync before rename",
        "→ gather 64 KiB before each write",
    ] {
        assert!(text.contains(advice), "{text}");
    }
    for width in 60..160 {
        assert_eq!(prose(width), wide, "{width}");
    }
}

#[test]
fn the_same_advice_is_given_once() {
    let mut result = full();
    result.findings[3].advice = result.findings[0].advice.clone();
    let text = summary(&result, 100);
    assert_eq!(text.matches("write ten records").count(), 1, "{text}");
    assert!(text.contains("→ as above"), "{text}");
}

#[test]
fn a_name_that_was_used_again_is_one_row() {
    let mut result = full();
    let again = result.files[0].clone();
    result.files.extend([again.clone(), again]);
    for width in [60, 80, 100, 160] {
        let text = draw(
            &result,
            width,
            &Style {
                files: true,
                ..SUMMARY
            },
        );
        assert!(text.contains("data/orders.db-journal (3 files)"), "{text}");
        assert!(text.contains("all files: 4\n"), "{text}");
        assert!(text.contains("8.71 s"), "the sum of three: {text}");
    }
}

#[test]
fn rows_are_chosen_and_summed() {
    let mut result = full();
    let other = iostrata_core::trace::FileRow {
        path: "/srv/app/data/users.db-journal".to_owned(),
        ..result.files[0].clone()
    };
    result.files.push(other);
    let style = Style {
        files: true,
        calls: true,
        by: Some(By::Directory),
        selection: Selection {
            call: Some("fsync".to_owned()),
            sort: Sort::Name,
            top: Some(1),
            ..EVERYTHING
        },
        ..SUMMARY
    };
    let text = draw(&result, 80, &style);
    let start = text.find("below, only files").unwrap();
    insta::assert_snapshot!(&text[start..]);
}

#[test]
fn every_table_at_100_columns() {
    insta::assert_snapshot!(draw(&full(), 100, &ALL));
}

#[test]
fn every_table_at_80_columns() {
    let mut result = full();
    result.not_found = vec![NotFound {
        path: "/etc/app.conf".to_owned(),
        count: 12,
    }];
    let by_process = Style {
        by: Some(By::Process),
        ..ALL
    };
    insta::assert_snapshot!(draw(&result, 80, &by_process));
}

#[test]
fn one_table_where_there_is_room() {
    let files = Style {
        files: true,
        ..SUMMARY
    };
    let text = draw(&full(), 180, &files);
    assert!(!text.contains("below the calls"), "{text}");
    assert!(text.contains("left dirty  dev read  dev written"), "{text}");
}

#[test]
fn call_sites_name_their_functions() {
    let mut result = full();
    let functions = ["fsync (libc.so.6)", "commit (app)", "main (app)"];
    result.files[0].calls[0].sites = vec![
        Site {
            stack: functions.map(str::to_owned).into(),
            share: 0.9375,
            samples: 846,
            why_not: None,
        },
        Site {
            stack: [].into(),
            share: 0.0625,
            samples: 57,
            why_not: Some("the program was built without frame pointers".to_owned()),
        },
    ];
    let calls = Style {
        calls: true,
        ..SUMMARY
    };
    let text = draw(&result, 80, &calls);
    let start = text.find("call sites").unwrap();
    insta::assert_snapshot!(&text[start..], @r"
    call sites: share of time, and functions, innermost first
      fsync · 2.90 s · data/orders.db-journal
        93.8 % fsync (libc.so.6) ← commit (app) ← main (app)
        6.25 % incomplete: the program was built without frame pointers
    ");
}

#[test]
fn nothing_happened() {
    insta::assert_snapshot!(summary(&empty(), 80));
}

#[test]
fn losses_stand_first() {
    let mut result = full();
    result.lost_events = 1234;
    let text = summary(&result, 80);
    let first = text.lines().next();
    assert_eq!(
        first,
        Some("1,234 events lost: counts may be too low by as many")
    );
}

#[test]
fn strata_that_were_not_seen_are_not_zero() {
    insta::assert_snapshot!(summary(&by_ptrace(), 80));
}

#[test]
fn requests_of_others_are_told() {
    let mut result = full();
    result.other_requests = Some(1234);
    let text = summary(&result, 100);
    assert!(
        text.contains("  others   1,234 requests of other programs"),
        "{text}"
    );
    result.other_requests = Some(0);
    assert!(!summary(&result, 100).contains("  others "));
}

#[test]
fn what_may_be_others_is_a_range_and_no_amplification() {
    let mut result = full();
    let mut at_most = *result.evidence.exact_device().unwrap();
    at_most.discards = 3;
    let at_least = DeviceCounts {
        reads: at_most.reads,
        data: at_most.data,
        ..DeviceCounts::default()
    };
    let range = DeviceRange { at_least, at_most };
    result.evidence.device = Some(range);
    result.bytes.device_written_bytes = None;
    let (least, most) = range.of(|device| device.writes().bytes);
    result.bytes.device_written_bytes_shared = Some((least, most).into());
    let words = summary(&result, 160).replace('\u{a0}', " ");
    let text = words.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        text.contains("0 to 1,806 flushes, 0 to 3 discards"),
        "{text}"
    );
    assert!(
        text.contains("others other programs used the same disk: "),
        "{text}"
    );
    assert!(!text.contains('×'), "{text}");
    let device = text.split("device ").nth(1).unwrap();
    assert!(device.contains(" to 14.1 MiB (data "), "{text}");
}

#[test]
fn every_end_is_told() {
    let mut result = TraceResult {
        tasks: full().tasks,
        ..empty()
    };
    let mut end = |exit_code, signal, adopted| {
        (result.exit_code, result.signal, result.adopted) = (exit_code, signal, adopted);
        summary(&result, 200).lines().nth(2).unwrap().to_owned()
    };
    assert!(end(Some(7), None, None).contains(" · exit 7 · "));
    assert!(end(None, Some(9), None).contains(" · ended by SIGKILL · "));
    assert!(end(None, Some(64), None).contains(" · ended by signal 64 · "));
    assert!(end(None, Some(-1), None).contains(" · ended by signal -1 · "));
    assert!(
        end(None, None, Some(1302))
            .starts_with("process 1302 (./app --fast 'two words') · 4.20 s · still running")
    );
    assert!(end(None, None, Some(1300)).contains(" · ended · "));
    assert!(end(None, None, None).contains(" · end not observed · "));
}

fn attached(name: &str) -> Attached {
    let matched = |process, joined| Matched {
        process,
        name: name.to_owned(),
        by: vec![MatchedBy::Cgroup],
        joined,
    };
    Attached {
        asked: vec![Asked {
            by: AskedBy::Unit,
            value: name.to_owned(),
            cgroup: Some(format!("/{name}")),
        }],
        matched: vec![matched(7, Joined::Start), matched(9, Joined::Move)],
        unlisted: 0,
    }
}

#[test]
fn those_that_were_attached_to_are_named() {
    let mut result = empty();
    result.exit_code = None;
    result.attached = Some(attached("web"));
    let text = summary(&result, 100);
    assert!(text.contains("unit web · 4.20 s · attached · "), "{text}");
    let found = "attached to 7 web (cgroup), 9 web (cgroup, moved there later)";
    assert!(text.contains(found), "{text}");
    // One process is identified by its command line.
    result.adopted = Some(7);
    assert!(!summary(&result, 100).contains("attached to"));
}

#[test]
fn nothing_acts_on_the_terminal() {
    let mut others = hostile();
    others.attached = Some(attached("a\u{1b}[2J\n\u{202e}b"));
    for (result, width) in [(hostile(), 80), (hostile(), 300), (others, 100)] {
        let text = draw(&result, width, &ALL);
        let acts = |char: char| (char.is_control() && char != '\n') || char == '\u{202e}';
        assert!(!text.contains(acts), "{text:?}");
        assert!(text.contains("\\u{1b}[2J"), "{text}");
    }
}

#[test]
fn a_summary_fits_a_screen() {
    for result in [empty(), full(), by_ptrace(), many()] {
        for width in [60, 80, 100, 160] {
            let text = summary(&result, width);
            assert!(text.lines().count() <= 45, "{text}");
            assert_narrow(&text, width);
        }
    }
    insta::assert_snapshot!(summary(&many(), 100));
}

#[test]
fn tables_are_narrow_enough() {
    for result in [empty(), full(), by_ptrace(), hostile()] {
        for width in [60, 80, 100, 180] {
            for by in [By::Process, By::Thread, By::Directory, By::Extension] {
                assert_narrow(
                    &draw(
                        &result,
                        width,
                        &Style {
                            by: Some(by),
                            ..ALL
                        },
                    ),
                    width,
                );
            }
        }
    }
}

#[test]
fn ten_thousand_files_are_all_there() {
    let text = draw(&many(), 100, &ALL);
    for number in [0, 4711, 9999] {
        let name = format!("/{number}.o");
        assert!(text.contains(&name), "{name}");
    }
    assert!(text.contains("all files: 10,000\n"));
    assert!(text.contains("other: 77 calls on files that did not fit"));
}

#[test]
fn colour_adds_nothing_but_colour() {
    let colour = Style {
        colour: true,
        ..ALL
    };
    let coloured = draw(&full(), 100, &colour);
    let mut plain = String::new();
    let mut rest = coloured.as_str();
    while let Some((before, after)) = rest.split_once('\u{1b}') {
        plain.push_str(before);
        rest = after.split_once('m').unwrap().1;
    }
    plain.push_str(rest);
    assert_ne!(plain, coloured);
    assert_eq!(plain, draw(&full(), 100, &ALL));
}

fn all_seen() -> budget::Sight<impl Fn(&str) -> bool> {
    budget::Sight {
        sees: |_: &str| true,
        hides_calls: false,
    }
}

#[test]
fn budgets_that_failed_are_listed() {
    let known = ["fsync", "write"];
    let texts = [
        "fsync<=10",
        "write<=1000",
        "dirty_at_exit<=1KiB",
        "reads.bytes<1MiB",
    ];
    let budgets = texts.map(|text| budget::parse(text, known).unwrap());
    insta::assert_snapshot!(draw_budgets(&budget::judge(&full(), &budgets, &all_seen()), 80), @r"
    budget                  used
    fsync <= 10             903     exceeded
    dirty_at_exit <= 1 KiB  8 KiB   exceeded
    reads.bytes < 1 MiB     12 MiB  exceeded
    ");
    let budgets = [budget::parse("device.reads<=0", known).unwrap()];
    insta::assert_snapshot!(draw_budgets(&budget::judge(&by_ptrace(), &budgets, &all_seen()), 80), @r"
    budget
    device.reads <= 0  unknown: device requests were not observed: it takes eBPF;
                       run it as root
    ");
    let budgets = [budget::parse("wall<=1min", known).unwrap()];
    assert_eq!(
        draw_budgets(&budget::judge(&full(), &budgets, &all_seen()), 80),
        ""
    );
}
