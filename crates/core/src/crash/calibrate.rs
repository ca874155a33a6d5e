//! Models compared with what real file systems left of litmus programs.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::block::Pressure;
use super::litmus::{Litmus, Seen};
use super::model::Model;
use crate::Environment;

/// Name and version of the format.
pub const SCHEMA: &str = "iostrata.calibrate/1";

/// What the file systems of one kernel leave of the litmus programs, and what the models allow.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct CalibrateResult {
    pub schema: String,
    /// The machine, and the kernel whose file systems were asked.
    pub environment: Environment,
    /// How it was asked.
    pub settings: CalibrateSettings,
    /// The signal that ended it; `null` when it came to its end.
    pub interrupted_by: Option<String>,
    /// One for each litmus program and file system.
    pub rows: Vec<LitmusRow>,
    /// Whether a model denies what a file system left.
    pub verdict: Soundness,
}

/// How a calibration was asked for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct CalibrateSettings {
    /// Who else committed, one run each.
    pub pressures: Vec<Pressure>,
    /// How many times each run was made.
    pub repeats: u32,
    /// Time that each request of the device took at least, seconds.
    pub delay_s: f64,
    /// The limit on images of each run.
    pub images: u64,
    /// The seed of random subsets.
    pub seed: u64,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct LitmusRow {
    pub litmus: String,
    pub does: String,
    /// The file system, and its model.
    pub filesystem: Model,
    /// Whether the program ends with a sync: then what is left after its end is what counts.
    pub ends_with_sync: bool,
    /// The files before it.
    pub before: String,
    /// The files after it, without a crash.
    pub after: String,
    /// What was recovered.
    pub outcomes: Vec<OutcomeRow>,
    /// What the model allows, and no recovery showed.
    pub not_recovered: Vec<NotRecovered>,
    /// Different images that were recovered, in all runs.
    pub images: u64,
    /// Epochs of which not all subsets of blocks were tried, in all runs.
    pub sampled_epochs: u64,
    /// Epochs that were not tried, because of the limit on images.
    pub skipped_epochs: u64,
    /// Time of all runs, seconds.
    pub seconds: f64,
}

/// What a crash left of the files.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct OutcomeRow {
    /// The files: `f=a*2500+0*1596` has 2,500 letters and 1,596 zero bytes, `f=empty` is a file without bytes,
    /// `A/` a directory.
    pub files: String,
    /// Whether it was left after the end of the program too.
    pub after_end: bool,
    /// Who else committed in the runs that showed it, of an outcome that was left after the end too in those that
    /// showed it then.
    pub pressures: Vec<Pressure>,
    /// The models of this file system and of POSIX that deny it, at that time.
    pub denied_by: Vec<Model>,
}

/// What a model allows, and no recovery showed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct NotRecovered {
    pub files: String,
    /// Whether the model allows it after the end of the program too.
    pub after_end: bool,
}

/// Whether models allow what was recovered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Soundness {
    /// All of it.
    Sound,
    /// A model denies something that a file system left.
    Unsound,
    /// All of it, but not everything that was asked for was run.
    Incomplete,
}

/// What the runs of a litmus program on a file system showed.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Shown {
    /// Each outcome, and who else committed.
    pub outcomes: BTreeMap<Seen, BTreeSet<Pressure>>,
    pub images: u64,
    /// Epochs of which not all subsets of blocks were tried.
    pub sampled_epochs: u64,
    pub skipped_epochs: u64,
    pub seconds: f64,
}

impl LitmusRow {
    /// Compares what was shown with what the file system's model and POSIX's allow.
    pub fn of(litmus: &Litmus, filesystem: Model, shown: &Shown) -> Self {
        let [before, after] = litmus.ends();
        let allowed = litmus.allowed(filesystem);
        let models = [
            (filesystem, &allowed),
            (Model::Posix, &litmus.allowed(Model::Posix)),
        ];
        Self {
            litmus: litmus.name.to_owned(),
            does: litmus.does.to_owned(),
            filesystem,
            ends_with_sync: litmus.ends_with_sync(),
            before,
            after,
            outcomes: outcomes(shown, &models),
            not_recovered: not_recovered(litmus, shown, &allowed),
            images: shown.images,
            sampled_epochs: shown.sampled_epochs,
            skipped_epochs: shown.skipped_epochs,
            seconds: shown.seconds,
        }
    }

    /// Outcomes that the file system's own model denies.
    pub fn denied(&self) -> impl Iterator<Item = &OutcomeRow> {
        let own = self.filesystem;
        let outcomes = self.outcomes.iter();
        outcomes.filter(move |outcome| outcome.denied_by.contains(&own))
    }

    /// Outcomes that tell what a program may rely on: those after its end where it ends with a sync, else all.
    pub fn telling(&self) -> impl Iterator<Item = &OutcomeRow> {
        let outcomes = self.outcomes.iter();
        outcomes.filter(|outcome| outcome.after_end || !self.ends_with_sync)
    }
}

impl Soundness {
    /// Of these rows; `is_whole` says that nothing was left out.
    pub fn of(rows: &[LitmusRow], is_whole: bool) -> Self {
        if rows.iter().any(|row| row.denied().next().is_some()) {
            Self::Unsound
        } else if is_whole {
            Self::Sound
        } else {
            Self::Incomplete
        }
    }
}

