//! Parses `/proc/thread-self/mountinfo` as bytes: mount points are paths.
//! Source: `proc_pid_mountinfo(5)` and `fs/proc_namespace.c`, `show_mountinfo`.

use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::{Path, PathBuf};

use iostrata_core::doctor::DeviceNumber;

use super::{Roots, StackError};

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Mount {
    pub(crate) id: u64,
    parent: u64,
    /// `s_dev` of the superblock.
    pub(crate) device: DeviceNumber,
    /// Directory of the file system that is visible at `point`.
    pub(crate) root: PathBuf,
    pub(crate) point: PathBuf,
    pub(crate) options: String,
    pub(crate) kind: String,
    pub(crate) source: PathBuf,
    /// Options of the superblock, still escaped: a comma inside a value is `\054`.
    pub(crate) superblock: Vec<u8>,
}

/// The mounts of this process's namespace, in the order of mounting.
#[derive(Debug)]
pub(crate) struct Mounts {
    mounts: Vec<Mount>,
}

impl Mounts {
    pub(crate) fn read(roots: &Roots) -> Result<Self, StackError> {
        let table = roots.proc.join("thread-self/mountinfo");
        match std::fs::read(&table) {
            Ok(text) => Ok(Self::parse(&text)),
            Err(source) => Err(StackError::MountTable { table, source }),
        }
    }

    pub(crate) fn parse(text: &[u8]) -> Self {
        Self {
            mounts: text
                .split(|byte| *byte == b'\n')
                .filter_map(parse_line)
                .collect(),
        }
    }

    /// The mount with this id; without an id, or when it is not listed, the mount that a walk along
    /// `path` reaches.
    pub(crate) fn holding(&self, path: &Path, id: Option<u64>) -> Option<&Mount> {
        id.and_then(|id| self.with_id(id))
            .or_else(|| self.walk(path))
    }

    pub(crate) fn with_id(&self, id: u64) -> Option<&Mount> {
        self.mounts.iter().find(|mount| mount.id == id)
    }

    /// The visible path of a path inside a device's file system: of several mounts the latest.
    pub(crate) fn path_of(&self, (major, minor): (u32, u32), inner: &[u8]) -> Option<Vec<u8>> {
        let inner = [b"/", inner].concat();
        let seen = |mount: &Mount| {
            let root = mount.root.as_os_str().as_bytes();
            let rest = match root {
                b"/" => &inner[1..],
                root => {
                    let rest = inner.strip_prefix(root)?;
                    rest.strip_prefix(b"/")
                        .or(rest.is_empty().then_some(rest))?
                }
            };
            let point = mount.point.as_os_str().as_bytes();
            let point = point.strip_suffix(b"/").unwrap_or(point);
            let between: &[u8] = if rest.is_empty() && !point.is_empty() {
                b""
            } else {
                b"/"
            };
            Some([point, between, rest].concat())
        };
        let is_it = |mount: &&Mount| mount.device.major == major && mount.device.minor == minor;
        self.mounts.iter().rev().filter(is_it).find_map(seen)
    }

    pub(crate) fn all(&self) -> &[Mount] {
        &self.mounts
    }

    pub(crate) fn of_kind(&self, kind: &str) -> impl Iterator<Item = &Mount> {
        self.mounts.iter().filter(move |mount| mount.kind == kind)
    }

    pub(super) fn of_device(&self, device: DeviceNumber) -> Option<&Mount> {
        self.mounts.iter().find(|mount| mount.device == device)
    }

    /// Follows `path` from the root mount: among the mounts on the current one, the walk meets the
    /// shortest mount point first. It hides earlier mounts that lie deeper.
    fn walk(&self, path: &Path) -> Option<&Mount> {
        let mut current = self
            .roots()
            .filter(|mount| path.starts_with(&mount.point))
            .last()?;
        for _ in &self.mounts {
            let next = self
                .mounts
                .iter()
                .filter(|mount| mount.parent == current.id && mount.id != current.id)
                .filter(|mount| path.starts_with(&mount.point))
                .min_by_key(|mount| mount.point.components().count());
            match next {
                Some(next) => current = next,
                None => break,
            }
        }
        Some(current)
    }

    /// Mounts whose parent is outside this process's view.
    fn roots(&self) -> impl Iterator<Item = &Mount> {
        self.mounts.iter().filter(|mount| {
            mount.parent == mount.id || self.mounts.iter().all(|other| other.id != mount.parent)
        })
    }
}

impl Mount {
    /// Whether the superblock's number comes from a block device.
    pub(crate) fn on_block_device(&self) -> bool {
        self.device.major != 0
    }

    /// Values of a superblock option, unescaped. An option can be repeated.
    pub(crate) fn superblock_values(&self, name: &str) -> Vec<OsString> {
        let options = self.superblock.split(|byte| *byte == b',');
        let values =
            options.filter_map(|option| option.strip_prefix(name.as_bytes())?.strip_prefix(b"="));
        values
            .map(|value| OsString::from_vec(unescape(value)))
            .collect()
    }

