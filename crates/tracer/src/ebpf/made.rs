//! The maps of an object. What they are is known from the object alone, so they are made while the
//! kernel's types are read.

use std::collections::HashMap;
use std::ffi::CString;
use std::io;
use std::os::fd::{AsFd as _, AsRawFd as _, OwnedFd};
use std::sync::Arc;

use aya::maps::{Map, MapData, MapError};
use aya_obj::btf::BtfFeatures;
use aya_obj::generated::bpf_cmd;
use aya_obj::generated::bpf_map_type::BPF_MAP_TYPE_RINGBUF;
use aya_obj::{EbpfSectionKind, Object};
use object::{Object as _, ObjectSection as _};

use super::object::chain;
use super::program::{NAME_BYTES, Program, number_of, short};
use super::syscall;
use super::types::Types;

#[derive(Debug, thiserror::Error)]
pub(super) enum NotLoaded {
    #[error("the object is not understood: {0}")]
    Object(String),
    #[error(transparent)]
    Map(#[from] MapError),
}

pub(super) struct Settings<'a> {
    /// Values of its constants, and whether it must have them.
    pub(super) constants: HashMap<&'a str, (&'a [u8], bool)>,
    /// Entries of its maps, where they differ from what the object says.
    pub(super) entries: HashMap<&'a str, u32>,
}

pub(super) struct Made {
    maps: HashMap<String, OwnedFd>,
    /// The object's types, in the kernel.
    types: Option<Arc<OwnedFd>>,
}

pub(super) struct Ebpf {
    maps: HashMap<String, Map>,
    programs: HashMap<String, Program>,
}

impl Made {
    pub(super) fn of(object: &[u8], settings: &Settings<'_>) -> Result<Self, NotLoaded> {
        let bare = without_instructions(object);
        let (mut object, types) = understood(bare.as_deref().unwrap_or(object))?;
        let patched = object.patch_map_data(settings.constants.clone());
        patched.map_err(|e| NotLoaded::Object(chain(&e)))?;
        let mut made = Self {
            maps: HashMap::new(),
            types: types.map(Arc::new),
        };
        for (name, mut map) in in_order(std::mem::take(&mut object.maps)) {
            if let Some(entries) = settings.entries.get(name.as_str()) {
                map.set_max_entries(*entries);
            }
            let created = made.create(&name, &map);
            let fd = created.map_err(|io_error| MapError::CreateError {
                name: name.clone(),
                io_error,
            })?;
            fill(&fd, &map).map_err(MapError::IoError)?;
            made.maps.insert(name, fd);
        }
        Ok(made)
    }

    /// Not by `MapData::create`: that may raise `RLIMIT_MEMLOCK`, which the traced program would inherit.
    fn create(&self, name: &str, map: &aya_obj::Map) -> io::Result<OwnedFd> {
        let mut create = Create {
            kind: map.map_type(),
            key_bytes: map.key_size(),
            value_bytes: map.value_size(),
            entries: map.max_entries(),
            flags: map.map_flags(),
            name: short(name),
            ..Create::default()
        };
        if let aya_obj::Map::Btf(map) = map
            && let Some(types) = &self.types
            // It has no types of its keys and values (`ringbuf_map_alloc`, kernel/bpf/ringbuf.c).
            && create.kind != BPF_MAP_TYPE_RINGBUF as u32
        {
            create.types = number_of(types.as_fd());
            create.key = map.def.btf_key_type_id;
            create.value = map.def.btf_value_type_id;
        }
        syscall::create(bpf_cmd::BPF_MAP_CREATE, &mut create)
    }
}

/// Hash tables first. Without privileges they are refused for that, but a table of tasks for its types, which were refused
/// before (`bpf_local_storage_map_alloc_check`, `kernel/bpf/bpf_local_storage.c`).
fn in_order(maps: HashMap<String, aya_obj::Map>) -> Vec<(String, aya_obj::Map)> {
    let mut maps: Vec<_> = maps.into_iter().collect();
    maps.sort_by(|(name, map), (other, than)| {
        (map.map_type(), name).cmp(&(than.map_type(), other))
    });
    maps
}

/// An object with the offsets of this kernel's types.
pub(super) fn relocated(object: &[u8], types: &Types) -> Result<Object, NotLoaded> {
    let mut object = Object::parse(object).map_err(|e| NotLoaded::Object(chain(&e)))?;
    let relocated = object.relocate_btf(&types.fields);
    relocated.map_err(|e| NotLoaded::Object(chain(&e)))?;
    Ok(object)
}

impl Ebpf {
    /// Links an object to its maps. It may differ from the object of the maps in its instructions only.
    pub(super) fn of(mut object: Object, made: Made) -> Result<Self, NotLoaded> {
        let wrong = |error: &dyn std::error::Error| NotLoaded::Object(chain(error));
        let functions = object.functions.keys().map(|(section, _)| *section);
        let functions = functions.collect();
        let maps = std::mem::take(&mut object.maps);
        let maps = maps.iter().filter_map(|(name, map)| {
            let fd = made.maps.get(name)?;
            Some((name.as_str(), fd.as_raw_fd(), map))
        });
        let placed = object.relocate_maps(maps, &functions);
        placed.map_err(|e| wrong(&e))?;
        let linked = object.relocate_calls(&functions);
        linked.map_err(|e| wrong(&e))?;
        let mut programs = HashMap::new();
        for (name, program) in std::mem::take(&mut object.programs) {
            if let Some(function) = object.functions.remove(&program.function_key()) {
                let types = made.types.clone();
                let one = Program::new(&name, CString::clone(&program.license), function, types);
                programs.insert(name, one);
            }
        }
        let maps = made.maps.into_iter().map(|(name, fd)| {
            let map = Map::from_map_data(MapData::from_fd(fd)?)?;
            Ok::<_, MapError>((name, map))
        });
        Ok(Self {
            maps: maps.collect::<Result<_, _>>()?,
            programs,
        })
    }

