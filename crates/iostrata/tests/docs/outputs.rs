//! Every output on a page is what the program prints.
//!
//! With `UPDATE_DOCS` in the environment the pages are rewritten instead of compared.

use std::sync::Mutex;
use std::thread;

use iostrata_tracer::page_cache::page_out;
use rustix::process::geteuid;

use crate::compare::{Differences, renewed};
use crate::page::{About, Page, all, root};
use crate::session::Session;

/// Pages checked side by side. Some wait for a disk, most for a processor.
const AT_ONCE: usize = 2;

/// Marks of the program's output that no other text has.
const MARKS: &[&str] = &[
    "observed by eBPF",
    "observed by ptrace",
    "not measured: ",
    "measured here",
    "findings: none",
    "  holds   ",
    "  refuted  ",
    "  inconclusive  ",
    "█",
    " dirty at exit",
];

#[test]
fn outputs_are_those_of_the_program() {
    if !geteuid().is_root() {
        crate::skip::skip("observing programs in the kernel needs root");
        return;
    }
    let pages: Vec<Page> = all().iter().map(|path| Page::read(path)).collect();
    let only = std::env::var("DOCS_PAGE").unwrap_or_default();
    let is_asked = |page: &Page| page.path.to_str().is_some_and(|path| path.contains(&only));
    let queue = Mutex::new(pages.into_iter().filter(is_asked));
    let wrong = Mutex::new(Vec::new());
    thread::scope(|scope| {
        for _worker in 0..AT_ONCE {
            scope.spawn(|| {
                while let Some(page) = { queue.lock().unwrap().next() } {
                    // A thread of its own has mounts of its own.
                    let checked = thread::scope(|scope| scope.spawn(|| check(&page)).join());
                    wrong.lock().unwrap().extend(checked.unwrap());
                }
            });
        }
    });
    let wrong: Vec<String> = wrong.into_inner().unwrap();
    assert!(
        wrong.is_empty(),
        "{}\nIf the program is right: scripts/docs-outputs",
        wrong.join("\n")
    );
}

#[test]
fn no_output_stands_unchecked() {
    for path in all() {
        let page = Page::read(&path);
        for block in &page.blocks {
            let is_checked = !matches!(block.about, About::Plain | About::File(_));
            let lines = page.block(block);
            let mark = |line: &&String| MARKS.iter().any(|mark| line.contains(mark));
            let found = lines.iter().find(mark);
            let at = page.at(block.lines.start);
            assert!(
                is_checked || found.is_none(),
                "{at}: an output without a comment that says how it is made: {found:?}"
            );
            let is_a_prompt = |line: &String| line.starts_with("$ ");
            assert!(
                is_checked || !block.is_fenced || !lines.iter().any(is_a_prompt),
                "{at}: commands without a comment that says that they are run"
            );
        }
    }
}

/// A page is checked at most so often where the kernel takes pages out of the page cache that
/// nobody asked it to: files that its commands have read may be cold again at the next.
const TRIES: usize = 5;

/// Checks one page, or writes it anew. Gives what is wrong with it.
fn check(page: &Page) -> Vec<String> {
    let is_disturbed = !page_out().is_empty() && std::env::var_os("UPDATE_DOCS").is_none();
    let again = if is_disturbed { TRIES - 1 } else { 0 };
    let wrong = (0..again).map(|_| check_once(page.clone()));
    let undisturbed = wrong.into_iter().find(Vec::is_empty);
    undisturbed.unwrap_or_else(|| check_once(page.clone()))
}

