//! Claims about what updates an access time, decided by the matrix and the probes.

use crate::answer::{Answer, Verdict};
use crate::atime::{AtimeResult, Mount, Operation, Probe, RelatimeProbe, Subject, TouchRow};
use crate::distinct;
use crate::judge::Finding;
use crate::lab::machine_of;

/// A claim: these operations move the access time, those do not.
struct Claim {
    text: &'static str,
    moves: &'static [Operation],
    stays: &'static [Operation],
}

const CLAIMS: [Claim; 4] = [
    Claim {
        text: "atime changes when a file's data is read, not when the file is opened, looked up \
               or written",
        moves: &[Operation::Read, Operation::Pread, Operation::Readv],
        stays: &[
            Operation::Stat,
            Operation::Open,
            Operation::OpenClose,
            Operation::Write,
            Operation::Truncate,
        ],
    },
    Claim {
        text: "readdir, readlink and mmap count as reading",
        moves: &[Operation::Readdir, Operation::Readlink, Operation::Mmap],
        stays: &[],
    },
    Claim {
        text: "find reads only metadata: it changes no file's atime",
        moves: &[],
        stays: &[Operation::Find],
    },
    Claim {
        text: "every way of copying a file changes its atime",
        moves: &[
            Operation::SendfileFrom,
            Operation::CopyFileRangeFrom,
            Operation::Cp,
        ],
        stays: &[],
    },
];

/// The result of one machine.
pub(super) struct Found<'a> {
    machine: Option<&'a str>,
    touches: Vec<(usize, &'a TouchRow)>,
    probes: Vec<&'a RelatimeProbe>,
}

impl<'a> Found<'a> {
    /// Of each machine of the result.
    pub(super) fn each(result: &'a AtimeResult) -> Vec<Self> {
        let of_row = |row: &'a TouchRow| machine_of(&row.row.target);
        let of_probe = |probe: &'a RelatimeProbe| probe.machine.as_deref();
        let rows = result.touches().map(|(_, row)| of_row(row));
        let probes = result.own.relatime.iter();
        // One that is `None` where all are of one machine.
        let each = distinct(rows.chain(probes.clone().map(of_probe)));
        let found = each.into_iter().map(|machine| {
            let (touches, probes) = (result.touches(), probes.clone());
            Self {
                machine,
                touches: touches.filter(|(_, row)| of_row(row) == machine).collect(),
                probes: probes.filter(|one| of_probe(one) == machine).collect(),
            }
        });
        found.collect()
    }

    /// The claims in their order, and the finding for each.
    fn answers(&self) -> Vec<Option<Answer>> {
        let claims = CLAIMS.iter().map(|claim| (claim.text, judge(claim, self)));
        let rules = [
            (self.relatime_claim(), relatime_rule(self)),
            ("noatime stops every update", noatime(self)),
            (
                "nodiratime stops the updates of directories, and only those",
                nodiratime(self),
            ),
        ];
        let found = claims.chain(rules);
        found
            .map(|(claim, finding)| Some(self.cited(finding?.answer(claim))))
            .collect()
    }

    fn relatime_claim(&self) -> &'static str {
        let mut probes = self.probes.iter();
        if probes.any(|probe| Probe::BY_IMAGE.contains(&probe.probe)) {
            "relatime updates an atime only if it is not newer than mtime and ctime, or a day old"
        } else {
            "relatime updates an atime only if it is not newer than mtime and ctime"
        }
    }

    /// With the ids of its rows, and its machine.
    fn cited(&self, mut answer: Answer) -> Answer {
        answer.cite(|cited| {
            let mut touches = self.touches.iter();
            Some(touches.find(|(number, _)| *number == cited)?.1.row.id())
        });
        answer.machine = self.machine.map(str::to_owned);
        answer
    }
}

/// Each claim, judged on every machine by itself.
pub(super) fn answers(result: &AtimeResult) -> Vec<Answer> {
    let found: Vec<Vec<Option<Answer>>> = Found::each(result).iter().map(Found::answers).collect();
    let claims = found.iter().map(Vec::len).max().unwrap_or(0);
    let of_claim = |claim: usize| found.iter().filter_map(move |of| of.get(claim)?.clone());
    (0..claims).flat_map(of_claim).collect()
}

pub(super) fn noatime(found: &Found<'_>) -> Option<Finding> {
    held_back(found, Mount::Noatime, |_| false)
}

pub(super) fn nodiratime(found: &Found<'_>) -> Option<Finding> {
    held_back(found, Mount::Nodiratime, |subject| {
        subject != Subject::Directory
    })
}

/// Whether a row could show a move at all: the mount lets one through that is due.
pub(super) fn may_move(row: &TouchRow) -> bool {
    match row.row.case.mount {
        Mount::Noatime => false,
        Mount::Nodiratime => row.subject != Subject::Directory,
        Mount::Strictatime | Mount::Relatime | Mount::Lazytime => true,
    }
}

