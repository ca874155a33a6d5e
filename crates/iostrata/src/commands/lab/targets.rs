//! Which file systems a lab run measures, and making those that are made for it.

use std::path::Path;

use iostrata_core::Gap;
use iostrata_lab::interrupt::Interrupt;
use iostrata_lab::scratch::{self, Image, ImageKind, Images, Plan, Prepared, ScratchError};
use iostrata_lab::target::Target;
use iostrata_tracer::kernel::PrivateMounts;
use iostrata_tracer::stack::{self, Roots};

use crate::cli::{Lab, TargetName};
use crate::error::Failure;
use crate::ui;

/// Images that a run as root measures unless told otherwise.
const USUAL_IMAGES: [ImageKind; 3] = [ImageKind::Ext4, ImageKind::Xfs, ImageKind::Btrfs];

/// Smallest image: room for a log or journal of ordinary size, whatever the cases need.
const IMAGE_BYTES: u64 = 512 << 20;

/// What is to be measured.
#[derive(Debug)]
pub(crate) struct Choice {
    host: bool,
    kinds: Vec<ImageKind>,
    /// Whether the images were not asked for by name, so that the run can do without.
    usual: bool,
    left_out: Vec<Gap>,
    mounts: Option<PrivateMounts>,
}

impl Choice {
    /// Decides from the options and the user's privileges.
    ///
    /// Has to run before the first thread is started: mounts become private here.
    pub(crate) fn from_options(options: &Lab) -> Result<Self, Failure> {
        let mut choice = Self {
            host: options.fs.is_empty(),
            kinds: Vec::new(),
            usual: options.fs.is_empty(),
            left_out: Vec::new(),
            mounts: None,
        };
        if choice.usual {
            choice.usual_images();
            return Ok(choice);
        }
        for name in &options.fs {
            match name {
                TargetName::Host => choice.host = true,
                TargetName::Image(kind) if choice.kinds.contains(kind) => {}
                TargetName::Image(kind) => choice.kinds.push(*kind),
            }
        }
        if !choice.kinds.is_empty() {
            choice.mounts = Some(scratch::isolate()?);
        }
        Ok(choice)
    }

    fn usual_images(&mut self) {
        self.kinds = USUAL_IMAGES.to_vec();
        match scratch::isolate() {
            Ok(mounts) => self.mounts = Some(mounts),
            Err(error) => self.leave_out(&USUAL_IMAGES, &error),
        }
        for kind in self.kinds.clone() {
            if let Err(error) = scratch::find_mkfs(kind) {
                self.leave_out(&[kind], &error);
            }
        }
    }

    fn leave_out(&mut self, kinds: &[ImageKind], why: &ScratchError) {
        self.kinds.retain(|kind| !kinds.contains(kind));
        let names: Vec<_> = kinds.iter().map(|kind| kind.name()).collect();
        self.left_out
            .push(Gap::new(names.join(", "), why.to_string()));
    }

    /// Says what is left out and why.
    pub(crate) fn explain(&self) {
        for gap in &self.left_out {
            ui::say(&format!("left out: {}: {}", gap.what, gap.why));
        }
    }

    /// File systems that are left out and why, for the result.
    pub(crate) fn gaps(&self) -> Vec<Gap> {
        self.left_out.clone()
    }

    /// Makes the scratch directory and the images. Images that were not asked for by name and
    /// cannot be had are left out.
    pub(crate) fn prepare(
        &mut self,
        dir: &Path,
        needed_bytes: u64,
        interrupt: &Interrupt,
    ) -> Result<Prepared, Failure> {
        loop {
            let error = match self.try_to_prepare(dir, needed_bytes, interrupt) {
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
        needed_bytes: u64,
        interrupt: &Interrupt,
    ) -> Result<Prepared, ScratchError> {
        // Half as much again for what a file system keeps beside the contents.
        let bytes = needed_bytes
            .saturating_add(needed_bytes / 2)
            .max(IMAGE_BYTES);
        let images = self.mounts.as_ref().map(|mounts| Images {
            kinds: &self.kinds,
            bytes,
            mounts,
        });
        // Without the host only the runtimes' small programs are written there.
        let host_bytes = if self.host { needed_bytes } else { 1 << 20 };
        scratch::prepare(
            &Plan {
                dir,
                host_bytes,
                images,
            },
            interrupt,
        )
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
        Ok(targets)
    }
}

fn host(dir: &Path) -> Result<Target, Failure> {
    let under = stack::inspect(dir, &Roots::default())?;
    let device = under
        .devices()
        .first()
        .map(|device| Path::new("/dev").join(&device.name));
    Ok(Target {
        name: "host".to_owned(),
        dir: dir.to_owned(),
        image: false,
        disks: under.charged_disks(),
        device_path: device,
        storage: under.target(dir.to_string_lossy().into_owned()),
    })
}

fn image(image: &Image) -> Result<Target, Failure> {
    // Not the root directory: ext4 has a lost+found there.
    let dir = image.path().join("data");
    std::fs::create_dir(&dir)
        .map_err(|error| Failure::Cannot(format!("cannot make {}: {error}", dir.display())))?;
    let under = stack::inspect(&dir, &Roots::default())?;
    Ok(Target {
        name: image.kind().name().to_owned(),
        image: true,
        disks: under.charged_disks(),
        device_path: Some(image.device().path().to_owned()),
        storage: under.target(dir.to_string_lossy().into_owned()),
        dir,
    })
}
