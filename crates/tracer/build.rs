//! Translates `bpf/wire.h` into what `src/ebpf/wire.rs` includes: a constant for each number, and for each structure
//! a call of the macro `wire!`. It knows as much of C as that file uses, and fails at anything else.

use std::collections::BTreeMap;
use std::error::Error;
use std::fmt::Write as _;
use std::path::PathBuf;

const HEADER: &str = "src/ebpf/wire.h";

/// Numbers whose names begin alike: the module that has them by the rest of their names, and their type. All others
/// are counts.
pub(crate) const GROUPS: [(&str, &str, &str); 17] = [
    ("ADOPTION_", "adoption", "u32"),
    ("CALL_", "call", "u32"),
    ("CAUSE_", "cause", "u8"),
    ("EVENT_", "event", "u32"),
    ("EXTRA_", "extra", "u16"),
    ("JOINED_", "joined_by", "u32"),
    ("LANDED_", "landing", "u32"),
    ("LOSS_", "loss", "u32"),
    ("PAGES_", "pages", "u8"),
    ("PATH_", "path", "u8"),
    ("PAYLOAD_", "form", "u32"),
    ("RUN_", "run", "u32"),
    ("SUBMITTED_BY_", "submitted_by", "u8"),
    ("TOLD_BY_", "told_by", "u8"),
    ("TOUCHED_", "touched", "u32"),
    ("USE_", "using", "u32"),
    ("WANTS_", "wants", "u32"),
];

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed={HEADER}");
    let header = std::fs::read_to_string(HEADER).map_err(|error| format!("{HEADER}: {error}"))?;
    let out = PathBuf::from(std::env::var("OUT_DIR")?);
    Ok(std::fs::write(out.join("wire.rs"), translated(&header)?)?)
}

pub(crate) fn translated(header: &str) -> Result<String, Box<dyn Error>> {
    let text = without_comments(header);
    let mut lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    let (mut structures, mut modules) = (String::new(), BTreeMap::new());
    while let Some(line) = lines.next() {
        let words: Vec<&str> = line.split(' ').collect();
        match words.as_slice() {
            ["#pragma" | "#include", ..] => {}
            _ if line.starts_with("ASSERT_MASK(") || line.starts_with("#define ASSERT_MASK(") => {}
            ["#define", name, value @ ..] => constant(&mut modules, name, &value.join(" "))?,
            ["enum", _, "{"] => {
                let (mut first, mut after) = ("0", 0);
                for line in lines.by_ref().take_while(|line| *line != "};") {
                    let mut name = line.trim_end_matches(',');
                    if let Some((named, value)) = name.split_once(" = ") {
                        (name, first, after) = (named, value, 0);
                    }
                    constant(&mut modules, name, &format!("{first} + {after}"))?;
                    after += 1;
                }
            }
            ["struct", name, "{"] => {
                writeln!(structures, "wire! {{ struct {} {{", camel(name))?;
                for line in lines.by_ref().take_while(|line| *line != "};") {
                    writeln!(structures, "    {},", field(line)?)?;
                }
                structures.push_str("} }\n");
            }
            _ => return Err(format!("{HEADER}: not understood: {line}").into()),
        }
    }
    for (module, constants) in modules {
        match module {
            "" => structures.push_str(&constants),
            _ => writeln!(structures, "pub(crate) mod {module} {{\n{constants}}}")?,
        }
    }
    Ok(structures)
}

fn without_comments(mut header: &str) -> String {
    let mut text = String::new();
    while let Some((before, rest)) = header.split_once("/*") {
        text.push_str(before);
        header = rest.split_once("*/").map_or("", |(_, after)| after);
    }
    text + header
}

/// `#define CALL_READS 8` is `READS: u32 = 8` in the module `call`.
fn constant(
    modules: &mut BTreeMap<&str, String>,
    name: &str,
    value: &str,
) -> Result<(), Box<dyn Error>> {
    let of_group =
        |(start, module, kind): &(_, _, _)| Some((name.strip_prefix(*start)?, *module, *kind));
    let kind = if value.contains("ULL") {
        "u64"
    } else {
        "usize"
    };
    let (name, module, kind) = GROUPS.iter().find_map(of_group).unwrap_or((name, "", kind));
    let value = value.replace('~', "!").replace("ULL", "");
    let to = modules.entry(module).or_default();
    Ok(writeln!(to, "pub(crate) const {name}: {kind} = {value};")?)
}

/// `struct file_key base[2];` is `base: [FileKey; 2]`.
fn field(line: &str) -> Result<String, String> {
    let wrong = || format!("{HEADER}: no field is understood in {line}");
    let (kind, name) = line
        .trim_end_matches(';')
        .rsplit_once(' ')
        .ok_or_else(wrong)?;
    let kind = match (kind, kind.strip_prefix("struct ")) {
        (_, Some(structure)) => camel(structure),
        ("char", _) => "u8".to_owned(),
        ("__u8" | "__u16" | "__u32" | "__u64", _) => kind.replace("__u", "u"),
        ("__s32" | "__s64", _) => kind.replace("__s", "i"),
        _ => return Err(wrong()),
    };
    Ok(match name.trim_end_matches(']').split_once('[') {
        Some((name, count)) => format!("{name}: [{kind}; {count}]"),
        None => format!("{name}: {kind}"),
    })
}

/// `file_key` is `FileKey`.
fn camel(name: &str) -> String {
    let words = name
        .split('_')
        .map(|word| word[..1].to_uppercase() + &word[1..]);
    words.collect()
}
