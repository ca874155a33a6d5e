//! relatime's rule of a day, on an ext4 whose inodes have an old ctime.
//!
//! Calls can only set ctime to the current time, and an access time that is a day old is always
//! older than that. So `debugfs`(8) writes the inodes of a small image before it is mounted.

use std::ffi::OsString;
use std::fs::{self, OpenOptions};
use std::io;
use std::os::fd::AsFd as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use iostrata_core::atime::{Mount, Probe, RelatimeProbe};
use iostrata_core::gap::Reason;
use iostrata_tracer::kernel::LoopDevice;
use rustix::mount::{MountFlags, UnmountFlags, mount, unmount};

use super::moments::{HOUR_S, Times, now_s};
use super::mounts::current;
use crate::error::LabError;
use crate::tool::{self, Trouble};

/// Smallest image that mke2fs creates without complaint, with room to spare.
const IMAGE_BYTES: u64 = 8 << 20;

/// Where Debian keeps these programs; often not in a user's PATH.
const SYSTEM_DIRECTORY: &str = "/usr/sbin";

pub(super) fn probes(
    scratch: &Path,
    stop: &dyn Fn() -> bool,
) -> Result<Vec<RelatimeProbe>, Trouble> {
    let image = Aged::make(scratch, stop)?;
    let failed = |error| LabError::io("try relatime's rule of a day", error);
    let mut probes = Vec::new();
    for probe in Probe::BY_IMAGE {
        let (name, age_s) = file(probe);
        let path = image.point.join(name);
        let before = Times::of(&path).map_err(failed)?;
        if before.accessed.tv_sec != image.now_s - age_s
            || before.changed.tv_sec != image.changed_s
            || before.modified.tv_sec != image.changed_s
        {
            let why = "debugfs did not set the requested times";
            return Err(Trouble::said(why.to_owned()));
        }
        fs::read(&path).map_err(failed)?;
        let after = Times::of(&path).map_err(failed)?;
        probes.push(RelatimeProbe {
            filesystem: "ext4".to_owned(),
            probe,
            machine: None,
            atime_changed: after.accessed != before.accessed,
        });
    }
    Ok(probes)
}

/// The name of its file, and the age of the access time when the image was created, seconds.
fn file(probe: Probe) -> (&'static str, i64) {
    if probe == Probe::DayOld {
        ("day_old", 25 * HOUR_S)
    } else {
        ("not_day_old", 23 * HOUR_S)
    }
}

/// The image, mounted with relatime; unmounted and removed on drop.
struct Aged {
    point: PathBuf,
    now_s: i64,
    changed_s: i64,
    /// Releases itself when nothing is mounted from it.
    _device: LoopDevice,
}

impl Aged {
    fn make(scratch: &Path, stop: &dyn Fn() -> bool) -> Result<Self, Trouble> {
        let failed = |error| LabError::io("make an image with old times", error);
        let device = device(scratch).map_err(failed)?;
        let (contents, point) = (scratch.join("aged-contents"), scratch.join("aged"));
        let made = Self::fill(&device, &contents, stop);
        drop(fs::remove_dir_all(&contents));
        let (now_s, changed_s) = made?;
        fs::create_dir(&point).map_err(failed)?;
        let mounted = mount(device.path(), &point, "ext4", MountFlags::RELATIME, None);
        if let Err(errno) = mounted {
            drop(fs::remove_dir(&point));
            return Err(failed(errno.into()).into());
        }
        // From here on it unmounts itself.
        let image = Self {
            point,
            now_s,
            changed_s,
            _device: device,
        };
        let found = current(&image.point)?;
        if found != Mount::Relatime {
            let why = format!("the image is mounted {}", found.as_str());
            return Err(Trouble::said(why));
        }
        Ok(image)
    }

    /// Creates the file system with a file for each probe, and sets their times.
    fn fill(
        device: &LoopDevice,
        contents: &Path,
        stop: &dyn Fn() -> bool,
    ) -> Result<(i64, i64), Trouble> {
        let failed = |error| LabError::io("make an image with old times", error);
        fs::create_dir(contents).map_err(failed)?;
        for probe in Probe::BY_IMAGE {
            fs::write(contents.join(file(probe).0), "text\n").map_err(failed)?;
        }
        let arguments: Vec<OsString> = vec!["-q".into(), "-F".into(), "-d".into(), contents.into()];
        run("mkfs.ext4", &arguments, device, stop)?;
        let now_s = now_s();
        let changed_s = now_s - 72 * HOUR_S;
        for probe in Probe::BY_IMAGE {
            let (name, age_s) = file(probe);
            let fields = [
                ("atime", now_s - age_s),
                ("mtime", changed_s),
                ("ctime", changed_s),
            ];
            for (field, second) in fields {
                let request = format!("set_inode_field {name} {field} @{second}");
                let arguments: [OsString; 3] = ["-w".into(), "-R".into(), request.into()];
                run("debugfs", &arguments, device, stop)?;
            }
        }
        Ok((now_s, changed_s))
    }
}

impl Drop for Aged {
    fn drop(&mut self) {
        // Detached, so that it cannot be busy; the mount is in this process's namespace and ends
        // with it at the latest.
        let flags = UnmountFlags::NOFOLLOW | UnmountFlags::DETACH;
        _ = unmount(&self.point, flags);
        drop(fs::remove_dir(&self.point));
    }
}

/// A loop device whose image file is unlinked before anything is written to it.
fn device(scratch: &Path) -> io::Result<LoopDevice> {
    let path = scratch.join("aged.img");
    let file = OpenOptions::new()
        .read(true)
        .write(true)
        .create_new(true)
        .open(&path)?;
    fs::remove_file(&path)?;
    file.set_len(IMAGE_BYTES)?;
    LoopDevice::attach(file.as_fd()).map_err(io::Error::other)
}

fn run(
    program: &str,
    arguments: &[OsString],
    device: &LoopDevice,
    stop: &dyn Fn() -> bool,
) -> Result<(), Trouble> {
    let elsewhere = Path::new(SYSTEM_DIRECTORY).join(program);
    for place in [Path::new(program), &elsewhere] {
        let mut command = Command::new(place);
        command.args(arguments).arg(device.path());
        match tool::run(&mut command, tool::BUILDS, stop) {
            Err(Trouble::Unusable(Reason::NotInstalled(_))) => {}
            outcome => return outcome.map(drop),
        }
    }
    Err(Trouble::said(format!(
        "{program} was not found in PATH or {SYSTEM_DIRECTORY}; install it (Debian package e2fsprogs)"
    )))
}
