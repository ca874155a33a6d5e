//! How long a run will take, printed before it begins.

use iostrata_lab::error::LabError;
use iostrata_lab::experiment::expected;
use iostrata_lab::pace::{Expected, Pace};
use iostrata_lab::session::{Effort, RunSettings};
use iostrata_lab::target::Target;

use super::planned::Planned;
use super::targets::Choice;
use crate::ui;

/// Shorter runs are not worth a line, unless `--thorough` was given.
const WORTH_SAYING_S: f64 = 60.0;

/// Prints it on standard error. Where it cannot be measured, such as on a disk that is
/// nearly full, nothing is printed: the run itself will report the problem.
pub(super) fn announce(
    planned: &[Planned],
    choice: &Choice,
    run: &RunSettings,
    targets: &[Target],
) {
    let pace = |target: &Target| Ok((target.clone(), Pace::measure(target)?));
    let paces: Result<Vec<(Target, Pace)>, LabError> = targets.iter().map(pace).collect();
    let Ok(paces) = paces else {
        return;
    };
    let mut all = Expected::default();
    let mut each = Vec::new();
    for one in planned {
        let own = choice.targets_of(one, targets);
        let is_own = |(target, _): &&(Target, Pace)| own.contains(target);
        let own: Vec<(&Target, Pace)> = paces
            .iter()
            .filter(is_own)
            .map(|(target, pace)| (target, *pace))
            .collect();
        let expected = expected(&*one.experiment, run, &own);
        each.push(format!("{} {}", one.name.as_str(), range(expected)));
        all = [all, expected].into_iter().sum();
    }
    if run.effort == Effort::Thorough || all.most_s >= WORTH_SAYING_S {
        let parts = match each.as_slice() {
            [_] => String::new(),
            several => format!(": {}", several.join(", ")),
        };
        ui::say(&format!("this will take about {}{parts}", range(all)));
    }
}

/// `3 to 5 min`, `40 s`.
fn range(expected: Expected) -> String {
    let (unit, seconds) = match expected.most_s {
        hours if hours >= 7200.0 => ("h", 3600.0),
        minutes if minutes >= 120.0 => ("min", 60.0),
        _ => ("s", 1.0),
    };
    let least = (expected.least_s / seconds).round();
    let most = (expected.most_s / seconds).ceil();
    if least < most {
        format!("{least} to {most} {unit}")
    } else {
        format!("{most} {unit}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_read_at_a_glance() {
        let text = |least_s, most_s| range(Expected { least_s, most_s });
        assert_eq!(text(40.2, 40.0), "40 s");
        assert_eq!(text(12.4, 118.6), "12 to 119 s");
        assert_eq!(text(170.0, 301.0), "3 to 6 min");
        assert_eq!(text(3600.0, 9000.0), "1 to 3 h");
    }
}
