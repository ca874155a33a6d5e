//! Automatically saved results: the last ones, readable only by this user.
//!
//! They are in `iostrata/results` below `XDG_STATE_HOME`, or `~/.local/state` (XDG base directory
//! specification 0.8). If a result cannot be saved, the user sees a note; it is never a failure.

use std::ffi::{OsStr, OsString};
use std::io::{self, Write as _};
use std::os::fd::{AsFd as _, BorrowedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use rustix::fs::{AtFlags, Dir, Mode, Stat, fchmod, fstat, mkdirat, unlinkat};
use rustix::io::Errno;
use rustix::process::geteuid;

use crate::replacement::Replacement;
use crate::ui;
use iostrata_lab::place::{self, Found, Place};

/// Number of results kept, of all kinds together.
const MOST: usize = 20;

/// Larger results are not kept automatically: twenty of them would fill a disk.
const LARGEST_BYTES: usize = 32 << 20;

/// Path below the state directory.
const WHERE: &str = "iostrata/results";

/// Root's own state directory. If HOME is that of another user, as some `sudo` configurations set it, that user does
/// not want files of root there.
const OF_ROOT: &str = "/root/.local/state";

/// The command that made a result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Lab,
    Trace,
}

impl Kind {
    fn as_str(self) -> &'static str {
        match self {
            Self::Lab => "lab",
            Self::Trace => "trace",
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Kept {
    pub(crate) path: PathBuf,
    pub(crate) kind: Kind,
    /// Larger than that of all results before.
    number: u64,
}

/// Keeps a result, and prints a note if it cannot. Returns whether it is kept.
pub(crate) fn keep(kind: Kind, json: &str) -> bool {
    let kept = write(kind, json.as_bytes());
    if let Err(error) = &kept {
        ui::say(&format!(
            "note: this result was not saved for iostrata report ({error}); --json FILE saves it, \
             --no-save turns saving off"
        ));
    }
    kept.is_ok()
}

fn write(kind: Kind, json: &[u8]) -> io::Result<()> {
    if json.len() > LARGEST_BYTES {
        return Err(io::Error::other("it is larger than 32 MiB"));
    }
    let directory = make(&base()?)?;
    let numbers = names(open_directory(&directory)?.as_fd())?;
    let last = numbers
        .iter()
        .filter_map(|name| Some(parsed(name)?.1))
        .max();
    let place = named(&directory.join(name(kind, number_after(last))))?;
    check_owner(&fstat(place.directory())?)?;
    prune(place.directory(), MOST - 1)?;
    let replacement = Replacement::begin_at(place)?;
    fchmod(replacement.file(), Mode::from_raw_mode(0o600))?;
    replacement.file().write_all(json)?;
    replacement.finish()
}

/// Kept results, the last one first; none if their directory does not exist.
pub(crate) fn all() -> io::Result<Vec<Kept>> {
    let directory = base()?.join(WHERE);
    let opened = match open_directory(&directory) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        opened => opened?,
    };
    check_owner(&fstat(&opened)?)?;
    let mut all: Vec<Kept> = names(opened.as_fd())?
        .into_iter()
        .filter_map(|name| {
            let (kind, number) = parsed(&name)?;
            let path = directory.join(name);
            Some(Kept { path, kind, number })
        })
        .collect();
    all.sort_by(|one, other| (other.number, &other.path).cmp(&(one.number, &one.path)));
    Ok(all)
}

/// Milliseconds since 1970; the next number if the clock was ahead at the last result, which would stay the last.
fn number_after(last: Option<u64>) -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    let now_ms = since.map_or(0, |since| {
        u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
    });
    now_ms.max(last.map_or(0, |last| last.saturating_add(1)))
}

/// The state directory.
fn base() -> io::Result<PathBuf> {
    let [state, home] = ["XDG_STATE_HOME", "HOME"].map(std::env::var_os);
    match base_of(state, home) {
        Some(base) => Ok(base),
        None if geteuid().is_root() => Ok(OF_ROOT.into()),
        None => Err(io::Error::other(
            "neither XDG_STATE_HOME nor HOME is a directory of this user",
        )),
    }
}

