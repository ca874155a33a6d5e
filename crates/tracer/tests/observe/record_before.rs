//! Contents from before the program began: trees that are rebuilt completely.
#![expect(
    clippy::unwrap_used,
    reason = "a test stops at the first thing that fails"
)]

use iostrata_report::words;
use std::ffi::OsStr;
use std::fs::{self, File, Permissions};
use std::io::Write as _;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{FileExt as _, FileTypeExt as _, MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};

use iostrata_core::gap::Gap;
use iostrata_core::observe::Stream;
use iostrata_core::record::{Begin, Check, Completeness};
use iostrata_lab::rebuild::Rebuilt;
use iostrata_tracer::ebpf::{EbpfObserver, Limits};
use iostrata_tracer::record::{Before, RecordError, Recorded, Recording};

use crate::record::{again, rebuilt};
use crate::session::observe;

const PLENTY: u64 = 64 << 20;

fn begin() -> Begin {
    Begin {
        command: Vec::new(),
        directory: b"/".to_vec(),
        started_ns: 0,
        reads: false,
    }
}

fn record(log: &Path, before: &Before, program: &mut Command) -> Recorded {
    let mut observer = EbpfObserver::with_limits(Limits::record()).unwrap();
    observer.record(Recording::with_before(log, &begin(), before).unwrap());
    let (_, status) = observe(&mut observer, Stream::default(), program, || {});
    assert!(status.success());
    observer.recorded().unwrap().finish().unwrap()
}

fn shell(directory: &Path, script: &str) -> Command {
    let mut command = Command::new("sh");
    let script = format!("set -e\ncd {}\n{script}", directory.display());
    command.args(["-c", &script]);
    command
}

/// A directory, and a log next to it.
struct Ground {
    dir: tempfile::TempDir,
}

impl Ground {
    fn new(prepare: &str) -> Self {
        Self::on(Path::new("/var/tmp"), prepare)
    }

    fn on(place: &Path, prepare: &str) -> Self {
        let ground = Self {
            dir: tempfile::tempdir_in(place).unwrap(),
        };
        fs::create_dir(ground.tree()).unwrap();
        let prepared = shell(&ground.tree(), prepare).output().unwrap();
        let errors = String::from_utf8_lossy(&prepared.stderr);
        assert!(prepared.status.success(), "{errors}");
        ground
    }

    fn tree(&self) -> PathBuf {
        self.dir.path().join("tree")
    }

    fn log(&self) -> PathBuf {
        self.dir.path().join("log")
    }

    fn before(&self, limit_bytes: u64) -> Before {
        Before {
            directories: vec![self.tree()],
            limit_bytes,
        }
    }

    fn run(&self, limit_bytes: u64, script: &str) -> Recorded {
        let mut program = shell(&self.tree(), script);
        record(&self.log(), &self.before(limit_bytes), &mut program)
    }

    fn rebuilt(&self) -> (Rebuilt, PathBuf) {
        let second = self.dir.path().join("again");
        let result = again(&self.log(), &second);
        (result, rebuilt(&second, &self.tree()))
    }

    /// Copied, recorded and rebuilt: the same tree, without gaps.
    #[track_caller]
    fn is_whole(&self, script: &str) {
        let recorded = self.run(PLENTY, script);
        assert_eq!(recorded.completeness, Completeness::Complete);
        let compared = matches!(
            recorded.check,
            Check::Compared {
                nodes: 1..,
                differing: 0,
                ..
            }
        );
        assert!(compared, "{:?}", recorded.check);
        let (result, made) = self.rebuilt();
        assert_eq!(result.missing, []);
        self.is_same(&made);
    }

    #[track_caller]
    fn is_same(&self, made: &Path) {
        let different = Command::new("diff")
            .args(["--recursive", "--no-dereference"])
            .args([&self.tree(), made])
            .output()
            .unwrap();
        let different = String::from_utf8_lossy(&different.stdout).into_owned();
        // diff(1) compares no FIFOs and sockets.
        let different: Vec<&str> = different
            .lines()
            .filter(|line| !line.ends_with("is a fifo") && !line.ends_with("is a socket"))
            .collect();
        assert_eq!(different, [""; 0]);
    }
}

#[track_caller]
fn is_whole(prepare: &str, script: &str) {
    Ground::new(prepare).is_whole(script);
}

fn gaps(recorded: &Recorded) -> &[Gap] {
    match &recorded.completeness {
        Completeness::Complete => &[],
        Completeness::Incomplete { because } => because,
    }
}

