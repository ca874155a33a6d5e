//! One cell of the matrix: set the times, do the operation, read the access time.

use std::fs::File;
use std::io;
use std::path::Path;

use iostrata_core::atime::{ClockState, Mount, Moved, Operation, TouchCase, TouchRow};
use iostrata_core::evidence::Evidence;
use iostrata_core::gap::{Gap, Missing, Reason};
use iostrata_core::lab::{Interference, Row};

use rustix::io::Errno;

use super::moments::Times;
use super::operations::call;
use super::programs::perform;
use super::tree::Tree;
use crate::error::LabError;
use crate::target::Target;
use crate::tool::Trouble;

/// Whether the access times of the subject and of the walked directory changed.
type Seen = (bool, Option<bool>);

/// The row of an operation under the target's current mount option, or why the operation cannot be
/// done.
pub(super) fn row(
    target: &Target,
    mount: Mount,
    operation: Operation,
    tree: &Tree,
    stop: &dyn Fn() -> bool,
) -> Result<TouchRow, Trouble> {
    let seen = |state| look(target, operation, tree, state, stop);
    let due = seen(ClockState::Due)?;
    let fresh = seen(ClockState::Fresh)?;
    let case = TouchCase {
        operation,
        mount,
        filesystem: target.storage.filesystem.clone(),
    };
    Ok(TouchRow {
        row: untimed(case, target),
        subject: operation.subject(),
        atime_changed: due.0,
        atime_changed_when_fresh: fresh.0,
        directory: due.1.zip(fresh.1).map(|(due, fresh)| Moved { due, fresh }),
    })
}

fn look(
    target: &Target,
    operation: Operation,
    tree: &Tree,
    state: ClockState,
    stop: &dyn Fn() -> bool,
) -> Result<Seen, Trouble> {
    let doing = || format!("{} on {}", operation.as_str(), target.name);
    let failed = |error: io::Error| LabError::io(doing(), error);
    let subject = tree.subject(operation);
    let walked = tree.walked(operation);
    let before = tree.moments.set(&subject, state).map_err(failed)?;
    let walked = walked
        .map(|path| Ok((tree.moments.set(&path, state)?, path)))
        .transpose()
        .map_err(failed)?;
    // For an open, the access time is read before the close.
    let mut held = None;
    if operation == Operation::Open {
        held = Some(File::open(&subject).map_err(failed)?);
    } else if operation == Operation::Exec || operation.program().is_some() {
        perform(operation, tree, stop)?;
    } else if let Err(error) = call(operation, tree) {
        return Err(match refused(&error) {
            Some(why) => Trouble::said(why),
            None => failed(error).into(),
        });
    }
    let moved = |before: Times, path: &Path| Ok(Times::of(path)?.accessed != before.accessed);
    let subject_moved = moved(before, &subject).map_err(failed)?;
    drop(held);
    let walked = walked.map(|(before, path)| moved(before, &path));
    Ok((subject_moved, walked.transpose().map_err(failed)?))
}

/// Why the file system, or the user's permissions, do not allow the operation; `None` for any other
/// error.
fn refused(error: &io::Error) -> Option<String> {
    let known = matches!(
        Errno::from_io_error(error)?,
        Errno::OPNOTSUPP | Errno::NOSYS | Errno::INVAL | Errno::NODEV | Errno::PERM | Errno::ACCESS
    );
    known.then(|| error.to_string())
}

fn untimed(case: TouchCase, target: &Target) -> Row<TouchCase> {
    Row {
        case,
        target: target.name.clone(),
        timing: None,
        evidence: Evidence {
            missing: vec![Gap::new(
                Missing::TimesAndEvidence,
                Reason::SingleOperations,
            )],
            ..Evidence::default()
        },
        interference: Interference::default(),
        notes: Vec::new(),
    }
}
