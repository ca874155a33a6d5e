//! The types that the programs need: about a hundred of the kernel's 120,000.
//!
//! Aya searches all types that it gets for each structure and each name. So it gets only the needed
//! ones, under their own ids: an unnamed type replaces every other one, and the types after the
//! last needed one are left out.

use std::collections::HashSet;
use std::ffi::CStr;

use super::types::{Kind, Parts, TYPE_BYTES, description, word};

/// Numbers of BTF kinds (Documentation/bpf/btf.rst).
const POINTER: u32 = 2;
const ARRAY: u32 = 3;
const STRUCT: u32 = 4;
const UNION: u32 = 5;
const ENUM: u32 = 6;
const TYPEDEF: u32 = 8;
const RESTRICT: u32 = 11;
const FUNC: u32 = 12;
const TYPE_TAG: u32 = 18;
const ENUM64: u32 = 19;

/// A `void` pointer.
const PLACEHOLDER: [u32; 3] = [0, POINTER << 24, 0];

/// The offset of each type.
pub(super) struct Index<'a> {
    parts: Parts<'a>,
    /// Offsets by id. Id 0 is void, which has none.
    starts: Vec<usize>,
}

impl<'a> Index<'a> {
    pub(super) fn of(bytes: &'a [u8]) -> Option<Self> {
        let parts = Parts::of(bytes)?;
        let mut starts = vec![0];
        let mut at = 0;
        while at < parts.types.len() {
            starts.push(at);
            at += Kind::at(&parts.types[at..])?.bytes;
        }
        (at == parts.types.len()).then_some(Self { parts, starts })
    }

    fn bytes(&self, number: usize) -> &'a [u8] {
        let start = self.starts.get(number).copied();
        start.map_or(&[], |start| &self.parts.types[start..])
    }

    fn kind(&self, number: usize) -> u32 {
        word(self.bytes(number), 4).unwrap_or(0) >> 24 & 0x1f
    }

    /// The name at an offset of the string section.
    fn text(&self, offset: u32) -> &'a [u8] {
        let from = usize::try_from(offset).ok();
        let rest = from.and_then(|from| self.parts.names.get(from..));
        let name = rest.and_then(|rest| CStr::from_bytes_until_nul(rest).ok());
        name.map_or(&[], CStr::to_bytes)
    }

    fn name(&self, number: usize) -> &'a [u8] {
        self.text(word(self.bytes(number), 0).unwrap_or(0))
    }

    fn numbers(&self) -> std::ops::Range<usize> {
        1..self.starts.len()
    }

    fn is_structure(&self, number: usize) -> bool {
        matches!(self.kind(number), STRUCT | UNION | ENUM | ENUM64)
    }

    /// All named structures.
    pub(super) fn names_of_structures(&self) -> HashSet<Vec<u8>> {
        let structures = self.numbers().filter(|number| self.is_structure(*number));
        let names = structures.map(|number| flavourless(self.name(number)).to_vec());
        names.filter(|name| !name.is_empty()).collect()
    }

    /// Structures with these names, and the types inside them.
    pub(super) fn structures(&self, names: &HashSet<Vec<u8>>) -> Vec<bool> {
        let mut kept = vec![false; self.starts.len()];
        let is_wanted = |number: &usize| {
            self.is_structure(*number) && names.contains(flavourless(self.name(*number)))
        };
        let mut left: Vec<usize> = self.numbers().filter(is_wanted).collect();
        while let Some(number) = left.pop() {
            let Some(kept) = kept.get_mut(number).filter(|kept| !**kept) else {
                continue;
            };
            *kept = true;
            left.extend(self.inside(number));
        }
        kept
    }

    /// The types that a type contains. Types behind its pointers are not included.
    fn inside(&self, number: usize) -> Vec<usize> {
        let bytes = self.bytes(number);
        let fields = match (self.kind(number), Kind::at(bytes)) {
            (ARRAY | STRUCT | UNION | TYPEDEF..=RESTRICT | TYPE_TAG, Some(kind)) => kind.types(),
            _ => Vec::new(),
        };
        let numbers = fields.into_iter().filter_map(|at| word(bytes, at));
        numbers.filter_map(|of| usize::try_from(of).ok()).collect()
    }

    /// Tracepoints and functions with these names.
    pub(super) fn hooks(&self, names: &HashSet<Vec<u8>>) -> Vec<bool> {
        let is_wanted = |number| {
            matches!(self.kind(number), TYPEDEF | FUNC) && names.contains(self.name(number))
        };
        (0..self.starts.len()).map(is_wanted).collect()
    }

    /// A BTF of these types alone.
    pub(super) fn only(&self, kept: &[bool]) -> Option<Vec<u8>> {
        let placeholder: Vec<u8> = PLACEHOLDER.iter().flat_map(|w| w.to_ne_bytes()).collect();
        let count = kept
            .iter()
            .rposition(|kept| *kept)
            .map_or(0, |last| last + 1);
        let mut types = Vec::with_capacity(count * TYPE_BYTES);
        let mut names = vec![0];
        for (number, kept) in kept.iter().enumerate().take(count).skip(1) {
            if !kept {
                types.extend(&placeholder);
                continue;
            }
            let bytes = self.bytes(number);
            let kind = Kind::at(bytes)?;
            let start = types.len();
            types.extend(bytes.get(..kind.bytes)?);
            for at in kind.names() {
                let name = self.text(word(bytes, at)?);
                let offset = if name.is_empty() { 0 } else { names.len() };
                let field = types.get_mut(start + at..start + at + 4)?;
                field.copy_from_slice(&u32::try_from(offset).ok()?.to_ne_bytes());
                if offset > 0 {
                    names.extend(name);
                    names.push(0);
                }
            }
        }
        Some(description(&types, &names))
    }
}

