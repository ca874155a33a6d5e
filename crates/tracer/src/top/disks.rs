//! Names of disks, and the file systems on them.

use std::collections::HashMap;
use std::fs::File;

use iostrata_core::op::FileId;
use iostrata_core::top::Disk;
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use crate::stack::{Mounted, Roots, mounted};

/// What is known as long as nothing is mounted or unmounted.
#[derive(Debug, Default)]
pub(super) struct Disks {
    /// Polled for changes, as `proc_pid_mounts(5)` says.
    table: Option<File>,
    mounted: Vec<Mounted>,
    names: HashMap<u32, Option<String>>,
}

impl Disks {
    pub(super) fn of(&mut self, numbers: impl Iterator<Item = u32>) -> HashMap<u32, Disk> {
        self.look_again();
        let mut disks = HashMap::new();
        for number in numbers {
            disks.entry(number).or_insert_with(|| self.disk(number));
        }
        disks
    }

    /// The disks of file systems, by their `s_dev`.
    pub(super) fn below(&self, devices: impl Iterator<Item = u32>) -> HashMap<u32, u32> {
        let of = |device: u32| {
            let mut mounted = self.mounted.iter();
            let mounted = mounted.find(|mounted| mounted.device == device)?;
            match mounted.disks.as_slice() {
                [only] => Some((device, *only)),
                _ => None,
            }
        };
        devices.filter_map(of).collect()
    }

    fn disk(&mut self, number: u32) -> Disk {
        let name = self.names.entry(number).or_insert_with(|| name_of(number));
        let on_it = |mounted: &&Mounted| mounted.disks.contains(&number);
        let on_it = self.mounted.iter().filter(on_it);
        Disk {
            name: name.clone(),
            filesystems: on_it
                .map(|mounted| (mounted.kind.clone(), mounted.point.clone()))
                .collect(),
        }
    }

    fn look_again(&mut self) {
        let is_new = self.table.as_ref().is_none_or(has_changed);
        if !is_new {
            return;
        }
        if self.table.is_none() {
            self.table = File::open("/proc/self/mountinfo").ok();
        }
        self.mounted = mounted(&Roots::default());
        self.names.clear();
    }
}

fn has_changed(table: &File) -> bool {
    let mut polled = [PollFd::new(table, PollFlags::PRI)];
    let now = Timespec::default();
    poll(&mut polled, Some(&now)).is_ok_and(|changed| changed > 0)
}

fn name_of(number: u32) -> Option<String> {
    let (major, minor) = FileId::device_numbers(number);
    let link = std::fs::read_link(format!("/sys/dev/block/{major}:{minor}")).ok()?;
    Some(link.file_name()?.to_string_lossy().into_owned())
}
