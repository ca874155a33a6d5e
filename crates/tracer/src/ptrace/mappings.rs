//! Shared mappings of files, which a later call may make writable.

use super::identity::Open;
use super::request::Tid;

/// Mappings through which stores can change a file, now or later. A range may be unmapped or
/// replaced before it is queried: `/proc/PID/maps` decides.
#[derive(Debug, Default)]
pub(super) struct Mappings {
    all: Vec<(u64, u64, Open)>,
}

impl Mappings {
    pub(super) fn add(&mut self, address: u64, bytes: u64, open: Open) {
        self.all
            .push((address, address.saturating_add(bytes), open));
    }

    /// The file whose pages lie in the range, shared and writable.
    pub(super) fn stored_to(&self, tid: Tid, address: u64, bytes: u64) -> Option<Open> {
        let to = address.saturating_add(bytes);
        self.all.iter().find(|one| overlap(one, address, to))?;
        // Names may be invalid UTF-8.
        let maps = std::fs::read(format!("/proc/{tid}/maps")).ok()?;
        let maps = String::from_utf8_lossy(&maps);
        let mut shared = maps.lines().filter_map(shared);
        let (.., inode) = shared.rfind(|(from, end, _)| *from < to && address < *end)?;
        // The latest one at this place: inode numbers are reused, and coincide in two subvolumes.
        let known = self.all.iter().rev();
        let mut known = known.filter(|(.., open)| open.file.inode == inode);
        let there = known.clone().find(|one| overlap(one, address, to));
        there.or_else(|| known.next()).map(|(.., open)| *open)
    }

    /// A range was remapped.
    pub(super) fn moved(&mut self, from: u64, to: u64, bytes: u64) {
        let found = self.all.iter().find(|one| overlap(one, from, from + 1));
        if let Some(open) = found.map(|(.., open)| *open) {
            self.add(to, bytes, open);
        }
    }
}

fn overlap((from, end, _): &(u64, u64, Open), address: u64, to: u64) -> bool {
    *from < to && address < *end
}

/// From a line of `/proc/PID/maps`: the start and end of a shared, writable mapping, and its inode.
pub(super) fn shared(line: &str) -> Option<(u64, u64, u64)> {
    let mut words = line.split_ascii_whitespace();
    let (from, to) = words.next()?.split_once('-')?;
    let permissions = words.next()?;
    let inode = words.nth(2)?.parse().ok().filter(|inode| *inode != 0)?;
    let is_it = permissions.get(1..2) == Some("w") && permissions.ends_with('s');
    let number = |digits| u64::from_str_radix(digits, 16).ok();
    is_it.then_some((number(from)?, number(to)?, inode))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shared_writable_mapping_is_told_by_its_permissions() {
        let line = |permissions| {
            format!("7f0000001000-7f0000003000 {permissions} 00002000 fe:00 4711  /srv/a b")
        };
        let found = Some((0x7f00_0000_1000, 0x7f00_0000_3000, 4711));
        assert_eq!(shared(&line("rw-s")), found);
        assert_eq!(shared(&line("-w-s")), found);
        assert_eq!(shared(&line("r--s")), None);
        assert_eq!(shared(&line("rw-p")), None);
        assert_eq!(shared("7f00-7f01 rw-s 00000000 00:01 0"), None);
    }
}
