//! Options of `lab atime`.

use clap::Args;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use iostrata_core::atime::{Loop, Mount, Operation};

#[derive(Debug, Args)]
#[command(next_help_heading = "Options of atime")]
pub(crate) struct AtimeOptions {
    /// What is done to a file; several, separated by commas; without the loops unless --loop
    /// is given as well [default: all]
    #[arg(long, value_name = "OPERATION", value_delimiter = ',', value_parser = operations())]
    pub(crate) operation: Vec<Operation>,

    /// What is read in a loop and timed; without the operations unless --operation is given
    /// as well [default: both]
    #[arg(long = "loop", value_name = "LOOP", value_delimiter = ',', value_parser = loops())]
    pub(crate) files: Vec<Loop>,

    /// Mount options of the file systems made for the run; several, separated by commas; of
    /// another file system only the option it has [default: all]
    #[arg(long, value_name = "OPTION", value_delimiter = ',', value_parser = mounts())]
    pub(crate) mount: Vec<Mount>,
}

impl AtimeOptions {
    /// The options that were given and that no other experiment has.
    pub(super) fn given(&self) -> Vec<&'static str> {
        let given = [
            ("--operation", !self.operation.is_empty()),
            ("--loop", !self.files.is_empty()),
            ("--mount", !self.mount.is_empty()),
        ];
        super::lab::names(&given)
    }
}

fn operations() -> impl TypedValueParser<Value = Operation> {
    let names = Operation::ALL.map(Operation::as_str);
    PossibleValuesParser::new(names).try_map(|name| {
        let known = Operation::ALL.into_iter().find(|one| one.as_str() == name);
        known.ok_or("no such operation")
    })
}

fn loops() -> impl TypedValueParser<Value = Loop> {
    let values = Loop::ALL.map(|files| PossibleValue::new(files.as_str()).help(meaning(files)));
    PossibleValuesParser::new(values).try_map(|name| {
        let known = Loop::ALL.into_iter().find(|one| one.as_str() == name);
        known.ok_or("no such loop")
    })
}

fn meaning(files: Loop) -> &'static str {
    match files {
        Loop::OneFile => "one file of 4 KiB, 10,000 times",
        Loop::ManyFiles => "5,000 files of 4 KiB, each once; and once more",
    }
}

fn mounts() -> impl TypedValueParser<Value = Mount> {
    let names = Mount::ALL.map(Mount::as_str);
    PossibleValuesParser::new(names).try_map(|name| {
        let known = Mount::ALL.into_iter().find(|one| one.as_str() == name);
        known.ok_or("no such mount option")
    })
}
