//! Damaged files and texts: each is read to its end.

use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use framehop::x86_64::CacheX86_64;

use super::Registers;
use super::budget::Budget;
use super::demangle::{demangled, tests::bomb};
use super::maps;
use super::module::Modules;
use super::perf_map::lookup;
use super::process::tests::process_of;
use crate::mutation::{changed, inputs, limited, steps};
use crate::stack::mountinfo::Mounts;

/// Reads changed inputs.
fn reader(test: &str, valid: &[u8], read: impl Fn(&[u8])) {
    limited(&format!("sites::readers::{test}"), |watch| {
        inputs(|random| {
            let input = changed(valid, &steps(random));
            watch.input(|| read(&input));
        });
    });
}

#[test]
fn programs_that_were_changed() {
    let valid = fs::read("/bin/true").unwrap();
    let dir = tempfile::tempdir_in("/var/tmp").unwrap();
    let path = dir.path().join("changed");
    reader("programs_that_were_changed", &valid, |input| {
        fs::write(&path, input).unwrap();
        let mut modules = Modules::within(Arc::default());
        let mut process = process_of(&path, input.len() as u64 + 1);
        let stack: Vec<u8> = (0..64_u64)
            .flat_map(|at| (0x5555_0000_2000 + 0x40 * at).to_le_bytes())
            .collect();
        let registers = Registers {
            ip: 0x5555_0000_2345,
            sp: 0x7fff_0000_0000,
            bp: 0x7fff_0000_0080,
            stack: &stack,
        };
        // Where the unwinding library overflows, there is no stack: `Collector` survives that too.
        let stack = || process.stack(&registers, &mut modules, &mut CacheX86_64::new());
        drop(catch_unwind(AssertUnwindSafe(stack)));
        for module in &modules.all {
            module.names(&[1, 0x1234, 0x2345, u64::MAX], &modules.budget);
        }
    });
}

#[test]
fn perf_maps_that_were_changed() {
    let valid = b"7f10 20 old name\n0x8000 1 LazyCompile:~f\n7f10 10 py::work:/x/y.py\n";
    reader("perf_maps_that_were_changed", valid, |input| {
        lookup(input, &[0x7f10, 0x8000, u64::MAX], &Budget::default());
    });
}

#[test]
fn memory_maps_that_were_changed() {
    let valid = fs::read("/proc/self/maps").unwrap();
    reader("memory_maps_that_were_changed", &valid, |input| {
        maps::parse(input, &Arc::default()).ok();
    });
}

#[test]
fn mount_tables_that_were_changed() {
    let valid = fs::read("/proc/self/mountinfo").unwrap();
    reader("mount_tables_that_were_changed", &valid, |input| {
        let mounts = Mounts::parse(input);
        mounts.with_id(1);
        mounts.holding(std::path::Path::new("/var/tmp"), None);
        mounts.path_of((8, 1), b"/x");
    });
}

#[test]
fn mangled_names_that_were_changed() {
    for valid in [
        bomb(20),
        "_ZNSt6vectorIiSaIiEE12emplace_backIJRKiEEERiDpOT_".to_owned(),
        "_RINvNtCs1234_7mycrate3foo3barNtB4_3BazE".to_owned(),
    ] {
        reader(
            "mangled_names_that_were_changed",
            valid.as_bytes(),
            |input| {
                let shown = demangled(&String::from_utf8_lossy(input));
                assert!(shown.len() < 1100);
            },
        );
    }
}
