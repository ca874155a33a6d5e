//! Real storage stacks: images on loop devices, bind mounts, overlays. Each test has its own mount
//! namespace, so that nothing stays mounted or attached however the test ends.
#![expect(
    clippy::unwrap_used,
    clippy::print_stderr,
    reason = "a test fails by panicking and says why it is skipped"
)]

#[path = "../../core/tests/skip/mod.rs"]
mod skip;

use iostrata_core::gap::{Gap, Missing, Reason, Stratum};
use std::ffi::{CString, OsStr};
use std::fs::{self, File, OpenOptions};
use std::os::fd::AsFd as _;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use iostrata_core::FileId;
use iostrata_core::doctor::{Layer, LayerKind, Stack};
use iostrata_core::environment::Backend;
use iostrata_tracer::kernel::{LoopDevice, private_mounts};
use iostrata_tracer::machine::{doctor, environment};
use iostrata_tracer::permission::Known;
use iostrata_tracer::stack::{Roots, StackError, inspect};
use rustix::mount::{MountFlags, mount, mount_bind};

/// Runs `test` with a scratch directory, on a thread with private mounts. Without root, says so and
/// runs nothing.
fn with_mounts(test: impl FnOnce(&Path) + Send) {
    if !rustix::process::geteuid().is_root() {
        skip::skip("mounting needs root");
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let outcome = std::thread::scope(|scope| {
        scope
            .spawn(|| {
                let _namespace = private_mounts().unwrap();
                test(directory.path());
            })
            .join()
    });
    if let Err(panic) = outcome {
        std::panic::resume_unwind(panic);
    }
}

/// A file system in `directory/name.img`, mounted at `directory/name`.
struct Image {
    device: LoopDevice,
    file: PathBuf,
    point: PathBuf,
}

impl Image {
    fn mount(directory: &Path, name: impl AsRef<OsStr>, mkfs: &[&str]) -> Self {
        let (kind, point) = (mkfs[0], directory.join(name.as_ref()));
        let file = directory.join(format!("{kind}.img"));
        File::create(&file).unwrap().set_len(320 << 20).unwrap();
        let made = Command::new(format!("mkfs.{kind}"))
            .args(&mkfs[1..])
            .arg("-q")
            .arg(&file)
            .output()
            .unwrap();
        assert!(
            made.status.success(),
            "{}",
            String::from_utf8_lossy(&made.stderr)
        );
        let image = OpenOptions::new()
            .read(true)
            .write(true)
            .open(&file)
            .unwrap();
        let device = LoopDevice::attach(image.as_fd()).unwrap();
        fs::create_dir(&point).unwrap();
        mount(device.path(), &point, kind, MountFlags::empty(), None).unwrap();
        Self {
            device,
            file,
            point,
        }
    }

    fn kernel_device(&self) -> u32 {
        let (major, minor) = self.device.numbers();
        FileId::kernel_device(major, minor)
    }
}

impl Drop for Image {
    /// At once, instead of when the kernel destroys the namespace.
    fn drop(&mut self) {
        if let Err(error) = rustix::mount::unmount(&self.point, rustix::mount::UnmountFlags::DETACH)
        {
            eprintln!("cannot unmount {}: {error}", self.point.display());
        }
    }
}

fn look(path: &Path) -> Stack {
    inspect(path, &Roots::default()).unwrap()
}

fn top(stack: &Stack) -> (&str, &iostrata_core::doctor::Mount) {
    let layer = stack.file_system().unwrap();
    (&layer.name, layer.mount.as_ref().unwrap())
}

fn named<'a>(stack: &'a Stack, name: &str) -> &'a Layer {
    stack
        .layers
        .iter()
        .find(|layer| layer.name == name)
        .unwrap()
}

