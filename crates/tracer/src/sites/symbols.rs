//! Names of functions, from symbol tables and separate files with debug information.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::fs::File;
use std::path::Path;
use std::sync::Arc;

use object::{Object as _, SymbolKind};

use super::budget::{Budget, Exceeded};
use super::demangle::demangled;
use super::reads::Reads;
use crate::foreign;

/// Where Debian, Fedora and others put stripped symbols, by build id.
const DEBUG_FILES: &str = "/usr/lib/debug/.build-id";

/// Symbols between two time checks.
const STEP: usize = 1 << 10;

/// The file's names for the functions at some addresses.
#[derive(Debug, Default)]
pub(super) struct Symbols {
    pub(super) names: HashMap<u64, Arc<str>>,
    /// The resource exhausted before all were found.
    pub(super) exceeded: Option<Exceeded>,
}

impl Symbols {
    /// For a file that was not read yet.
    pub(super) fn unread() -> Self {
        Self {
            names: HashMap::new(),
            exceeded: Some(Exceeded::Time),
        }
    }
}

/// Names of the functions at these sorted addresses of the program, where known.
pub(super) fn names(file: File, wanted: &[u64], budget: &Arc<Budget>) -> Symbols {
    let Ok(reads) = Reads::of(file, budget) else {
        return Symbols::default();
    };
    let mut found = HashMap::new();
    let mut separate = None;
    let Ok(object) = object::File::parse(&reads) else {
        return Symbols {
            names: HashMap::new(),
            exceeded: reads.exceeded(),
        };
    };
    look(&reads, object.symbols(), wanted, &mut found, budget);
    look(&reads, object.dynamic_symbols(), wanted, &mut found, budget);
    if found.len() < wanted.len()
        && let Some(file) = debug_file(&object)
        && let Ok(reads) = Reads::of(file, budget)
    {
        let reads = separate.insert(reads);
        if let Ok(object) = object::File::parse(&*reads) {
            look(reads, object.symbols(), wanted, &mut found, budget);
        }
    }
    let mut names = HashMap::new();
    let mut readable: HashMap<&str, Arc<str>> = HashMap::new();
    for (address, symbol) in found {
        if reads.may(budget.check()).is_err() {
            break;
        }
        let name = readable
            .entry(symbol.name)
            .or_insert_with(|| demangled(symbol.name).into());
        names.insert(address, Arc::clone(name));
    }
    Symbols {
        names,
        exceeded: reads
            .exceeded()
            .or_else(|| separate.as_ref().and_then(Reads::exceeded)),
    }
}

struct Symbol<'data> {
    start: u64,
    name: &'data str,
}

/// Keeps, among the functions around each address, the one that begins last, and among its names
/// the plainest: `write` is also `__write` and `__libc_write`.
fn look<'data, S: object::ObjectSymbol<'data>>(
    reads: &Reads,
    symbols: impl Iterator<Item = S>,
    wanted: &[u64],
    found: &mut HashMap<u64, Symbol<'data>>,
    budget: &Budget,
) {
    let mut steps = 0;
    for symbol in symbols {
        let (start, size) = (symbol.address(), symbol.size());
        let is_function = symbol.kind() == SymbolKind::Text && symbol.is_definition();
        let first = wanted.partition_point(|address| *address < start);
        let inside = wanted[first..]
            .iter()
            .take_while(|address| is_function && **address - start < size);
        steps += 1;
        for address in inside {
            steps += 1;
            let Ok(name) = symbol.name() else {
                break;
            };
            let known = found.get(address);
            if known.is_none_or(|known| is_better(start, name, known)) {
                found.insert(*address, Symbol { start, name });
            }
        }
        if steps >= STEP {
            steps = 0;
            if reads.may(budget.check()).is_err() {
                return;
            }
        }
    }
}

fn is_better(start: u64, name: &str, known: &Symbol<'_>) -> bool {
    let plain = |name: &str| name.len() - name.trim_start_matches('_').len();
    let name_of = |name| (plain(name), name.len(), name);
    start > known.start || start == known.start && name_of(name) < name_of(known.name)
}

fn debug_file<'data>(object: &object::File<'data, &'data Reads>) -> Option<File> {
    let id = object.build_id().ok()??;
    let (first, rest) = id.split_first()?;
    let mut path = format!("{DEBUG_FILES}/{first:02x}/");
    for byte in rest {
        // Writing to a string cannot fail.
        _ = write!(path, "{byte:02x}");
    }
    foreign::open(Path::new(&(path + ".debug"))).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_plainest_name_of_the_innermost_function_counts() {
        let known = |start, name| Symbol { start, name };
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
        let maps = super::super::maps::read(std::process::id(), &Arc::default())
            .unwrap()
            .0;
        let address = known_function() as u64;
        let mapping = maps
            .iter()
            .find(|map| (map.start..map.end).contains(&address))
            .unwrap();
        let budget = Arc::default();
        let mut modules = super::super::module::Modules::within(Arc::clone(&budget));
        let found = modules.find(std::process::id(), mapping).unwrap();
        let inside = address - found.bias + 1;
        let symbols = modules.all[found.index].names(&[1, inside], &budget);
        assert_eq!(symbols.exceeded, None);
        let names = symbols.names;
        assert!(
            names[&inside].ends_with("symbols::tests::known_function"),
            "{names:?}"
        );
        assert_eq!(names.get(&1), None);
    }
}
