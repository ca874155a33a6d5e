//! The committed eBPF objects match their sources, and so does what the loader knows of them.

use std::collections::BTreeSet;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

#[expect(
    dead_code,
    clippy::print_stdout,
    reason = "it is run when the crate is built"
)]
#[path = "../build.rs"]
mod build;

const BPF: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../bpf");
const SUMS: &str = "iostrata.bpf.sha256";
const OBJECTS: [&str; 5] = ["casts", "casts-log", "plain", "top", "top-plain"];

#[test]
fn the_objects_were_made_from_the_sources_beside_it() {
    let checked = Command::new("sha256sum")
        .args(["--check", "--quiet", "--strict", SUMS])
        .current_dir(BPF)
        .output()
        .unwrap();
    assert!(
        checked.status.success(),
        "run `make bpf` after a change in bpf/: {}{}",
        String::from_utf8_lossy(&checked.stdout),
        String::from_utf8_lossy(&checked.stderr)
    );
}

#[test]
fn every_source_is_recorded() {
    let sums = std::fs::read_to_string(Path::new(BPF).join(SUMS)).unwrap();
    let listed: BTreeSet<String> = sums
        .lines()
        .filter(|line| !line.starts_with('#'))
        .map(|line| line.split_whitespace().nth(1).unwrap().to_owned())
        .collect();
    let present: BTreeSet<String> = std::fs::read_dir(BPF)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| name != SUMS)
        .chain(OBJECTS.map(|name| format!("../crates/tracer/src/ebpf/{name}.bpf.o")))
        .collect();
    assert_eq!(listed, present);
}

/// What `build.rs` derives from `bpf/wire.h`, asserted of that file by a C compiler.
#[test]
fn numbers_are_those_of_the_header() {
    let header = std::fs::read_to_string(Path::new(BPF).join("wire.h")).unwrap();
    let translated = build::translated(&header).unwrap();
    let mut group = "";
    let mut asserted = vec!["#include \"wire.h\"".to_owned()];
    for line in translated.lines() {
        if let Some(module) = line.strip_prefix("pub(crate) mod ") {
            let module = module.trim_end_matches(" {");
            let of_module = build::GROUPS.iter().find(|(_, name, _)| *name == module);
            group = of_module.unwrap().0;
        } else if let Some(constant) = line.strip_prefix("pub(crate) const ") {
            let (name, value) = constant.split_once(": ").unwrap();
            let (kind, value) = value.trim_end_matches(';').split_once(" = ").unwrap();
            let value = value.replace("!0", if kind == "u64" { "~0ULL" } else { "~0U" });
            asserted.push(format!(
                "_Static_assert({group}{name} == ({value}), \"{name}\");"
            ));
        }
    }
    assert!(asserted.len() > 150, "{} numbers", asserted.len());
    let mut compiler = Command::new("cc")
        .args(["-std=gnu11", "-fsyntax-only", "-I", BPF, "-x", "c", "-"])
        .stdin(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let source = asserted.join("\n") + "\n";
    compiler
        .stdin
        .take()
        .unwrap()
        .write_all(source.as_bytes())
        .unwrap();
    let compiled = compiler.wait_with_output().unwrap();
    assert!(
        compiled.status.success(),
        "{}",
        String::from_utf8_lossy(&compiled.stderr)
    );
}

#[test]
fn structures_keep_their_fields() {
    let header = "/* A\n * comment. */\n#pragma once\nstruct file_key {\n\t__u64 inode; /* one */\n\
                  \t__s32 error;\n\tchar name[16];\n\tstruct call_key of[FEW];\n};\n";
    let expected = "wire! { struct FileKey {\n    inode: u64,\n    error: i32,\n    \
                    name: [u8; 16],\n    of: [CallKey; FEW],\n} }\n";
    assert_eq!(build::translated(header).unwrap(), expected);
    for other in ["struct a {\n\tlong b;\n};\n", "typedef int a;\n"] {
        assert!(build::translated(other).is_err(), "{other}");
    }
}