/// A home that does not exist is meant not to: Debian's nobody has `/nonexistent`.
fn base_of(state: Option<OsString>, home: Option<OsString>) -> Option<PathBuf> {
    let home = home.map(PathBuf::from).filter(|home| home.is_dir());
    let all = [
        state.map(PathBuf::from),
        home.map(|home| home.join(".local/state")),
    ];
    let mut all = all.into_iter().flatten();
    all.find(|base| base.is_absolute() && is_own(base))
}

/// Whether this user owns the innermost existing directory on a path, and it is not the root of all.
fn is_own(path: &Path) -> bool {
    let mut outer = path.ancestors();
    let there = outer.find_map(|path| Some((path, path.metadata().ok()?)));
    there.is_some_and(|(at, found)| {
        at != Path::new("/") && std::os::unix::fs::MetadataExt::uid(&found) == geteuid().as_raw()
    })
}

/// Creates the missing directories of results, for this user alone.
fn make(base: &Path) -> io::Result<PathBuf> {
    let directory = base.join(WHERE);
    let mut outer: Vec<&Path> = directory.ancestors().collect();
    outer.reverse();
    for path in outer {
        let place = match place::find(path)? {
            Found::Name(place) => place,
            Found::Directory(_) => continue,
            Found::Descriptor(_) => return Err(Errno::NOTDIR.into()),
        };
        if place.stat()?.is_none() {
            let mode = Mode::from_raw_mode(0o700);
            match mkdirat(place.directory(), place.name(), mode) {
                // Another run has just created it.
                Ok(()) | Err(Errno::EXIST) => {}
                Err(errno) => return Err(errno.into()),
            }
        }
    }
    Ok(directory)
}

fn named(path: &Path) -> io::Result<Place> {
    match place::find(path)? {
        Found::Name(place) => Ok(place),
        Found::Directory(_) | Found::Descriptor(_) => Err(Errno::NOTDIR.into()),
    }
}

fn open_directory(path: &Path) -> io::Result<std::os::fd::OwnedFd> {
    let place = named(path)?;
    Ok(place::open_to_list(place.directory(), place.name())?)
}

/// A directory that others may write to, or own, is refused.
fn check_owner(directory: &Stat) -> io::Result<()> {
    if directory.st_uid != geteuid().as_raw() {
        return Err(io::Error::other(
            "the results directory belongs to another user",
        ));
    }
    if directory.st_mode & 0o022 != 0 {
        return Err(io::Error::other(
            "other users may write to the results directory",
        ));
    }
    Ok(())
}

/// Removes the oldest until this number is left.
fn prune(directory: BorrowedFd<'_>, most: usize) -> io::Result<()> {
    let mut ours: Vec<(u64, OsString)> = names(directory)?
        .into_iter()
        .filter_map(|name| Some((parsed(&name)?.1, name)))
        .collect();
    ours.sort_unstable();
    let extra = ours.len().saturating_sub(most);
    for (_, name) in ours.into_iter().take(extra) {
        match unlinkat(directory, &name, AtFlags::empty()) {
            // Another run has just removed it.
            Ok(()) | Err(Errno::NOENT) => {}
            Err(errno) => return Err(errno.into()),
        }
    }
    Ok(())
}

fn names(directory: BorrowedFd<'_>) -> io::Result<Vec<OsString>> {
    // A symbolic link in place of a directory cannot be read as one.
    let entries = Dir::new(place::open_to_list(directory, ".")?)?;
    entries
        .map(|entry| Ok(OsStr::from_bytes(entry?.file_name().to_bytes()).to_owned()))
        .collect()
}

/// `1795471803123-lab-4211.json`: number, command, and the process that saved it.
fn name(kind: Kind, number: u64) -> String {
    format!("{number:013}-{}-{}.json", kind.as_str(), std::process::id())
}

