//! `iostrata man`: manual pages, made from the same definitions as `--help`.

use std::fs;
use std::io::{self, Write as _};
use std::path::Path;

use clap::{Command, CommandFactory as _};
use clap_mangen::Man;
use clap_mangen::roff::{Roff, roman};

use crate::cli::{Arguments, ManPages};
use crate::error::Failure;
use crate::replacement::Replacement;
use crate::ui;

pub(crate) fn run(options: &ManPages) -> Result<(), Failure> {
    let pages =
        pages().map_err(|error| Failure::Cannot(format!("cannot generate a page: {error}")))?;
    match &options.dir {
        Some(dir) => write(dir, &pages).map_err(|error| {
            Failure::Cannot(format!(
                "cannot write the pages to {}: {error}; name a writable directory",
                dir.display()
            ))
        }),
        None => pages.first().map_or(Ok(()), |page| ui::print(&page.text)),
    }
}

struct Page {
    name: String,
    text: String,
}

/// The page of iostrata, then one for each command.
fn pages() -> io::Result<Vec<Page>> {
    let mut program = Arguments::command()
        .disable_help_subcommand(true)
        .subcommand_value_name("COMMAND")
        .subcommand_help_heading("COMMANDS");
    program.build();
    with_commands("iostrata".to_owned(), &program)
        .into_iter()
        .map(page)
        .collect()
}

/// A command under its whole name, and all below it.
fn with_commands(name: String, command: &Command) -> Vec<Command> {
    let below = command.get_subcommands();
    let below = below.filter(|below| below.get_name() != "help");
    let below =
        below.flat_map(|below| with_commands(format!("{name}-{}", below.get_name()), below));
    let below: Vec<Command> = below.collect();
    let mut all = vec![command.clone().display_name(name)];
    all.extend(below);
    all
}

fn page(command: Command) -> io::Result<Page> {
    let after = command.get_after_help().map(ToString::to_string);
    let has_commands = command.has_subcommands();
    let title = command.get_display_name().unwrap_or("iostrata").to_owned();
    let page = Man::new(command);
    // By hand, as a page without a date is not given the fields behind it else.
    let version = env!("CARGO_PKG_VERSION");
    let mut text =
        format!(".TH {title} 1 \"\" \"iostrata {version}\" \"User Commands\"\n").into_bytes();
    page.render_name_section(&mut text)?;
    page.render_synopsis_section(&mut text)?;
    page.render_description_section(&mut text)?;
    page.render_options_section(&mut text)?;
    if has_commands {
        page.render_subcommands_section(&mut text)?;
    }
    after_help(&after.unwrap_or_default()).to_writer(&mut text)?;
    Ok(Page {
        name: page.get_filename(),
        text: String::from_utf8_lossy(&text).into_owned(),
    })
}

/// What follows the options: examples, whose lines stay as they are, and paragraphs.
fn after_help(text: &str) -> Roff {
    let mut roff = Roff::new();
    let examples = "Examples:\n";
    let (shown, notes): (Vec<&str>, Vec<&str>) = text
        .split("\n\n")
        .partition(|part| part.starts_with(examples));
    for lines in shown.iter().filter_map(|part| part.strip_prefix(examples)) {
        roff.control("SH", ["EXAMPLES"]).control("nf", []);
        for line in lines.lines() {
            roff.text([roman(line.trim_start())]);
        }
        roff.control("fi", []);
    }
    for (position, note) in notes.iter().filter(|note| !note.is_empty()).enumerate() {
        if position == 0 {
            roff.control("SH", ["NOTES"]);
        } else {
            roff.control("PP", []);
        }
        roff.text([roman(note.replace('\n', " "))]);
    }
    roff
}

fn write(dir: &Path, pages: &[Page]) -> io::Result<()> {
    fs::create_dir_all(dir)?;
    for page in pages {
        let replacement = Replacement::begin(&dir.join(&page.name))?;
        replacement.file().write_all(page.text.as_bytes())?;
        replacement.finish()?;
    }
    Ok(())
}
