//! What is typed, and what is answered when it makes no sense.

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

    Usage: iostrata <COMMAND>

    Commands:
      lab     Run controlled experiments on this machine and answer with evidence
      doctor  Show the storage under a path, and what this kernel and user let iostrata see
      help    Print this message or the help of the given subcommand(s)

    Options:
      -h, --help     Print help
      -V, --version  Print version

    Exit codes: 0 done; 2 wrong usage; 3 this machine or user cannot; 70 a bug in iostrata;
    128 + N ended by signal N (finished rows are still printed and saved).
    ");
}

#[test]
fn help_of_lab() {
    let place = Place::new();
    assert_snapshot!(help("lab --help").text(&place), @r"
    exit 0
    --- stdout
    Run controlled experiments on this machine and answer with evidence

    Usage: iostrata lab [OPTIONS] [EXPERIMENT]...

    Arguments:
      [EXPERIMENT]...
              Experiments; all of them when none is named

              Possible values:
              - buffering: When do written bytes leave the program, and when are they safe?

    Options:
          --mode <MODE>
              How records are handed over; several, separated by commas [default: all]

              Possible values:
              - buffered:        into a user-space buffer of 8 KiB, written when full and at the end
              - flush:           one write(2) for each record
              - fsync:           write and fsync each
              - fdatasync:       write and fdatasync each
              - o_sync:          one write each, file opened with O_SYNC
              - o_dsync:         one write each, file opened with O_DSYNC
              - rwf_dsync:       one pwritev2 with RWF_DSYNC each
              - sync_file_range: write and sync_file_range each; not durable
              - final_fsync:     buffered, one fsync at the end
              - group_fsync:     buffered, one fsync per 100 records

          --size <SIZE>
              Record sizes: bytes, or 4KiB, 1MiB, 100kB [default: 1,100kB]

          --count <N>
              Records per run [default: by size, fewer of large ones]

          --fs <FS>
              File systems; several, separated by commas [default: host, and as root ext4,xfs,btrfs]

              Possible values:
              - host:              the file system of --dir
              - ext4:              an image made for the run, as root, like all that follow: journal
              - ext4-nojournal:    without journal
              - ext4-fast_commit:  journal with fast commits
              - ext4-data_journal: journal that takes file contents too
              - xfs:               with its log
              - btrfs:             copy on write

          --dir <DIR>
              Directory to measure; a scratch directory is made in it and removed [default: this one]

          --quick
              Fewer records and runs

          --thorough
              10,000 records of every size and more runs

          --all-rows
              Print every row of every file system, not only the host's

          --json <FILE>
              Also write the result as JSON (iostrata.lab/1); to standard output, and no text, with -

      -h, --help
              Print help (see a summary with '-h')

    Examples:
      iostrata lab buffering                        all modes, 1 B and 100 kB
      iostrata lab buffering --fs host --mode fsync,fdatasync --size 1KiB --count 5000
      sudo iostrata lab --fs ext4,ext4-nojournal,xfs,btrfs --json result.json
    ");
    // The short form fits the same width and names the same values.
    assert!(
        help("lab -h")
            .stdout
            .contains("sync_file_range, final_fsync")
    );
}

#[test]
fn help_of_doctor() {
    let place = Place::new();
    assert_snapshot!(help("doctor --help").text(&place), @r"
    exit 0
    --- stdout
    Show the storage under a path, and what this kernel and user let iostrata see

    Usage: iostrata doctor [OPTIONS] [PATH]

    Arguments:
      [PATH]  File or directory [default: .]

    Options:
          --json <FILE>  Also write the result as JSON (iostrata.doctor/1); to standard output, and no
                         text, with -
      -h, --help         Print help
    ");
}

#[test]
fn version() {
    let expected = format!("iostrata {}\n", env!("CARGO_PKG_VERSION"));
    assert_eq!(help("--version").stdout, expected);
}

#[test]
fn no_arguments_show_the_commands() {
    let place = Place::new();
    let outcome = run(place.iostrata("")).expect(2);
    outcome.says(&["Usage: iostrata <COMMAND>", "  lab ", "  doctor "]);
    assert_eq!(outcome.stdout, "");
}

#[test]
fn unknown_commands() {
    assert_snapshot!(refused("docto"), @r"
    exit 2
    --- stderr
    error: unrecognized subcommand 'docto'

      tip: a similar subcommand exists: 'doctor'

    Usage: iostrata <COMMAND>

    For more information, try '--help'.
    ");
    assert_snapshot!(refused("fsck"), @r"
    exit 2
    --- stderr
    error: unrecognized subcommand 'fsck'

    Usage: iostrata <COMMAND>

    For more information, try '--help'.
    ");
}

#[test]
fn unknown_names_list_those_that_exist() {
    assert_snapshot!(refused("lab bufering"), @r"
    exit 2
    --- stderr
    error: invalid value 'bufering' for '[EXPERIMENT]...'
      [possible values: buffering]

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
      [possible values: host, ext4, ext4-nojournal, ext4-fast_commit, ext4-data_journal, xfs, btrfs]

      tip: a similar value exists: 'ext4'

    For more information, try '--help'.
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
    error: invalid value '-5' for '--count <N>': it is not a whole number of records, 1 or more

    For more information, try '--help'.
    ");
    assert_snapshot!(refused("lab --count many"), @r"
    exit 2
    --- stderr
    error: invalid value 'many' for '--count <N>': it is not a whole number of records, 1 or more

    For more information, try '--help'.
    ");
    assert_snapshot!(refused("lab --size 1TiB --count 99999999999"), @r"
    exit 2
    --- stderr
    error: 99999999999 records of 1099511627776 bytes are more than a file can hold; ask for less
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
