//! Completions in the shells themselves, and manual pages in the programs that show them.

use std::ffi::OsString;
use std::fs;
use std::path::Path;
use std::process::Command;

use crate::place::{Place, entries, run};

/// Whether a program is there; otherwise says why the test is skipped.
fn has(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let there = std::env::split_paths(&path).any(|dir| dir.join(program).exists());
    if !there {
        crate::skip::skip(format_args!(
            "{program} is not installed; scripts/deps test installs it"
        ));
    }
    there
}

/// The completions of a shell, in a file; the shell finds no mistake in them.
fn completions(place: &Place, shell: &str, name: &str) -> OsString {
    let script = run(place.iostrata(&format!("completions {shell}"))).expect(0);
    assert_eq!(script.stderr, "");
    let path = place.path(name);
    fs::write(&path, script.stdout).unwrap();
    let mut check = Command::new(shell);
    assert_eq!(
        run({
            check.arg("-n").arg(&path);
            check
        })
        .text(place),
        "exit 0\n"
    );
    path.into_os_string()
}

#[test]
fn bash_completes_commands_options_and_names() {
    if !has("bash") {
        return;
    }
    let place = Place::new();
    let script = completions(&place, "bash", "iostrata.bash");
    // As readline calls the function: program, word, word before.
    let typed = "source \"$0\"
        COMP_WORDS=(\"$@\") COMP_CWORD=$(($# - 1))
        _iostrata \"$1\" \"${@: -1}\" \"${@: -2:1}\"
        echo \"${COMPREPLY[@]}\"";
    for (words, completed) in [
        ("iostrata exp", "explain"),
        ("iostrata lab --mode fda", "fdatasync"),
        ("iostrata explain rename-", "rename-without-fsync"),
        ("iostrata report --par", "--parquet"),
        ("iostrata completions z", "zsh"),
        ("iostrata trace -- sha256su", "sha256sum"),
    ] {
        let mut bash = Command::new("bash");
        bash.args(["--norc", "-c", typed])
            .arg(&script)
            .args(words.split(' '));
        assert_eq!(run(bash).expect(0).stdout.trim_end(), completed, "{words}");
    }
}

#[test]
fn fish_completes_commands_options_and_names() {
    if !has("fish") {
        return;
    }
    let place = Place::new();
    let script = completions(&place, "fish", "iostrata.fish");
    // As fish 3.1 of Debian 11 takes it: every option has a letter, if only one that is not used.
    let text = fs::read_to_string(&script).unwrap();
    let specifications = text
        .lines()
        .find_map(|line| line.strip_prefix("    string join \\n "));
    assert_eq!(specifications, Some("A-color= h/help V/version"));
    for (words, completed) in [
        ("iostrata exp", "explain"),
        ("iostrata lab --mode fda", "fdatasync"),
        ("iostrata explain rename-", "rename-without-fsync"),
        ("iostrata lab buf", "buffering"),
        ("iostrata report --par", "--parquet"),
        ("iostrata trace -- sha256su", "sha256sum"),
    ] {
        let mut fish = Command::new("fish");
        fish.args(["--no-config", "-c", "source $argv[1]; complete -C $argv[2]"]);
        let outcome = run({
            // It keeps a history and a cache.
            fish.arg(&script).arg(words).env("HOME", place.path("home"));
            fish
        });
        let first = outcome.expect(0).stdout;
        let first = first.lines().next().unwrap_or_default();
        assert_eq!(first.split('\t').next(), Some(completed), "{words}");
    }
}

/// Types a word and a tab in a shell on a terminal of its own.
const TYPED: &str = r#"
zmodload zsh/zpty
zpty -b shell zsh -f -i
until_seen() {
    local all= part tries=0
    while (( tries++ < 600 )); do
        if zpty -rt shell part; then all+=$part; else sleep 0.05; fi
        [[ $all == *$1* ]] && return 0
    done
    print -r -- "not seen: $1 in $all"; exit 1
}
zpty -w shell "fpath=(${(q)1} \$fpath); autoload -U compinit; compinit -u -D; print rea''dy"
until_seen ready
zpty -w -n shell "$2"$'\t'
until_seen "$3"
zpty -d shell
"#;

#[test]
fn zsh_completes_commands_options_and_names() {
    if !has("zsh") {
        return;
    }
    let place = Place::new();
    completions(&place, "zsh", "home/_iostrata");
    for (typed, completed) in [
        ("iostrata expl", "iostrata explain"),
        ("iostrata lab --mode fda", "fdatasync"),
        ("iostrata explain rename-", "rename-without-fsync"),
        ("iostrata trace -- sha256su", "iostrata trace -- sha256sum"),
    ] {
        let mut zsh = Command::new("zsh");
        zsh.args(["-f", "-c", TYPED, "zsh"]).arg(place.path("home"));
        zsh.args([typed, completed]);
        assert_eq!(run(zsh).text(&place), "exit 0\n", "{typed}");
    }
}

/// Every long option of a help text.
fn options(help: &str) -> Vec<&str> {
    let words = help.lines().filter_map(|line| {
        let line = line.trim_start();
        let long = line.split_whitespace().find(|word| word.starts_with("--"));
        long.filter(|_| line.starts_with('-'))
    });
    // A value that may be left out is written behind it: `--markdown[=<OUT>]`.
    let names = words.map(|word| word.split(['[', ',']).next().unwrap_or(word));
    names.collect()
}

/// Commands by what is typed for them, and those below them.
fn commands_below(place: &Place, command: &str) -> Vec<String> {
    let help = run(place.iostrata(&format!("{command} --help"))).expect(0);
    let lines = help.stdout.lines();
    let lines = lines.skip_while(|line| *line != "Commands:").skip(1);
    let names = lines
        .take_while(|line| !line.is_empty())
        .filter_map(|line| line.split_whitespace().next());
    let mut all = Vec::new();
    for name in names.filter(|name| *name != "help") {
        let typed = format!("{command} {name}").trim().to_owned();
        let below = commands_below(place, &typed);
        all.push(typed);
        all.extend(below);
    }
    all
}

#[test]
fn manual_pages_are_well_formed_and_have_every_option() {
    let place = Place::new();
    let pages = place.path("man1");
    let mut command = place.iostrata("man");
    assert_eq!(
        run({
            command.arg(&pages);
            command
        })
        .text(&place),
        "exit 0\n"
    );
    let main = run(place.iostrata("man")).expect(0).stdout;
    assert_eq!(fs::read_to_string(pages.join("iostrata.1")).unwrap(), main);
    let commands = commands_below(&place, "");
    assert!(commands.len() >= 10, "{commands:?}");
    assert!(commands.iter().any(|name| name == "cache evict"));
    assert_eq!(entries(&pages).len(), commands.len() + 1);
    for name in commands {
        let file = format!("iostrata-{}.1", name.replace(' ', "-"));
        let page = fs::read_to_string(pages.join(file)).unwrap();
        let help = run(place.iostrata(&format!("{name} --help")))
            .expect(0)
            .stdout;
        assert!(page.contains(".SH EXAMPLES"), "{name}");
        for option in options(&help) {
            let written = option.replace('-', "\\-");
            assert!(
                page.contains(&written),
                "{option} is not in the page of {name}"
            );
        }
    }
    if has("mandoc") {
        for page in entries(&pages) {
            lint(&page);
        }
    }
}

/// Fails on anything that mandoc calls an error, or does not show.
#[track_caller]
fn lint(page: &Path) {
    let mut mandoc = Command::new("mandoc");
    mandoc.args(["-T", "lint", "-W", "error"]).arg(page);
    let outcome = run(mandoc).expect(0);
    assert_eq!((outcome.stdout.as_str(), outcome.stderr.as_str()), ("", ""));
}

#[test]
fn pages_that_cannot_be_written() {
    let outcome = run(Place::new().iostrata("man /proc/none")).expect(3);
    outcome.says(&[
        "cannot write the pages to /proc/none",
        "name a writable directory",
    ]);
}