fn check_once(mut page: Page) -> Vec<String> {
    let mut wrong = Vec::new();
    let mut session = None;
    let mut changed: Vec<(std::ops::Range<usize>, Vec<String>)> = Vec::new();
    for block in page.blocks.clone() {
        let shown = page.block(&block);
        let new = match &block.about {
            About::Plain => continue,
            About::File(name) => {
                session.get_or_insert_with(Session::new).write(name, shown);
                continue;
            }
            About::Drawn(arguments) => drawn(shown, arguments),
            About::Output { varies, needs } => {
                let session = session.get_or_insert_with(Session::new);
                if let Some(lacking) = needs.iter().find(|program| !session.has(program)) {
                    eprintln!("not checked: {}: no {lacking}", page.at(block.lines.start));
                    continue;
                }
                ran(shown, session, Differences::Figures(varies))
            }
        };
        match new {
            Ok(new) => changed.push((block.lines, new)),
            Err(what) => {
                wrong.push(format!("{}: {}", page.at(block.lines.start), what.message));
                changed.push((block.lines, what.instead));
            }
        }
    }
    if std::env::var_os("UPDATE_DOCS").is_some() {
        for (lines, new) in changed.into_iter().rev() {
            page.lines.splice(lines, new);
        }
        let text = page.lines.join("\n") + "\n";
        std::fs::write(root().join(&page.path), text).unwrap();
    }
    wrong
}

/// An output that is not on the page, or another one is.
struct Wrong {
    message: String,
    /// The block with the outputs that are right or were not there.
    instead: Vec<String>,
}

/// Runs the commands of a block.
fn ran(
    shown: &[String],
    session: &mut Session,
    differences: Differences<'_>,
) -> Result<Vec<String>, Wrong> {
    let mut lines = Vec::new();
    let mut messages = Vec::new();
    let mut rest = shown;
    while let Some((command, expected, after)) = next_command(rest) {
        let text: Vec<&str> = command
            .iter()
            .map(|line| line.trim_start_matches(['$', '>']).trim())
            .collect();
        let real = session.run(&text.join("\n"));
        let tells_its_code = after.first().is_some_and(|next| next.contains("$?"));
        if session.status() != 0 && !tells_its_code {
            messages.push(format!("`{}` ended with {}", command[0], session.status()));
        }
        lines.extend_from_slice(command);
        match renewed(expected, &real, differences) {
            Ok(new) => lines.extend(new),
            Err(segment) => {
                messages.push(format!(
                    "`{}` did not print\n{}\nbut\n{}",
                    command[0],
                    segment.join("\n"),
                    real.join("\n")
                ));
                let is_empty = expected.iter().all(|line| line.trim().is_empty());
                lines.extend_from_slice(if is_empty { &real } else { expected });
            }
        }
        rest = after;
    }
    if messages.is_empty() {
        Ok(lines)
    } else {
        Err(Wrong {
            message: messages.join("\n"),
            instead: lines,
        })
    }
}

/// The next command (`$`, then lines after a backslash), its output, and the rest of the block.
fn next_command(lines: &[String]) -> Option<(&[String], &[String], &[String])> {
    let (first, _) = lines.split_first()?;
    assert!(first.starts_with("$ "), "no command: {first}");
    let continued = lines.iter().take_while(|line| line.ends_with('\\')).count();
    let (command, rest) = lines.split_at(continued + 1);
    let length = rest.iter().position(|line| line.starts_with("$ "));
    let (output, after) = rest.split_at(length.unwrap_or(rest.len()));
    Some((command, output, after))
}

/// Draws a saved result. A first line with a command is the reader's, not compared.
fn drawn(shown: &[String], arguments: &[String]) -> Result<Vec<String>, Wrong> {
    let is_a_prompt = |line: &&String| line.starts_with("$ ");
    let (command, shown) = shown.split_at(shown.iter().take_while(is_a_prompt).count());
    let mut report = std::process::Command::new(env!("CARGO_BIN_EXE_iostrata"));
    report.arg("report").args(arguments).current_dir(root());
    let output = report
        .env("COLUMNS", "100")
        .env("NO_COLOR", "1")
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    let text = String::from_utf8(output.stdout).unwrap();
    let real: Vec<String> = text
        .lines()
        .map(|line| line.trim_end().to_owned())
        .collect();
    let with_command = |lines: Vec<String>| [command.to_vec(), lines].concat();
    match renewed(shown, &real, Differences::None) {
        Ok(new) if new == shown => Ok(with_command(new)),
        Ok(new) => Err(Wrong {
            message: "lines are broken elsewhere".to_owned(),
            instead: with_command(new),
        }),
        Err(segment) => Err(Wrong {
            message: format!("the result drawn has not\n{}", segment.join("\n")),
            instead: with_command(if shown.is_empty() {
                real
            } else {
                shown.to_vec()
            }),
        }),
    }
}
