//! The directory that contains everything written.

use std::ffi::CStr;
use std::fs;
use std::fs::File;
use std::io::{self, Write as _};
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use rustix::fs::{
    Access, AtFlags, CWD, FlockOperation, Mode, OFlags, StatVfsMountFlags, accessat, flock, fstat,
    fstatvfs, mkdirat, openat,
};
use rustix::io::Errno;
use rustix::process::{fchdir, geteuid, getpid};
use rustix::rand::{GetRandomFlags, getrandom};

use super::error::{Leftover, ScratchError};
use super::guard::Guard;
use super::removal::{remove_own, remove_stale, remove_tree};
use crate::interrupt::Interrupt;
use crate::place::open_to_list;

/// All scratch directories have this name and a [random](random_name) one.
pub(super) const PREFIX: &str = ".iostrata-";

/// Bytes of a random name.
pub const RANDOM_NAME_BYTES: usize = 12;

/// Locked with flock(2) while the run lives; the kernel unlocks it when the run dies.
pub(super) const LOCK: &CStr = c"lock";

/// First line of the lock file.
pub(super) const LOCK_MAGIC: &str = "iostrata scratch directory\n";

/// A new name fails only if the name exists (2^-48), or if another run saw the directory before it
/// was locked.
const ATTEMPTS: u32 = 16;

/// Descriptors that the removal opens, for three levels of directories.
const RESERVED: usize = 6;

/// How long a removal may take after Ctrl-C; then the guard goes on with it.
const PATIENCE: Duration = Duration::from_millis(500);

/// Our own directory inside the user's, removed with its contents on drop.
#[derive(Debug)]
pub struct Scratch {
    parent: OwnedFd,
    directory: OwnedFd,
    name: String,
    path: PathBuf,
    /// The working directory before [`enter`](Self::enter).
    left: Option<OwnedFd>,
    removed: bool,
    lock: File,
    /// Set to leave the rest of a removal to the guard, once a signal has asked for an end.
    hurry: Option<(Interrupt, Arc<AtomicBool>)>,
    /// Released before the removal, which is then possible however many files are open.
    reserve: Vec<OwnedFd>,
}

impl Scratch {
    /// Creates a scratch directory inside `dir`, readable by this user only.
    ///
    /// `needed_bytes` is the most that it will contain at one time; 5 % more must be free. Scratch
    /// directories that killed runs left in `dir` are removed first.
    pub fn create(dir: &Path, needed_bytes: u64) -> Result<Self, ScratchError> {
        Self::create_guarded(dir, needed_bytes, None)
    }

    /// The same; `guard` removes it if this process is killed.
    pub fn create_guarded(
        dir: &Path,
        needed_bytes: u64,
        guard: Option<&mut Guard>,
    ) -> Result<Self, ScratchError> {
        let flags = OFlags::DIRECTORY | OFlags::RDONLY | OFlags::CLOEXEC;
        let parent = openat(CWD, dir, flags, Mode::empty())
            .map_err(|errno| ScratchError::access(dir, errno))?;
        // Absolute, because the working directory may change.
        let dir = fs::canonicalize(dir).map_err(|error| ScratchError::io("find", dir, error))?;
        Self::create_in(parent, &dir, needed_bytes, guard)
    }

    /// The same in an open directory. Code that uses only [`Self::as_fd`] is certain to reach that
    /// one; `dir` is its absolute path.
    pub(crate) fn create_in(
        parent: OwnedFd,
        dir: &Path,
        needed_bytes: u64,
        mut guard: Option<&mut Guard>,
    ) -> Result<Self, ScratchError> {
        check_room(parent.as_fd(), dir, needed_bytes)?;
        let reserve = (0..RESERVED).map(|_| parent.try_clone());
        let mut reserve: Vec<OwnedFd> = reserve
            .collect::<Result<_, _>>()
            .map_err(|error| ScratchError::io("use", dir, error))?;
        for _ in 0..ATTEMPTS {
            let name = random_name().map_err(|errno| ScratchError::io("name", dir, errno))?;
            let name = format!("{PREFIX}{name}");
            if let Some(guard) = &mut guard {
                guard.tell(&name);
            }
            let made = make(parent.as_fd(), &name, &mut reserve);
            let (directory, lock) = match made {
                Ok(made) => made,
                Err(Errno::EXIST | Errno::NOENT | Errno::AGAIN) => continue,
                Err(Errno::NOSPC | Errno::DQUOT) => {
                    return Err(no_space(parent.as_fd(), dir, needed_bytes));
                }
                Err(errno) => return Err(ScratchError::access(dir, errno)),
            };
            let path = dir.join(&name);
            check_owner(parent.as_fd(), directory.as_fd(), dir)?;
            let mut scratch = Self {
                parent,
                directory,
                name,
                path,
                left: None,
                removed: false,
                lock,
                hurry: None,
                reserve: std::mem::take(&mut reserve),
            };
            scratch.sign()?;
            return Ok(scratch);
        }
        Err(ScratchError::io("make a directory in", dir, Errno::EXIST))
    }