#[test]
fn sqlite_updates_an_old_database() {
    is_whole(
        "sqlite3 db 'create table t(a, b); insert into t
            select value, hex(randomblob(100)) from generate_series(1, 3000)'",
        "sqlite3 db 'update t set a = -a where a % 7 = 0; delete from t where a > 2900'
        sqlite3 db 'insert into t values (1, 2); vacuum'",
    );
}

#[test]
fn git_commits_into_an_old_repository() {
    is_whole(
        "git init -q .; git config user.name a; git config user.email a@b
        for i in $(seq 30); do echo $i > f$i; done; git add .; git commit -qm one",
        "echo more >> f3; rm f4; git add -A; git commit -qm two; git checkout -q HEAD~1; git gc -q",
    );
}

#[test]
fn sed_loggers_tar_and_names() {
    is_whole(
        "seq 10000 > old; seq 5 > kept; echo log > app.log; mkdir d; seq 77 > d/x; ln d/x hard
        echo victim > over; echo gone > gone; ln -s old link; chmod 640 d/x; chmod 711 d
        mkdir ../new; (cd ../new; mkdir d; seq 99 > d/x; seq 98 > d/y; tar cf ../new.tar d)",
        "sed -i s/77/seventy/ old
        for i in $(seq 20); do echo line $i >> app.log; done
        tar xf ../new.tar; echo new > tmp; mv tmp over; rm gone; rm link; truncate -s 3 kept
        printf XX | dd of=old bs=1 seek=5000 conv=notrunc status=none; mv d e; mv hard e/z",
    );
}

#[test]
fn mappings_of_old_files() {
    let ground = Ground::new("seq 5000 > mapped");
    let recorded = ground.run(
        PLENTY,
        "python3 -c \"
import mmap
with open('mapped', 'r+b') as file:
    memory = mmap.mmap(file.fileno(), 0)
    memory[9000:9005] = b'XXXXX'
    memory.flush()
\"",
    );
    let [gap] = gaps(&recorded) else {
        panic!("{:?}", recorded.completeness)
    };
    assert_eq!(
        words::missing(&gap.what).to_string(),
        "1 writable shared mapping"
    );
    ground.is_same(&ground.rebuilt().1);
}

#[test]
fn the_same_on_tmpfs_where_generations_are_not_known() {
    let prepare = "seq 10000 > old; seq 3 > other; mkdir d; seq 4 > d/x; ln d/x d/y";
    let ground = Ground::on(Path::new("/dev/shm"), prepare);
    ground.is_whole(
        "printf XX | dd of=old bs=1 seek=7 conv=notrunc status=none; echo 1 >> d/y
        mv other d; echo new > other; rm d/x; mkdir d/e; mv old d/e",
    );
}

/// The kernel side identifies nodes of a layer, and different ones after a file was changed.
#[test]
fn the_same_on_overlayfs() {
    let ground = Ground::new("");
    let prepare = "mkdir l u w; seq 1000 > l/old; echo x > l/gone; mkdir l/d; echo y > l/d/y
        seq 3 > l/kept; ln l/kept l/hard
        mount -t overlay none -o lowerdir=l,upperdir=u,workdir=w tree";
    let mounted = shell(ground.dir.path(), prepare).status().unwrap();
    assert!(mounted.success());
    let script = "printf XX | dd of=old bs=1 seek=7 conv=notrunc status=none; rm gone
        cat d/y; echo z >> d/y; echo new > new; mv new d/y; mv old d; cat kept";
    let whole = std::panic::catch_unwind(|| ground.is_whole(script));
    let unmounted = Command::new("umount").arg(ground.tree()).status().unwrap();
    assert!(unmounted.success());
    whole.unwrap();
}

