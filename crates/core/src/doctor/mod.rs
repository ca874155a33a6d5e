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

/// The storage under a path, and what can be observed there.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct DoctorResult {
    pub schema: String,
    /// Machine and storage, as in every other result.
    pub environment: Environment,
    /// Layers from the file system down.
    #[serde(flatten)]
    pub stack: Stack,
    /// Settings that decide when bytes reach the device.
    pub settings: Vec<Setting>,
    /// What this kernel and user permit.
    pub abilities: Vec<Ability>,
    /// Facts that affect the meaning of measurements here, as sentences.
    pub warnings: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct Setting {
    /// Name as the kernel or sysfs spells it.
    pub name: String,
    /// Value with its unit.
    pub value: String,
    /// The consequence of the value.
    pub meaning: String,
}

/// Whether an ability concerns observation or experiments.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum AbilityKind {
    /// Something iostrata observes.
    See,
    /// Something that its experiments use.
    Use,
}

/// Whether iostrata can do something for this user on this kernel.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct Ability {
    pub kind: AbilityKind,
    /// Its name, as a noun: `page cache`, `ext4 images`.
    pub name: String,
    pub available: bool,
    /// The deciding fact.
    pub why: String,
    /// What to do to get it; `null` when it is available or nothing helps.
    pub remedy: Option<String>,
    /// A command line for root that provides it. Earlier releases have none.
    pub command: Option<String>,
}
