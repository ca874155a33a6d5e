//! The types that the programs need: about a hundred of the kernel's 120,000.
//!
//! Aya searches all types that it gets for each structure. So it gets only the needed ones, one after the
//! other: programs get their fields' offsets alone. Of attachment points, and of types that the kernel
//! gets, the ids are enough.

use std::collections::{HashMap, HashSet};
use std::ffi::CStr;

use aya_obj::generated::{
    BTF_KIND_ARRAY as ARRAY, BTF_KIND_ENUM as ENUM, BTF_KIND_ENUM64 as ENUM64,
    BTF_KIND_FUNC as FUNC, BTF_KIND_RESTRICT as RESTRICT, BTF_KIND_STRUCT as STRUCT,
    BTF_KIND_TYPE_TAG as TYPE_TAG, BTF_KIND_TYPEDEF as TYPEDEF, BTF_KIND_UNION as UNION,
};

use super::types::{Kind, Parts, TYPE_BYTES, description, word};

#[derive(Debug, Default)]
pub(super) struct Hooks {
    tracepoints: HashMap<Vec<u8>, u32>,
    functions: HashMap<Vec<u8>, u32>,
}

impl Hooks {
    pub(super) fn tracepoint(&self, name: &str) -> Option<u32> {
        self.tracepoints.get(name.as_bytes()).copied()
    }