fn judge(claim: &Claim, found: &Found<'_>) -> Option<Finding> {
    let of = |operations: &'static [Operation]| {
        let touches = found.touches.iter().copied();
        touches
            .filter(move |(_, row)| operations.contains(&row.row.case.operation) && may_move(row))
    };
    let sides = [(claim.moves, true), (claim.stays, false)];
    // Half of a claim is not the claim.
    if sides
        .iter()
        .any(|(operations, _)| !operations.is_empty() && of(operations).next().is_none())
    {
        return None;
    }
    let rows: Vec<(usize, &TouchRow, bool)> = sides
        .iter()
        .flat_map(|(operations, moved)| of(operations).map(|(number, row)| (number, row, *moved)))
        .collect();
    let against: Vec<&(usize, &TouchRow, bool)> = rows
        .iter()
        .filter(|(_, row, moved)| row.atime_changed != *moved)
        .collect();
    let mut parts = Vec::new();
    for moved in [true, false] {
        let side = rows.iter().filter(|(_, row, _)| row.atime_changed == moved);
        let names = distinct(side.map(|(_, row, _)| row.row.case.operation.as_str()));
        if !names.is_empty() {
            let verb = if moved { "moved by" } else { "not by" };
            parts.push(format!("{verb} {}", names.join(", ")));
        }
    }
    let because = if against.is_empty() {
        let on = distinct(
            rows.iter()
                .map(|(_, row, _)| row.row.case.filesystem.as_str()),
        );
        format!("{} on {}", parts.join(", "), on.join(", "))
    } else {
        exceptions(&against)
    };
    // The table of operations shows what supports a claim; only what contradicts it is cited.
    let mut numbers: Vec<usize> = against.iter().map(|(number, ..)| *number).collect();
    numbers.sort_unstable();
    let verdict = Verdict::from_fact(against.is_empty());
    Some(Finding::new(verdict, because, numbers))
}

/// `copy_file_range_from and cp did not change it on xfs, btrfs`.
fn exceptions(against: &[&(usize, &TouchRow, bool)]) -> String {
    let mut parts = Vec::new();
    for moved in [true, false] {
        let side = || {
            against
                .iter()
                .filter(move |(_, row, _)| row.atime_changed == moved)
        };
        if side().next().is_none() {
            continue;
        }
        let names = distinct(side().map(|(_, row, _)| row.row.case.operation.as_str()));
        let on = distinct(side().map(|(_, row, _)| row.row.case.filesystem.as_str()));
        let verb = if moved { "moved" } else { "did not change" };
        parts.push(format!(
            "{} {verb} it on {}",
            names.join(", "),
            on.join(", ")
        ));
    }
    parts.join("; ")
}

/// The probes against `relatime_need_update`, fs/inode.c.
pub(super) fn relatime_rule(found: &Found<'_>) -> Option<Finding> {
    let probes = &found.probes;
    if probes.is_empty() {
        return None;
    }
    let due = |probe: Probe| match probe {
        Probe::BeforeMtime | Probe::BeforeCtime | Probe::DayOld => true,
        Probe::AfterBoth | Probe::NotDayOld => false,
    };
    let wrong: Vec<String> = probes
        .iter()
        .filter(|probe| probe.atime_changed != due(probe.probe))
        .map(|probe| {
            let did = if probe.atime_changed {
                "moved"
            } else {
                "stayed"
            };
            format!("{} {did} on {}", probe.probe.as_str(), probe.filesystem)
        })
        .collect();
    let said = |moved: bool| {
        let texts = probes.iter().filter(|probe| probe.atime_changed == moved);
        distinct(texts.map(|probe| probe.probe.as_str())).join("; ")
    };
    let because = if wrong.is_empty() {
        let (changed, unchanged) = (said(true), said(false));
        format!("changed when {changed}; unchanged when {unchanged}")
    } else {
        wrong.join("; ")
    };
    let verdict = Verdict::from_fact(wrong.is_empty());
    Some(Finding::new(verdict, because, Vec::new()))
}

/// Whether a mount option updates exactly what `lets` says, of what strictatime updates.
fn held_back(found: &Found<'_>, mount: Mount, lets: fn(Subject) -> bool) -> Option<Finding> {
    let moves_freely = |row: &TouchRow| {
        found.touches.iter().any(|(_, other)| {
            other.row.target == row.row.target
                && other.row.case.mount == Mount::Strictatime
                && other.row.case.operation == row.row.case.operation
                && other.atime_changed
        })
    };
    let touches = found.touches.iter().copied();
    let rows: Vec<(usize, &TouchRow)> = touches
        .filter(|(_, row)| row.row.case.mount == mount && moves_freely(row))
        .collect();
    if rows.is_empty() {
        return None;
    }
    let wrong: Vec<&(usize, &TouchRow)> = rows
        .iter()
        .filter(|(_, row)| row.atime_changed != lets(row.subject))
        .collect();
    let moved = rows.iter().filter(|(_, row)| row.atime_changed).count();
    let mut because = format!(
        "of {} cases that change under strictatime, {moved} changed",
        rows.len()
    );
    if let Some((_, row)) = wrong.first() {
        because = format!(
            "{because}; contradicted by {} on {}",
            row.row.case.operation.as_str(),
            row.row.case.filesystem
        );
    }
    let verdict = Verdict::from_fact(wrong.is_empty());
    let rows = wrong.iter().map(|(number, _)| *number).collect();
    Some(Finding::new(verdict, because, rows))
}