#[test]
fn ext4_on_a_loop_device_down_to_the_disk_of_its_image() {
    with_mounts(|directory| {
        let image = Image::mount(directory, "m", &["ext4"]);
        let stack = look(&image.point);
        let (kind, mounted) = top(&stack);
        assert_eq!((kind, mounted.root.as_str()), ("ext4", "/"));
        assert_eq!(mounted.point, image.point.to_str().unwrap());
        assert_eq!(mounted.journal.present, Some(true));
        assert_eq!(mounted.journal.data_mode.as_deref(), Some("ordered"));
        assert_eq!(mounted.journal.barrier, Some(true));
        assert_eq!(mounted.journal.log_device, None);

        let loop_layer = &stack.layers[1];
        assert_eq!(loop_layer.name, image.device.name());
        assert_eq!(loop_layer.size_bytes, Some(320 << 20));
        let backing_file = image.file.to_str().unwrap().to_owned();
        assert_eq!(
            loop_layer.kind,
            LayerKind::Loop {
                backing_file,
                direct_io: Some(true)
            }
        );
        assert_eq!(
            stack.charged_disks(),
            [image.kernel_device()],
            "not the disk below"
        );

        let holder = &stack.layers[2];
        assert_eq!((holder.depth, &holder.kind), (2, &LayerKind::FileSystem));
        let number = fs::metadata(&image.file).unwrap().dev();
        let of_image = (rustix::fs::major(number), rustix::fs::minor(number));
        assert_eq!(
            holder.device.map(|device| (device.major, device.minor)),
            Some(of_image)
        );
        let bottom = stack.layers.last().unwrap();
        assert!(matches!(bottom.kind, LayerKind::Disk { .. }), "{bottom:?}");
        assert!(!bottom.charged);
        assert!(bottom.queue.as_ref().unwrap().scheduler.is_some());

        let target = environment(&image.point, Backend::None).unwrap().target;
        assert_eq!(
            (target.filesystem.as_str(), target.journal),
            ("ext4", Some(true))
        );
        assert!(
            target.mount_options.ends_with(",data=ordered"),
            "{}",
            target.mount_options
        );
        assert_eq!(target.devices[0].name, image.device.name());
    });
}

#[test]
fn a_deleted_image_is_still_on_its_file_system() {
    with_mounts(|directory| {
        let image = Image::mount(directory, "m", &["ext4"]);
        fs::remove_file(&image.file).unwrap();
        let stack = look(&image.point);
        let LayerKind::Loop { backing_file, .. } = &stack.layers[1].kind else {
            panic!("{stack:?}")
        };
        assert!(backing_file.ends_with(" (deleted)"), "{backing_file}");
        let holder = stack.layers[2].mount.as_ref().unwrap();
        assert_eq!(holder.point, top(&look(directory)).1.point);
    });
}

#[test]
fn ext4_without_a_journal() {
    with_mounts(|directory| {
        let image = Image::mount(directory, "m", &["ext4", "-O", "^has_journal"]);
        let stack = look(&image.point);
        let journal = &top(&stack).1.journal;
        assert_eq!((journal.present, &journal.data_mode), (Some(false), &None));
    });
}

#[test]
fn xfs_has_a_log_and_btrfs_has_not() {
    with_mounts(|directory| {
        let xfs = Image::mount(directory, "x", &["xfs"]);
        let stack = look(&xfs.point);
        assert_eq!(top(&stack).1.journal.present, Some(true));
        assert_eq!(stack.charged_disks(), [xfs.kernel_device()]);

        let btrfs = Image::mount(directory, "b", &["btrfs"]);
        let stack = look(&btrfs.point);
        assert_eq!(
            (top(&stack).0, top(&stack).1.journal.present),
            ("btrfs", Some(false))
        );
        assert_eq!(
            stack.charged_disks(),
            [btrfs.kernel_device()],
            "its device number is anonymous"
        );
    });
}

#[test]
fn bind_mounts_and_what_they_hide() {
    with_mounts(|directory| {
        let image = Image::mount(directory, "m", &["ext4"]);
        let sub = image.point.join("sub");
        let deep = directory.join("bound/deep");
        fs::create_dir_all(&sub).unwrap();
        fs::create_dir_all(&deep).unwrap();
        mount("none", &deep, "tmpfs", MountFlags::empty(), None).unwrap();
        mount_bind(&sub, directory.join("bound")).unwrap();
        fs::create_dir(directory.join("bound/deep")).unwrap();

        let stack = look(&deep);
        assert_eq!(
            (top(&stack).0, top(&stack).1.root.as_str()),
            ("ext4", "/sub"),
            "the tmpfs is hidden"
        );
        assert_eq!(stack.charged_disks(), [image.kernel_device()]);
    });
}

