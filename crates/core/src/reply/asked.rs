//! Questions answered for every file system of a result.

use super::words::{parenthesis, sentence};
use super::{Elsewhere, Reply, Standing};
use crate::judge::{Judged, Missing, TargetRows};
use crate::lab::HOST;

/// A question about rows `R` of a result `X`.
pub(crate) struct Question<R: Judged + 'static, X: 'static> {
    /// At most about 26 characters, since answers are printed next to it.
    text: &'static str,
    /// See [`Reply::leads`].
    leads: bool,
    say: Say<R, X>,
}

type Say<R, X> = fn(&TargetRows<'_, R, X>) -> Result<Said, Missing>;

impl<R: Judged, X> Question<R, X> {
    pub(crate) const fn leading(text: &'static str, say: Say<R, X>) -> Self {
        Self {
            text,
            leads: true,
            say,
        }
    }

    pub(crate) const fn further(text: &'static str, say: Say<R, X>) -> Self {
        Self {
            leads: false,
            ..Self::leading(text, say)
        }
    }
}

/// The answer from one file system's rows.
pub(crate) struct Said {
    /// The value in which another file system must differ to be named.
    gist: String,
    answer: String,
    reason: String,
    standing: Standing,
    rows: Vec<usize>,
}

impl Said {
    pub(crate) fn fact(answer: impl Into<String>, rows: Vec<usize>) -> Self {
        Self {
            gist: String::new(),
            answer: answer.into(),
            reason: String::new(),
            standing: Standing::Neutral,
            rows,
        }
    }

    /// An unclear answer, with the figures that leave it open.
    pub(crate) fn unclear(figures: &str, rows: Vec<usize>) -> Self {
        Self::fact(format!("Unclear: {figures}"), rows).standing(Standing::Unclear)
    }

    pub(crate) fn because(mut self, reason: impl Into<String>) -> Self {
        self.reason = reason.into();
        self
    }

    pub(crate) fn standing(mut self, standing: Standing) -> Self {
        self.standing = standing;
        self
    }

    pub(crate) fn good_if(self, is_good: bool) -> Self {
        if is_good {
            self.standing(Standing::Good)
        } else {
            self
        }
    }

    /// File systems are named when they differ in this value, by default in their standing.
    pub(crate) fn gist(mut self, gist: impl Into<String>) -> Self {
        self.gist = gist.into();
        self
    }

    fn differs(&self, other: &Self) -> bool {
        (self.standing, &self.gist) != (other.standing, &other.gist)
    }

    /// The reply of a result that has no other reply.
    pub(crate) fn reply(self, question: &str, leads: bool) -> Reply {
        Reply {
            question: question.to_owned(),
            answer: self.answer,
            reason: self.reason,
            elsewhere: Vec::new(),
            standing: self.standing,
            leads,
            rows: self.rows,
        }
    }
}

/// Answers questions for every target: the host first, then in their order. A question whose rows
/// were measured on no target is left out.
pub(crate) fn replies<R: Judged, X>(
    questions: &[Question<R, X>],
    mut targets: Vec<TargetRows<'_, R, X>>,
) -> Vec<Reply> {
    // Stable: the others keep their order.
    targets.sort_by_key(|target| target.name != HOST);
    let replies = questions.iter().filter_map(|question| {
        let said = targets
            .iter()
            .map(|target| (target.name, (question.say)(target)));
        reply(question.text, question.leads, said.collect())
    });
    replies.collect()
}

fn reply(question: &str, leads: bool, said: Vec<(&str, Result<Said, Missing>)>) -> Option<Reply> {
    let several = said.len() > 1;
    let mut missing = None;
    let mut found = Vec::new();
    for (name, said) in said {
        match said {
            Ok(said) => found.push((name, said)),
            Err(Missing::Evidence(why)) => missing = missing.or(Some(why)),
            Err(Missing::Rows) => {}
        }
    }
    let mut found = found.into_iter();
    let Some((name, leading)) = found.next() else {
        return Some(unknown(&missing?).reply(question, leads));
    };
    let others: Vec<(&str, Said)> = found.filter(|(_, other)| other.differs(&leading)).collect();
    let mut reply = leading.reply(question, leads);
    if several && name != HOST {
        reply.answer = format!("On {name}: {}", lowered(&reply.answer));
    }
    for (name, other) in others {
        reply.rows.extend(&other.rows);
        reply.elsewhere.push(Elsewhere {
            target: name.to_owned(),
            answer: lowered(&other.answer),
        });
    }
    reply.rows.sort_unstable();
    reply.rows.dedup();
    Some(reply)
}

/// Reasons that many questions of a run share, and the text next to each.
const SHORT: [(&str, &str); 2] = [
    ("for a 95 % interval", "too few timing runs."),
    ("on the same disk", "other programs used the same disk."),
];

/// The cause alone; its consequence and text in parentheses are shown with the claims.
fn unknown(why: &str) -> Said {
    if let Some((_, short)) = SHORT.iter().find(|(long, _)| why.contains(long)) {
        return Said::unclear(short, Vec::new());
    }
    let mut told = why.to_owned();
    // A colon inside a word does not separate.
    while let Some(range) = parenthesis(&told)
        && told.find(": ").is_some_and(|colon| range.contains(&colon))
    {
        told.replace_range(range, "");
    }
    let rest = told.split_once(": ").map(|(_, rest)| rest);
    let mut why = told.clone();
    if let Some(range) = parenthesis(&why) {
        why.replace_range(range, "");
    }
    let cuts = [" (", ", and ", ": "];
    let end = cuts.iter().filter_map(|cut| why.find(cut)).min();
    let cause = why.get(..end.unwrap_or(why.len())).unwrap_or(&why);
    let rest = rest.filter(|_| why[cause.len()..].starts_with(": "));
    let cause = cause.strip_prefix("the ").unwrap_or(cause);
    let reason = rest.map_or_else(String::new, sentence);
    Said::unclear(&format!("{cause}."), Vec::new()).because(reason)
}

/// For the middle of a sentence; names of calls and units stay unchanged.
pub(super) fn lowered(sentence: &str) -> String {
    let mut chars = sentence.chars();
    match (chars.next(), chars.as_str()) {
        (Some(first), rest) if rest.starts_with(char::is_lowercase) => {
            first.to_lowercase().chain(rest.chars()).collect()
        }
        _ => sentence.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(answer: &str, standing: Standing) -> Said {
        Said::fact(answer, vec![1]).standing(standing)
    }

    #[test]
    fn the_host_leads_and_others_are_named_when_they_differ() {
        let asked = vec![
            ("host", Ok(said("Yes: 3x.", Standing::Good))),
            ("ext4", Ok(said("Yes: 4x.", Standing::Good))),
            ("xfs", Ok(said("Unclear: 1.1x.", Standing::Unclear))),
        ];
        let reply = reply("Faster?", true, asked).unwrap();
        assert_eq!(reply.answer, "Yes: 3x.");
        let xfs = Elsewhere {
            target: "xfs".to_owned(),
            answer: "unclear: 1.1x.".to_owned(),
        };
        assert_eq!(reply.elsewhere, [xfs]);
    }

    #[test]
    fn without_the_host_the_file_system_is_named() {
        let asked = vec![
            ("host", Err(Missing::Rows)),
            ("xfs", Ok(said("No: 0 B.", Standing::Good))),
        ];
        assert_eq!(reply("?", true, asked).unwrap().answer, "On xfs: no: 0 B.");
        let asked = vec![("xfs", Ok(said("No: 0 B.", Standing::Good)))];
        assert_eq!(reply("?", true, asked).unwrap().answer, "No: 0 B.");
    }

    #[test]
    fn what_was_not_measured_is_not_answered() {
        assert_eq!(reply("?", true, vec![("host", Err(Missing::Rows))]), None);
        for (why, answer, reason) in [
            (
                "the device requests of row 3 were not observed (device requests: not permitted)",
                "Unclear: device requests of row 3 were not observed.",
                "",
            ),
            (
                "the device requests of row 2 were not observed (device requests: not permitted \
                 (EPERM (os error 1)); run as root (SECURITY.md))",
                "Unclear: device requests of row 2 were not observed.",
                "",
            ),
            (
                "row 1 is warm: mapped by process 9 (python3)",
                "Unclear: row 1 is warm.",
                "Mapped by process 9 (python3).",
            ),
            (
                "2 and 3 timing runs (rows 1 and 2) are too few for a 95 % interval",
                "Unclear: too few timing runs.",
                "",
            ),
            (
                "others made 9 requests on the same disk, and flushes cannot be told (row 3)",
                "Unclear: other programs used the same disk.",
                "",
            ),
        ] {
            let asked = vec![("host", Err(Missing::Evidence(why.to_owned())))];
            let reply = reply("?", true, asked).unwrap();
            assert_eq!(
                (reply.standing, reply.answer.as_str(), reply.reason.as_str()),
                (Standing::Unclear, answer, reason)
            );
        }
    }
}
