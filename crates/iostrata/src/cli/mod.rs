//! The command line as it is typed.

mod atime;
mod buffering;
mod checks;
mod copy;
mod explain;
mod lab;
mod page_cache;
mod report;
mod shown;
mod sync;
mod trace;

use std::path::PathBuf;

use clap::builder::styling::Styles;
use clap::{Args, Parser, Subcommand};

pub(crate) use checks::Checks;
pub(crate) use explain::Explain;
pub(crate) use lab::{ExperimentName, Lab, TargetName};
pub(crate) use report::Report;
pub(crate) use shown::Shown;
pub(crate) use trace::{Trace, TraceBackend};

/// Shows where a program's file I/O goes, layer by layer: application buffer, system
/// call, page cache, file system and journal, device; and what each layer costs.
#[derive(Debug, Parser)]
#[command(version, styles = Styles::plain(), max_term_width = 100, after_help = EXIT_CODES)]
pub(crate) struct Arguments {
    /// What to do
    #[command(subcommand)]
    pub(crate) command: Command,
}

const EXIT_CODES: &str = "\
Exit codes: 0 done; 1 found what was asked to fail on; 2 wrong usage; 3 this machine or user
cannot; 4 unreadable or corrupt file; 70 a bug in iostrata; 128 + N ended by signal N (finished
rows are still printed and saved). trace passes the program's own exit code on; 125 trace
itself failed, 126 the program cannot be run, 127 it was not found.";

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run controlled experiments on this machine and answer with evidence
    Lab(Box<Lab>),
    /// Run a program, or adopt one that runs, and show where its file I/O goes
    Trace(Box<Trace>),
    /// Show the storage under a path, and what this kernel and user let iostrata see
    Doctor(Doctor),
    /// Draw saved results again
    Report(Report),
    /// Print the page of an experiment or a rule; without a name, list them
    Explain(Explain),
}

#[derive(Debug, Args)]
pub(crate) struct Doctor {
    /// File or directory
    #[arg(default_value = ".")]
    pub(crate) path: PathBuf,

    /// Also write the result as JSON (iostrata.doctor/1); to standard output, and no text, with -
    #[arg(long, value_name = "FILE")]
    pub(crate) json: Option<PathBuf>,
}

#[cfg(test)]
mod tests {
    use iostrata_core::buffering::Mode;
    use iostrata_lab::scratch::ImageKind;

    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        use clap::CommandFactory as _;
        Arguments::command().debug_assert();
    }

    #[test]
    fn lists_and_sizes_are_understood() {
        let parsed = Arguments::try_parse_from([
            "iostrata",
            "lab",
            "buffering",
            "--mode",
            "fsync,o_dsync",
            "--size",
            "1,4KiB",
            "--fs",
            "host,ext4-fast_commit",
        ])
        .unwrap();
        let Command::Lab(lab) = parsed.command else {
            panic!("not lab")
        };
        assert_eq!(lab.buffering.mode, [Mode::Fsync, Mode::ODsync]);
        assert_eq!(lab.size, [1, 4096]);
        assert_eq!(
            lab.fs,
            [
                TargetName::Host,
                TargetName::Image(ImageKind::Ext4FastCommit)
            ]
        );
    }
}
