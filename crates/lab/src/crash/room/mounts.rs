//! What is mounted in a room.

use std::ffi::CString;
use std::fs::{self, File};
use std::io::{self, ErrorKind};
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};

use iostrata_tracer::kernel::{make_all_read_only, make_read_only, make_writable, map_owners};
use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags, chownat, fstat, openat};
use rustix::mount::{
    MountFlags, MountPropagationFlags, MoveMountFlags, OpenTreeFlags, mount, mount_change,
    move_mount, open_tree,
};
use rustix::process::Uid;

use super::super::checker::{SAID, TEMPORARY, TREE};
use super::Users;

/// The devices of a room.
const DEVICES: [&str; 6] = ["null", "zero", "full", "random", "urandom", "tty"];

/// Directories that a room has of its own.
const PARTS: [&str; 5] = ["/dev", "/dev/shm", "/proc", "/run", "/tmp"];

const SHADOW: &str = "/etc/shadow";

/// Parts of `/proc` that change the machine, not a process.
const OF_THE_MACHINE: [&str; 5] = ["sys", "sysrq-trigger", "irq", "bus", "pressure"];

/// Replaces the mounts of a new mount namespace: all is read-only but the tree and the temporary directory of the stage,
/// which is also `/tmp`, and `/dev/shm`. Gives the file for what the checker says, which it has no other way to.
/// Other stages, sockets of the machine's services in `/run`, and most devices are not there.
///
/// What is `seen` is there wherever it is, also below a directory that others may not enter. To `users` it shows whom
/// it belongs to; all else belongs to nobody then.
pub(super) fn furnish(stage: &Path, seen: &[PathBuf], users: Option<&Users>) -> io::Result<File> {
    mount_change(
        "/",
        MountPropagationFlags::PRIVATE | MountPropagationFlags::REC,
    )?;
    // A mount by itself: a mount with an open file does not become read-only.
    let output = openat(
        copied(stage)?,
        SAID,
        OFlags::WRONLY | OFlags::APPEND | OFlags::CLOEXEC,
        Mode::empty(),
    )?;
    let own = copied(stage)?;
    let tree = writable(&stage.join(TREE))?;
    let temporary = writable(&stage.join(TEMPORARY))?;
    let everywhere = writable(&stage.join(TEMPORARY))?;
    let owners = users.map(|users| users.namespace.as_fd());
    let seen = seen
        .iter()
        .filter_map(|path| Some((path.as_path(), view(path, owners).ok()?)));
    // What holds a part of the room comes first, and the part over it; so does what holds the stage, and may be in a part.
    let holds_part = |(path, _): &(&Path, OwnedFd)| {
        let mut parts = PARTS.iter().map(Path::new);
        parts.any(|part| part.starts_with(path))
    };
    let (above, below): (Vec<_>, Vec<_>) = seen.partition(holds_part);
    let holds_stage = |(path, _): &(&Path, OwnedFd)| stage.starts_with(path);
    let (around, below): (Vec<_>, Vec<_>) = below.into_iter().partition(holds_stage);
    // A machine without one of them, such as a container, has a room without it.
    let device = |name| Some((name, copied(&Path::new("/dev").join(name)).ok()?));
    let devices: Vec<_> = DEVICES.into_iter().filter_map(device).collect();
    make_all_read_only(at(Path::new("/"))?.as_fd())?;

    let mut way = Way {
        is_opened: users.is_some(),
        covers: Vec::new(),
    };
    // What cannot be shown is not there.
    for (path, tree) in above.iter().filter(|(path, _)| *path != Path::new("/")) {
        way.show(path, tree, None).ok();
    }
    dev(&devices)?;
    let shadow = users.map(|users| passwords(users.ids.root())).transpose()?;
    for path in ["/run", "/var/run"].map(Path::new) {
        if fs::symlink_metadata(path).is_ok_and(|found| found.is_dir()) {
            way.covers.push(run(path)?);
        }
    }
    put(&everywhere, Path::new("/tmp"))?;
    for (path, tree) in &around {
        way.show(path, tree, None).ok();
    }
    make_read_only(own.as_fd())?;
    way.show(stage, &own, stage.parent())?;
    put(&tree, &stage.join(TREE))?;
    put(&temporary, &stage.join(TEMPORARY))?;
    for (path, tree) in &below {
        way.show(path, tree, None).ok();
    }
    if let Some(shadow) = shadow.flatten() {
        put(&shadow, Path::new(SHADOW))?;
    }
    for cover in way.covers {
        make_read_only(cover.as_fd())?;
    }
    proc()?;
    Ok(output.into())
}

fn dev(devices: &[(&str, OwnedFd)]) -> io::Result<()> {
    let path = Path::new("/dev");
    empty(path, "mode=755,size=64k,nr_inodes=256")?;
    for (name, device) in devices {
        fs::write(path.join(name), "")?;
        put(device, &path.join(name))?;
    }
    for (name, target) in [
        ("fd", ""),
        ("stdin", "/0"),
        ("stdout", "/1"),
        ("stderr", "/2"),
    ] {
        symlink(format!("/proc/self/fd{target}"), path.join(name))?;
    }
    fs::create_dir("/dev/shm")?;
    make_read_only(at(path)?.as_fd())?;
    empty(Path::new("/dev/shm"), "mode=1777,size=256m,nr_inodes=64k")
}