    pub(super) fn function(&self, name: &str) -> Option<u32> {
        self.functions.get(name.as_bytes()).copied()
    }
}

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
    pub(super) fn text(&self, offset: u32) -> &'a [u8] {
        let from = usize::try_from(offset).ok();
        let rest = from.and_then(|from| self.parts.names.get(from..));
        let name = rest.and_then(|rest| CStr::from_bytes_until_nul(rest).ok());
        name.map_or(&[], CStr::to_bytes)
    }

    pub(super) fn name(&self, number: usize) -> &'a [u8] {
        self.text(word(self.bytes(number), 0).unwrap_or(0))
    }

    /// Whether the type may have one of these names.
    fn may_have(&self, starts: &Starts, number: usize) -> bool {
        let offset = word(self.bytes(number), 0).unwrap_or(0);
        let from = usize::try_from(offset).ok();
        let rest = from.and_then(|from| self.parts.names.get(from..));
        rest.is_some_and(|rest| starts.has(rest))
    }

    fn numbers(&self) -> std::ops::Range<usize> {
        1..self.starts.len()
    }

    fn is_structure(&self, number: usize) -> bool {
        matches!(self.kind(number), STRUCT | UNION | ENUM | ENUM64)
    }

    pub(super) fn names_of_structures(&self) -> HashSet<Vec<u8>> {
        let structures = self.numbers().filter(|number| self.is_structure(*number));
        let names = structures.map(|number| flavourless(self.name(number)).to_vec());
        names.filter(|name| !name.is_empty()).collect()
    }

    /// Structures with these names, and the types inside them.
    pub(super) fn structures(&self, names: &HashSet<Vec<u8>>) -> Vec<bool> {
        let mut kept = vec![false; self.starts.len()];
        let starts = Starts::of(names);
        let is_wanted = |number: &usize| {
            self.is_structure(*number)
                && self.may_have(&starts, *number)
                && names.contains(flavourless(self.name(*number)))
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

    /// Tracepoints and functions with these names; of several with one name, the first.
    pub(super) fn hooks(&self, names: &HashSet<Vec<u8>>) -> Hooks {
        let starts = Starts::of(names);
        let mut hooks = Hooks::default();
        for number in self.numbers() {
            let ids = match self.kind(number) {
                TYPEDEF => &mut hooks.tracepoints,
                FUNC => &mut hooks.functions,
                _ => continue,
            };
            if !self.may_have(&starts, number) {
                continue;
            }
            let name = self.name(number);
            if names.contains(name)
                && let Ok(id) = u32::try_from(number)
            {
                ids.entry(name.to_vec()).or_insert(id);
            }
        }
        hooks
    }

    /// A BTF of these types alone, one id after the other. What is not among them is void.
    pub(super) fn renumbered(&self, kept: &[bool]) -> Option<Vec<u8>> {
        let kept: Vec<usize> = self.numbers().filter(|number| kept[*number]).collect();
        let mut part = Part::with_room(kept.len());
        for number in &kept {
            let start = part.types.len();
            let kind = part.add(self, *number)?;
            for at in kind.types() {
                let field = part.types.get_mut(start + at..start + at + 4)?;
                let old = usize::try_from(word(field, 0)?).ok()?;
                let new = kept.binary_search(&old).map_or(0, |place| place + 1);
                field.copy_from_slice(&u32::try_from(new).ok()?.to_ne_bytes());
            }
        }
        Some(description(&part.types, &part.names))
    }

    /// The ids of structures with these names; `None` where several have the name.
    pub(super) fn ids(&self, names: &HashSet<Vec<u8>>) -> HashMap<Vec<u8>, Option<u32>> {
        let mut ids = HashMap::new();
        let starts = Starts::of(names);
        for number in self.numbers() {
            if self.kind(number) != STRUCT || !self.may_have(&starts, number) {
                continue;
            }
            let name = self.name(number);
            if names.contains(name) {
                ids.entry(name.to_vec())
                    .and_modify(|id| *id = None)
                    .or_insert_with(|| u32::try_from(number).ok());
            }
        }
        ids
    }
}

/// How some names start. Few of the kernel's names start like a wanted one, and looking up all of them
/// takes longer than everything else here.
struct Starts(Vec<bool>);

impl Starts {
    fn of(names: &HashSet<Vec<u8>>) -> Self {
        let mut starts = vec![false; 1 << 16];
        for name in names {
            starts[Self::place(name)] = true;
        }
        Self(starts)
    }

    /// Of the first four bytes before the end of the name and before an underscore: where
    /// [`flavourless`] may end it.
    fn place(name: &[u8]) -> usize {
        let start = name.iter().take(4);
        let start = start.take_while(|byte| **byte != 0 && **byte != b'_');
        let number = start.fold(0_u32, |number, byte| number << 8 | u32::from(*byte));
        // The upper half of a product depends on all of its bits (Knuth, multiplicative hashing).
        usize::from((number.wrapping_mul(0x9e37_79b1) >> 16) as u16)
    }

    /// Whether the name at the beginning of `rest` may be one of them.
    fn has(&self, rest: &[u8]) -> bool {
        self.0[Self::place(rest)]
    }
}

struct Part {
    types: Vec<u8>,
    names: Vec<u8>,
}

impl Part {
    fn with_room(count: usize) -> Self {
        Self {
            types: Vec::with_capacity(count * TYPE_BYTES),
            names: vec![0],
        }
    }

    fn add(&mut self, of: &Index<'_>, number: usize) -> Option<Kind> {
        let bytes = of.bytes(number);
        let kind = Kind::at(bytes)?;
        let start = self.types.len();
        self.types.extend(bytes.get(..kind.bytes)?);
        for at in kind.names() {
            let name = of.text(word(bytes, at)?);
            let offset = if name.is_empty() { 0 } else { self.names.len() };
            let field = self.types.get_mut(start + at..start + at + 4)?;
            field.copy_from_slice(&u32::try_from(offset).ok()?.to_ne_bytes());
            if offset > 0 {
                self.names.extend(name);
                self.names.push(0);
            }
        }
        Some(kind)
    }
}

/// One structure may be described in several forms, whose names differ after three underscores.
pub(super) fn flavourless(name: &[u8]) -> &[u8] {
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
        let hooks = index.hooks(&set(&names));
        let number = |name, kind| whole.id_by_type_name_kind(name, kind).ok();
        let [tracepoint, iterator, function] = names;
        let typedef = number(tracepoint, BtfKind::Typedef);
        assert!(typedef.is_some());
        assert_eq!(hooks.tracepoint(tracepoint), typedef);
        for name in [iterator, function] {
            let known = number(name, BtfKind::Func);
            assert!(known.is_some(), "{name}");
            assert_eq!(hooks.function(name), known, "{name}");
        }
        assert_eq!(hooks.function(tracepoint), None);
        assert_eq!(hooks.tracepoint(function), None);
        assert_eq!(hooks.function("vfs_unlink"), None);
        let names = ["task_struct", "files_struct", "none_such"];
        let ids = index.ids(&set(&names));
        assert_eq!(ids.len(), 2);
        for name in ["task_struct", "files_struct"] {
            let number = whole.id_by_type_name_kind(name, BtfKind::Struct).unwrap();
            assert_eq!(ids[name.as_bytes()], Some(number), "{name}");
        }
    }

    /// The types of a structure and of what is inside it, as text.
    fn described(index: &Index<'_>, number: usize, depth: usize) -> String {
        let bytes = index.bytes(number);
        let Some(kind) = Kind::at(bytes).filter(|_| number > 0) else {
            return "void".to_owned();
        };
        let name = String::from_utf8_lossy(index.name(number));
        let names = kind.names().into_iter().skip(1);
        let names = names.map(|at| index.text(word(bytes, at).unwrap()).to_vec());
        let names: Vec<Vec<u8>> = names.collect();
        let size = word(bytes, 8).unwrap();
        let inside = index.inside(number).into_iter();
        let inside = inside.map(|number| match depth {
            0 => String::new(),
            depth => described(index, number, depth - 1),
        });
        let inside: Vec<String> = inside.collect();
        let size = if matches!(kind.number, STRUCT | UNION) {
            size
        } else {
            0
        };
        format!("{}:{name}:{size}:{names:?}{inside:?}", kind.number)
    }

    #[test]
    fn renumbered_structures_are_the_same() {
        let all = all();
        let index = Index::of(&all).unwrap();
        let fields = index
            .renumbered(&index.structures(&set(&["task_struct"])))
            .unwrap();
        assert!(fields.len() < all.len() / 20);
        let fields = Index::of(&fields).unwrap();
        // `sched_entity` lies inside it; `files_struct` is behind a pointer.
        for name in ["task_struct", "sched_entity"] {
            let number = |index: &Index<'_>| {
                let id = index.ids(&set(&[name]))[name.as_bytes()];
                usize::try_from(id.unwrap()).unwrap()
            };
            assert_eq!(
                described(&fields, number(&fields), 6),
                described(&index, number(&index), 6),
                "{name}"
            );
        }
        assert!(fields.ids(&set(&["files_struct"])).is_empty());
    }

    #[test]
    fn what_starts_like_a_wanted_name_may_be_one() {
        let starts = Starts::of(&set(&["task_struct", "bio", "pipe_buffer"]));
        for name in [
            "task_struct\0x",
            "bio\0x",
            "bio___old\0",
            "pipe_inode_info\0",
        ] {
            assert!(starts.has(name.as_bytes()), "{name}");
        }
        for name in ["", "\0bio", "bi\0o", "biovec\0", "inode\0"] {
            assert!(!starts.has(name.as_bytes()), "{name}");
        }
    }

    #[test]
    fn a_flavour_is_of_the_same_structure() {
        assert_eq!(flavourless(b"super_block___before_6_17"), b"super_block");
        assert_eq!(flavourless(b"inode"), b"inode");
    }
}