    /// Mount options, then those of the superblock that are not among them.
    pub(crate) fn all_options(&self) -> String {
        let superblock = String::from_utf8_lossy(&unescape(&self.superblock)).into_owned();
        let mut all: Vec<&str> = self.options.split(',').collect();
        for option in superblock.split(',').filter(|option| !option.is_empty()) {
            if !all.contains(&option) {
                all.push(option);
            }
        }
        all.join(",")
    }
}

fn parse_line(line: &[u8]) -> Option<Mount> {
    let mut fields = line.split(|byte| *byte == b' ');
    let id = number(fields.next()?)?;
    let parent = number(fields.next()?)?;
    let device = device_number(str::from_utf8(fields.next()?).ok()?)?;
    let root = path(fields.next()?);
    let point = path(fields.next()?);
    let options = String::from_utf8_lossy(fields.next()?).into_owned();
    // Any number of optional fields, ended by a single hyphen.
    fields.by_ref().find(|field| *field == b"-")?;
    let kind = String::from_utf8_lossy(fields.next()?).into_owned();
    let source = path(fields.next()?);
    let superblock = fields.next()?.to_vec();
    Some(Mount {
        id,
        parent,
        device,
        root,
        point,
        options,
        kind,
        source,
        superblock,
    })
}

/// `8:1`, as in `mountinfo` and in sysfs files named `dev`.
pub(crate) fn device_number(text: &str) -> Option<DeviceNumber> {
    let (major, minor) = text.split_once(':')?;
    Some(DeviceNumber {
        major: major.parse().ok()?,
        minor: minor.parse().ok()?,
    })
}

fn number(field: &[u8]) -> Option<u64> {
    str::from_utf8(field).ok()?.parse().ok()
}

fn path(field: &[u8]) -> PathBuf {
    PathBuf::from(OsString::from_vec(unescape(field)))
}

/// Undoes `mangle_path` (`fs/seq_file.c`): white space, `\`, `#` and `,` are
/// written as a backslash and three octal digits.
fn unescape(field: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(field.len());
    let mut rest = field;
    while let Some((&first, tail)) = rest.split_first() {
        let escape = (first == b'\\').then(|| octal(tail)).flatten();
        bytes.push(escape.unwrap_or(first));
        rest = escape.and_then(|_| tail.get(3..)).unwrap_or(tail);
    }
    bytes
}

/// The byte encoded by the next three octal digits.
fn octal(digits: &[u8]) -> Option<u8> {
    match digits {
        [a @ b'0'..=b'3', b @ b'0'..=b'7', c @ b'0'..=b'7', ..] => {
            Some(((a - b'0') << 6) | ((b - b'0') << 3) | (c - b'0'))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: &[u8] = b"\
27 1 254:0 / / rw,relatime - ext4 /dev/vda rw,discard
30 27 0:25 / /a rw shared:5 master:2 - tmpfs none rw
31 27 8:1 /sub /b/deep rw - xfs /dev/sda1 rw
32 27 8:2 / /b rw - ext4 /dev/sda2 rw
33 32 8:3 / /b rw - ext4 /dev/sda3 rw
40 27 8:4 / /with\\040space\\012and\\134more rw - ext4 /dev/sda4 rw
";

    fn kind_at(path: &str, id: Option<u64>) -> u64 {
        Mounts::parse(TABLE)
            .holding(Path::new(path), id)
            .unwrap()
            .id
    }

    #[test]
    fn prefixes_are_whole_components() {
        assert_eq!(kind_at("/a/x", None), 30);
        assert_eq!(kind_at("/ab", None), 27);
    }

    #[test]
    fn a_mount_over_another_hides_it() {
        assert_eq!(
            kind_at("/b/deep/file", None),
            33,
            "/b was mounted over /b/deep, twice"
        );
        assert_eq!(
            kind_at("/b/deep/file", Some(31)),
            31,
            "the id tells the hidden one"
        );
        assert_eq!(kind_at("/b/deep/file", Some(999)), 33);
    }

    #[test]
    fn escapes_are_decoded() {
        assert_eq!(kind_at("/with space\nand\\more/f", None), 40);
        assert_eq!(
            unescape(b"a\\04x\\777\\"),
            b"a\\04x\\777\\",
            "not an escape"
        );
        assert_eq!(unescape(b"\\303\\244"), "ä".as_bytes());
    }

    #[test]
    fn option_values_may_hold_commas() {
        let line =
            b"1 0 0:50 / /m rw,noatime - overlay overlay rw,lowerdir=/l\\0541:/l2,upperdir=/u";
        let mount = parse_line(line).unwrap();
        assert_eq!(mount.superblock_values("lowerdir"), ["/l,1:/l2"]);
        assert_eq!(mount.superblock_values("upper"), [""; 0]);
        assert_eq!(
            mount.all_options(),
            "rw,noatime,lowerdir=/l,1:/l2,upperdir=/u"
        );
    }
}
