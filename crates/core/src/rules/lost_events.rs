//! `lost-events`: the observer could not keep all that happened.

use super::draft::{Found, said};
use crate::bytes::grouped;
use crate::trace::{Draft, Rule, Severity, TraceResult};

/// The rule.
pub(super) static RULE: Rule = Rule {
    id: "lost-events",
    looks_for: "events that were lost, so that counts are too low",
    look,
};

fn look(run: &TraceResult) -> Vec<Draft> {
    if run.lost_events == 0 {
        return Vec::new();
    }
    let calls: u64 = run.syscalls.iter().map(|row| row.count).sum();
    let mut evidence = vec![said(format!(
        "{} events lost, {} calls counted",
        grouped(run.lost_events),
        grouped(calls)
    ))];
    evidence.extend(
        run.missing
            .iter()
            .map(|gap| said(format!("{}: {}", gap.what, gap.why))),
    );
    let found = Found {
        rule: RULE.id,
        file: None,
        title: format!("{} events were lost", grouped(run.lost_events)),
        evidence,
        cost_s: 0.0,
        saving_s: None,
        advice: "take counts as lower bounds; trace a shorter part of the program, or a build for 64 bit \
                 of one for 32",
        is_proven: true,
    };
    let mut draft = found.draft(run);
    draft.finding.cost_s = None;
    draft.finding.severity = Severity::Info;
    // It is about the result, not about the program's time.
    draft.is_fault = true;
    vec![draft]
}

#[cfg(test)]
mod tests {
    use super::super::fixture::{run, the_only};
    use super::*;
    use crate::op::Gap;

    #[test]
    fn losses_are_said_and_none_are_not() {
        let mut lossy = run(vec![]);
        assert_eq!(look(&lossy), vec![]);
        lossy.lost_events = 1234;
        lossy.missing = vec![Gap::new(
            "1234 system calls without their file",
            "a full table",
        )];
        let draft = the_only(look(&lossy));
        assert!(draft.is_fault);
        assert_eq!(draft.finding.title, "1,234 events were lost");
        assert_eq!(draft.finding.evidence.len(), 2);
    }
}
