//! Files that are worthless after a crash, because they are rebuilt when needed.
//!
//! Names are the last resort: a file that was removed before the end, or is a copy of an existing
//! one, is recognised by the run's behaviour.

use super::fault::name_of;
use crate::trace::{FileRow, TraceResult};

/// Names of directories above the file; of several, in this order.
const BELOW: &[&str] = &[
    ".git/logs",   // git: reflogs, for people; no reference depends on them
    "/var/log",    // hier(7): logs, for people
    ".cache",      // XDG base directories: non-essential data
    "cache",       // Filesystem Hierarchy Standard, /var/cache: regenerated
    "Cache",       // browsers and Electron: as ~/.cache
    "CachedData",  // as Cache
    "__pycache__", // importlib: recompiled when damaged
    "pg_stat",     // PostgreSQL: statistics, reset after a crash
    "pg_stat_tmp", // PostgreSQL: statistics, reset after a crash
];

const NAMED: &[&str] = &[
    "pg_internal.init", // PostgreSQL: relcache, rebuilt (relcache.c)
    "postmaster.pid",   // PostgreSQL: of a server that has exited
    "postmaster.opts",  // PostgreSQL: written at each start
    "lock.mdb",         // LMDB: reader table, initialized by the first opener
    "LOG",              // LevelDB, RocksDB: for people; renamed to LOG.old at each start
    "LOG.old",          // LevelDB, RocksDB: for people
    "LOCK",             // LevelDB, RocksDB: empty, locked by fcntl
    "COMMIT_EDITMSG",   // git: the message is in the commit
    "ORIG_HEAD",        // git: for `git reset`; nothing refers to it
    ".viminfo",         // vim: session history
];

const ENDS: &[&str] = &[
    "-shm",   // SQLite: WAL index, rebuilt (sqlite.org/wal.html)
    ".pid",   // the process does not survive a crash
    ".lock",  // locks are released when their process exits
    ".lck",   // locks are released when their process exits
    ".swp",   // vim: synced by itself where it matters ('swapsync')
    ".pyc",   // Python: recompiled when damaged
    ".o",     // compiler output, rebuilt from its sources
    ".d",     // dependency file of a compiler
    ".a",     // archive of compiler output
    ".class", // compiler output
];

/// The begin of a name that NFS gives a file removed while open.
const REMOVED_BY_NFS: &str = ".nfs";

/// Directories whose files are not expected to survive a restart (hier(7)).
const TEMPORARY: &[&str] = &["/tmp/", "/var/tmp/", "/run/", "/var/run/", "/dev/shm/"];

/// Whether the file is rebuilt when needed.
pub(super) fn is_rebuilt(file: &FileRow) -> bool {
    let path = name_of(file);
    let (above, name) = path.rsplit_once('/').unwrap_or(("", path));
    BELOW.iter().any(|directory| is_below(above, directory))
        || NAMED.contains(&name)
        || ENDS
            .iter()
            .any(|end| name.len() > end.len() && name.ends_with(end))
        || name.starts_with(REMOVED_BY_NFS)
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
