//! `lost-events`: the observer lost events.

use super::draft::{Found, said};
use super::rule::{Rule, Subject};

use crate::noun::counted;
use crate::trace::TraceResult;

pub(super) static RULE: Rule = Rule {
    id: "lost-events",
    looks_for: "lost events, which make counts too low",
    in_short: "trace a shorter part of the program",
    advice: "treat counts as lower bounds; trace a shorter part of the program, or a 64-bit build \
             of a 32-bit program",
    at: Subject::Meaning(look),
};

fn look(run: &TraceResult) -> Option<Found> {
    if run.lost_events == 0 {
        return None;
    }
    let calls: u64 = run.syscalls.iter().map(|row| row.stats.count).sum();
    let mut evidence = vec![said(format!(
        "{} lost, {} counted",
        counted(run.lost_events, "event"),
        counted(calls, "call")
    ))];
    evidence.extend(
        run.missing
            .iter()
            .map(|gap| said(format!("{}: {}", gap.what.text(), gap.why.text()))),
    );
    Some(Found {
        title: format!("{} lost", counted(run.lost_events, "event")),
        evidence,
        ..Found::default()
    })
}

#[cfg(test)]
mod tests {
    use super::super::fixture::{run, the_only};
    use super::*;
    use crate::gap::{Gap, Missing, Reason};

    #[test]
    fn losses_are_said_and_none_are_not() {
        let mut lossy = run(vec![]);
        assert_eq!(RULE.look(&lossy), vec![]);
        lossy.lost_events = 1234;
        lossy.missing = vec![Gap::new(Missing::History, Reason::FileTableFull)];
        let draft = the_only(RULE.look(&lossy));
        assert!(draft.is_fault);
        assert_eq!(draft.finding.title, "1,234 events lost");
        assert_eq!(draft.finding.evidence.len(), 2);
    }
}
