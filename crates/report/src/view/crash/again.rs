//! Second crashes, while the checker recovers: how far they were looked at, and what they leave.

use std::borrow::Cow;

use iostrata_core::bytes::grouped;
use iostrata_core::crash::{CrashResult, Finding, SecondCrashes};
use iostrata_core::noun::counted;

use super::counts;
use crate::view::page::Page;
use crate::words;

/// Ends the verdict where second crashes were asked for.
pub(super) fn sentence(result: &CrashResult) -> String {
    let Some(again) = &result.again else {
        return String::new();
    };
    if again.changed == 0 {
        let why = match &result.interrupted_by {
            Some(by) => format!("{by} came before"),
            None => "the checker changed no state that it accepted".to_owned(),
        };
        return format!(" No second crash was looked at: {why}.");
    }
    let SecondCrashes {
        explored,
        changed,
        states,
        ..
    } = again;
    let changed = counted(*changed, "state");
    let different = counted(states.distinct, "different state");
    let breaks = match states.failing {
        0 => format!("none of {different} breaks anything"),
        failing => format!("{} of {different} fail", grouped(failing)),
    };
    format!(
        " Of {changed} that the checker changed, {} crashed again while it recovered: {breaks}.",
        match explored {
            1 => "1 was".to_owned(),
            more => format!("{} were", grouped(*more)),
        }
    )
}

/// Why nothing can be promised of second crashes, where that is so.
pub(super) fn lacks(result: &CrashResult) -> Option<String> {
    let again = result.again.as_ref()?;
    let gap = again.incomplete_because.first();
    let gap = gap.map(|gap| format!("the recording of the checker lacks {}", words::gap(gap)));
    not_recorded(again).or(gap)
}

fn not_recorded(again: &SecondCrashes) -> Option<String> {
    let why = again.not_recorded_because.as_ref()?;
    let states = counted(again.not_recorded, "state");
    Some(format!(
        "the checker could not be recorded in {states} ({why})"
    ))
}

/// Adds what was explored.
pub(super) fn show(page: &mut Page, again: &SecondCrashes) {
    let changed = counted(again.changed, "state");
    let ways = counted(again.recoveries, "way");
    let text = format!(
        "second crashes: the checker changed {changed} that it accepted; it was recorded in {}, and recovered in {ways}; {} of {} explored: {}",
        grouped(again.recorded),
        grouped(again.explored),
        grouped(again.chosen),
        counts(&again.states, "point", "states")
    );
    page.bullet(2, &text);
    if let Some(why) = not_recorded(again) {
        page.bullet(4, &why);
    }
    for gap in &again.incomplete_because {
        let text = format!("not recorded of the checker: {}", words::gap(gap));
        page.bullet(4, &text);
    }
}

/// How the state of a finding came about.
pub(super) fn story(finding: &Finding) -> Cow<'_, str> {
    match finding.recovering {
        None => Cow::Borrowed(&finding.story),
        Some(state) => Cow::Owned(format!(
            "The power fails a second time, while the checker recovers state {state}. {}",
            finding.story
        )),
    }
}

#[cfg(test)]
mod tests {
    use iostrata_core::crash::{States, Verdict};

    use super::*;

    const SAVED: &str = include_str!("../../../../../docs/results/crash.json");

    fn result(again: SecondCrashes) -> CrashResult {
        let mut result: CrashResult = serde_json::from_str(SAVED).unwrap();
        result.findings.clear();
        result.verdict = Verdict::Clean;
        result.again = Some(again);
        result
    }

    #[test]
    fn a_verdict_says_how_far_second_crashes_were_looked_at() {
        let none = result(SecondCrashes::default());
        assert_eq!(
            sentence(&none),
            " No second crash was looked at: the checker changed no state that it accepted."
        );
        let mut again = SecondCrashes {
            changed: 40,
            explored: 16,
            ..SecondCrashes::default()
        };
        again.states.distinct = 412;
        let said = sentence(&result(again.clone()));
        assert_eq!(
            said,
            " Of 40 states that the checker changed, 16 were crashed again while it recovered: none of 412 different \
             states breaks anything."
        );
        again.states = States {
            failing: 3,
            ..again.states
        };
        let said = sentence(&result(again));
        assert!(
            said.ends_with(": 3 of 412 different states fail."),
            "{said}"
        );
    }

    #[test]
    fn what_was_not_recorded_is_said() {
        let again = SecondCrashes {
            not_recorded: 2,
            not_recorded_because: Some("state 7: torn".to_owned()),
            ..SecondCrashes::default()
        };
        let said = lacks(&result(again)).unwrap();
        assert_eq!(
            said,
            "the checker could not be recorded in 2 states (state 7: torn)"
        );
        assert_eq!(lacks(&result(SecondCrashes::default())), None);
    }
}
