//! Where a path leads: a directory that is held open, and a name in it.
//!
//! Paths of results are followed name by name. A symbolic link is followed only if it is this
//! user's or root's: through a link placed by another user in a world-writable directory, a result
//! would replace a file of that user's choice. From then on the directory is held by its
//! descriptor, and the target cannot be exchanged. A FIFO or device of another user is not opened:
//! its owner would read the result, or never let the opening return (`fifo(7)`).

use std::collections::VecDeque;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, AsRawFd as _, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStringExt as _;
use std::path::{Component, Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use rustix::fs::{
    AtFlags, CWD, FileType, FsWord, Mode, OFlags, Stat, fcntl_getfl, fcntl_setfl, fstat, fstatfs,
    mkdirat, openat, readlinkat, statat,
};
use rustix::io::Errno;
use rustix::path::Arg;
use rustix::process::geteuid;

/// As many as the kernel follows (`MAXSYMLINKS`, include/linux/namei.h).
const MOST_LINKS: usize = 40;

/// `include/uapi/linux/magic.h`.
const PROC_SUPER_MAGIC: FsWord = 0x9fa0;

/// What a path leads to.
#[derive(Debug)]
pub enum Found {
    /// A name, which may exist.
    Name(Place),
    /// `.`, `..` or the root: a directory without a name in one.
    Directory(OwnedFd),
    /// An open descriptor, such as `/dev/stdout`, ready for writing.
    Descriptor(File),
}

/// A name in a directory.
#[derive(Debug)]
pub struct Place {
    directory: OwnedFd,
    name: OsString,
}

impl Place {
    /// The directory, opened with `O_PATH`.
    pub fn directory(&self) -> BorrowedFd<'_> {
        self.directory.as_fd()
    }

    pub fn name(&self) -> &OsStr {
        &self.name
    }

    /// The file that has the name now, if any.
    pub fn stat(&self) -> io::Result<Option<Stat>> {
        match statat(&self.directory, &self.name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => Ok(Some(stat)),
            Err(Errno::NOENT) => Ok(None),
            Err(errno) => Err(errno.into()),
        }
    }

    /// Identity of the place, whatever path led to it: for an existing file, the
    /// file; otherwise the directory and the name.
    pub fn identity(&self) -> io::Result<Identity> {
        if let Some(stat) = self.stat()? {
            return Ok(Identity(stat.st_dev, stat.st_ino, OsString::new()));
        }
        let stat = fstat(&self.directory)?;
        Ok(Identity(stat.st_dev, stat.st_ino, self.name.clone()))
    }
}

/// See [`Place::identity`].
#[derive(Debug, PartialEq, Eq)]
pub struct Identity(u64, u64, OsString);

/// Follows a path to its last name, which need not exist.
pub fn find(path: &Path) -> io::Result<Found> {
    let mut rest: VecDeque<Step> = steps(path).collect();
    let mut at = open_directory(CWD, OsStr::new("."))?;
    let mut links = 0;
    while let Some(step) = rest.pop_front() {
        let name = match step {
            Step::Root => {
                at = open_directory(CWD, OsStr::new("/"))?;
                continue;
            }
            Step::Up => {
                at = open_directory(at.as_fd(), OsStr::new(".."))?;
                continue;
            }
            Step::Name(name) => name,
        };
        let is_last = rest.is_empty();
        let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let found = match openat(&at, &name, flags, Mode::empty()) {
            Err(Errno::NOENT) if is_last => return Ok(named(at, name)),
            found => found?,
        };
        let stat = fstat(&found)?;
        if FileType::from_raw_mode(stat.st_mode) != FileType::Symlink {
            if is_last {
                return Ok(named(at, name));
            }
            at = found;
            continue;
        }
        links += 1;
        if links > MOST_LINKS {
            return Err(Errno::LOOP.into());
        }
        if fstatfs(&found)?.f_type == PROC_SUPER_MAGIC {
            // The target of such a link has no path that could be followed.
            if is_last {
                return Ok(Found::Descriptor(open_to_write(at.as_fd(), &name)?));
            }
            at = open_directory(at.as_fd(), &name)?;
            continue;
        }
        check_owner(path, &name, stat.st_uid)?;
        let target = readlinkat(&found, "", Vec::new())?;
        let target = PathBuf::from(OsString::from_vec(target.into_bytes()));
        for step in steps(&target).rev() {
            rest.push_front(step);
        }
    }
    Ok(Found::Directory(at))
}

