//! Conditions that two runs must share for a difference between them to be meaningful.

use serde::{Deserialize, Serialize};

use super::Sides;
use crate::bytes;
use crate::environment::{Backend, Device, Environment, Storage};
use crate::lab::LabResult;

/// Memory sizes that count as equal: the kernel's own reservation depends on its version.
const SAME_MEMORY: f64 = 0.02;

/// A condition that differs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct Condition {
    pub what: String,
    /// Its value on either side, as text.
    #[serde(flatten)]
    pub sides: Sides<String>,
    pub weight: Weight,
}

/// The consequence of a condition that differs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Weight {
    /// Another machine or storage: a difference says nothing about the program.
    Machine,
    /// Measured in another way, or another subject was measured.
    Settings,
    /// A caveat.
    Note,
}

/// Collects the conditions that differ.
#[derive(Debug, Default)]
pub(super) struct Conditions(Vec<Condition>);

impl Conditions {
    /// Notes a condition unless both sides are equal.
    pub(super) fn hold(
        &mut self,
        weight: Weight,
        what: impl Into<String>,
        base: impl Into<String>,
        new: impl Into<String>,
    ) {
        let (base, new) = (base.into(), new.into());
        if base != new {
            let (what, sides) = (what.into(), Sides { base, new });
            let condition = Condition {
                what,
                sides,
                weight,
            };
            // Several pairs of runs share them.
            if !self.0.contains(&condition) {
                self.0.push(condition);
            }
        }
    }

    /// Compares the machines of two results, by name if there are several.
    pub(super) fn results(&mut self, base: &LabResult, new: &LabResult) {
        let named = |result: &LabResult| {
            let names = result.parts.iter().map(|part| part.machine.as_str());
            names.collect::<Vec<_>>().join(", ")
        };
        self.hold(Weight::Machine, "machines", named(base), named(new));
        self.machines(&base.environment, &new.environment);
        for ours in &base.parts {
            let mut parts = new.parts.iter();
            if let Some(theirs) = parts.find(|part| part.machine == ours.machine) {
                self.machines(&ours.environment, &theirs.environment);
            }
        }
    }

    /// Compares the machines, without their storage.
    pub(super) fn machines(&mut self, base: &Environment, new: &Environment) {
        use Weight::{Machine, Note, Settings};
        self.hold(Machine, "kernel", &base.kernel, &new.kernel);
        self.hold(Machine, "CPUs", base.cpus.to_string(), new.cpus.to_string());
        if let (Some(ours), Some(theirs)) = (&base.cpu_model, &new.cpu_model) {
            self.hold(Machine, "CPU model", ours, theirs);
        }
        let (ours, theirs) = (base.memory_bytes as f64, new.memory_bytes as f64);
        if (ours - theirs).abs() > SAME_MEMORY * ours.max(theirs) {
            let (base, new) = (base.memory_bytes, new.memory_bytes);
            self.hold(Machine, "memory", bytes::exact(base), bytes::exact(new));
        }
        let kind = |side: &Environment| or_none(side.virtualization.as_deref());
        self.hold(Machine, "virtualization", kind(base), kind(new));
        let backend = |side: &Environment| back_end(side.backend);
        self.hold(Settings, "back end", backend(base), backend(new));
        let version = |side: &Environment| side.iostrata_version.clone();
        self.hold(Note, "iostrata", version(base), version(new));
    }

    /// Compares the storage of two targets.
    pub(super) fn storage(&mut self, name: &str, base: &Storage, new: &Storage) {
        let mut hold = |what: &str, base: String, new: String| {
            self.hold(Weight::Machine, format!("{what} of {name}"), base, new);
        };
        let filesystem = |target: &Storage| target.filesystem.clone();
        hold("file system", filesystem(base), filesystem(new));
        let options = |target: &Storage| target.mount_options.clone();
        hold("mount options", options(base), options(new));
        let journal = |target: &Storage| match target.journal {
            Some(true) => "yes".to_owned(),
            Some(false) => "none".to_owned(),
            None => "not known".to_owned(),
        };
        hold("journal", journal(base), journal(new));
        hold("devices", devices(base), devices(new));
    }

    /// All of them, most serious first.
    pub(super) fn sorted(mut self) -> Vec<Condition> {
        self.0.sort_by_key(|condition| condition.weight);
        self.0
    }
}

fn or_none(text: Option<&str>) -> String {
    text.unwrap_or("none").to_owned()
}

fn back_end(backend: Backend) -> &'static str {
    match backend {
        Backend::Ebpf => "eBPF",
        Backend::Ptrace => "ptrace",
        Backend::None => "none",
    }
}

/// The stack of devices as text: what determines their performance.
fn devices(target: &Storage) -> String {
    if target.devices.is_empty() {
        return "none seen".to_owned();
    }
    let each: Vec<String> = target.devices.iter().map(device).collect();
    each.join(" → ")
}

fn device(device: &Device) -> String {
    let mut words = vec![device.kind().to_owned()];
    words.extend(device.model.clone());
    let rotational = device.rotational.map(|rotates| {
        if rotates {
            "rotational"
        } else {
            "not rotational"
        }
    });
    words.extend(rotational.map(str::to_owned));
    words.extend(device.write_cache.clone());
    let fua = device.fua.map(|fua| if fua { "FUA" } else { "no FUA" });
    words.extend(fua.map(str::to_owned));
    words.extend(device.scheduler.clone());
    words.join(", ")
}
