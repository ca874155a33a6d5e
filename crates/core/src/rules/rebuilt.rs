//! Files that are worthless after a crash, because they are rebuilt when needed.
//!
//! Names are the last resort: a file that was removed before the end, or is a copy of an existing
//! one, is recognised by the run's behaviour.

use super::fault::name_of;
use crate::trace::{FileRow, TraceResult};

/// How a path is recognised.
enum Sign {
    /// A directory above it has this name, or directories have these names in this order.
    Below(&'static str),
    /// It is the file's name.
    Named(&'static str),
    /// The name ends with this.
    Ends(&'static str),
    /// The name begins with this.
    Begins(&'static str),
}

use Sign::{Begins, Below, Ends, Named};

/// Each sign with the reason why such a file may be lost.
const SIGNS: &[(Sign, &str)] = &[
    (
        Below(".git/logs"),
        "git: reflogs, for people; no reference depends on them",
    ),
    (Below("/var/log"), "hier(7): logs, for people"),
    (Below(".cache"), "XDG base directories: non-essential data"),
    (
        Below("cache"),
        "Filesystem Hierarchy Standard, /var/cache: regenerated",
    ),
    (Below("Cache"), "browsers and Electron: as ~/.cache"),
    (Below("CachedData"), "as Cache"),
    (Below("__pycache__"), "importlib: recompiled when damaged"),
    (
        Below("pg_stat"),
        "PostgreSQL: statistics, reset after a crash",
    ),
    (
        Below("pg_stat_tmp"),
        "PostgreSQL: statistics, reset after a crash",
    ),
    (
        Named("pg_internal.init"),
        "PostgreSQL: relcache, rebuilt (relcache.c)",
    ),
    (
        Named("postmaster.pid"),
        "PostgreSQL: of a server that has exited",
    ),
    (
        Named("postmaster.opts"),
        "PostgreSQL: written at each start",
    ),
    (
        Named("lock.mdb"),
        "LMDB: reader table, initialized by the first opener",
    ),
    (
        Named("LOG"),
        "LevelDB, RocksDB: for people; renamed to LOG.old at each start",
    ),
    (Named("LOG.old"), "LevelDB, RocksDB: for people"),
    (Named("LOCK"), "LevelDB, RocksDB: empty, locked by fcntl"),
    (Named("COMMIT_EDITMSG"), "git: the message is in the commit"),
    (
        Named("ORIG_HEAD"),
        "git: for `git reset`; nothing refers to it",
    ),
    (Named(".viminfo"), "vim: session history"),
    (
        Ends("-shm"),
        "SQLite: WAL index, rebuilt (sqlite.org/wal.html)",
    ),
    (Ends(".pid"), "the process does not survive a crash"),
    (Ends(".lock"), "locks are released when their process exits"),
    (Ends(".lck"), "locks are released when their process exits"),
    (
        Ends(".swp"),
        "vim: synced by itself where it matters ('swapsync')",
    ),
    (Ends(".pyc"), "Python: recompiled when damaged"),
    (Ends(".o"), "compiler output, rebuilt from its sources"),
    (Ends(".d"), "dependency file of a compiler"),
    (Ends(".a"), "archive of compiler output"),
    (Ends(".class"), "compiler output"),
    (Begins(".nfs"), "NFS: removed while open"),
];

/// Directories whose files are not expected to survive a restart (hier(7)).
const TEMPORARY: &[&str] = &["/tmp/", "/var/tmp/", "/run/", "/var/run/", "/dev/shm/"];

/// Whether the file is rebuilt when needed.
pub(super) fn is_rebuilt(file: &FileRow) -> bool {
    let path = name_of(file);
    let (above, name) = path.rsplit_once('/').unwrap_or(("", path));
    SIGNS.iter().any(|(sign, _why)| match sign {
        Below(directory) => is_below(above, directory),
        Named(whole) => name == *whole,
        Ends(end) => name.len() > end.len() && name.ends_with(end),
        Begins(start) => name.starts_with(start),
    })
}

fn is_below(above: &str, directory: &str) -> bool {
    let start = directory.trim_start_matches('/');
    above.match_indices(start).any(|(at, _)| {
        let (before, after) = (&above[..at], &above[at + start.len()..]);
        let begins = before == "/" || before.ends_with('/') && !directory.starts_with('/');
        begins && (after.is_empty() || after.starts_with('/'))
    })
}

/// Whether the file is in a directory for temporary files that is not the program's working
/// directory.
pub(super) fn is_temporary(run: &TraceResult, file: &FileRow) -> bool {
    let works_in = format!("{}/", run.environment.target.path);
    TEMPORARY
        .iter()
        .any(|place| name_of(file).starts_with(place) && !works_in.starts_with(place))
}

#[cfg(test)]
mod tests {
    use super::super::fixture::{file, run};
    use super::*;

    #[test]
    fn caches_locks_and_products_are_made_anew() {
        for path in [
            "/home/a/.cache/app/index",
            "/p/__pycache__/m.cpython-311.pyc",
            "/db/lock.mdb",
            "/run/x.pid",
            "/src/a.o",
            "/data/t.db-shm",
            "/repo/.git/logs/refs/heads/master",
            "/var/log/syslog",
        ] {
            assert!(is_rebuilt(&file(path)), "{path}");
        }
        for path in [
            "/data/t.db",
            "/etc/cached.conf",
            "/x/cached/y",
            "/x/LOG/data",
            "/x/.pid",
            "/srv/var/log/x",
        ] {
            assert!(!is_rebuilt(&file(path)), "{path}");
        }
        let mut locked = file("/repo/.git/index.lock");
        locked.renamed_to = Some("/repo/.git/index".to_owned());
        assert!(!is_rebuilt(&locked), "the name at the end counts");
    }

    #[test]
    fn temporary_is_what_is_in_tmp_for_a_program_that_works_elsewhere() {
        let mut run = run(vec![]);
        assert!(is_temporary(&run, &file("/tmp/x")));
        assert!(!is_temporary(&run, &file("/data/tmp/x")));
        run.environment.target.path = "/tmp/build".to_owned();
        assert!(!is_temporary(&run, &file("/tmp/x")));
    }
}
