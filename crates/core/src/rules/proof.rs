//! The `iostrata crash` command line that shows a finding about a crash, where there is one.
//!
//! `crash` runs the program in a copy of a directory, so the command must reach its files by paths that are relative
//! to that directory.

use std::borrow::Cow;

use super::fault::name_of;
use crate::trace::{FileRow, Finding, TraceResult};

/// Directories that are shared by all programs: nobody wants a copy of everything in them.
const SHARED: &[&str] = &["/tmp", "/var/tmp", "/dev/shm"];

/// The files that crash looks at.
enum Look {
    /// The log of system calls has them.
    Calls,
    /// Only the device sees them: stores through a mapping are in no call.
    Device,
}

/// How crash shows what a rule says; `None` for a rule that is not about a crash.
fn look(run: &TraceResult, finding: &Finding) -> Option<Result<Look, String>> {
    let said = |why: &str| Err(why.to_owned());
    Some(match finding.rule.as_str() {
        "unlink-before-durable" if files(run, finding).any(|file| file.renamed_to.is_some()) => {
            said(
                "the program itself leaves a moment without the file, and without --check crash accepts that",
            )
        }
        "acknowledged-not-synced"
        | "close-without-sync"
        | "overwritten-in-place"
        | "rename-without-fsync"
        | "sync-range-is-not-durable"
        | "truncate-then-write"
        | "unlink-before-durable" => Ok(Look::Calls),
        "mapped-not-synced" => Ok(Look::Device),
        "directory-not-synced" if is_reported(run, finding) => Ok(Look::Calls),
        "directory-not-synced" => said(
            "the program reported nothing after the change of the name, and without --check crash expects \
             only what was reported",
        ),
        "ignored-fsync-error" => said("crash makes no sync fail"),
        _ => return None,
    })
}

/// Whether the program reported something after the names of all these files had changed.
fn is_reported(run: &TraceResult, finding: &Finding) -> bool {
    let mut files = files(run, finding).peekable();
    files.peek().is_some()
        && files.all(|file| {
            let history = file.history.as_deref();
            history.is_some_and(|history| history.name_acknowledged)
        })
}

fn files<'r>(run: &'r TraceResult, finding: &'r Finding) -> impl Iterator<Item = &'r FileRow> {
    let is_cited = |file: &&FileRow| paths(finding).any(|path| path == name_of(file));
    run.files.iter().filter(is_cited)
}

fn paths(finding: &Finding) -> impl Iterator<Item = &str> {
    finding
        .evidence
        .iter()
        .filter_map(|cited| cited.path.as_deref())
}

/// Gives each finding about a crash its command, or the reason why there is none. `home` is the home
/// directory of the user.
pub fn prove(run: &mut TraceResult, home: Option<&str>) {
    let proofs: Vec<_> = run
        .findings
        .iter()
        .map(|finding| {
            let look = look(run, finding)?;
            Some(look.and_then(|look| command(run, finding, &look, home)))
        })
        .collect();
    for (finding, proof) in run.findings.iter_mut().zip(proofs) {
        (finding.crash_command, finding.no_crash_command_because) = match proof {
            Some(Ok(line)) => (Some(line), None),
            Some(Err(why)) => (None, Some(why)),
            None => (None, None),
        };
    }
}

fn command(
    run: &TraceResult,
    finding: &Finding,
    look: &Look,
    home: Option<&str>,
) -> Result<String, String> {
    if run.is_attached() {
        return Err("iostrata did not start the program".to_owned());
    }
    if !run.command.iter().all(|word| is_text(word)) {
        return Err("an argument of the program is not plain text".to_owned());
    }
    let files: Vec<&str> = paths(finding)
        .filter(|path| path.starts_with('/'))
        .collect();
    let working = run.environment.target.path.as_str();
    let place = Place { run, home };
    let in_working = files.iter().any(|path| below(path, working).is_some());
    let (directory, words) = if in_working && place.is_own(working) {
        (working, place.here(working)?)
    } else {
        let directory = common(&files).ok_or("its files have no directory in common")?;
        (directory, place.elsewhere(working, directory)?)
    };
    let mode = match look {
        Look::Calls => &[][..],
        Look::Device => &["--mode", "block"],
    };
    let mut line = vec!["iostrata", "crash"];
    line.extend(mode);
    line.extend(["--dir", directory, "--"]);
    line.extend(words.iter().map(String::as_str));
    let words: Vec<_> = line.into_iter().map(quoted).collect();
    Ok(words.join(" "))
}

/// A word for a shell, in quotes as a whole.
fn quoted(word: &str) -> Cow<'_, str> {
    match shlex::try_quote(word) {
        Ok(Cow::Borrowed(plain)) => plain.into(),
        Ok(Cow::Owned(parts)) if word.contains('\'') => parts.into(),
        // There is no NUL in an argument (execve(2)).
        Ok(Cow::Owned(_)) | Err(_) => format!("'{word}'").into(),
    }
}

/// The run, and what nobody wants copied.
struct Place<'r> {
    run: &'r TraceResult,
    home: Option<&'r str>,
}