/// As long as the reader of a FIFO may need that was started just before.
const READER_STARTS: Duration = Duration::from_secs(1);

/// Opens a FIFO, a device or what a link of `/proc` names. Only writes wait for a reader as long as it likes.
fn open_to_write(at: BorrowedFd<'_>, name: &OsStr) -> io::Result<File> {
    let flags = OFlags::WRONLY | OFlags::NOCTTY | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let begun = Instant::now();
    let opened = loop {
        match openat(at, name, flags, Mode::empty()) {
            // Of a FIFO, open(2).
            Err(Errno::NXIO) if begun.elapsed() < READER_STARTS => {
                thread::sleep(Duration::from_millis(5));
            }
            Err(Errno::NXIO) => {
                let why = "nothing has it open for reading; start its reader first";
                return Err(io::Error::new(io::ErrorKind::NotConnected, why));
            }
            opened => break opened?,
        }
    };
    let flags = fcntl_getfl(&opened)?;
    fcntl_setfl(&opened, flags - OFlags::NONBLOCK)?;
    Ok(opened.into())
}

/// A FIFO or a device, opened; `None` for anything else.
pub fn special(place: &Place) -> io::Result<Option<File>> {
    let is_special = |stat: &Stat| {
        matches!(
            FileType::from_raw_mode(stat.st_mode),
            FileType::Fifo | FileType::CharacterDevice | FileType::BlockDevice
        )
    };
    if !place.stat()?.as_ref().is_some_and(is_special) {
        return Ok(None);
    }
    let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let found = openat(place.directory(), place.name(), flags, Mode::empty())?;
    // The open file counts, whatever has the name by now.
    let stat = fstat(&found)?;
    if !is_special(&stat) {
        return Err(io::Error::other("it was replaced meanwhile"));
    }
    if is_anothers(stat.st_uid) {
        let kind = match FileType::from_raw_mode(stat.st_mode) {
            FileType::Fifo => "FIFO",
            _ => "device",
        };
        return Err(anothers(kind, stat.st_uid));
    }
    let path = format!("/proc/self/fd/{}", found.as_raw_fd());
    open_to_write(CWD, path.as_ref()).map(Some)
}

/// A directory of this user or root, made where there is none; whether it was.
pub fn directory(path: &Path) -> io::Result<(File, bool)> {
    let place = match find(path)? {
        Found::Directory(at) => return Ok((own(open_to_list(at, ".")?)?, false)),
        Found::Descriptor(_) => return Err(Errno::NOTDIR.into()),
        Found::Name(place) => place,
    };
    let is_new = match make(&place) {
        Ok(()) => true,
        Err(Errno::EXIST) => false,
        Err(errno) => return Err(errno.into()),
    };
    let opened = open_to_list(place.directory(), place.name())?;
    Ok((own(opened)?, is_new))
}

/// A directory that does not exist yet.
pub fn new_directory(path: &Path) -> io::Result<()> {
    match find(path)? {
        Found::Name(place) => Ok(make(&place)?),
        Found::Directory(_) | Found::Descriptor(_) => Err(Errno::EXIST.into()),
    }
}

/// Opens a directory that is not a link.
pub fn open_to_list(at: impl AsFd, name: impl Arg) -> Result<OwnedFd, Errno> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    openat(at, name, flags, Mode::empty())
}

fn make(place: &Place) -> Result<(), Errno> {
    mkdirat(place.directory(), place.name(), Mode::from_raw_mode(0o777))
}

fn own(directory: OwnedFd) -> io::Result<File> {
    let owner = fstat(&directory)?.st_uid;
    if is_anothers(owner) {
        return Err(anothers("directory", owner));
    }
    Ok(directory.into())
}

