//! Which file systems a lab run measures, and creating those made for it.

use std::path::Path;

use iostrata_core::gap::{Gap, Missing, Reason};
use iostrata_lab::experiment::Experiment;
use iostrata_lab::interrupt::Interrupt;
use iostrata_lab::scratch::{
    self, Guard, Image, ImageKind, Images, Plan, Prepared, ScratchError, TMPFS,
};
use iostrata_lab::session::Effort;
use iostrata_lab::target::Target;
use iostrata_tracer::kernel::PrivateMounts;
use iostrata_tracer::stack::{self, Roots};

use super::Planned;
use crate::cli::{Lab, TargetName};
use crate::error::Failure;
use crate::ui;

/// Smallest image: room for a log or journal of ordinary size, whatever the cases need.
const IMAGE_BYTES: u64 = 512 << 20;

#[derive(Debug)]
pub(crate) struct Choice {
    host: bool,
    kinds: Vec<ImageKind>,
    tmpfs: bool,
    effort: Effort,
    /// Whether the images were not requested explicitly, so that the run can do without them.
    usual: bool,
    left_out: Vec<LeftOut>,
    mounts: Option<PrivateMounts>,
}

impl Choice {
    /// Called before the first thread is started: mounts become private here.
    pub(crate) fn from_options(
        options: &Lab,
        effort: Effort,
        planned: &[Planned],
    ) -> Result<Self, Failure> {
        let mut choice = Self {
            host: options.fs.is_empty(),
            kinds: Vec::new(),
            tmpfs: false,
            effort,
            usual: options.fs.is_empty(),
            left_out: Vec::new(),
            mounts: None,
        };
        if choice.usual {
            choice.usual_images(planned);
            return Ok(choice);
        }
        for name in &options.fs {
            match name {
                TargetName::Host => choice.host = true,
                TargetName::Image(kind) if choice.kinds.contains(kind) => {}
                TargetName::Image(kind) => choice.kinds.push(*kind),
                TargetName::Tmpfs => choice.tmpfs = true,
            }
        }
        if choice.tmpfs || !choice.kinds.is_empty() {
            choice.mounts = Some(scratch::isolate()?);
        }
        Ok(choice)
    }

    fn usual_images(&mut self, planned: &[Planned]) {
        let usual = |kind: &ImageKind| {
            planned
                .iter()
                .any(|(_, one)| one.usual_images(self.effort).contains(kind))
        };
        self.kinds = ImageKind::ALL.into_iter().filter(usual).collect();
        self.tmpfs = planned.iter().any(|(_, one)| one.usual_tmpfs());
        if self.kinds.is_empty() && !self.tmpfs {
            return;
        }
        match scratch::isolate() {
            Ok(mounts) => self.mounts = Some(mounts),
            Err(error) => {
                let kinds = std::mem::take(&mut self.kinds).into_iter();
                let tmpfs = std::mem::take(&mut self.tmpfs).then_some(TMPFS);
                self.left_out.push(LeftOut {
                    names: kinds.map(ImageKind::name).chain(tmpfs).collect(),
                    why: error.to_string(),
                });
            }
        }
        for kind in self.kinds.clone() {
            if let Err(error) = scratch::find_mkfs(kind) {
                self.leave_out(&[kind], &error);
            }
        }
    }

    fn leave_out(&mut self, kinds: &[ImageKind], why: &ScratchError) {
        self.kinds.retain(|kind| !kinds.contains(kind));
        let names = kinds.iter().map(|kind| kind.name());
        self.left_out.push(LeftOut {
            names: names.collect(),
            why: why.to_string(),
        });
    }

    pub(crate) fn explain(&self) {
        for LeftOut { names, why } in &self.left_out {
            ui::say(&format!("left out: {}: {why}", names.join(", ")));
        }
    }

    /// File systems that are left out of an experiment and why, for its result.
    pub(crate) fn gaps_of(&self, experiment: &dyn Experiment) -> Vec<Gap> {
        let gap = |LeftOut { names, why }: &LeftOut| {
            let names = names
                .iter()
                .copied()
                .filter(|name| self.is_usual(experiment, name));
            let names: Vec<String> = names.map(str::to_owned).collect();
            (!names.is_empty())
                .then(|| Gap::new(Missing::Targets { names }, Reason::Error(why.clone())))
        };
        self.left_out.iter().filter_map(gap).collect()
    }

    /// Makes the scratch directory and the images. Images that were not requested explicitly and
    /// cannot be created are left out.
    pub(crate) fn prepare(
        &mut self,
        dir: &Path,
        planned: &[Planned],
        mut guard: Option<&mut Guard>,
        interrupt: &Interrupt,
    ) -> Result<Prepared, Failure> {
        loop {
            let guard = guard.as_deref_mut();
            let error = match self.try_to_prepare(dir, planned, guard, interrupt) {
                Ok(prepared) => return Ok(prepared),
                Err(error) => error,
            };
            let refused = self.refused(&error);
            if !self.usual || refused.is_empty() {
                return Err(error.into());
            }
            self.leave_out(&refused, &error);
        }
    }

