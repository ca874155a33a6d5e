//! Which file systems a lab run measures, and making those that are made for it.

use std::path::Path;

use iostrata_lab::interrupt::Interrupt;
use iostrata_lab::scratch::{self, Image, ImageKind, Images, Plan, Prepared};
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
    /// Why the usual images are left out.
    left_out: Vec<String>,
    mounts: Option<PrivateMounts>,
}

impl Choice {
    /// Decides from the options and the user's privileges.
    ///
    /// Has to run before the first thread is started: mounts become private here.
    pub(crate) fn from_options(options: &Lab) -> Result<Self, Failure> {
        let mut choice = Self { host: false, kinds: Vec::new(), left_out: Vec::new(), mounts: None };
        if options.fs.is_empty() {
            choice.host = true;
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
        match scratch::isolate() {
            Ok(mounts) => self.mounts = Some(mounts),
            Err(error) => {
                self.left_out.push(format!("images are left out: {error}"));
                return;
            }
        }
        for kind in USUAL_IMAGES {
            match scratch::find_mkfs(kind) {
                Ok(()) => self.kinds.push(kind),
                Err(error) => self.left_out.push(format!("{} is left out: {error}", kind.name())),
            }
        }
    }

    /// Says what is left out and why.
    pub(crate) fn explain(&self) {
        for reason in &self.left_out {
            ui::say(reason);
        }
    }

    /// Makes the scratch directory and the images.
    pub(crate) fn prepare(
        &self,
        dir: &Path,
        needed_bytes: u64,
        interrupt: &Interrupt,
    ) -> Result<Prepared, Failure> {
        let bytes = needed_bytes.saturating_mul(3).max(IMAGE_BYTES);
        let images = self.mounts.as_ref().map(|mounts| Images { kinds: &self.kinds, bytes, mounts });
        // Without the host only the runtimes' small programs are written there.
        let host_bytes = if self.host { needed_bytes } else { 1 << 20 };
        Ok(scratch::prepare(&Plan { dir, host_bytes, images }, interrupt)?)
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
    let device = under.devices().first().map(|device| Path::new("/dev").join(&device.name));
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
