//! What is typed, and what is answered when it makes no sense.

use std::process::Command;

use insta::assert_snapshot;

use crate::place::{Outcome, Place, run};

#[track_caller]
fn refused(arguments: &str) -> String {
    let place = Place::new();
    let outcome = run(place.iostrata(arguments));
    place.assert_nothing_left();
    outcome.text(&place)
}

fn help(arguments: &str) -> Outcome {
    let place = Place::new();
    let outcome = run(place.iostrata(arguments)).expect(0);
    assert_eq!(outcome.stderr, "");
    assert!(
        !outcome.stdout.contains('`'),
        "marks of the source in {}",
        outcome.stdout
    );
    assert!(
        outcome
            .stdout
            .lines()
            .all(|line| line.chars().count() <= 100),
        "{}",
        outcome.stdout
    );
    outcome
}

#[test]
fn help_of_the_program() {
    let place = Place::new();
    assert_snapshot!(help("--help").text(&place), @r"
    exit 0
    --- stdout
    Shows where a program's file I/O goes, layer by layer: application buffer, system call, page cache,
    file system and journal, device; and what each layer costs

    Usage: iostrata [OPTIONS] <COMMAND>

    Commands:
      lab          Run I/O experiments on this machine and answer questions with evidence
      trace        Run a program, or attach to a running process, and show where its file I/O goes
      top          Show live what all processes do with files, and what keeps the disks busy
      serve        Serve the same to Prometheus, as metrics
      cache        Inspect, warm or evict cached files
      doctor       Show the storage under a path, and what iostrata can observe here
      report       Show the last result or a saved one; export results as tables and metrics
      rebuild      Rebuild the files of an operation log under a directory
      crash        Explore what a crash could leave of a program's files, and what of that breaks them
      mark         Mark a time in a program that crash runs, for crash --after
      compare      Compare two saved results: faster, slower, same or inconclusive
      merge        Merge lab results of several machines into one result
      explain      Print the page of an experiment, rule or term; without a name, list them
      completions  Generate shell completions
      man          Print the manual page, or write the pages of all commands
      help         Print this message or the help of the given subcommand(s)

    Options:
      -h, --help     Print help
      -V, --version  Print version

    Global options:
          --color <WHEN>  When to use colors; auto: on terminals, unless NO_COLOR is set [default: auto]
                          [possible values: auto, always, never]

    Examples:
      iostrata lab --quick                     the cost of writes, reads and syncs in this directory
      iostrata trace -- make                   where a program's file I/O goes
      iostrata top                             who uses the disks right now, and for what
      iostrata doctor /srv                     the storage, and what iostrata can observe
      iostrata explain fsync-per-record        what a finding means and how to fix it
      iostrata report trace.json --csv tables  export a saved result

    Exit codes: 0 success; 1 a --fail-on or --budget condition was met; 2 usage error; 3 not possible on
    this machine or for this user; 4 unreadable or corrupt file; 70 a bug in iostrata; 128 + N ended by
    signal N (finished rows are still printed and saved). trace passes the program's own exit code on;
    125 trace itself failed, 126 the program cannot be run, 127 it was not found.
    ");
}

#[test]
fn help_of_lab() {
    let place = Place::new();
    assert_snapshot!(help("lab --help").text(&place));
    // The short form fits the same width and names the same values.
    let short = help("lab -h").stdout;
    let words: Vec<&str> = short.split_whitespace().collect();
    assert!(words.join(" ").contains("sync_file_range, final_fsync"));
}

#[test]
fn help_of_rebuild() {
    let place = Place::new();
    assert_snapshot!(help("rebuild --help").text(&place), @r"
    exit 0
    --- stdout
    Rebuild the files of an operation log under a directory

    Usage: iostrata rebuild [OPTIONS] <LOG> <DIR>

    Arguments:
      <LOG>  Operation log written by trace --record
      <DIR>  Empty or new directory; nothing is created outside it, whatever the log says

    Options:
          --log-expands <SIZE>  Most bytes that an operation log may expand to, counting payload each
                                time it is referenced, and paths [default: 64GiB]
          --log-memory <SIZE>   Most memory for reading an operation log [default: 768MiB]
      -h, --help                Print help

    Global options:
          --color <WHEN>  When to use colors; auto: on terminals, unless NO_COLOR is set [default: auto]
                          [possible values: auto, always, never]

    Examples:
      iostrata trace --record app.ios -- app
      iostrata rebuild app.ios rebuilt
      diff --recursive --no-dereference /srv/app rebuilt/srv/app
    ");
}

#[test]
fn help_of_doctor() {
    let place = Place::new();
    assert_snapshot!(help("doctor --help").text(&place), @r"
    exit 0
    --- stdout
    Show the storage under a path, and what iostrata can observe here

    Usage: iostrata doctor [OPTIONS] [PATH]

    Arguments:
      [PATH]  File or directory [default: .]

    Options:
          --json <FILE>  Also write the result as JSON (iostrata.doctor/1); - for standard output,
                         without text
      -h, --help         Print help

    Global options:
          --color <WHEN>  When to use colors; auto: on terminals, unless NO_COLOR is set [default: auto]
                          [possible values: auto, always, never]

    Examples:
      iostrata doctor
      iostrata doctor /var/lib/postgresql --json storage.json
    ");
}

/// At the width that is asked for; 80 columns where it is piped and nothing says.
#[test]
fn a_page_is_drawn_at_the_width_of_the_terminal() {
    let place = Place::new();
    let page = |columns: Option<&str>| {
        let mut command = place.iostrata("explain fsync-per-record");
        command.env_remove("COLUMNS");
        if let Some(columns) = columns {
            command.env("COLUMNS", columns);
        }
        let outcome = run(command).expect(0);
        assert_eq!(outcome.stderr, "");
        outcome.stdout
    };
    let widest = |text: &str| text.lines().map(|line| line.chars().count()).max();
    let [narrow, piped, wide] = [Some("60"), None, Some("160")].map(page);
    assert_eq!(
        [&narrow, &piped, &wide].map(|text| widest(text)),
        [Some(60), Some(80), Some(160)]
    );
    let words = |text: &str| {
        text.split_whitespace()
            .map(str::to_owned)
            .collect::<Vec<_>>()
    };
    assert_eq!(words(&narrow), words(&wide));
    assert_snapshot!(piped.lines().take(9).collect::<Vec<_>>().join("\n"), @r"
    fsync-per-record

    The program syncs a file after each small record.

    What it means

    At least 10 syncs of one name, each with at most 64 KiB written since the last.
    Successive files of the same name, such as the journal that SQLite creates and
    removes for every transaction, are counted together.
    ");
}

#[test]
fn pages_that_there_are_not() {
    assert_snapshot!(refused("explain bufering"), @r"
    exit 2
    --- stderr
    error: no page named bufering; did you mean buffering?
    ");
    assert_snapshot!(refused("explain writebackk"), @r"
    exit 2
    --- stderr
    error: no page named writebackk; did you mean write-back?
    ");
    assert_snapshot!(refused("explain xyz"), @r"
    exit 2
    --- stderr
    error: no page named xyz; `iostrata explain` lists them
    ");
}

#[test]
fn terms_of_the_glossary_are_explained() {
    let outcome = run(Place::new().iostrata("explain FUA")).expect(0);
    assert_snapshot!(outcome.stdout, @r"
    FUA

    Forced unit access: a mark on one write that it is complete only on the medium.
    ");
    // A page, and below it what the word means.
    let sync = run(Place::new().iostrata("explain sync")).expect(0).stdout;
    let (_, term) = sync.split_once("\nSync\n").unwrap();
    assert!(
        term.contains("Any call or flag that asks for durability"),
        "{term}"
    );
    let list = run(Place::new().iostrata("explain")).expect(0).stdout;
    let (_, terms) = list.split_once("\nterms\n").unwrap();
    let mut words = terms.split([' ', ',', '\n']);
    assert!(words.any(|term| term == "write-back"), "{terms}");
}

#[test]
fn every_help_has_examples() {
    let help = help("--help").stdout;
    let commands = help.lines().skip_while(|line| *line != "Commands:").skip(1);
    let commands = commands.take_while(|line| !line.is_empty());
    let names = commands.filter_map(|line| line.split_whitespace().next());
    for name in names.filter(|name| *name != "help") {
        let help = run(Place::new().iostrata(&format!("{name} --help")))
            .expect(0)
            .stdout;
        let (_, examples) = help
            .split_once("\nExamples:\n")
            .unwrap_or_else(|| panic!("{name}"));
        assert!(examples.contains(&format!("iostrata {name}")), "{examples}");
    }
}

#[test]
fn colour_is_asked_for_or_not() {
    let place = Place::new();
    let lab = place.path("lab.json");
    let mut command = place.iostrata("lab --quick --fs host --mode flush --size 1 --count 20");
    run({
        command.arg("--json").arg(&lab);
        command
    })
    .expect(0);
    for (variables, coloured) in [
        (&[("NO_COLOR", "")][..], false),
        (&[("NO_COLOR", ""), ("CLICOLOR_FORCE", "1")][..], true),
        (&[("NO_COLOR", ""), ("CLICOLOR_FORCE", "0")][..], false),
        (&[("NO_COLOR", "1"), ("CLICOLOR_FORCE", "1")][..], false),
        (
            &[("NO_COLOR", ""), ("CLICOLOR_FORCE", "1"), ("TERM", "dumb")][..],
            true,
        ),
    ] {
        let mut command = place.iostrata("report");
        command.arg(&lab).envs(variables.iter().copied());
        let drawn = run(command).expect(0).stdout;
        assert_eq!(drawn.contains('\x1b'), coloured, "{variables:?}");
    }
    for (when, forced, coloured) in [
        ("always", "0", true),
        ("never", "1", false),
        ("auto", "1", true),
        ("auto", "0", false),
    ] {
        let mut command = place.iostrata(&format!("report --color {when}"));
        command
            .arg(&lab)
            .env("NO_COLOR", "")
            .env("CLICOLOR_FORCE", forced);
        let drawn = run(command).expect(0).stdout;
        assert_eq!(drawn.contains('\x1b'), coloured, "{when} {forced}");
    }
}

#[test]
fn version() {
    let git = |words: &str| {
        let mut git = Command::new("git");
        git.args(words.split(' '))
            .current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."));
        run(git).expect(0).stdout
    };
    let release = env!("CARGO_PKG_VERSION");
    let commit = git("rev-parse --short=12 HEAD");
    let sources = "status --porcelain -- :/crates/*/src/* :/crates/*/build.rs :/crates/*/Cargo.toml \
        :/Cargo.toml :/Cargo.lock :/docs/experiments :/docs/glossary.md :/docs/rules";
    let words: Vec<&str> = sources.split_whitespace().collect();
    let changed = if git(&words.join(" ")).is_empty() {
        ""
    } else {
        " with changes"
    };
    let expected = format!(
        "iostrata {release} ({}{changed}, {}-unknown-linux-gnu)\n",
        commit.trim_end(),
        std::env::consts::ARCH,
    );
    assert_eq!(help("--version").stdout, expected);
}

#[test]
fn no_arguments_show_the_commands() {
    let place = Place::new();
    let outcome = run(place.iostrata("")).expect(2);
    outcome.says(&["Usage: iostrata [OPTIONS] <COMMAND>", "  lab ", "  doctor "]);
    assert_eq!(outcome.stdout, "");
}

#[test]
fn unknown_commands() {
    assert_snapshot!(refused("docto"), @r"
    exit 2
    --- stderr
    error: unrecognized subcommand 'docto'

      tip: a similar subcommand exists: 'doctor'

    Usage: iostrata [OPTIONS] <COMMAND>

    For more information, try '--help'.
    ");
    assert_snapshot!(refused("fsck"), @r"
    exit 2
    --- stderr
    error: unrecognized subcommand 'fsck'

    Usage: iostrata [OPTIONS] <COMMAND>

    For more information, try '--help'.
    ");
}

#[test]
fn unknown_names_list_those_that_exist() {
    assert_snapshot!(refused("lab bufering"), @r"
    exit 2
    --- stderr
    error: invalid value 'bufering' for '[EXPERIMENT]...'
      [possible values: buffering, page-cache, sync, atime, copy]

      tip: a similar value exists: 'buffering'

    For more information, try '--help'.
    ");
    assert_snapshot!(refused("lab --mode fsync,fsink"), @r"
    exit 2
    --- stderr
    error: invalid value 'fsink' for '--mode <MODE>'
      [possible values: buffered, flush, fsync, fdatasync, o_sync, o_dsync, rwf_dsync, sync_file_range, final_fsync, group_fsync]

      tip: a similar value exists: 'fsync'

    For more information, try '--help'.
    ");
    assert_snapshot!(refused("lab --fs host,ext5"), @r"
    exit 2
    --- stderr
    error: invalid value 'ext5' for '--fs <FS>'
      [possible values: host, ext4, ext4-nojournal, ext4-fast_commit, ext4-data_journal, xfs, btrfs, tmpfs]

      tip: a similar value exists: 'ext4'

    For more information, try '--help'.
    ");
}

/// A tip is right, or is not given.
#[test]
fn tips_fit() {
    assert_snapshot!(refused("explain barrier"), @r"
    exit 2
    --- stderr
    error: no page named barrier; `iostrata explain` lists them
    ");
    assert_snapshot!(refused("lab --fs zfs"), @r"
    exit 2
    --- stderr
    error: invalid value 'zfs' for '--fs <FS>'
      [possible values: host, ext4, ext4-nojournal, ext4-fast_commit, ext4-data_journal, xfs, btrfs, tmpfs]

    For more information, try '--help'.
    ");
    assert_snapshot!(refused("lab --fs btrf"), @r"
    exit 2
    --- stderr
    error: invalid value 'btrf' for '--fs <FS>'
      [possible values: host, ext4, ext4-nojournal, ext4-fast_commit, ext4-data_journal, xfs, btrfs, tmpfs]

      tip: a similar value exists: 'btrfs'

    For more information, try '--help'.
    ");
    assert_snapshot!(refused("trace -f -- ls"), @r"
    exit 2
    --- stderr
    error: unexpected argument '-f' found

      tip: trace follows every process that the program starts; leave -f out

    Usage: iostrata trace [OPTIONS] [COMMAND]...

    For more information, try '--help'.
    ");
    assert_snapshot!(refused("trace --zzz -- ls"), @r"
    exit 2
    --- stderr
    error: unexpected argument '--zzz' found

      tip: options of iostrata stand before the command, those of the command behind it

    Usage: iostrata trace [OPTIONS] [COMMAND]...

    For more information, try '--help'.
    ");
    assert_snapshot!(refused("trace -p sqlite3"), @r"
    exit 2
    --- stderr
    error: invalid value 'sqlite3' for '--pid <PID>': a process is named by its number (PID); --name sqlite3 finds those of a program

    For more information, try '--help'.
    ");
    let place = Place::new();
    let outcome = run(place.iostrata("trace -o none/result.json -- true"));
    assert_snapshot!(outcome.text(&place), @r"
    exit 125
    --- stderr
    error: cannot write the result to none/result.json: No such file or directory (os error 2); name a writable file with -o
    ");
    let outcome = run(place.iostrata("cache show none"));
    assert_snapshot!(outcome.text(&place), @r"
    exit 3
    --- stderr
    error: none: it cannot be opened: No such file or directory (os error 2); name a file or a directory that is there
    ");
}

#[test]
fn numbers_that_cannot_be() {
    assert_snapshot!(refused("lab --size 12XB"), @r"
    exit 2
    --- stderr
    error: invalid value '12XB' for '--size <SIZE>': `XB` in `12XB` is not a unit of size; write B, KiB, MiB, GiB or TiB (powers of 1024), or kB, MB, GB or TB (powers of 1000)

    For more information, try '--help'.
    ");
    assert_snapshot!(refused("lab --size -1"), @r"
    exit 2
    --- stderr
    error: invalid value '-1' for '--size <SIZE>': `-1` is not a size: it does not start with a number; write 4096, 64KiB or 100kB

    For more information, try '--help'.
    ");
    assert_snapshot!(refused("lab --size 0"), @r"
    exit 2
    --- stderr
    error: --size 0 writes nothing; give 1 byte or more
    ");
    assert_snapshot!(refused("lab --size 1,,2"), @r"
    exit 2
    --- stderr
    error: invalid value '' for '--size <SIZE>': `` is not a size: it does not start with a number; write 4096, 64KiB or 100kB

    For more information, try '--help'.
    ");
    assert_snapshot!(refused("lab --count 0"), @r"
    exit 2
    --- stderr
    error: --count 0 leaves nothing to measure; give 1 or more records
    ");
    assert_snapshot!(refused("lab --count -5"), @r"
    exit 2
    --- stderr
    error: invalid value '-5' for '--count <N>': expected a whole number of records, 1 or more

    For more information, try '--help'.
    ");
    assert_snapshot!(refused("lab --count many"), @r"
    exit 2
    --- stderr
    error: invalid value 'many' for '--count <N>': expected a whole number of records, 1 or more

    For more information, try '--help'.
    ");
    assert_snapshot!(refused("lab --size 1TiB --count 99999999999"), @r"
    exit 2
    --- stderr
    error: 99999999999 records of 1099511627776 bytes do not fit in a file; give a smaller --count or --size
    ");
}

#[test]
fn options_that_exclude_each_other() {
    assert_snapshot!(refused("lab --quick --thorough"), @r"
    exit 2
    --- stderr
    error: the argument '--quick' cannot be used with '--thorough'

    Usage: iostrata lab --quick [EXPERIMENT]...

    For more information, try '--help'.
    ");
}

#[test]
fn recordings_that_cannot_be_had() {
    for option in ["--record-reads", "--record-before ."] {
        let text = refused(&format!("trace {option} -- true"));
        assert!(text.starts_with("exit 2"), "{text}");
        assert!(text.contains("--record <FILE>"), "{text}");
    }
    assert_snapshot!(refused("trace --record log --record-before absent -- true"), @r"
    exit 125
    --- stderr
    error: cannot keep what is in absent: No such file or directory (os error 2); name another directory
    ");
    let text = refused("trace --record log --record-before . --record-before-limit 1.5GiB -- true");
    assert!(text.contains("must be a whole number"), "{text}");
}
