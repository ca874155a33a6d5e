//! Types of the running kernel, including those of its modules.
//!
//! A file system built as a module has its types in the module. Their ids continue the kernel's,
//! and their names follow the kernel's (Documentation/bpf/btf.rst), so one BTF for everything is
//! the modules' types appended to the kernel's.

use std::collections::{HashMap, HashSet};
use std::path::Path;

use aya::{Btf, Endianness};
use iostrata_core::halves::at_once;
use object::{Object as _, ObjectSection as _};

use super::needed::{Hooks, Index};
use super::object::chain;
use crate::kernel::Shown;

/// Modules with types that programs read, or with tracepoints that they are attached to.
pub(super) const MODULES: [&str; 5] = ["jbd2", "ext4", "xfs", "btrfs", "overlay"];

/// The types that programs read. Other types of a module could have the name of a kernel type.
const READ: [&str; 16] = [
    "ext4_inode_info",
    "ext4_sb_info",
    "journal_s",
    "transaction_s",
    "btrfs_inode",
    "btrfs_root",
    "btrfs_fs_info",
    "xfs_trans",
    "xfs_inode",
    "xfs_mount",
    "ovl_inode",
    "ovl_entry",
    "ovl_path",
    "ovl_layer",
    "ovl_fs",
    "ovl_sb",
];
/// Each tracepoint has a type with this name (`include/trace/bpf_probe.h`).
pub(super) const TRACEPOINT: &str = "btf_trace_";

const DIRECTORY: &str = "/sys/kernel/btf";

pub(super) struct Types {
    /// Structures whose fields they read.
    pub(super) fields: Btf,
    /// Their attachment points, and functions they call.
    pub(super) hooks: Hooks,
    /// The kernel's own id of a function that programs call.
    pub(super) function: Option<u32>,
    /// The kernel's own ids of the structures, by name; `None` where several have it.
    pub(super) ids: HashMap<Vec<u8>, Option<u32>>,
}

pub(super) fn loaded() -> Vec<&'static str> {
    let is_loaded = |name: &&str| Path::new(DIRECTORY).join(name).exists();
    MODULES.into_iter().filter(is_loaded).collect()
}

/// The types, from the kernel and these modules, that a program compiled with the types of `object`
/// and attached to `hooks` needs. Fails with the cause.
pub(super) fn read(
    modules: &[&str],
    object: &[u8],
    hooks: &HashSet<Vec<u8>>,
    function: &str,
) -> Result<Types, String> {
    let read = |name: &str| {
        let file = Path::new(DIRECTORY).join(name);
        Shown::of(&file).map_err(|error| format!("{}: {error}", file.display()))
    };
    let kernel = read("vmlinux")?;
    if modules.is_empty() {
        return needed(kernel.as_slice(), object, hooks, function);
    }
    let mut whole = Whole::new(kernel.as_slice()).ok_or_else(|| not_understood("vmlinux"))?;
    for name in modules {
        // A module unloaded meanwhile has no files that could be read.
        let Ok(bytes) = read(name) else { continue };
        whole
            .add(bytes.as_slice())
            .ok_or_else(|| not_understood(name))?;
    }
    needed(&whole.bytes(), object, hooks, function)
}

fn needed(
    all: &[u8],
    object: &[u8],
    hooks: &HashSet<Vec<u8>>,
    function: &str,
) -> Result<Types, String> {
    let not_understood = || not_understood("vmlinux");
    let index = Index::of(all).ok_or_else(not_understood)?;
    let names = names_in(object).ok_or("the object has no types")?;
    let (fields, (hooks, ids)) = at_once(
        || {
            let fields = index.renumbered(&index.structures(&names));
            let fields = fields.ok_or_else(not_understood)?;
            Btf::parse(&fields, Endianness::default()).map_err(|error| chain(&error))
        },
        || (index.hooks(hooks), index.ids(&names)),
    );
    Ok(Types {
        fields: fields?,
        function: hooks.function(function),
        hooks,
        ids,
    })
}

/// Structures that a compiled object refers to by name.
pub(super) fn names_in(object: &[u8]) -> Option<HashSet<Vec<u8>>> {
    let object = object::File::parse(object).ok()?;
    let section = object.section_by_name(".BTF")?;
    Index::of(section.data().ok()?).map(|index| index.names_of_structures())
}

fn not_understood(name: &str) -> String {
    format!("{DIRECTORY}/{name}: its format is not understood")
}

/// `struct btf_header`, include/uapi/linux/btf.h.
const HEADER_BYTES: usize = 24;
const MAGIC: u16 = 0xeb9f;

pub(super) struct Parts<'a> {
    pub(super) types: &'a [u8],
    pub(super) names: &'a [u8],
}