    /// The images without which there would be no such error.
    fn refused(&self, error: &ScratchError) -> Vec<ImageKind> {
        match error {
            ScratchError::NoMkfs { kind, .. }
            | ScratchError::MkfsFailed { kind, .. }
            | ScratchError::NoFileSystem { kind, .. }
            | ScratchError::MountFailed { kind, .. }
            | ScratchError::NotAsAsked { kind, .. } => vec![*kind],
            ScratchError::NoSpace { .. }
            | ScratchError::NeedsRoot { .. }
            | ScratchError::Loop(_) => self.kinds.clone(),
            _ => Vec::new(),
        }
    }

    fn try_to_prepare(
        &self,
        dir: &Path,
        planned: &[Planned],
        guard: Option<&mut Guard>,
        interrupt: &Interrupt,
    ) -> Result<Prepared, ScratchError> {
        // The largest counts: each experiment removes its files.
        let needed = |(_, one): &Planned| one.needed_bytes();
        let needed_bytes = planned.iter().map(needed).max().unwrap_or(0);
        let on_images = planned
            .iter()
            .filter(|(_, one)| self.measures_images(&**one));
        let on_images = on_images.map(needed).max().unwrap_or(0);
        // Half as much again for the file system's metadata. btrfs frees the
        // space of removed files only with its next commit, and allocates it in chunks.
        let beside = if self.kinds.contains(&ImageKind::Btrfs) {
            on_images.saturating_mul(2)
        } else {
            on_images / 2
        };
        let bytes = on_images.saturating_add(beside).max(IMAGE_BYTES);
        let images = self.mounts.as_ref().map(|mounts| Images {
            kinds: &self.kinds,
            bytes,
            mounts,
        });
        // Without the host only the runtimes' small programs are written there.
        let host_bytes = if self.host { needed_bytes } else { 1 << 20 };
        let plan = Plan {
            dir,
            enter: true,
            host_bytes,
            images,
        };
        let mut prepared = scratch::prepare(&plan, guard, interrupt)?;
        if let Some(mounts) = self.mounts.as_ref().filter(|_| self.tmpfs) {
            prepared.add_tmpfs(on_images.saturating_mul(2), mounts)?;
        }
        Ok(prepared)
    }

    /// The targets of an experiment: all that were named, or the host and
    /// its usual images.
    pub(crate) fn targets_of(
        &self,
        experiment: &dyn Experiment,
        targets: &[Target],
    ) -> Vec<Target> {
        let usual = |target: &&Target| {
            !self.usual || !target.image || self.is_usual(experiment, &target.name)
        };
        targets.iter().filter(usual).cloned().collect()
    }

    /// Whether an experiment usually measures the target of this name.
    fn is_usual(&self, experiment: &dyn Experiment, name: &str) -> bool {
        let mut kinds = experiment.usual_images(self.effort).iter();
        kinds.any(|kind| kind.name() == name) || (name == TMPFS && experiment.usual_tmpfs())
    }

    fn measures_images(&self, experiment: &dyn Experiment) -> bool {
        !self.usual || !experiment.usual_images(self.effort).is_empty()
    }

    /// The targets, host first.
    pub(crate) fn targets(&self, prepared: &Prepared) -> Result<Vec<Target>, Failure> {
        let mut targets = Vec::new();
        if self.host {
            targets.push(host(prepared.host())?);
        }
        for made in prepared.images() {
            targets.push(image(made)?);
        }
        if let Some(tmpfs) = prepared.tmpfs() {
            targets.push(target(TMPFS, tmpfs, true)?);
        }
        Ok(targets)
    }
}

/// Images that a run can do without.
#[derive(Debug)]
struct LeftOut {
    names: Vec<&'static str>,
    why: String,
}

fn host(dir: &Path) -> Result<Target, Failure> {
    let mut target = target("host", dir, false)?;
    let device = target.storage.devices.first();
    target.device_path = device.map(|device| Path::new("/dev").join(&device.name));
    Ok(target)
}

fn image(image: &Image) -> Result<Target, Failure> {
    // Not the root directory: ext4 has a lost+found there.
    let dir = image.path().join("data");
    std::fs::create_dir(&dir)
        .map_err(|error| Failure::Cannot(format!("cannot make {}: {error}", dir.display())))?;
    Ok(Target {
        backing_cached: image.backing_cached(),
        device_path: Some(image.device().path().to_owned()),
        ..target(image.kind().name(), &dir, true)?
    })
}

fn target(name: &str, dir: &Path, image: bool) -> Result<Target, Failure> {
    let under = stack::inspect(dir, &Roots::default())?;
    // The absolute path, for the user.
    let absolute = std::fs::canonicalize(dir);
    let shown = absolute.as_deref().unwrap_or(dir);
    Ok(Target {
        name: name.to_owned(),
        dir: dir.to_owned(),
        image,
        backing_cached: false,
        disks: under.charged_disks(),
        device_path: None,
        storage: under.target(shown.to_string_lossy().into_owned()),
    })
}
