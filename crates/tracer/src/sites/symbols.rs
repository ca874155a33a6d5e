//! Names of functions, from symbol tables and separate files with debug information.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::fs::File;

use object::{Object as _, ReadCache, SymbolKind};

/// Where Debian, Fedora and others put what was stripped, by build id.
const DEBUG_FILES: &str = "/usr/lib/debug/.build-id";

/// A C++ name may nest deep enough to take seconds; more than this is shown as it is.
const LONGEST_MANGLED: usize = 4096;

/// Names of the functions at these addresses of the program, where they are known.
pub(super) fn names(file: &ReadCache<File>, addresses: &[u64]) -> HashMap<u64, String> {
    let mut wanted = addresses.to_vec();
    wanted.sort_unstable();
    let mut found = HashMap::new();
    let Ok(object) = object::File::parse(file) else {
        return HashMap::new();
    };
    look(object.symbols(), &wanted, &mut found);
    look(object.dynamic_symbols(), &wanted, &mut found);
    if found.len() < wanted.len()
        && let Some(separate) = debug_file(&object)
        && let Ok(object) = object::File::parse(&separate)
    {
        look(object.symbols(), &wanted, &mut found);
    }
    let readable = |(address, symbol): (u64, Symbol)| (address, demangled(&symbol.name));
    found.into_iter().map(readable).collect()
}

struct Symbol {
    start: u64,
    name: String,
}

/// Keeps of the functions around each address the one that begins last, and of its names
/// the plainest: `write` has `__write` and `__libc_write` too.
fn look<'data, S: object::ObjectSymbol<'data>>(
    symbols: impl Iterator<Item = S>,
    wanted: &[u64],
    found: &mut HashMap<u64, Symbol>,
) {
    for symbol in symbols {
        let (start, size) = (symbol.address(), symbol.size());
        if symbol.kind() != SymbolKind::Text || !symbol.is_definition() || size == 0 {
            continue;
        }
        let first = wanted.partition_point(|address| *address < start);
        let inside = wanted[first..]
            .iter()
            .take_while(|address| **address - start < size);
        for address in inside {
            let Ok(name) = symbol.name() else {
                break;
            };
            let known = found.get(address);
            if known.is_none_or(|known| is_better(start, name, known)) {
                let name = name.to_owned();
                found.insert(*address, Symbol { start, name });
            }
        }
    }
}

fn is_better(start: u64, name: &str, known: &Symbol) -> bool {
    let plain = |name: &str| {
        let bare = name.trim_start_matches('_');
        (name.len() - bare.len(), name.len(), name.to_owned())
    };
    start > known.start || start == known.start && plain(name) < plain(&known.name)
}

fn debug_file<'data>(
    object: &object::File<'data, &'data ReadCache<File>>,
) -> Option<ReadCache<File>> {
    let id = object.build_id().ok()??;
    let (first, rest) = id.split_first()?;
    let mut path = format!("{DEBUG_FILES}/{first:02x}/");
    for byte in rest {
        // Writing to a string cannot fail.
        _ = write!(path, "{byte:02x}");
    }
    let file = File::open(path + ".debug").ok()?;
    Some(ReadCache::new(file))
}

/// Rust and C++ names as their programmers wrote them.
fn demangled(name: &str) -> String {
    if name.len() > LONGEST_MANGLED {
        return name.to_owned();
    }
    if let Ok(rust) = rustc_demangle::try_demangle(name) {
        return format!("{rust:#}");
    }
    // With a version: `_ZNSo5writeEPKcl@@GLIBCXX_3.4`.
    let bare = name.split('@').next().unwrap_or(name);
    let options = cpp_demangle::DemangleOptions::new()
        .no_params()
        .no_return_type();
    cpp_demangle::Symbol::new(bare)
        .ok()
        .and_then(|symbol| symbol.demangle_with_options(&options).ok())
        .unwrap_or_else(|| bare.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_as_written() {
        assert_eq!(demangled("write"), "write");
        assert_eq!(
            demangled("_ZN4core3fmt5write17h0123456789abcdefE"),
            "core::fmt::write"
        );
        assert_eq!(demangled("_RNvC6_123foo3bar"), "123foo::bar");
        assert_eq!(
            demangled("_ZNSo5writeEPKcl@@GLIBCXX_3.4"),
            "std::ostream::write"
        );
        assert_eq!(demangled("_Znonsense"), "_Znonsense");
    }

    #[test]
    fn the_plainest_name_of_the_innermost_function_counts() {
        let known = |start, name: &str| Symbol {
            start,
            name: name.to_owned(),
        };
        assert!(is_better(16, "write", &known(16, "__write")));
        assert!(!is_better(16, "__write", &known(16, "write")));
        assert!(is_better(32, "__inner", &known(16, "outer")));
        assert!(!is_better(16, "outer", &known(32, "__inner")));
    }

    #[inline(never)]
    fn known_function() -> usize {
        known_function as fn() -> usize as usize
    }

    #[test]
    fn a_function_of_this_program_is_found_by_its_address() {
        let maps = super::super::maps::read(std::process::id()).unwrap();
        let address = known_function() as u64;
        let mapping = maps
            .iter()
            .find(|map| (map.start..map.end).contains(&address))
            .unwrap();
        let mut modules = super::super::module::Modules::default();
        let (index, bias, _) = modules.find(std::process::id(), mapping).unwrap();
        let inside = address - bias + 1;
        let names = modules.all[index].names(&[inside, 1]);
        assert!(
            names[&inside].ends_with("symbols::tests::known_function"),
            "{names:?}"
        );
        assert_eq!(names.get(&1), None);
    }
}
