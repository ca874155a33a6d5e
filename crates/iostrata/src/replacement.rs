//! A file that replaces another atomically, or not at all.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::os::fd::{AsFd as _, AsRawFd as _, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

use rustix::fs::{
    Access, AtFlags, CWD, Dir, FileType, FlockOperation, Mode, OFlags, RenameFlags, Stat, accessat,
    fchmod, flock, fstat, fsync, linkat, openat, renameat, renameat_with, unlinkat,
};
use rustix::io::Errno;
use rustix::process::geteuid;

use iostrata_lab::place::{self, Found, Place};
use iostrata_lab::scratch::{RANDOM_NAME_BYTES, is_random_name, random_name};

/// Prefix of a hidden name; the final name and a dot precede it.
const MARK: &str = ".iostrata-";

/// A unique number, the directory, and the name in it.
type HiddenNames = Vec<(u64, OwnedFd, OsString)>;

/// All current hidden names. The signal handler locks the list before it ends the process, so that no
/// rename is half done and no hidden name remains.
static HIDDEN: Mutex<HiddenNames> = Mutex::new(Vec::new());

/// While the guard lives, a caught signal does not end the process.
pub(crate) fn hidden_names() -> MutexGuard<'static, HiddenNames> {
    // The list is consistent at every step, even after a panic.
    HIDDEN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Removes all hidden names. While the guard lives, no new one is created.
pub(crate) fn remove_hidden() -> MutexGuard<'static, HiddenNames> {
    let mut names = hidden_names();
    for (_, directory, name) in names.drain(..) {
        _ = unlinkat(&directory, &name, AtFlags::empty());
    }
    names
}

/// A file without a name, so that nothing remains when this process is killed. Where the file
/// system does not support that, it has a hidden name until it is complete.
#[derive(Debug)]
pub(crate) struct Contents {
    file: File,
    hidden: Option<Hidden>,
}

/// A name that is removed on drop.
#[derive(Debug)]
struct Hidden {
    directory: OwnedFd,
    name: OsString,
    number: u64,
}

impl Hidden {
    fn new(directory: BorrowedFd<'_>, name: OsString) -> io::Result<Self> {
        static NUMBERS: std::sync::atomic::AtomicU64 = std::sync::atomic::AtomicU64::new(0);
        let number = NUMBERS.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        let (directory, for_list) = (
            directory.try_clone_to_owned()?,
            directory.try_clone_to_owned()?,
        );
        hidden_names().push((number, for_list, name.clone()));
        Ok(Self {
            directory,
            name,
            number,
        })
    }
}

impl Drop for Hidden {
    fn drop(&mut self) {
        let mut names = hidden_names();
        names.retain(|(number, ..)| *number != self.number);
        // It no longer exists once the file has its final name.
        _ = unlinkat(&self.directory, &self.name, AtFlags::empty());
    }
}

impl Contents {
    /// Creates a file that will get a name in this directory, or in one below it. The hidden name is
    /// derived from `name`; leftovers of killed runs with such a name are removed.
    pub(crate) fn begin(directory: BorrowedFd<'_>, name: &OsStr) -> io::Result<Self> {
        remove_stale(directory, name);
        let mode = Mode::from_raw_mode(0o666);
        let flags = OFlags::TMPFILE | OFlags::RDWR | OFlags::CLOEXEC;
        let contents = match openat(directory, ".", flags, mode) {
            Ok(file) => Self {
                file: file.into(),
                hidden: None,
            },
            Err(Errno::OPNOTSUPP | Errno::ISDIR | Errno::INVAL | Errno::NOENT) => {
                let hidden = Hidden::new(directory, hidden(name)?)?;
                let flags = OFlags::WRONLY
                    | OFlags::CREATE
                    | OFlags::EXCL
                    | OFlags::NOFOLLOW
                    | OFlags::CLOEXEC;
                Self {
                    file: openat(directory, &hidden.name, flags, mode)?.into(),
                    hidden: Some(hidden),
                }
            }
            Err(errno) => return Err(errno.into()),
        };
        // The lock shows that this run is alive to those that remove leftovers of killed runs. Where the file
        // system has no locks, they leave the file alone too.
        _ = flock(&contents.file, FlockOperation::NonBlockingLockExclusive);
        Ok(contents)
    }

    pub(crate) fn file(&self) -> &File {
        &self.file
    }

    /// Links the file under a free name; fails with `EXIST` if the name is taken.
    pub(crate) fn name(&self, directory: BorrowedFd<'_>, name: &OsStr) -> Result<(), Errno> {
        if let Some(hidden) = &self.hidden {
            let (from, flags) = (&hidden.directory, RenameFlags::NOREPLACE);
            return renameat_with(from, &hidden.name, directory, name, flags);
        }
        // open(2), under `O_TMPFILE`, describes how a file without a name gets one.
        let descriptor = format!("/proc/self/fd/{}", self.file.as_raw_fd());
        linkat(CWD, descriptor, directory, name, AtFlags::SYMLINK_FOLLOW)
    }