fn parsed(name: &OsStr) -> Option<(Kind, u64)> {
    let mut parts = name.to_str()?.strip_suffix(".json")?.split('-');
    let (number, kind, process) = (parts.next()?, parts.next()?, parts.next()?);
    let is_number = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    if parts.next().is_some() || !is_number(number) || !is_number(process) {
        return None;
    }
    let mut kinds = [Kind::Lab, Kind::Trace].into_iter();
    Some((
        kinds.find(|one| one.as_str() == kind)?,
        number.parse().ok()?,
    ))
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    use super::*;

    #[test]
    fn a_home_that_is_nobodys_is_not_made() {
        let home = tempfile::tempdir().unwrap();
        let own = |path: &Path| Some(path.as_os_str().to_owned());
        let nowhere = || own(Path::new("/nonexistent"));
        let state = home.path().join(".local/state");
        assert_eq!(base_of(None, own(home.path())), Some(state.clone()));
        assert_eq!(base_of(nowhere(), own(home.path())), Some(state));
        assert_eq!(
            base_of(own(&home.path().join("new/state")), nowhere()),
            Some(home.path().join("new/state"))
        );
        assert_eq!(base_of(nowhere(), nowhere()), None);
        assert_eq!(base_of(None, own(Path::new("/"))), None);
    }

    #[test]
    fn the_next_is_last_whatever_the_clock_says() {
        let now = number_after(None);
        assert!(now > 1_500_000_000_000);
        assert!((now..u64::MAX / 2).contains(&number_after(Some(1))));
        let ahead = now + 157_680_000_000;
        assert_eq!(number_after(Some(ahead)), ahead + 1);
    }

    #[test]
    fn names_are_read_back() {
        let name = name(Kind::Trace, 1_795_471_803_123);
        let read = parsed(OsStr::new(&name));
        assert_eq!(read, Some((Kind::Trace, 1_795_471_803_123)));
        for other in [
            "1-lab.json",
            "1-lab-2.json.tmp",
            "x-lab-2.json",
            "1-doctor-2.json",
            "notes",
        ] {
            assert_eq!(parsed(OsStr::new(other)), None, "{other}");
        }
    }

    #[test]
    fn directories_are_made_for_this_user_alone() {
        let root = tempfile::tempdir().unwrap();
        let made = make(&root.path().join("a/b")).unwrap();
        assert!(made.ends_with("a/b/iostrata/results"));
        for path in made.ancestors().take(4) {
            let mode = fs::metadata(path).unwrap().permissions().mode();
            assert_eq!(mode & 0o777, 0o700, "{}", path.display());
        }
        make(&root.path().join("a/b")).unwrap();
    }

    #[test]
    fn the_oldest_go_and_other_files_stay() {
        let root = tempfile::tempdir().unwrap();
        for name in ["7-lab-1.json", "9-trace-1.json", "8-lab-2.json", "a.json"] {
            fs::write(root.path().join(name), "{}").unwrap();
        }
        let directory = fs::File::open(root.path()).unwrap();
        prune(directory.as_fd(), 1).unwrap();
        let mut left: Vec<_> = fs::read_dir(root.path())
            .unwrap()
            .map(|entry| entry.unwrap().file_name())
            .collect();
        left.sort();
        assert_eq!(left, ["9-trace-1.json", "a.json"]);
    }

    #[test]
    fn what_others_may_write_to_is_refused() {
        let root = tempfile::tempdir().unwrap();
        let refused = |mode: u32| {
            fs::set_permissions(root.path(), fs::Permissions::from_mode(mode)).unwrap();
            let directory = fs::File::open(root.path()).unwrap();
            check_owner(&fstat(&directory).unwrap()).is_err()
        };
        assert_eq!(
            [0o700, 0o755, 0o770, 0o777].map(refused),
            [false, false, true, true]
        );
    }

    #[test]
    fn a_link_in_place_of_the_directory_leads_nowhere_else() {
        let root = tempfile::tempdir().unwrap();
        fs::create_dir_all(root.path().join("iostrata")).unwrap();
        fs::write(root.path().join("file"), "").unwrap();
        symlink(
            root.path().join("file"),
            root.path().join("iostrata/results"),
        )
        .unwrap();
        let made = make(root.path()).unwrap();
        assert!(named(&made.join("1-lab-1.json")).is_err());
    }
}