fn proc() -> io::Result<()> {
    let flags = MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC;
    mount("proc", "/proc", "proc", flags, None)?;
    for name in OF_THE_MACHINE {
        let path = Path::new("/proc").join(name);
        match copied(&path) {
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            part => {
                let part = part?;
                make_read_only(part.as_fd())?;
                put(&part, &path)?;
            }
        }
    }
    Ok(())
}

/// A directory or file as it is seen in the room.
fn view(path: &Path, owners: Option<BorrowedFd<'_>>) -> io::Result<OwnedFd> {
    let flags = OpenTreeFlags::OPEN_TREE_CLONE | OpenTreeFlags::AT_RECURSIVE;
    let tree = open_tree(CWD, path, flags | OpenTreeFlags::OPEN_TREE_CLOEXEC)?;
    if let Some(owners) = owners {
        // On a file system that cannot, what everybody may read remains.
        map_owners(tree.as_fd(), owners).ok();
    }
    make_all_read_only(tree.as_fd())?;
    Ok(tree)
}

/// A list of passwords in which nobody has one, in place of one that is nobody's to read: `su` needs it.
fn passwords(root: Uid) -> io::Result<Option<OwnedFd>> {
    let (true, Ok(users)) = (
        Path::new(SHADOW).exists(),
        fs::read_to_string("/etc/passwd"),
    ) else {
        return Ok(None);
    };
    let names = users.lines().filter_map(|line| line.split(':').next());
    let lines = names.fold(String::new(), |lines, name| {
        lines + name + ":*:19000:0:99999:7:::\n"
    });
    // Below what becomes /tmp.
    empty(Path::new("/tmp"), "mode=700,size=1m")?;
    let file = Path::new("/tmp/shadow");
    fs::write(file, lines)?;
    fs::set_permissions(file, fs::Permissions::from_mode(0o600))?;
    chownat(CWD, file, Some(root), None, AtFlags::SYMLINK_NOFOLLOW)?;
    let made = copied(file)?;
    make_read_only(made.as_fd())?;
    Ok(Some(made))
}

/// An empty `/run`, with the link by which NixOS has its programs. Gives the mount, which becomes read-only last.
fn run(path: &Path) -> io::Result<OwnedFd> {
    let system = path.join("current-system");
    let programs = fs::read_link(&system);
    empty(path, "mode=755,size=64k,nr_inodes=256")?;
    if let Ok(programs) = programs {
        symlink(programs, system)?;
    }
    at(path)
}

fn at(path: &Path) -> io::Result<OwnedFd> {
    Ok(open_tree(CWD, path, OpenTreeFlags::OPEN_TREE_CLOEXEC)?)
}

/// A mount of what is there, without what is mounted below it.
fn copied(path: &Path) -> io::Result<OwnedFd> {
    let flags = OpenTreeFlags::OPEN_TREE_CLONE | OpenTreeFlags::OPEN_TREE_CLOEXEC;
    Ok(open_tree(CWD, path, flags)?)
}

fn writable(path: &Path) -> io::Result<OwnedFd> {
    let tree = copied(path)?;
    make_writable(tree.as_fd())?;
    Ok(tree)
}

fn put(tree: &OwnedFd, path: &Path) -> io::Result<()> {
    Ok(move_mount(
        tree,
        "",
        CWD,
        path,
        MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH,
    )?)
}

fn empty(path: &Path, options: &str) -> io::Result<()> {
    memory(path, options, MountFlags::NOSUID)
}

/// Mounts a tmpfs without devices.
pub(in crate::crash) fn memory(path: &Path, options: &str, flags: MountFlags) -> io::Result<()> {
    let options = CString::new(options)?;
    let flags = flags | MountFlags::NODEV;
    Ok(mount("none", path, "tmpfs", flags, options.as_c_str())?)
}

/// The way to what is shown.
struct Way {
    /// Whether directories on it that not everybody may enter become empty ones.
    is_opened: bool,
    /// These, which become read-only last.
    covers: Vec<OwnedFd>,
}

impl Way {
    /// Mounts a tree at its path. `hidden` on the way becomes empty in any case.
    fn show(&mut self, path: &Path, tree: &OwnedFd, hidden: Option<&Path>) -> io::Result<()> {
        let mut way: Vec<&Path> = path.ancestors().skip(1).collect();
        way.reverse();
        for directory in way {
            match fs::metadata(directory) {
                Err(error) if error.kind() == ErrorKind::NotFound => fs::create_dir(directory)?,
                found => {
                    let is_closed = found?.permissions().mode() & 0o001 == 0;
                    if Some(directory) == hidden || self.is_opened && is_closed {
                        empty(directory, "mode=755,size=64k,nr_inodes=256")?;
                        self.covers.push(at(directory)?);
                    }
                }
            }
        }
        if !path.exists() {
            if FileType::from_raw_mode(fstat(tree)?.st_mode) == FileType::Directory {
                fs::create_dir(path)?;
            } else {
                fs::write(path, "")?;
            }
        }
        put(tree, path)
    }
}