    /// Gives the file a name, replacing whatever has it.
    fn replace(&self, place: &Place) -> io::Result<()> {
        // A signal does not end the process in between.
        let _names = hidden_names();
        let (directory, name) = (place.directory(), place.name());
        if let Some(hidden) = &self.hidden {
            return Ok(renameat(&hidden.directory, &hidden.name, directory, name)?);
        }
        match self.name(directory, name) {
            Err(Errno::EXIST) => {}
            named => return Ok(named?),
        }
        let hidden = hidden(name)?;
        self.name(directory, &hidden)?;
        let renamed = renameat(directory, &hidden, directory, name);
        if renamed.is_err() {
            _ = unlinkat(directory, &hidden, AtFlags::empty());
        }
        Ok(renamed?)
    }
}

/// New contents for a file, put in its place when complete.
#[derive(Debug)]
pub(crate) struct Replacement {
    place: Place,
    contents: Contents,
}

impl Replacement {
    pub(crate) fn begin(path: &Path) -> io::Result<Self> {
        match place::find(path)? {
            Found::Name(place) => Self::begin_at(place),
            Found::Directory(_) => Err(Errno::ISDIR.into()),
            Found::Descriptor(_) => Err(io::Error::other("a descriptor cannot be replaced")),
        }
    }

    /// Begins a replacement of this name. Whether it may be replaced is checked now.
    pub(crate) fn begin_at(place: Place) -> io::Result<Self> {
        let old = place.stat()?;
        if let Some(old) = &old {
            check_replaceable(&place, old)?;
        }
        let contents = Contents::begin(place.directory(), place.name())?;
        if let Some(old) = old {
            keep_mode(contents.file(), &old)?;
        }
        Ok(Self { place, contents })
    }

    pub(crate) fn file(&self) -> &File {
        self.contents.file()
    }

    /// Puts the contents in place.
    pub(crate) fn finish(self) -> io::Result<()> {
        // Otherwise a crash could leave an empty file in place of a complete one.
        self.contents.file.sync_all()?;
        self.contents.replace(&self.place)?;
        sync_names(self.place.directory());
        Ok(())
    }
}

/// Makes the name durable too. A directory without read permission cannot be opened for that.
pub(crate) fn sync_names(directory: BorrowedFd<'_>) {
    if let Ok(directory) = place::open_to_list(directory, ".") {
        _ = fsync(directory);
    }
}

/// A file without write permission is not replaced, and what rename(2) would refuse
/// is reported before anything is measured.
fn check_replaceable(place: &Place, old: &Stat) -> io::Result<()> {
    if FileType::from_raw_mode(old.st_mode) != FileType::RegularFile {
        let kind = match FileType::from_raw_mode(old.st_mode) {
            FileType::Directory => Errno::ISDIR.into(),
            _ => io::Error::other("it is not a regular file"),
        };
        return Err(kind);
    }
    let flags = AtFlags::EACCESS | AtFlags::SYMLINK_NOFOLLOW;
    accessat(place.directory(), place.name(), Access::WRITE_OK, flags)?;
    let directory = fstat(place.directory())?;
    let user = geteuid();
    let is_sticky = directory.st_mode & Mode::SVTX.bits() != 0;
    let owners = [old.st_uid, directory.st_uid, 0];
    if is_sticky && !owners.contains(&user.as_raw()) && !user.is_root() {
        return Err(Errno::PERM.into());
    }
    Ok(())
}

/// A result that only its owner could read stays so, and one of another user gives nobody more
/// than a new file does.
fn keep_mode(file: &File, old: &Stat) -> io::Result<()> {
    let now = fstat(file)?;
    let kept = if old.st_uid == geteuid().as_raw() {
        old.st_mode & 0o777
    } else {
        old.st_mode & now.st_mode & 0o777
    };
    Ok(fchmod(file, Mode::from_raw_mode(kept))?)
}

/// A name beside `name` that no other process uses.
pub(crate) fn hidden(name: &OsStr) -> io::Result<OsString> {
    let mut hidden = prefix(name);
    hidden.push(random_name()?);
    Ok(hidden)
}

/// A name has at most 255 bytes, and so has the hidden one.
fn prefix(name: &OsStr) -> OsString {
    let longest = 255 - 1 - MARK.len() - RANDOM_NAME_BYTES;
    let kept = name.as_bytes().get(..longest).unwrap_or(name.as_bytes());
    let mut prefix = OsString::from(".");
    prefix.push(OsStr::from_bytes(kept));
    prefix.push(MARK);
    prefix
}

/// Removes leftovers of killed runs for this name: files and directories of this user that no
/// process has locked. What cannot be removed stays.
fn remove_stale(directory: BorrowedFd<'_>, name: &OsStr) {
    let entries = place::open_to_list(directory, ".").and_then(Dir::new);
    let Ok(entries) = entries else { return };
    let prefix = prefix(name);
    for entry in entries.map_while(Result::ok) {
        let found = entry.file_name().to_bytes();
        let random = found.strip_prefix(prefix.as_bytes());
        if random.is_some_and(is_random_name) {
            _ = remove_one_stale(directory, OsStr::from_bytes(found));
        }
    }
}