pub(super) fn word(bytes: &[u8], at: usize) -> Option<u32> {
    let bytes = bytes.get(at..at.checked_add(4)?)?;
    Some(u32::from_ne_bytes(bytes.try_into().ok()?))
}

fn index(bytes: &[u8], at: usize) -> Option<usize> {
    usize::try_from(word(bytes, at)?).ok()
}

impl<'a> Parts<'a> {
    pub(super) fn of(bytes: &'a [u8]) -> Option<Self> {
        let magic = u16::from_ne_bytes(bytes.get(..2)?.try_into().ok()?);
        let after = bytes.get(index(bytes, 4)?..).filter(|_| magic == MAGIC)?;
        let part = |at: usize| {
            let from = index(bytes, at)?;
            after.get(from..from.checked_add(index(bytes, at + 4)?)?)
        };
        Some(Self {
            types: part(8)?,
            names: part(16)?,
        })
    }
}

/// One BTF, and where the kernel's own part ends.
struct Whole {
    types: Vec<u8>,
    names: Vec<u8>,
    count: u32,
    kernel_count: u32,
    kernel_names: u32,
}

impl Whole {
    fn new(kernel: &[u8]) -> Option<Self> {
        let parts = Parts::of(kernel)?;
        let mut count = 1; // id 0 is void
        let mut left = parts.types;
        while !left.is_empty() {
            left = left.get(Kind::at(left)?.bytes..)?;
            count += 1;
        }
        Some(Self {
            types: parts.types.to_vec(),
            names: parts.names.to_vec(),
            count,
            kernel_count: count,
            kernel_names: u32::try_from(parts.names.len()).ok()?,
        })
    }

    fn add(&mut self, module: &[u8]) -> Option<()> {
        let parts = Parts::of(module)?;
        let moved = Moved {
            count: self.count - self.kernel_count,
            names: u32::try_from(self.names.len()).ok()? - self.kernel_names,
            kernel_count: self.kernel_count,
            kernel_names: self.kernel_names,
        };
        self.names.extend(parts.names);
        let mut left = parts.types;
        while !left.is_empty() {
            let kind = Kind::at(left)?;
            let mut one = left.get(..kind.bytes)?.to_vec();
            left = left.get(kind.bytes..)?;
            for at in kind.names() {
                moved.name(one.get_mut(at..at + 4)?)?;
            }
            for at in kind.types() {
                moved.number(one.get_mut(at..at + 4)?)?;
            }
            if !self.is_read(word(&one, 0)?) {
                one.get_mut(..4)?.fill(0);
            }
            self.types.extend(one);
            self.count += 1;
        }
        Some(())
    }

    fn is_read(&self, name: u32) -> bool {
        let from = usize::try_from(name).ok();
        let rest = from.and_then(|from| self.names.get(from..));
        let name = rest.and_then(|rest| rest.split(|byte| *byte == 0).next());
        name.is_some_and(|name| {
            name.starts_with(TRACEPOINT.as_bytes())
                || READ.iter().any(|read| read.as_bytes() == name)
        })
    }

    fn bytes(&self) -> Vec<u8> {
        description(&self.types, &self.names)
    }
}

pub(super) fn description(types: &[u8], names: &[u8]) -> Vec<u8> {
    let length = |bytes: &[u8]| u32::try_from(bytes.len()).unwrap_or(u32::MAX);
    let mut bytes = Vec::with_capacity(HEADER_BYTES + types.len() + names.len());
    bytes.extend(MAGIC.to_ne_bytes());
    bytes.extend([1, 0]); // version and flags
    for field in [24, 0, length(types), length(types), length(names)] {
        bytes.extend(field.to_ne_bytes());
    }
    bytes.extend(types);
    bytes.extend(names);
    bytes
}

/// How far the modules before it shift a module's own ids and names.
struct Moved {
    count: u32,
    names: u32,
    kernel_count: u32,
    kernel_names: u32,
}

impl Moved {
    fn name(&self, field: &mut [u8]) -> Option<()> {
        shift(field, self.kernel_names, self.names)
    }

    fn number(&self, field: &mut [u8]) -> Option<()> {
        shift(field, self.kernel_count, self.count)
    }
}

fn shift(field: &mut [u8], from: u32, by: u32) -> Option<()> {
    let value = word(field, 0)?;
    if value >= from {
        field.copy_from_slice(&value.checked_add(by)?.to_ne_bytes());
    }
    Some(())
}

/// One type: its kind, and the length of what follows (Documentation/bpf/btf.rst).
pub(super) struct Kind {
    pub(super) number: u32,
    entries: usize,
    pub(super) bytes: usize,
}

/// Bytes of `struct btf_type`.
pub(super) const TYPE_BYTES: usize = 12;

