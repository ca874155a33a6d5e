//! Archives, and the programs that test them.

use std::fs::File;
use std::io::{self, Read as _, Seek as _, SeekFrom};
use std::path::Path;
use std::process::{Command, Stdio};

use super::look::{first_line, here, is_empty, output};
use crate::error::Failure;

/// A format of archives: where it begins with what, its suffixes, and the program that tests it.
struct Format {
    at: usize,
    magic: &'static [u8],
    suffixes: &'static [&'static str],
    program: &'static str,
    arguments: &'static [&'static str],
}

const fn format(
    at: usize,
    magic: &'static [u8],
    suffixes: &'static [&'static str],
    program: &'static str,
    arguments: &'static [&'static str],
) -> Format {
    Format {
        at,
        magic,
        suffixes,
        program,
        arguments,
    }
}

const FORMATS: [Format; 6] = [
    format(0, b"\x1f\x8b", &["gz", "tgz"], "gzip", &["-t", "--"]),
    format(0, b"\xfd7zXZ\0", &["xz", "txz"], "xz", &["-t", "--"]),
    format(
        0,
        b"\x28\xb5\x2f\xfd",
        &["zst", "tzst"],
        "zstd",
        &["-q", "-t", "--"],
    ),
    format(0, b"BZh", &["bz2", "tbz", "tbz2"], "bzip2", &["-t", "--"]),
    format(
        0,
        b"PK\x03\x04",
        &["zip", "jar", "whl"],
        "unzip",
        &["-qq", "-t"],
    ),
    format(257, b"ustar", &["tar"], "tar", &["-tf"]),
];

/// The program that tests an archive, and its package. `dir` is where the path leads from.
pub(super) fn program(
    path: &Path,
    dir: Option<&Path>,
) -> Result<(&'static str, &'static str), Failure> {
    let by_content = || by_content(&dir?.join(path)).ok().flatten();
    let format = by_suffix(path).or_else(by_content).ok_or_else(|| {
        Failure::Usage(format!(
            "--check archive:{}: neither its name nor its content tells a format; it has to end with .gz, .xz, .zst, \
             .bz2, .zip or .tar",
            path.display()
        ))
    })?;
    let package = match format.program {
        "xz" => "xz-utils",
        program => program,
    };
    Ok((format.program, package))
}

/// What is wrong with it.
pub(super) fn archive(path: &Path) -> Result<(), String> {
    let shown = path.display();
    if is_empty(path) {
        return Err(format!("{shown} is empty"));
    }
    let format = by_content(path).map_err(|error| format!("{shown}: {error}"))?;
    let format = format.ok_or_else(|| format!("{shown} does not begin like an archive"))?;
    let mut test = Command::new(format.program);
    test.args(format.arguments).arg(here(path));
    if format.program == "tar" {
        // tar takes a file that ends after any member for a whole one.
        let mut file = File::open(path).map_err(|error| format!("{shown}: {error}"))?;
        let mut last = Vec::new();
        let end = file
            .seek(SeekFrom::End(-1024))
            .and_then(|_| file.read_to_end(&mut last));
        if end.is_err() || last.iter().any(|byte| *byte != 0) {
            return Err(format!("{shown} has no end"));
        }
        test.stdout(Stdio::null());
    }
    let (is_fine, said) = output(&mut test)?;
    if is_fine {
        return Ok(());
    }
    Err(format!("{shown}: {}", first_line(&said)))
}

fn by_suffix(path: &Path) -> Option<&'static Format> {
    let suffix = path.extension()?.to_str()?;
    FORMATS
        .iter()
        .find(|format| format.suffixes.contains(&suffix))
}

fn by_content(path: &Path) -> io::Result<Option<&'static Format>> {
    let mut begin = Vec::new();
    File::open(path)?.take(512).read_to_end(&mut begin)?;
    let is_of = |format: &&Format| {
        let rest = begin.get(format.at..);
        rest.is_some_and(|rest| rest.starts_with(format.magic))
    };
    Ok(FORMATS.iter().find(is_of))
}
