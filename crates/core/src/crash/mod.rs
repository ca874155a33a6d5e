//! What a power failure would leave on disk.
//!
//! The operations of a log become *effects*, the pieces that reach the disk one without the
//! other. A [`Model`] says which effects wait for which and what a sync makes durable; the
//! [`Explorer`] goes through the states that it allows.

pub mod block;
mod build;
mod builtin;
mod calibrate;
mod cursor;
mod effect;
mod explore;
mod finding;
mod fix;
mod format;
mod graph;
mod history;
pub mod litmus;
mod mapped;
mod model;
mod names;
mod parts;
mod result;
mod search;
mod smaller;
mod stacks;
mod state;
mod told;
mod verdicts;

#[cfg(test)]
mod tests;

pub use build::{Builder, MARKS};
pub use builtin::{Builtin, Digest, Hashes, Held, read_held};
pub use calibrate::{
    CalibrateResult, CalibrateSettings, LitmusRow, NotRecovered, OutcomeRow,
    SCHEMA as CALIBRATE_SCHEMA, Shown, Soundness,
};
pub use effect::BLOCK_BYTES;
pub use explore::{Budget, Coverage, Explorer, Looked, Point, State};
pub use finding::{Told, findings, fix_rows, join_recovery, operation};
pub use fix::{Added, NoFix, fix};
pub use format::Format;
pub use history::{History, Step, Thread};
pub use mapped::RebuiltRow;
pub use model::Model;
pub use parts::{NotParts, PartRow, whole};
pub use result::{
    BlockRow, CrashResult, Finding, FixRow, FormatRow, ModeRow, OperationRow, Recording,
    RecoveredRow, SCHEMA, Said, Sandbox, SecondCrashes, Settings, States, Verdict,
};
pub use search::{Check, Fault, FaultKind, Found, Seen, Stopped, search};
pub use stacks::{CallStack, Stacks};
pub use told::{FileRow, FileState, Left, Moment, Role, files_between};
pub use verdicts::{Share, Verdicts};