#[test]
fn kinds_modes_attributes_times_and_holes() {
    let ground = Ground::new(
        "mkfifo -m 620 fifo; ln -s nowhere link; mkdir -m 1755 dir; echo x > file; chmod 4711 file
        truncate -s 5M sparse; printf tail | dd of=sparse bs=1 seek=3M conv=notrunc status=none
        touch -d 2001-02-03T04:05:06.789Z file; : > $(printf 'new\\nline\\377')
        mknod device c 1 3; touch empty; truncate -s 1M hole",
    );
    let tree = ground.tree();
    std::os::unix::net::UnixListener::bind(tree.join("socket")).unwrap();
    let none = rustix::fs::XattrFlags::empty();
    for name in ["file", "dir"] {
        rustix::fs::setxattr(tree.join(name), "user.mine", b"value", none).unwrap();
    }
    let recorded = ground.run(PLENTY, ": > made");
    assert_eq!(recorded.completeness, Completeness::Complete);
    let (result, made) = ground.rebuilt();
    assert_eq!(result.missing, []);
    let left: Vec<String> = result
        .left_out
        .iter()
        .map(|gap| words::missing(&gap.what).to_string())
        .collect();
    assert!(
        left.iter().any(|what| what.ends_with("/device")),
        "{left:?}"
    );
    assert!(left.iter().any(|what| what.ends_with("/file")), "{left:?}");
    let is = |name: &str| fs::symlink_metadata(made.join(name)).unwrap();
    assert!(is("fifo").file_type().is_fifo() && is("fifo").mode() & 0o7777 == 0o620);
    assert!(is("socket").file_type().is_socket());
    assert_eq!(
        fs::read_link(made.join("link")).unwrap(),
        Path::new("nowhere")
    );
    assert_eq!(is("dir").mode() & 0o7777, 0o1755);
    assert_eq!(is("file").mode() & 0o7777, 0o711, "no set-user-ID bit");
    assert_eq!(
        (is("file").mtime(), is("file").mtime_nsec()),
        (981_173_106, 789_000_000)
    );
    for name in ["file", "dir"] {
        let mut value = [0; 16];
        let bytes = rustix::fs::getxattr(made.join(name), "user.mine", &mut value[..]).unwrap();
        assert_eq!(&value[..bytes], b"value");
    }
    assert!(is("sparse").size() == 5 << 20 && is("sparse").blocks() <= 16);
    assert_eq!((is("hole").size(), is("hole").blocks()), (1 << 20, 0));
    let mut tail = [0; 4];
    let sparse = File::open(made.join("sparse")).unwrap();
    sparse.read_exact_at(&mut tail, 3 << 20).unwrap();
    assert_eq!(&tail, b"tail");
    assert!(made.join(OsStr::from_bytes(b"new\nline\xff")).exists());
}

#[test]
fn ten_thousand_small_files() {
    let ground = Ground::new(
        "mkdir $(seq 100); for d in $(seq 100); do (cd $d; seq 10100 | split -n r/100); done",
    );
    assert_eq!(fs::read_dir(ground.tree().join("7")).unwrap().count(), 100);
    ground.is_whole("for d in $(seq 1 10 100); do echo changed >> $d/xab; rm $d/xac; done");
}

#[test]
fn a_limit_that_is_reached_is_named_with_its_remedy() {
    let ground = Ground::new("seq 20000 > a_large; echo small > b_small");
    let large = fs::metadata(ground.tree().join("a_large")).unwrap().len();
    let recorded = ground.run(10_000, "echo more >> a_large; echo more >> b_small");
    let [gap] = gaps(&recorded) else {
        panic!("{:?}", recorded.completeness)
    };
    let path = ground.tree().join("a_large");
    assert_eq!(
        words::missing(&gap.what).to_string(),
        format!("earlier contents of files: {}", path.display())
    );
    assert_eq!(
        words::reason(&gap.why).to_string(),
        format!(
            "the total limit of 10000 bytes was reached, and these have {large}; give a larger \
             --record-before-limit"
        )
    );
    let (_, made) = ground.rebuilt();
    assert_eq!(fs::read(made.join("b_small")).unwrap(), b"small\nmore\n");
}

#[test]
fn files_elsewhere_that_are_changed_are_named() {
    let ground =
        Ground::new("echo old > in; mkdir ../else; cd ../else; seq 9 > a; seq 9 > b; seq 9 > c");
    let script =
        "echo 1 >> in; cd ../else; echo 2 >> a; rm b; echo 3 > new; mv new c; cat a > made";
    let recorded = ground.run(PLENTY, script);
    let gaps = gaps(&recorded);
    let elsewhere = ground.dir.path().join("else");
    let names = |them: &[&str]| {
        let all = them
            .iter()
            .map(|name| elsewhere.join(name).display().to_string());
        all.collect::<Vec<_>>().join(", ")
    };
    let expected = [
        format!(
            "earlier contents of files that were changed: {}",
            names(&["a", "b"])
        ),
        format!("earlier files at the targets of renames: {}", names(&["c"])),
    ];
    let what = gaps.iter().map(|gap| words::missing(&gap.what).to_string());
    assert_eq!(what.collect::<Vec<_>>(), expected);
    assert!(gaps.iter().all(|gap| {
        words::reason(&gap.why)
            .to_string()
            .starts_with("before: not stored")
    }));
}