/// One structure may be described in several forms, whose names differ after three underscores.
fn flavourless(name: &[u8]) -> &[u8] {
    let end = name.windows(3).position(|three| three == b"___");
    &name[..end.unwrap_or(name.len())]
}

#[cfg(test)]
mod tests {
    use super::*;
    use aya::{Btf, Endianness};
    use aya_obj::btf::BtfKind;

    fn all() -> Vec<u8> {
        std::fs::read("/sys/kernel/btf/vmlinux").unwrap()
    }

    fn set(names: &[&str]) -> HashSet<Vec<u8>> {
        names.iter().map(|name| name.as_bytes().to_vec()).collect()
    }

    #[test]
    fn numbers_are_the_kernels_own() {
        let all = all();
        let index = Index::of(&all).unwrap();
        let whole = Btf::parse(&all, Endianness::default()).unwrap();
        let names = ["btf_trace_sys_enter", "bpf_iter_task", "vfs_rename"];
        let hooks = index.only(&index.hooks(&set(&names))).unwrap();
        let hooks = Btf::parse(&hooks, Endianness::default()).unwrap();
        for (name, kind) in names
            .into_iter()
            .zip([BtfKind::Typedef, BtfKind::Func, BtfKind::Func])
        {
            let number = |btf: &Btf| btf.id_by_type_name_kind(name, kind).unwrap();
            assert_eq!(number(&hooks), number(&whole), "{name}");
        }
        assert!(
            hooks
                .id_by_type_name_kind("vfs_unlink", BtfKind::Func)
                .is_err()
        );
        let fields = index
            .only(&index.structures(&set(&["task_struct"])))
            .unwrap();
        assert!(fields.len() < all.len() / 4);
        let fields = Btf::parse(&fields, Endianness::default()).unwrap();
        // `sched_entity` lies inside it; `files_struct` is behind a pointer.
        for name in ["task_struct", "sched_entity"] {
            let number = |btf: &Btf| btf.id_by_type_name_kind(name, BtfKind::Struct).unwrap();
            assert_eq!(number(&fields), number(&whole), "{name}");
        }
        let outside = fields.id_by_type_name_kind("files_struct", BtfKind::Struct);
        assert!(outside.is_err());
    }

    #[test]
    fn a_flavour_is_of_the_same_structure() {
        assert_eq!(flavourless(b"super_block___before_6_17"), b"super_block");
        assert_eq!(flavourless(b"inode"), b"inode");
    }
}
