//! `iostrata rebuild`: the files of an operation log, made again beneath a directory.

use iostrata_core::Gap;
use iostrata_lab::interrupt::Interrupt;
use iostrata_lab::rebuild::{self, RebuildError, Rebuilt};

use crate::cli::Rebuild;
use crate::error::Failure;
use crate::ui;

/// Rebuilds, and says what is missing before what was made.
pub(crate) fn run(options: &Rebuild) -> Result<(), Failure> {
    let interrupt = Interrupt::install()
        .map_err(|error| Failure::Cannot(format!("cannot catch signals: {error}")))?;
    let rebuilt = rebuild::rebuild(&options.log, &options.dir, &interrupt)?;
    if !rebuilt.missing.is_empty() {
        ui::say(&format!(
            "{}: the log is incomplete: what was rebuilt is not all that the program left behind",
            options.log.display()
        ));
    }
    for gap in &rebuilt.missing {
        ui::say(&told("missing", gap));
    }
    for gap in &rebuilt.left_out {
        ui::say(&told("not made", gap));
    }
    ui::print(&made(&rebuilt))
}

fn told(which: &str, gap: &Gap) -> String {
    format!("{which}: {}: {}", gap.what, gap.why)
}

fn made(rebuilt: &Rebuilt) -> String {
    let Rebuilt {
        files,
        directories,
        others,
        bytes,
        ..
    } = rebuilt;
    let others = match others {
        0 => String::new(),
        others => format!(", {others} links and special files"),
    };
    format!("rebuilt {files} files in {directories} directories{others}: {bytes} B from the log\n")
}

impl From<RebuildError> for Failure {
    fn from(error: RebuildError) -> Self {
        match error {
            RebuildError::Interrupted(by) => Self::Interrupted { by, rows: 0 },
            RebuildError::Read { .. } | RebuildError::Impossible { .. } => {
                Self::Input(error.to_string())
            }
            RebuildError::NotEmpty { .. } => Self::Usage(error.to_string()),
            RebuildError::Make { .. } => Self::Cannot(error.to_string()),
        }
    }
}