    pub(super) fn map(&self, name: &str) -> Option<&Map> {
        self.maps.get(name)
    }

    pub(super) fn map_mut(&mut self, name: &str) -> Option<&mut Map> {
        self.maps.get_mut(name)
    }

    pub(super) fn program(&self, name: &str) -> Option<&Program> {
        self.programs.get(name)
    }

    /// Frees the programs that were not loaded.
    pub(super) fn keep_loaded(&mut self) {
        self.programs.retain(|_, program| program.fd().is_some());
    }

    pub(super) fn programs_mut(&mut self) -> HashMap<String, &mut Program> {
        let programs = self.programs.iter_mut();
        programs
            .map(|(name, program)| (name.clone(), program))
            .collect()
    }
}

/// The object without what its types say of its instructions. Aya gives each function its part, which takes
/// a third as long as making the maps.
fn without_instructions(object: &[u8]) -> Option<Vec<u8>> {
    let file = object::File::parse(object).ok()?;
    let (start, _) = file.section_by_name(".BTF.ext")?.file_range()?;
    let start = usize::try_from(start).ok()?;
    let mut bare = object.to_vec();
    // Lengths of its three parts: `struct btf_ext_header`, tools/lib/bpf/libbpf_internal.h.
    for length in [12, 20, 28] {
        bare.get_mut(start + length..start + length + 4)?.fill(0);
    }
    Some(bare)
}

/// The object, and its types in the kernel, in a form that this kernel takes. Where the kernel takes
/// none, its maps have no types.
fn understood(bytes: &[u8]) -> Result<(Object, Option<OwnedFd>), NotLoaded> {
    let newest = BtfFeatures::new(true, true, true, true, true, true, true, true);
    let (object, types) = with_types(bytes, &newest)?;
    if types.is_some() {
        return Ok((object, types));
    }
    // Trying what the kernel lacks takes longer than making a map.
    match aya::features().btf() {
        Some(features) => with_types(bytes, features),
        None => Ok((object, None)),
    }
}

fn with_types(
    bytes: &[u8],
    features: &BtfFeatures,
) -> Result<(Object, Option<OwnedFd>), NotLoaded> {
    let mut object = Object::parse(bytes).map_err(|e| NotLoaded::Object(chain(&e)))?;
    let types = object.fixup_and_sanitize_btf(features);
    let types = types.map_err(|e| NotLoaded::Object(chain(&e)))?;
    let loaded = types.map(|types| load_types(&types.to_bytes()));
    Ok((object, loaded.and_then(Result::ok)))
}

/// The part of `bpf_attr` for loading types.
#[repr(C)]
#[derive(Default)]
struct LoadTypes {
    types: u64,
    log: u64,
    bytes: u32,
    log_bytes: u32,
    log_level: u32,
    pad: u32,
}

fn load_types(types: &[u8]) -> io::Result<OwnedFd> {
    let mut load = LoadTypes {
        types: types.as_ptr().expose_provenance() as u64,
        bytes: u32::try_from(types.len()).map_err(io::Error::other)?,
        ..LoadTypes::default()
    };
    syscall::create(bpf_cmd::BPF_BTF_LOAD, &mut load)
}

/// The part of `bpf_attr` for making a map.
#[repr(C)]
#[derive(Default)]
struct Create {
    kind: u32,
    key_bytes: u32,
    value_bytes: u32,
    entries: u32,
    flags: u32,
    inner: u32,
    node: u32,
    name: [u8; NAME_BYTES],
    interface: u32,
    types: u32,
    key: u32,
    value: u32,
}

/// The part of `bpf_attr` for an entry of a map.
#[repr(C)]
#[derive(Default)]
struct Update {
    map: u32,
    pad: u32,
    key: u64,
    value: u64,
    flags: u64,
}

/// Constants and variables of the object are the only entry of their map.
fn fill(fd: &OwnedFd, map: &aya_obj::Map) -> io::Result<()> {
    if !map.data().is_empty() {
        let key = 0_u32;
        let mut update = Update {
            map: number_of(fd.as_fd()),
            key: (&raw const key).expose_provenance() as u64,
            value: map.data().as_ptr().expose_provenance() as u64,
            ..Update::default()
        };
        syscall::bpf(bpf_cmd::BPF_MAP_UPDATE_ELEM, &mut update)?;
    }
    if map.section_kind() == EbpfSectionKind::Rodata {
        let mut frozen = number_of(fd.as_fd());
        syscall::bpf(bpf_cmd::BPF_MAP_FREEZE, &mut frozen)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use aya_obj::generated::bpf_map_type;

    use super::*;

    #[test]
    fn what_is_refused_without_privileges_is_refused_for_that() {
        for bytes in [
            &include_bytes!("plain.bpf.o")[..],
            include_bytes!("top.bpf.o"),
        ] {
            let maps = in_order(Object::parse(bytes).unwrap().maps);
            let kinds: Vec<u32> = maps.iter().map(|(_, map)| map.map_type()).collect();
            assert_eq!(kinds[0], bpf_map_type::BPF_MAP_TYPE_HASH as u32);
            assert!(kinds.contains(&(bpf_map_type::BPF_MAP_TYPE_TASK_STORAGE as u32)));
        }
    }
}