fn remove_one_stale(directory: BorrowedFd<'_>, name: &OsStr) -> Result<(), Errno> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let found = openat(directory, name, flags, Mode::empty())?;
    let stat = fstat(&found)?;
    if stat.st_uid != geteuid().as_raw() {
        return Err(Errno::PERM);
    }
    flock(&found, FlockOperation::NonBlockingLockExclusive)?;
    match FileType::from_raw_mode(stat.st_mode) {
        FileType::RegularFile => unlinkat(directory, name, AtFlags::empty()),
        FileType::Directory => remove_flat(directory, name, found.as_fd()),
        _ => Err(Errno::INVAL),
    }
}

/// Removes a directory that contains only files.
pub(crate) fn remove_flat(
    parent: BorrowedFd<'_>,
    name: &OsStr,
    directory: BorrowedFd<'_>,
) -> Result<(), Errno> {
    let entries = Dir::read_from(directory)?.collect::<Result<Vec<_>, _>>()?;
    for entry in entries {
        let entry = entry.file_name();
        if entry != c"." && entry != c".." {
            unlinkat(directory, entry, AtFlags::empty())?;
        }
    }
    unlinkat(parent, name, AtFlags::REMOVEDIR)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::io::Write as _;
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    use super::*;

    fn names(dir: &Path) -> usize {
        fs::read_dir(dir).unwrap().count()
    }

    fn replace(path: &Path, bytes: &[u8]) {
        let replacement = Replacement::begin(path).unwrap();
        replacement.file().write_all(bytes).unwrap();
        replacement.finish().unwrap();
    }

    #[test]
    fn what_was_there_stays_until_the_end_and_nothing_else_is_left() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("metrics");
        fs::write(&path, "old").unwrap();
        drop(Replacement::begin(&path).unwrap());
        let replacement = Replacement::begin(&path).unwrap();
        replacement.file().write_all(b"new").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"old");
        replacement.finish().unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"new");
        assert_eq!(names(dir.path()), 1);
    }

    #[test]
    fn a_hidden_name_is_removed_when_the_end_is_not_reached() {
        let dir = tempfile::tempdir().unwrap();
        let directory = File::open(dir.path()).unwrap();
        fs::write(dir.path().join("hidden"), "half").unwrap();
        let hidden = Hidden::new(directory.as_fd(), "hidden".into()).unwrap();
        assert_eq!(names(dir.path()), 1);
        drop(hidden);
        assert_eq!(names(dir.path()), 0);
    }

    #[test]
    fn what_a_killed_run_left_is_removed_and_nothing_else() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        fs::write(at(".metrics.iostrata-0123456789ab"), "left").unwrap();
        fs::create_dir(at(".metrics.iostrata-ba9876543210")).unwrap();
        fs::write(at(".metrics.iostrata-ba9876543210/table"), "left").unwrap();
        let others = [
            ".metrics.iostrata-0123456789AB",
            ".other.iostrata-0123456789ab",
        ];
        for name in others {
            fs::write(at(name), "mine").unwrap();
        }
        let held = File::create(at(".metrics.iostrata-000000000000")).unwrap();
        flock(&held, FlockOperation::LockExclusive).unwrap();
        replace(&at("metrics"), b"new");
        let mut left: Vec<_> = fs::read_dir(dir.path())
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        left.sort();
        let held = ".metrics.iostrata-000000000000";
        assert_eq!(left, [held, others[0], others[1], "metrics"]);
    }

    #[test]
    fn a_link_goes_on_naming_what_it_names() {
        let dir = tempfile::tempdir().unwrap();
        let (file, link) = (dir.path().join("file"), dir.path().join("link"));
        fs::write(&file, "old").unwrap();
        symlink(&file, &link).unwrap();
        replace(&link, b"new");
        assert!(link.is_symlink());
        assert_eq!(fs::read(&file).unwrap(), b"new");
    }

    #[test]
    fn another_name_of_the_old_file_keeps_the_old_contents() {
        let dir = tempfile::tempdir().unwrap();
        let (file, other) = (dir.path().join("file"), dir.path().join("other"));
        fs::write(&file, "old").unwrap();
        fs::hard_link(&file, &other).unwrap();
        replace(&file, b"new");
        assert_eq!(fs::read(&other).unwrap(), b"old");
    }

    #[test]
    fn a_file_keeps_its_mode() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("secret");
        fs::write(&path, "old").unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
        replace(&path, b"new");
        assert_eq!(
            fs::metadata(&path).unwrap().permissions().mode() & 0o777,
            0o640
        );
    }

    #[test]
    fn a_name_may_have_any_length() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("n".repeat(255));
        replace(&path, b"one");
        replace(&path, b"two");
        assert_eq!(fs::read(&path).unwrap(), b"two");
        assert_eq!(names(dir.path()), 1);
    }

    #[test]
    fn a_directory_is_not_replaced() {
        let dir = tempfile::tempdir().unwrap();
        assert!(Replacement::begin(dir.path()).is_err());
        assert!(Replacement::begin(&dir.path().join("none/metrics")).is_err());
    }
}