impl Kind {
    pub(super) fn at(bytes: &[u8]) -> Option<Self> {
        let info = word(bytes, 4)?;
        let (number, entries) = (info >> 24 & 0x1f, usize::try_from(info & 0xffff).ok()?);
        let follows = match number {
            1 | 14 | 17 => 4,
            3 => 12,
            4 | 5 | 15 | 19 => 12 * entries,
            6 | 13 => 8 * entries,
            2 | 7..=12 | 16 | 18 => 0,
            _ => return None,
        };
        Some(Self {
            number,
            entries,
            bytes: TYPE_BYTES + follows,
        })
    }

    /// Positions of names: its own, and those of its members, values or parameters.
    pub(super) fn names(&self) -> Vec<usize> {
        let own = std::iter::once(0);
        match self.number {
            4 | 5 | 19 => own.chain(self.entries_at(12, 0)).collect(),
            6 | 13 => own.chain(self.entries_at(8, 0)).collect(),
            _ => own.collect(),
        }
    }

    /// Positions of references to other types.
    pub(super) fn types(&self) -> Vec<usize> {
        match self.number {
            2 | 8..=12 | 14 | 17 | 18 => vec![8],
            3 => vec![TYPE_BYTES, TYPE_BYTES + 4],
            4 | 5 => self.entries_at(12, 4).collect(),
            13 => std::iter::once(8).chain(self.entries_at(8, 4)).collect(),
            15 => self.entries_at(12, 0).collect(),
            _ => Vec::new(),
        }
    }

    fn entries_at(&self, bytes: usize, field: usize) -> impl Iterator<Item = usize> + use<> {
        (0..self.entries).map(move |entry| TYPE_BYTES + entry * bytes + field)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use aya_obj::btf::BtfKind;

    const INT: u32 = 1 << 24;
    const STRUCT: u32 = 4 << 24;
    const TYPEDEF: u32 = 8 << 24;

    /// A BTF with these words as types.
    fn words(types: &[u32], names: &[u8]) -> Vec<u8> {
        let types: Vec<u8> = types.iter().flat_map(|word| word.to_ne_bytes()).collect();
        description(&types, names)
    }

    fn kernel() -> Vec<u8> {
        // Id 1: `int`, of 4 bytes.
        words(&[1, INT, 4, 32], b"\0int\0")
    }

    /// Id 2 is a structure of one `int`, id 3 a name for it.
    fn module(names: &[u8]) -> Vec<u8> {
        let second = u32::try_from(names.iter().position(|byte| *byte == 0).unwrap()).unwrap();
        let kernel_names = 5;
        let (structure, name) = (kernel_names, kernel_names + second + 1);
        words(
            &[structure, STRUCT | 1, 4, 1, 1, 0, name, TYPEDEF, 2],
            names,
        )
    }

    fn whole(modules: &[Vec<u8>]) -> Vec<u8> {
        let mut whole = Whole::new(&kernel()).unwrap();
        for module in modules {
            whole.add(module).unwrap();
        }
        whole.bytes()
    }

    #[test]
    fn types_of_modules_follow_the_kernels() {
        let all = whole(&[
            module(b"xfs_mount\0btf_trace_xfs_trans_alloc\0"),
            module(b"btrfs_root\0btf_trace_btrfs_sync_fs\0"),
        ]);
        let btf = Btf::parse(&all, Endianness::default()).unwrap();
        let number = |name, kind| btf.id_by_type_name_kind(name, kind).unwrap();
        assert_eq!(number("int", BtfKind::Int), 1);
        assert_eq!(number("xfs_mount", BtfKind::Struct), 2);
        assert_eq!(number("btf_trace_xfs_trans_alloc", BtfKind::Typedef), 3);
        assert_eq!(number("btrfs_root", BtfKind::Struct), 4);
        assert_eq!(number("btf_trace_btrfs_sync_fs", BtfKind::Typedef), 5);
        // The second module's name refers to its own structure, which had id 2 there too.
        let parts = Parts::of(&all).unwrap();
        assert_eq!(word(parts.types, parts.types.len() - 4), Some(4));
    }

    #[test]
    fn other_types_of_modules_have_no_name() {
        let all = whole(&[module(b"mount\0current_time\0")]);
        let btf = Btf::parse(&all, Endianness::default()).unwrap();
        assert!(btf.id_by_type_name_kind("mount", BtfKind::Struct).is_err());
    }

    #[test]
    fn what_is_cut_off_or_unknown_is_not_understood() {
        let module = module(b"xfs_mount\0x\0");
        for end in 0..module.len() {
            let mut whole = Whole::new(&kernel()).unwrap();
            assert!(whole.add(&module[..end]).is_none(), "{end}");
        }
        let unknown = words(&[5, 31 << 24, 0], b"x\0");
        assert!(Whole::new(&kernel()).unwrap().add(&unknown).is_none());
    }
}
