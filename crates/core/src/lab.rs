//! The result of `iostrata lab`: `iostrata.lab/1`.

use serde::{Deserialize, Serialize};

use crate::buffering::BufferingResult;
use crate::environment::{Environment, Target};
use crate::evidence::Evidence;
use crate::op::Gap;
use crate::page_cache::PageCacheResult;
use crate::sync::SyncResult;
use crate::timing::Timing;

/// The schema name written into every lab result.
pub const SCHEMA: &str = "iostrata.lab/1";

/// A whole lab run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LabResult {
    /// [`SCHEMA`].
    pub schema: String,
    /// Machine and storage.
    pub environment: Environment,
    /// Experiments in the order they ran.
    pub experiments: Vec<Experiment>,
}

/// One experiment's result, told apart by `id`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "id", rename_all = "kebab-case")]
pub enum Experiment {
    /// `buffering`.
    Buffering(BufferingResult),
    /// `page-cache`.
    PageCache(PageCacheResult),
    /// `sync`.
    Sync(SyncResult),
}

impl Experiment {
    /// Rows it has.
    pub fn rows(&self) -> usize {
        match self {
            Self::Buffering(result) => result.rows.len(),
            Self::PageCache(result) => result.rows.len(),
            Self::Sync(result) => result.rows.len(),
        }
    }

    /// What is not there, and why.
    pub fn missing_mut(&mut self) -> &mut Vec<Gap> {
        match self {
            Self::Buffering(result) => &mut result.missing,
            Self::PageCache(result) => &mut result.missing,
            Self::Sync(result) => &mut result.missing,
        }
    }
}

/// A file system that was measured.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MeasuredTarget {
    /// Name used in rows: `host`, `ext4`, `xfs` ...
    pub name: String,
    /// Whether iostrata made it, on a loop device that nobody else uses.
    pub image: bool,
    /// Directory, mount and devices.
    #[serde(flatten)]
    pub storage: Target,
}

/// One case on one target.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Row<C> {
    /// What was done.
    pub case: C,
    /// Name of the target it was done on.
    pub target: String,
    /// Times, from runs with no probe attached. `null` when no run finished.
    pub timing: Option<Timing>,
    /// Counts, from a separate observed run.
    pub evidence: Evidence,
    /// What disturbed the row.
    pub interference: Interference,
    /// What the reader must know about this row.
    pub notes: Vec<String>,
}

/// What else the machine did while a row was measured.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct Interference {
    /// CPU seconds the hypervisor took away during the timing runs.
    pub steal_s: Option<f64>,
    /// CPU seconds other processes used during the timing runs.
    pub other_cpu_s: Option<f64>,
    /// Block requests of other files on the same disk during the observed run.
    pub other_requests: Option<u64>,
}
