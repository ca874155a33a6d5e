//! The answers of `iostrata lab` on one screen: they fit, lose nothing, and follow from the rows.

use std::path::Path;

use iostrata_core::lab::{Experiment, LabResult};
use iostrata_core::reply::Standing;
use iostrata_report::Json as _;
use iostrata_report::terminal::lab_screen::{Kept, Parts, Screen, draw};
use textwrap::core::display_width;

const WIDTHS: [usize; 4] = [60, 80, 100, 160];

/// A quick run of all experiments, as root in a virtual machine.
fn quick() -> LabResult {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/results/quick.json");
    LabResult::from_json(&std::fs::read(path).expect("it is saved")).expect("it is a result")
}

fn screen() -> Screen<'static> {
    Screen {
        kept: Kept::Last,
        ..Screen::default()
    }
}

fn text(result: &LabResult, width: usize) -> String {
    draw(result, width, &screen())
}

/// Every timing of a result with these samples, as factors of its median.
fn with_samples(mut result: LabResult, factors: &[f64]) -> LabResult {
    let mut json = serde_json::to_value(&result).expect("results are JSON");
    spread(&mut json, factors);
    result = serde_json::from_value(json).expect("times are times still");
    result
}

/// Sets the samples of every timing below a value.
fn spread(value: &mut serde_json::Value, factors: &[f64]) {
    use serde_json::{Value, json};
    if let Value::Object(fields) = value
        && fields.contains_key("samples_s")
    {
        let median = fields["median_s"].as_f64().expect("a number");
        let samples: Vec<f64> = factors.iter().map(|factor| factor * median).collect();
        fields.insert("low_s".to_owned(), json!(samples[0]));
        fields.insert("high_s".to_owned(), json!(samples[samples.len() - 1]));
        fields.insert("samples_s".to_owned(), json!(samples));
        return;
    }
    match value {
        Value::Object(fields) => fields.values_mut().for_each(|one| spread(one, factors)),
        Value::Array(all) => all.iter_mut().for_each(|one| spread(one, factors)),
        _ => {}
    }
}

#[test]
fn a_quick_run_at_every_width() {
    let result = quick();
    for width in WIDTHS {
        insta::assert_snapshot!(format!("quick_{width}"), text(&result, width));
    }
}

#[test]
fn one_experiment_at_every_width() {
    for index in 0..5 {
        let mut result = quick();
        result.experiments = vec![result.experiments.remove(index)];
        let name = result.experiments[0].shared().id;
        insta::assert_snapshot!(format!("one_{name}_80"), text(&result, 80));
        for width in [80, 100, 160] {
            let lines = text(&result, width).lines().count();
            assert!(lines <= 60, "{name} at {width}: {lines} lines");
        }
    }
    let mut result = quick();
    result.experiments = vec![result.experiments.remove(2)];
    for width in [60, 160] {
        insta::assert_snapshot!(format!("one_sync_{width}"), text(&result, width));
    }
}

#[test]
fn what_the_noise_leaves_open_is_unclear() {
    let result = with_samples(quick(), &[0.02, 0.3, 1.0, 3.0, 50.0]);
    for width in WIDTHS {
        insta::assert_snapshot!(format!("noisy_{width}"), text(&result, width));
    }
}

#[test]
fn too_few_runs_compare_nothing() {
    let result = with_samples(quick(), &[0.9, 1.1]);
    insta::assert_snapshot!(text(&result, 80));
}

#[test]
fn losses_stand_first_and_leave_counts_unclear() {
    let mut result = quick();
    for experiment in &mut result.experiments {
        if let Experiment::Sync(sync) = experiment {
            for row in &mut sync.rows {
                row.row.evidence.lost_events = 12;
            }
        }
    }
    insta::assert_snapshot!(text(&result, 80));
}

#[test]
fn without_the_kernel_there_are_times_only() {
    let mut json = serde_json::to_value(quick()).unwrap();
    json["environment"]["backend"] = "none".into();
    unobserved(&mut json);
    let result: LabResult = serde_json::from_value(json).unwrap();
    insta::assert_snapshot!(text(&result, 80));
}

/// The output for an ordinary user: no evidence in any row.
const REFUSED: &str = "not permitted: eBPF needs CAP_BPF, CAP_PERFMON and CAP_SYSLOG; run as root";

fn unobserved(value: &mut serde_json::Value) {
    use serde_json::Value;
    if let Value::Object(fields) = value {
        if let Some(evidence) = fields.get_mut("evidence") {
            evidence["device"] = Value::Null;
            evidence["device_after_exit"] = Value::Null;
            evidence["missing"] = serde_json::json!([{
                "what": "device requests",
                "why": REFUSED,
                "code": {"what": {"stratum": "device"}, "why": {"error": REFUSED}}
            }]);
        }
        if fields.contains_key("sectors") {
            fields.insert("sectors".to_owned(), Value::Null);
        }
        fields.values_mut().for_each(unobserved);
    } else if let Value::Array(all) = value {
        all.iter_mut().for_each(unobserved);
    }
}

#[test]
fn an_interrupted_run_has_the_questions_of_its_rows() {
    let mut result = quick();
    result.experiments.truncate(2);
    let Experiment::PageCache(reads) = &mut result.experiments[1] else {
        panic!("reads come second")
    };
    reads.rows.truncate(5);
    reads.own.parsing.clear();
    reads.method.interrupted = true;
    insta::assert_snapshot!(text(&result, 80));
}