    /// Absolute path at the time of creation.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Lets the guard go on with a removal that takes long after an interruption. Drop this value before the guard.
    pub fn hurry(&mut self, guard: &Guard, interrupt: &Interrupt) {
        self.hurry = Some((interrupt.clone(), Arc::clone(&guard.is_needed)));
    }

    /// Makes it the working directory of this process, and of processes started from now on, until
    /// it is removed. The owner of a directory above may rename this one and put another in its
    /// place: relative paths still lead here.
    pub(crate) fn enter(&mut self) -> Result<(), ScratchError> {
        let io = |errno| ScratchError::io("enter", &self.path, errno);
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let left = openat(CWD, ".", flags, Mode::empty()).map_err(io)?;
        fchdir(&self.directory).map_err(io)?;
        self.left = Some(left);
        Ok(())
    }

    /// The form of a path in it for the kernel: relative if it is the working directory, else
    /// absolute.
    pub(crate) fn place(&self, name: &str) -> PathBuf {
        match self.left {
            Some(_) => Path::new(".").join(name),
            None => self.path.join(name),
        }
    }

    /// Makes a directory in it; gives its [place](Self::place).
    pub(super) fn make_directory(&self, name: &str) -> Result<PathBuf, ScratchError> {
        let path = self.place(name);
        mkdirat(self.as_fd(), name, Mode::RWXU)
            .map_err(|errno| ScratchError::io("make the directory", &path, errno))?;
        Ok(path)
    }

    /// Removes the directory now and returns what could not be removed.
    pub fn close(mut self) -> Result<(), Leftover> {
        self.remove()
    }

    pub(crate) fn as_fd(&self) -> BorrowedFd<'_> {
        self.directory.as_fd()
    }

    /// Writes to the lock file whose directory this is, for people who find it.
    fn sign(&mut self) -> Result<(), ScratchError> {
        let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
        let pid = getpid().as_raw_nonzero();
        let text = format!("{LOCK_MAGIC}boot {}\npid {pid}\n", boot.trim());
        self.lock.write_all(text.as_bytes()).map_err(|error| {
            if error.kind() == io::ErrorKind::StorageFull {
                no_space(self.directory.as_fd(), &self.path, text.len() as u64)
            } else {
                ScratchError::io("write in", &self.path, error)
            }
        })
    }

    fn remove(&mut self) -> Result<(), Leftover> {
        if std::mem::replace(&mut self.removed, true) {
            return Ok(());
        }
        self.reserve.clear();
        if let Some(left) = self.left.take() {
            // A directory that has been removed meanwhile cannot be returned to.
            _ = fchdir(left);
        }
        let hurry = self.hurry.as_ref();
        let hurry = hurry.filter(|(interrupt, _)| interrupt.check().is_err());
        let until = hurry.map(|_| Instant::now() + PATIENCE);
        let removed = remove_own(self.parent.as_fd(), &self.name, &self.directory, until);
        if let (Err(Errno::TIME), Some((_, is_needed))) = (removed, hurry) {
            is_needed.store(true, Ordering::Relaxed);
            return Ok(());
        }
        removed.map_err(|cause| Leftover {
            path: self.path.clone(),
            cause: match cause {
                Errno::STALE => "it was renamed by another process; it is empty".to_owned(),
                cause => cause.to_string(),
            },
        })
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // Callers that need the result call `close`; the next run tries again.
        drop(self.remove());
    }
}