impl Place<'_> {
    /// Whether the directory may be the program's own.
    fn is_own(&self, directory: &str) -> bool {
        let holds = |other: &str| below(other, directory).is_some();
        is_text(directory)
            && directory.starts_with('/')
            && !self.home.is_some_and(holds)
            && !SHARED.iter().any(|shared| holds(shared))
    }

    /// The command for a copy of the working directory.
    fn here(&self, working: &str) -> Result<Vec<String>, String> {
        let words = self.run.command.iter().enumerate();
        let words = words.map(|(place, word)| {
            let (option, value) = split(word);
            let is_path = place > 0 || value.contains('/');
            let full = normal(working, value);
            let inside = below(&full, working);
            let value = match inside {
                Some(rest) if value.starts_with('/') => relative(rest, place == 0),
                None if is_path && value.starts_with("../") => full,
                _ => value.to_owned(),
            };
            unmentioned(format!("{option}{value}"), working)
        });
        words.collect()
    }

    /// The command for a copy of a directory that is named in the arguments.
    fn elsewhere(&self, working: &str, directory: &str) -> Result<Vec<String>, String> {
        if !self.is_own(directory) {
            return Err(format!(
                "crash would copy all of {directory}; run the program in a directory that has only its files"
            ));
        }
        if self.run.command.iter().any(|word| word == "-c") {
            return Err(format!(
                "the program is a script in an argument, whose paths are not known; run it in {directory}"
            ));
        }
        let mut is_named = false;
        let words = self.run.command.iter().enumerate();
        let words = words.map(|(place, word)| {
            let (option, value) = split(word);
            if place == 0 && !value.contains('/') || value.is_empty() || value.starts_with('-') {
                return unmentioned(word.clone(), directory);
            }
            let full = normal(working, value);
            let value = match below(&full, directory) {
                Some(rest) if place > 0 => {
                    is_named = true;
                    relative(rest, false)
                }
                _ if place == 0 || self.has(&full) => full,
                _ => value.to_owned(),
            };
            unmentioned(format!("{option}{value}"), directory)
        });
        let words: Result<Vec<String>, String> = words.collect();
        let words = words?;
        if !is_named {
            return Err(format!(
                "no argument of the program names {directory}, so it would not use a copy; run it in {directory}"
            ));
        }
        Ok(words)
    }

    /// Whether the run used this file.
    fn has(&self, path: &str) -> bool {
        let mut files = self.run.files.iter();
        files.any(|file| file.path == path || name_of(file) == path)
    }
}

/// Text that survives a copy from a screen.
fn is_text(word: &str) -> bool {
    !word.contains(|letter: char| letter.is_control() || letter == char::REPLACEMENT_CHARACTER)
}

/// `--file=` and the rest; anything else is all value.
fn split(word: &str) -> (&str, &str) {
    match word.find('=') {
        Some(end) if word.starts_with('-') => word.split_at(end + 1),
        _ => ("", word),
    }
}

/// An absolute path without `.` and `..`, as far as names say.
fn normal(working: &str, path: &str) -> String {
    let from = if path.starts_with('/') { "" } else { working };
    let mut names = Vec::new();
    for name in from.split('/').chain(path.split('/')) {
        match name {
            "" | "." => {}
            ".." => {
                names.pop();
            }
            name => names.push(name),
        }
    }
    format!("/{}", names.join("/"))
}

/// The path from the directory on; `None` where it is not in it.
fn below<'p>(path: &'p str, directory: &str) -> Option<&'p str> {
    let rest = path.strip_prefix(directory.trim_end_matches('/'))?;
    match rest.strip_prefix('/') {
        Some(rest) => Some(rest),
        None => rest.is_empty().then_some(""),
    }
}

fn relative(rest: &str, is_program: bool) -> String {
    match rest {
        "" => ".".to_owned(),
        rest if is_program || rest.starts_with('-') => format!("./{rest}"),
        rest => rest.to_owned(),
    }
}

/// A word, unless it has the directory somewhere inside: the program would use the files themselves.
fn unmentioned(word: String, directory: &str) -> Result<String, String> {
    if word.contains(directory) {
        return Err(format!(
            "an argument of the program has {directory} inside; run the program with paths relative to it"
        ));
    }
    Ok(word)
}

/// The innermost directory that has all these files.
fn common<'p>(files: &[&'p str]) -> Option<&'p str> {
    let directory = |path: &'p str| path.rsplit_once('/').map(|(directory, _)| directory);
    let (first, rest) = files.split_first()?;
    let mut common = directory(first)?;
    for file in rest {
        while below(file, common).is_none() {
            common = directory(common)?;
        }
    }
    Some(if common.is_empty() { "/" } else { common })
}

#[cfg(test)]
mod tests {
    use super::super::fixture::{changed, run};
    use super::super::rule::Subject;
    use super::super::{ALL, rename_without_fsync};
    use super::*;
    use crate::trace::{Cited, FileHistory};

    /// The command for a rename of these files by a program in `/work/app`.
    fn said_of(rule: &str, files: &[&str], words: &[&str]) -> Result<String, String> {
        let rows = files.iter();
        let rows = rows.map(|path| changed(path, FileHistory::default()));
        said_of_rows(rule, rows.collect(), files, words)
    }