/// Root may put anything anywhere.
pub fn is_anothers(owner: u32) -> bool {
    owner != 0 && owner != geteuid().as_raw()
}

/// That something of another user has the name.
pub fn anothers(kind: &str, owner: u32) -> io::Error {
    io::Error::new(
        io::ErrorKind::PermissionDenied,
        format!("it is a {kind} of user {owner}, who would have the result too"),
    )
}

enum Step {
    Root,
    Up,
    Name(OsString),
}

fn steps(path: &Path) -> impl DoubleEndedIterator<Item = Step> + '_ {
    path.components().filter_map(|component| match component {
        Component::RootDir => Some(Step::Root),
        Component::ParentDir => Some(Step::Up),
        Component::Normal(name) => Some(Step::Name(name.to_owned())),
        Component::CurDir | Component::Prefix(_) => None,
    })
}

fn named(directory: OwnedFd, name: OsString) -> Found {
    Found::Name(Place { directory, name })
}

fn open_directory(at: BorrowedFd<'_>, name: &OsStr) -> Result<OwnedFd, Errno> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    openat(at, name, flags, Mode::empty())
}

/// Root can put links anywhere and files too; a file that any other user made is not to be trusted.
fn check_owner(path: &Path, name: &OsStr, owner: u32) -> io::Result<()> {
    if !is_anothers(owner) {
        return Ok(());
    }
    let is_itself = path.file_name() == Some(name);
    let link = if is_itself {
        "it".to_owned()
    } else {
        format!("{} on the way to it", Path::new(name).display())
    };
    Err(io::Error::new(
        io::ErrorKind::PermissionDenied,
        format!(
            "{link} is a symbolic link of user {owner}, and iostrata does not follow links of \
                 other users"
        ),
    ))
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::{lchown, symlink};

    use super::*;

    #[track_caller]
    fn place(path: &Path) -> Place {
        match find(path).unwrap() {
            Found::Name(place) => place,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn links_of_this_user_are_followed() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        fs::create_dir(at("real")).unwrap();
        symlink("real", at("directory")).unwrap();
        symlink("../directory/file", at("real/link")).unwrap();
        let found = place(&at("directory/link"));
        assert_eq!(found.name(), "file");
        assert_eq!(
            found.identity().unwrap(),
            place(&at("real/file")).identity().unwrap()
        );
        symlink("loop", at("loop")).unwrap();
        let endless = find(&at("loop")).unwrap_err();
        assert_eq!(endless.raw_os_error(), Some(Errno::LOOP.raw_os_error()));
    }

    #[test]
    fn links_of_others_are_not() {
        if !geteuid().is_root() {
            return;
        }
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        fs::create_dir(at("real")).unwrap();
        for name in ["file", "directory"] {
            symlink("real", at(name)).unwrap();
            lchown(at(name), Some(65_534), Some(65_534)).unwrap();
        }
        let refused = find(&at("file")).unwrap_err().to_string();
        assert!(refused.starts_with("it is a symbolic link of user 65534"));
        let refused = find(&at("directory/new")).unwrap_err().to_string();
        assert!(refused.starts_with("directory on the way to it is"));
    }

    #[test]
    fn a_file_is_the_same_by_any_name() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        fs::write(at("one"), "").unwrap();
        fs::hard_link(at("one"), at("other")).unwrap();
        let identity = |name: &str| place(&at(name)).identity().unwrap();
        assert_eq!(identity("one"), identity("other"));
        assert_ne!(identity("one"), identity("third"));
        assert_ne!(identity("third"), identity("fourth"));
    }

    #[test]
    fn what_has_no_name_is_told() {
        assert!(matches!(find(Path::new("/")), Ok(Found::Directory(_))));
        assert!(matches!(find(Path::new("..")), Ok(Found::Directory(_))));
        let (_reader, writer) = io::pipe().unwrap();
        let path = format!("/proc/self/fd/{}", std::os::fd::AsRawFd::as_raw_fd(&writer));
        assert!(matches!(find(path.as_ref()), Ok(Found::Descriptor(_))));
    }
}