fn outcomes(shown: &Shown, models: &[(Model, &BTreeSet<Seen>)]) -> Vec<OutcomeRow> {
    let mut rows: BTreeMap<&str, OutcomeRow> = BTreeMap::new();
    for (seen, pressures) in &shown.outcomes {
        let row = rows.entry(&seen.files).or_insert_with(|| OutcomeRow {
            files: seen.files.clone(),
            after_end: false,
            pressures: Vec::new(),
            denied_by: Vec::new(),
        });
        // Those after the end come last, and what is left then is more.
        if seen.ended && !row.after_end {
            row.after_end = true;
            row.pressures.clear();
        }
        row.pressures.extend(pressures);
        let denying = models.iter().filter(|(_, allowed)| !allowed.contains(seen));
        row.denied_by.extend(denying.map(|(model, _)| *model));
    }
    let mut rows: Vec<OutcomeRow> = rows.into_values().collect();
    for row in &mut rows {
        row.pressures.sort_unstable();
        row.pressures.dedup();
        row.denied_by.sort_unstable();
        row.denied_by.dedup();
    }
    rows
}

/// An outcome that is left after the end could have been left a moment before it. Where no sync ends the program,
/// one from before the end is left until the next write.
fn not_recovered(litmus: &Litmus, shown: &Shown, allowed: &BTreeSet<Seen>) -> Vec<NotRecovered> {
    let is_shown = |seen: &Seen| {
        let mut outcomes = shown.outcomes.keys();
        let counts = |ended: bool| ended || !seen.ended || !litmus.ends_with_sync();
        outcomes.any(|one| one.files == seen.files && counts(one.ended))
    };
    let mut rows: Vec<NotRecovered> = Vec::new();
    for seen in allowed.iter().filter(|seen| !is_shown(seen)) {
        match rows.iter_mut().find(|row| row.files == seen.files) {
            Some(row) => row.after_end |= seen.ended,
            None => rows.push(NotRecovered {
                files: seen.files.clone(),
                after_end: seen.ended,
            }),
        }
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(all: &[(&str, bool)]) -> Shown {
        let outcomes = all.iter().map(|(files, ended)| {
            let seen = Seen {
                files: (*files).to_owned(),
                ended: *ended,
            };
            (seen, BTreeSet::from([Pressure::Fsync]))
        });
        Shown {
            outcomes: outcomes.collect(),
            ..Shown::default()
        }
    }

    fn row(name: &str, filesystem: Model, all: &[(&str, bool)]) -> LitmusRow {
        LitmusRow::of(Litmus::named(name).unwrap(), filesystem, &shown(all))
    }

    #[test]
    fn what_a_model_denies_makes_it_unsound() {
        let fine = row(
            "overwrite",
            Model::Btrfs,
            &[("f=a*8192", false), ("f=b*8192", true)],
        );
        assert_eq!(fine.denied().count(), 0);
        let torn = "f=b*4096+a*4096";
        let broken = row("overwrite", Model::Btrfs, &[(torn, false)]);
        let denied: Vec<_> = broken.denied().collect();
        assert_eq!(denied.len(), 1);
        assert_eq!(
            (denied[0].files.as_str(), denied[0].after_end),
            (torn, false)
        );
        assert_eq!(denied[0].denied_by, [Model::Btrfs], "POSIX allows it");
        let rows = [fine, broken];
        assert_eq!(Soundness::of(&rows[..1], true), Soundness::Sound);
        assert_eq!(Soundness::of(&rows[..1], false), Soundness::Incomplete);
        assert_eq!(Soundness::of(&rows, false), Soundness::Unsound);
    }

    #[test]
    fn what_is_allowed_before_the_end_may_be_denied_after_it() {
        let files = "f=a*2500+0*1596";
        let before = row("append-fdatasync", Model::Ext4, &[(files, false)]);
        assert_eq!(before.denied().count(), 0);
        assert_eq!(before.telling().count(), 0);
        let after = row("append-fdatasync", Model::Ext4, &[(files, true)]);
        let denied: Vec<_> = after.denied().collect();
        assert_eq!(denied[0].denied_by, [Model::Posix, Model::Ext4]);
    }

    fn not_recovered(row: &LitmusRow) -> Vec<(&str, bool)> {
        let rows = row.not_recovered.iter();
        rows.map(|row| (row.files.as_str(), row.after_end))
            .collect()
    }

    #[test]
    fn what_no_recovery_showed_is_listed() {
        let torn = "f=b*4096+a*4096";
        let all = [("f=a*8192", false), ("f=b*8192", true), (torn, false)];
        let overwrite = row("overwrite", Model::Ext4, &all);
        // It ends with no sync, so what was left before its end counts.
        assert_eq!(not_recovered(&overwrite), [("f=a*4096+b*4096", true)]);
        let (back, gone) = ("f=a*10 g=empty", "g=empty");
        let unlinked = [("f=a*10", false), (back, false), (gone, true)];
        let unlinked = row("unlink-create-fsync", Model::Btrfs, &unlinked);
        assert_eq!(not_recovered(&unlinked), [(back, true), ("no file", false)]);
    }
}