#[test]
fn a_file_that_others_change_meanwhile_is_named() {
    let ground = Ground::new("for i in $(seq 500); do seq 100 > f$i; done; echo x > a_changed");
    let path = ground.tree().join("a_changed");
    let mut file = File::options().append(true).open(&path).unwrap();
    let done = AtomicBool::new(false);
    let recording = std::thread::scope(|threads| {
        threads.spawn(|| {
            while !done.load(Ordering::Relaxed) {
                file.write_all(b"x").unwrap();
            }
        });
        let recording = Recording::with_before(&ground.log(), &begin(), &ground.before(PLENTY));
        done.store(true, Ordering::Relaxed);
        recording.unwrap()
    });
    let mut observer = EbpfObserver::with_limits(Limits::record()).unwrap();
    observer.record(recording);
    let (_, status) = observe(
        &mut observer,
        Stream::default(),
        &mut Command::new("true"),
        || {},
    );
    assert!(status.success());
    let recorded = observer.recorded().unwrap().finish().unwrap();
    let gaps = gaps(&recorded);
    assert_eq!(
        words::missing(&gaps[0].what).to_string(),
        format!("what was before: {}", path.display())
    );
    assert!(
        words::reason(&gaps[0].why)
            .to_string()
            .starts_with("it was changed by another process while it was read")
    );
    assert!(
        words::missing(&gaps[1].what)
            .to_string()
            .starts_with("what changed "),
        "and it is not what the log says: {gaps:?}"
    );
}

#[test]
fn other_mounts_and_what_is_asked_for_twice() {
    let ground = Ground::new("mkdir mounted sub; echo x > sub/f");
    let mounted = ground.tree().join("mounted");
    let status = Command::new("mount")
        .args(["-t", "tmpfs", "none"])
        .arg(&mounted)
        .status()
        .unwrap();
    assert!(status.success());
    fs::write(mounted.join("inside"), "old").unwrap();
    let before = Before {
        directories: vec![
            ground.tree().join("sub"),
            ground.tree(),
            ground.tree().join("sub/../sub"),
        ],
        limit_bytes: PLENTY,
    };
    let mut program = shell(
        &ground.tree(),
        "echo y >> sub/f; echo more >> mounted/inside",
    );
    let recorded = record(&ground.log(), &before, &mut program);
    let unmounted = Command::new("umount").arg(&mounted).status().unwrap();
    assert!(unmounted.success());
    let [gap] = gaps(&recorded) else {
        panic!("{:?}", recorded.completeness)
    };
    assert!(
        words::missing(&gap.what)
            .to_string()
            .ends_with("/mounted/inside"),
        "{gap:?}"
    );
    let (_, made) = ground.rebuilt();
    assert_eq!(fs::read(made.join("sub/f")).unwrap(), b"x\ny\n");
}

#[test]
fn what_cannot_be_kept_is_refused_and_no_log_is_left() {
    let ground = Ground::new(": > file");
    let refused = |directory: PathBuf| {
        let before = Before {
            directories: vec![directory],
            limit_bytes: PLENTY,
        };
        let error = Recording::with_before(&ground.log(), &begin(), &before)
            .err()
            .unwrap();
        assert!(matches!(error, RecordError::Before { .. }), "{error}");
        assert!(!ground.log().exists());
        error.to_string()
    };
    assert!(refused(ground.tree().join("absent")).contains("No such file"));
    assert!(refused(ground.tree().join("file")).contains("Not a directory"));
    assert!(refused("/proc/self".into()).contains("generated by the kernel"));
}

/// root can read everything, so another user runs it.
#[test]
fn what_a_user_may_not_read_is_named() {
    let ground = Ground::new(
        "mkdir closed; echo x > closed/inside; echo y > secret; chmod 600 secret; echo z > open",
    );
    fs::set_permissions(ground.tree().join("closed"), Permissions::from_mode(0o700)).unwrap();
    fs::set_permissions(ground.dir.path(), Permissions::from_mode(0o777)).unwrap();
    let recording = std::thread::scope(|threads| {
        let as_nobody = threads.spawn(|| {
            let nobody = rustix::process::Uid::from_raw(65_534);
            rustix::thread::set_thread_res_uid(nobody, nobody, nobody).unwrap();
            Recording::with_before(&ground.log(), &begin(), &ground.before(PLENTY)).unwrap()
        });
        as_nobody.join().unwrap()
    });
    let mut observer = EbpfObserver::with_limits(Limits::record()).unwrap();
    observer.record(recording);
    let (_, status) = observe(
        &mut observer,
        Stream::default(),
        &mut Command::new("true"),
        || {},
    );
    assert!(status.success());
    let recorded = observer.recorded().unwrap().finish().unwrap();
    let what = words::missing(&gaps(&recorded)[0].what).to_string();
    for name in ["closed", "secret"] {
        let told = format!("{} (Permission denied", ground.tree().join(name).display());
        assert!(what.contains(&told), "{what}");
    }
    assert!(!what.contains("/open"), "{what}");
}
