//! The result of `iostrata doctor`: `iostrata.doctor/1`.

mod page_out;
mod settings;
mod stack;
mod warnings;

use serde::{Deserialize, Serialize};

use crate::environment::Environment;
pub use page_out::{PageOut, Scheme};
pub use settings::{WritebackSettings, settings};
pub use stack::{DeviceNumber, Journal, Layer, LayerKind, Mount, Queue, Stack};
pub use warnings::warnings;

/// The schema name written into every doctor result.
pub const SCHEMA: &str = "iostrata.doctor/1";

/// The storage under a path, and what may be observed there.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct DoctorResult {
    /// [`SCHEMA`].
    pub schema: String,
    /// Machine and storage, as in every other result.
    pub environment: Environment,
    /// Layers from the file system down.
    #[serde(flatten)]
    pub stack: Stack,
    /// Settings that decide when bytes reach the device.
    pub settings: Vec<Setting>,
    /// What this kernel lets this user see and use.
    pub abilities: Vec<Ability>,
    /// Facts that change what measurements here mean, as sentences.
    pub warnings: Vec<String>,
}

/// One setting and what it means.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct Setting {
    /// Name as the kernel or sysfs spells it.
    pub name: String,
    /// Value with its unit.
    pub value: String,
    /// What follows from the value.
    pub meaning: String,
}

/// Whether an ability is about observing or about doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum AbilityKind {
    /// Something iostrata observes.
    See,
    /// Something its experiments use.
    Use,
}

/// Something iostrata can or cannot do for this user on this kernel.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct Ability {
    /// Observing or doing.
    pub kind: AbilityKind,
    /// What, as a noun: `page cache`, `ext4 images`.
    pub name: String,
    /// Whether it can be had.
    pub available: bool,
    /// The fact that decided.
    pub why: String,
    /// What to do to get it; `null` when it is there or nothing helps.
    pub remedy: Option<String>,
    /// A line for root's shell that brings it. Earlier releases have none.
    #[serde(default)]
    pub command: Option<String>,
}
