//! `iostrata rebuild`: the files of an operation log, rebuilt under a directory.

use iostrata_core::noun::counted;
use iostrata_lab::rebuild::{self, RebuildError, Rebuilt};

use super::report::log::remedy;
use crate::cli::Rebuild;
use crate::error::Failure;
use crate::signals;
use crate::ui;
use iostrata_report::words;

pub(crate) fn run(options: &Rebuild) -> Result<(), Failure> {
    let interrupt = signals::interrupt()?;
    let rebuilt = rebuild::rebuild(
        &options.log,
        &options.dir,
        options.limits.limits(),
        &interrupt,
    )?;
    if !rebuilt.missing.is_empty() {
        ui::say(&format!(
            "{}: the log is incomplete: the rebuilt files are not everything the program left",
            options.log.display()
        ));
    }
    for gap in &rebuilt.missing {
        ui::say(&format!("missing: {}", words::gap(gap)));
    }
    for gap in &rebuilt.left_out {
        ui::say(&format!("not made: {}", words::gap(gap)));
    }
    ui::print(&made(&rebuilt))
}

fn made(rebuilt: &Rebuilt) -> String {
    let files = counted(rebuilt.files, "file");
    let directories = counted(rebuilt.directories, "directory");
    let others = match rebuilt.others {
        0 => String::new(),
        others => format!(", {}", counted(others, "other node")),
    };
    let bytes = rebuilt.bytes;
    format!("rebuilt {files} in {directories}{others}: {bytes} B from the log\n")
}

impl From<RebuildError> for Failure {
    fn from(error: RebuildError) -> Self {
        match error {
            RebuildError::Interrupted(by) => Self::Interrupted { by, rows: 0 },
            RebuildError::Read { ref source, .. } => {
                Self::Input(format!("{error}{}", remedy(source)))
            }
            RebuildError::Impossible { .. } => Self::Input(error.to_string()),
            RebuildError::NotEmpty { .. } => Self::Usage(error.to_string()),
            RebuildError::Make { .. } | RebuildError::Space { .. } => {
                Self::Cannot(error.to_string())
            }
        }
    }
}