    fn said_of_rows(
        rule: &str,
        rows: Vec<FileRow>,
        files: &[&str],
        words: &[&str],
    ) -> Result<String, String> {
        let mut run = run(rows);
        run.environment.target.path = "/work/app".to_owned();
        run.command = words.iter().map(|word| (*word).to_owned()).collect();
        let cited = files.iter().map(|path| Cited {
            path: Some((*path).to_owned()),
            ..super::super::draft::said(String::new())
        });
        run.findings = vec![Finding {
            rule: rule.to_owned(),
            evidence: cited.collect(),
            ..rename_without_fsync::RULE.finding()
        }];
        prove(&mut run, Some("/home/me"));
        let finding = &run.findings[0];
        match (&finding.crash_command, &finding.no_crash_command_because) {
            (Some(line), None) => Ok(line.clone()),
            (None, Some(why)) => Err(why.clone()),
            (None, None) => Err("nothing".to_owned()),
            both => panic!("{both:?}"),
        }
    }

    fn line(files: &[&str], words: &[&str]) -> String {
        said_of("rename-without-fsync", files, words).unwrap_or_else(|why| format!("no: {why}"))
    }

    #[test]
    fn a_program_in_its_directory_is_run_as_it_was() {
        let file = "/work/app/config/a b";
        let begin = "iostrata crash --dir /work/app -- ";
        for (words, expected) in [
            (&["./save", "a b"][..], "./save 'a b'"),
            (
                &["sh", "-c", "echo \"$1\" > x; mv x y", "it's"],
                "sh -c 'echo \"$1\" > x; mv x y' \"it's\"",
            ),
            (
                &["/work/app/save", "/work/app", "--to=/work/app/config"],
                "./save . '--to=config'",
            ),
            (
                &["../bin/save", "../data/in"],
                "/work/bin/save /work/data/in",
            ),
            (&["save", "", "~"], "save '' '~'"),
        ] {
            assert_eq!(line(&[file], words), format!("{begin}{expected}"));
        }
        assert!(line(&[file], &["sh", "-c", "echo > /work/app/x"]).starts_with("no: "));
    }

    #[test]
    fn a_directory_that_is_named_is_the_one_that_is_copied() {
        let files = ["/data/db/a", "/work/app/in"];
        assert_eq!(
            line(&files[..1], &["./save", "in", "/data/db/a", "s/x/y/"]),
            "iostrata crash --dir /data/db -- /work/app/save in a s/x/y/"
        );
        // What the run read from its working directory is read from there again.
        let both = line(
            &["/data/db/a", "/data/db/c/d"],
            &["save", "--out", "/data/db"],
        );
        assert_eq!(both, "iostrata crash --dir /data/db -- save --out .");
        assert!(
            line(&["/data/db/a"], &["save"]).contains("no argument of the program names /data/db")
        );
        assert!(
            line(
                &["/data/db/a"],
                &["sh", "-c", "cat > $1", "sh", "/data/db/a"]
            )
            .contains("script")
        );
    }

    #[test]
    fn nobody_is_told_to_copy_a_home_or_everything() {
        for file in ["/home/me/x", "/tmp/x", "/x", "/home/x", "/var/x"] {
            let said = line(&[file], &["save", file]);
            assert!(said.starts_with("no: crash would copy all of /"), "{said}");
        }
        assert!(line(&["/home/me/app/x"], &["save", "/home/me/app/x"]).ends_with("-- save x"));
    }

    #[test]
    fn what_no_command_shows_has_its_reason() {
        let why = |rule: &str| said_of(rule, &["/work/app/x"], &["save"]).unwrap_err();
        assert!(why("ignored-fsync-error").contains("no sync fail"));
        assert!(why("directory-not-synced").contains("reported nothing"));
        assert_eq!(why("small-writes"), "nothing");
        let gone = FileRow {
            renamed_to: Some("/work/app/x".to_owned()),
            ..changed("/work/app/new", FileHistory::default())
        };
        let removed = said_of_rows(
            "unlink-before-durable",
            vec![gone],
            &["/work/app/x"],
            &["save"],
        );
        assert!(removed.unwrap_err().contains("without --check"));
        let mapped = said_of("mapped-not-synced", &["/work/app/x"], &["save"]).unwrap();
        assert_eq!(
            mapped,
            "iostrata crash --mode block --dir /work/app -- save"
        );
        let odd = line(&["/work/app/x"], &["save", "\u{fffd}"]);
        assert!(odd.contains("not plain text"), "{odd}");
    }

    #[test]
    fn every_rule_about_a_crash_is_known() {
        for rule in ALL {
            let is_about_a_crash = matches!(rule.at, Subject::Crash(..) | Subject::CrashOf(..))
                || rule.id == "directory-not-synced";
            let finding = rule.finding();
            assert_eq!(
                look(&run(vec![]), &finding).is_some(),
                is_about_a_crash,
                "{}",
                rule.id
            );
        }
    }
}