#[test]
fn a_refused_case_is_no_question() {
    let mut result = quick();
    result.experiments = vec![result.experiments.remove(4)];
    let Experiment::Copy(copies) = &mut result.experiments[0] else {
        panic!("copies come last")
    };
    copies.rows.retain(|row| row.row.target == "host");
    copies.targets.truncate(1);
    let text = text(&result, 80);
    assert!(!text.contains("Does reflink"), "{text}");
    assert!(text.contains("Not measured: reflink on host ("), "{text}");
    insta::assert_snapshot!(text);
}

#[test]
fn every_experiment_is_shown_with_its_tables() {
    let result = quick();
    for experiment in &result.experiments {
        let name = experiment.shared().id;
        let names = [name];
        let tables = Screen {
            names: &names,
            parts: Some(Parts::TABLES),
            ..screen()
        };
        let text = draw(&result, 100, &tables);
        assert!(text.starts_with(name), "{text}");
        for reply in experiment.replies() {
            assert!(text.contains(&reply.question), "{}: {text}", reply.question);
        }
        for claim in ["\n  holds", "\n  refuted", "\nnotes", "\ncaveats"] {
            assert!(!text.contains(claim), "{claim}: {text}");
        }
    }
}

#[test]
fn parts_are_shown_alone() {
    let result = quick();
    let notes = Screen {
        parts: Some(Parts {
            notes: true,
            ..Parts::default()
        }),
        ..screen()
    };
    let text = draw(&result, 100, &notes);
    assert_eq!(text.matches("\nnotes\n").count(), 5, "{text}");
    assert!(!text.contains("timing 5 runs"), "{text}");
    let method = Screen {
        parts: Some(Parts {
            method: true,
            claims: true,
            ..Parts::default()
        }),
        ..screen()
    };
    let text = draw(&result, 100, &method);
    assert_eq!(text.matches("timing 5 runs each").count(), 5, "{text}");
    assert!(text.contains("\n  holds "), "{text}");
    assert!(!text.contains("\nnotes\n"), "{text}");
}

#[test]
fn lines_fit_and_no_word_is_cut() {
    let mut json = serde_json::to_value(quick()).unwrap();
    json["environment"]["backend"] = "none".into();
    unobserved(&mut json);
    let runs = [
        quick(),
        serde_json::from_value(json).unwrap(),
        with_samples(quick(), &[0.02, 0.3, 1.0, 3.0, 50.0]),
        with_samples(quick(), &[0.9, 1.1]),
    ];
    for result in &runs {
        for width in WIDTHS {
            let text = text(result, width);
            let words: Vec<&str> = text.split_whitespace().collect();
            for line in text.lines() {
                assert!(display_width(line) <= width, "{width}: {line:?}");
                assert_eq!(line, line.trim_end());
            }
            if width >= 80 {
                let lines = text.lines().count();
                assert!(lines <= 45, "{width}: {lines} lines\n{text}");
                let far = Screen {
                    kept: Kept::File("/srv/results/of/a/machine/that/is/far/away/lab-quick.json"),
                    ..screen()
                };
                let lines = draw(result, width, &far).lines().count();
                assert!(lines <= 45, "{width}: {lines} lines with a long path");
            }
            // Every answer is complete, whatever was left out after it.
            for experiment in &result.experiments {
                for reply in experiment.replies().iter().filter(|reply| reply.leads) {
                    let answer: Vec<&str> = reply.answer.split_whitespace().collect();
                    let is_there = words.windows(answer.len()).any(|part| part == answer);
                    assert!(is_there, "{width}: {:?}\n{text}", reply.answer);
                }
            }
        }
    }
}

#[test]
fn colour_only_repeats_what_the_text_says() {
    let result = quick();
    let coloured = draw(
        &result,
        80,
        &Screen {
            colour: true,
            ..screen()
        },
    );
    assert!(coloured.contains("\u{1b}[32mYes\u{1b}[0m"), "{coloured}");
    let mut parts = coloured.split("\u{1b}[");
    let first = parts.next().unwrap_or_default().to_owned();
    let plain = parts.fold(first, |plain, part| plain + part.split_once('m').unwrap().1);
    assert_eq!(plain, text(&result, 80));
}

#[test]
fn what_is_open_says_so_and_nothing_else_does() {
    for result in [quick(), with_samples(quick(), &[0.02, 0.3, 1.0, 3.0, 50.0])] {
        for reply in result.experiments.iter().flat_map(Experiment::replies) {
            let says = reply.answer.to_lowercase().contains("unclear");
            assert_eq!(says, reply.standing == Standing::Unclear, "{reply:?}");
        }
    }
}

/// Each leading question, with its answer next to it, and no paths of the machine that made it.
#[test]
fn the_answers_as_markdown() {
    let result = quick();
    let text = iostrata_report::markdown::lab(&result, &[]);
    let rows: Vec<&str> = text.lines().filter(|line| line.starts_with("| ")).collect();
    let replies = result.experiments.iter().flat_map(Experiment::replies);
    let leading: Vec<_> = replies.filter(|reply| reply.leads).collect();
    let heads = 2 * result.experiments.len();
    assert_eq!(rows.len(), leading.len() + heads);
    // A name in a question is code.
    for reply in leading.iter().filter(|reply| !reply.question.contains('_')) {
        let begin = format!("| {} | ", reply.question);
        let row = rows.iter().find(|row| row.starts_with(&begin));
        assert!(
            row.is_some_and(|row| row.matches('|').count() == 3),
            "{begin} in {text}"
        );
    }
    assert!(!text.contains("More:"), "{text}");
    let only = iostrata_report::markdown::lab(&result, &["sync"]);
    insta::assert_snapshot!(only);
}