/// `AGAIN` or `NOENT` when a run that removes stale directories saw it before it was locked.
fn make(
    parent: BorrowedFd<'_>,
    name: &str,
    reserve: &mut Vec<OwnedFd>,
) -> Result<(OwnedFd, File), Errno> {
    mkdirat(parent, name, Mode::RWXU)?;
    let locked = open_to_list(parent, name).and_then(|directory| {
        let flags =
            OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let lock = openat(&directory, LOCK, flags, Mode::RUSR | Mode::WUSR)?;
        flock(&lock, FlockOperation::NonBlockingLockExclusive)?;
        if fstat(&lock)?.st_nlink == 0 {
            return Err(Errno::NOENT);
        }
        Ok((directory, File::from(lock)))
    });
    if let Err(errno) = locked {
        if matches!(errno, Errno::MFILE | Errno::NFILE) {
            reserve.clear();
        }
        _ = remove_tree(parent, name);
    }
    locked
}

/// A part of a name that nothing else has, in lower-case hexadecimal.
pub fn random_name() -> Result<String, Errno> {
    let mut random = [0; RANDOM_NAME_BYTES / 2];
    getrandom(&mut random, GetRandomFlags::empty())?;
    let hex = |name: String, byte: &u8| name + &format!("{byte:02x}");
    Ok(random.iter().fold(String::new(), hex))
}

pub fn is_random_name(name: &[u8]) -> bool {
    let is_hex = |byte: &u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
    name.len() == RANDOM_NAME_BYTES && name.iter().all(is_hex)
}

/// Whether files may be created in a directory with `needed_bytes` free.
///
/// Leftovers of killed runs are removed first.
pub(crate) fn check_room(
    directory: BorrowedFd<'_>,
    path: &Path,
    needed_bytes: u64,
) -> Result<(), ScratchError> {
    check_writable(directory, path)?;
    remove_stale(directory);
    check_space(directory, path, needed_bytes)
}

/// Whether the created directory is the one that was opened, if other users could have replaced it:
/// then it must belong to this user, which not all file systems can show.
fn check_owner(
    parent: BorrowedFd<'_>,
    directory: BorrowedFd<'_>,
    path: &Path,
) -> Result<(), ScratchError> {
    let examined = |errno| ScratchError::io("examine", path, errno);
    let (above, made) = (
        fstat(parent).map_err(examined)?,
        fstat(directory).map_err(examined)?,
    );
    let own = geteuid().as_raw();
    let is_trusted = above.st_uid == 0 || above.st_uid == own;
    // Writable by others, and not sticky.
    let is_open_to_others = above.st_mode & 0o022 != 0 && above.st_mode & 0o1000 == 0;
    if (is_trusted && !is_open_to_others) || made.st_uid == own {
        return Ok(());
    }
    Err(ScratchError::NotOwn {
        path: path.to_owned(),
    })
}

fn check_writable(directory: BorrowedFd<'_>, path: &Path) -> Result<(), ScratchError> {
    let access = |errno| ScratchError::access(path, errno);
    let filesystem = fstatvfs(directory).map_err(access)?;
    if filesystem.f_flag.contains(StatVfsMountFlags::RDONLY) {
        return Err(access(Errno::ROFS));
    }
    let modes = Access::READ_OK | Access::WRITE_OK | Access::EXEC_OK;
    accessat(directory, ".", modes, AtFlags::EACCESS).map_err(access)
}

fn check_space(
    directory: BorrowedFd<'_>,
    path: &Path,
    needed_bytes: u64,
) -> Result<(), ScratchError> {
    // Metadata of the written files takes space too.
    let needed_bytes = needed_bytes.saturating_add(needed_bytes / 20);
    let free = free_bytes(directory).map_err(|errno| ScratchError::access(path, errno))?;
    if free < needed_bytes {
        return Err(no_space(directory, path, needed_bytes));
    }
    Ok(())
}

pub(super) fn no_space(directory: BorrowedFd<'_>, path: &Path, needed_bytes: u64) -> ScratchError {
    ScratchError::NoSpace {
        path: path.to_owned(),
        needed_bytes,
        free_bytes: free_bytes(directory).unwrap_or(0),
    }
}

fn free_bytes(directory: BorrowedFd<'_>) -> Result<u64, Errno> {
    let filesystem = fstatvfs(directory)?;
    Ok(filesystem.f_bavail.saturating_mul(filesystem.f_frsize))
}