#[test]
fn an_overlay_stands_on_its_directories() {
    with_mounts(|directory| {
        let image = Image::mount(directory, "m", &["ext4"]);
        let [lower, upper, work] = ["lo,w:er", "upper", "work"].map(|name| image.point.join(name));
        let merged = directory.join("merged");
        for made in [&lower, &upper, &work, &merged] {
            fs::create_dir(made).unwrap();
        }
        let escaped = lower
            .to_str()
            .unwrap()
            .replace(',', "\\,")
            .replace(':', "\\:");
        let options = format!(
            "lowerdir={escaped},upperdir={},workdir={}",
            upper.display(),
            work.display()
        );
        let options = CString::new(options).unwrap();
        mount(
            "overlay",
            &merged,
            "overlay",
            MountFlags::empty(),
            Some(options.as_c_str()),
        )
        .unwrap();

        let stack = look(&merged);
        assert_eq!(top(&stack).0, "overlay");
        assert_eq!(top(&stack).1.journal.present, None);
        assert_eq!(stack.layers[0].note, None, "every directory is reachable");
        let below = named(&stack, "ext4");
        assert_eq!(
            below.note.as_deref(),
            Some(format!("upper directory {}", upper.display()).as_str())
        );
        assert_eq!(stack.charged_disks(), [image.kernel_device()]);
        assert_eq!(
            environment(&merged, Backend::None).unwrap().target.journal,
            Some(true)
        );
        rustix::mount::unmount(&merged, rustix::mount::UnmountFlags::empty()).unwrap();
    });
}

#[test]
fn tmpfs_has_no_device() {
    with_mounts(|directory| {
        mount("none", directory, "tmpfs", MountFlags::empty(), None).unwrap();
        let stack = look(directory);
        assert_eq!(stack.layers.len(), 1);
        assert!(stack.layers[0].note.as_deref().unwrap().contains("memory"));
        assert!(stack.charged_disks().is_empty());
        assert_eq!(
            environment(directory, Backend::None)
                .unwrap()
                .target
                .devices,
            []
        );
    });
}

#[test]
fn any_byte_may_be_in_a_path() {
    with_mounts(|directory| {
        let name = OsStr::from_bytes(b"a b\nc\\d#\xff,e");
        let image = Image::mount(directory, name, &["ext4"]);
        let point = image.point.join("below");
        fs::create_dir(&point).unwrap();
        let stack = look(&point);
        assert_eq!(stack.charged_disks(), [image.kernel_device()]);
        assert_eq!(top(&stack).1.point, image.point.to_string_lossy());
        let missing = inspect(&point.join("not there"), &Roots::default());
        assert!(
            matches!(missing, Err(StackError::Path { .. })),
            "{missing:?}"
        );
    });
}

/// The schema is the promise; this is the actual output.
#[test]
fn the_result_is_what_its_schema_says() {
    let gaps = [Gap::new(
        Missing::Stratum(Stratum::PageCache),
        Reason::Error("refused".into()),
    )];
    let known = Known {
        seen: &[iostrata_core::environment::Way {
            what: "syscalls".to_owned(),
            by: "tracepoints".to_owned(),
        }],
        missing: &gaps,
        search_path: None,
    };
    let directory = tempfile::tempdir().unwrap();
    let schema = include_str!("../../../docs/schema/iostrata.doctor-1.schema.json");
    let schema: serde_json::Value = serde_json::from_str(schema).unwrap();
    let validator = jsonschema::draft202012::new(&schema).unwrap();
    for path in [directory.path(), Path::new("/proc")] {
        let result = doctor(path, Backend::Ebpf, &known).unwrap();
        let written = serde_json::to_value(&result).unwrap();
        let wrong: Vec<String> = validator
            .iter_errors(&written)
            .map(|error| format!("{}: {error}", error.instance_path()))
            .collect();
        assert!(wrong.is_empty(), "{wrong:#?}");
        let read: iostrata_core::doctor::DoctorResult = serde_json::from_value(written).unwrap();
        assert_eq!(read, result);
    }
    let emptied = serde_json::json!({"schema": "iostrata.doctor/1"});
    assert!(
        !validator.is_valid(&emptied),
        "the schema demands something"
    );
}
