//! Which parts of a page are open at first, which are folded, and which are printed.

use super::Drawn;
use super::markup::Markup;
use crate::view::section::SectionId;

/// How a part stands on the page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fold {
    /// Always open.
    Open,
    /// Open at first.
    Opened,
    /// Closed at first, and not printed while it is closed.
    Closed,
    /// Closed at first; printed all the same, with the first rows of its tables.
    Printed,
}

impl Fold {
    pub(super) fn of(result: Drawn<'_>, id: SectionId) -> Self {
        use SectionId::{
            Bytes, Calls, Caveats, Changed, Experiments, Files, Findings, Limit, Missing,
            NotJudged, Notes, Open, OverTime, Reasons, Rows, Strata,
        };
        match (result, id) {
            (Drawn::Trace(_), Findings)
            | (Drawn::Comparison(_), Limit | Open | Experiments | Strata | Findings)
            | (Drawn::Doctor(_) | Drawn::Crash(_), _) => Self::Open,
            (Drawn::Cache(_), Files) => Self::Opened,
            (Drawn::Trace(_), OverTime | Bytes | Files | Calls | Missing)
            | (Drawn::Lab(_), Caveats | Notes)
            | (Drawn::Cache(_), Reasons)
            | (Drawn::Comparison(_), Rows | Changed | NotJudged | Notes) => Self::Printed,
            _ => Self::Closed,
        }
    }

    /// Begins what [`Fold::close`] ends; `summary` draws what is seen of it when it is closed.
    pub(super) fn open(
        self,
        markup: &mut Markup,
        class: &'static str,
        summary: impl FnOnce(&mut Markup),
    ) {
        let (class, paper) = match self {
            Self::Open => {
                summary(markup);
                markup.line();
                return;
            }
            Self::Opened | Self::Closed => (class, ""),
            Self::Printed => (class, " on-paper"),
        };
        let class = format!("{class}{paper}");
        match self {
            Self::Opened => markup.open("details", &[("class", &class), ("open", "")]),
            _ => markup.open("details", &[("class", &class)]),
        }
        markup.open("summary", &[]);
        summary(markup);
        markup.close("summary");
        markup.line();
    }

    pub(super) fn close(self, markup: &mut Markup) {
        if self != Self::Open {
            markup.close("details");
            markup.line();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_printed_may_be_closed() {
        let drawn = |fold: Fold| {
            let mut markup = Markup::default();
            fold.open(&mut markup, "part", |markup| markup.text("files"));
            fold.close(&mut markup);
            markup.finish().replace('\n', "")
        };
        assert_eq!(drawn(Fold::Open), "files");
        assert_eq!(
            drawn(Fold::Opened),
            "<details class=\"part\" open><summary>files</summary></details>"
        );
        assert_eq!(
            drawn(Fold::Printed),
            "<details class=\"part on-paper\"><summary>files</summary></details>"
        );
    }
}
