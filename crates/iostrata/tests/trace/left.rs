//! What a program leaves of a file, whatever others do with it and its names: what is dirty, with `cachestat(2)` as the
//! witness, and what was overwritten.

use std::fs::{self, File};
use std::io::{Read as _, Write as _};
use std::os::fd::AsFd as _;
use std::path::Path;
use std::process::{Command, Stdio};

use iostrata_core::gap::{Gap, Reason};
use iostrata_core::trace::{Bounds, TraceResult};
use iostrata_tracer::kernel::{cachestat, page_size};

use crate::adopted::Endless;
use crate::image::{Image, done, text};
use crate::skip::skip;
use crate::traced::{assert_audited, iostrata, place};
use crate::undisturbed::undisturbed;
use crate::wait::until;

const MIB: u64 = 1 << 20;

/// `head` by whole buffers.
const WRITES_A: &str = "head -c 1M /dev/zero >a";

fn dirty(file: &File) -> u64 {
    let pages = cachestat(file.as_fd(), 0..u64::MAX).unwrap();
    (pages.dirty_pages + pages.writeback_pages) * page_size() as u64
}

/// The first needs root.
fn back_ends() -> &'static [&'static str] {
    &["ebpf", "ptrace"][usize::from(!rustix::process::geteuid().is_root())..]
}

/// Runs a shell in `dir`. Where its script says `wait`, it waits for `meanwhile`, which returns the file that is asked
/// at the end.
#[track_caller]
fn traced(
    (backend, dir): (&str, &Path),
    script: &str,
    meanwhile: impl FnOnce() -> Option<File>,
) -> (TraceResult, Option<u64>) {
    let saved = tempfile::NamedTempFile::new().unwrap();
    let to = saved.path().to_str().unwrap();
    let options = ["--backend", backend, "--no-save", "--no-measure", "-o", to];
    let script = format!("wait() {{ echo ready; read go || :; }}; {script}");
    let mut command = iostrata(&options, &["sh", "-c", &script]);
    let command = command.current_dir(dir).stderr(Stdio::null());
    let command = command.stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut line = Vec::new();
    if script.ends_with("wait") || script.contains("wait;") {
        line.resize(6, 0);
        child
            .stdout
            .as_mut()
            .unwrap()
            .read_exact(&mut line)
            .unwrap();
    }
    let asked = meanwhile();
    child.stdin.take().unwrap().write_all(b"\n").ok();
    assert!(child.wait_with_output().unwrap().status.success());
    let witness = asked.as_ref().map(dirty);
    let result: TraceResult = serde_json::from_slice(&fs::read(saved.path()).unwrap()).unwrap();
    assert_eq!(result.lost_events, 0);
    assert_audited(&result);
    (result, witness)
}

/// ptrace knows the most only, and without privileges nothing of a file that has lost its name.
#[track_caller]
fn assert_left(backend: &str, result: &TraceResult, witness: u64) {
    let left = result.bytes.dirty_at_exit();
    let said = format!("{backend}: {left:?} of {witness}: {:?}", result.missing);
    let is_root = rustix::process::geteuid().is_root();
    match left {
        Some(left) if backend == "ebpf" => assert_eq!(left, Bounds::exactly(witness), "{said}"),
        Some(left) => assert_eq!(left, Bounds::from((0, witness)), "{said}"),
        None => assert!(!is_root, "{said}"),
    }
}

/// The last name in the run leads to another file, or to none.
#[test]
fn is_counted_whatever_names_the_file_has() {
    undisturbed(|| {
        let held = format!("{WRITES_A}; wait; rm a");
        let linked = format!("{WRITES_A}; ln a b; rm a; wait");
        let renamed = format!("{WRITES_A}; wait");
        let replaced = format!("{WRITES_A}; echo x >b; sync b; wait; mv b a");
        for backend in back_ends() {
            let dir = place();
            let at = |name: &str| dir.path().join(name);
            let open = |name: &str| Some(File::open(at(name)).unwrap());
            let moves = || {
                fs::rename(at("a"), at("c")).unwrap();
                open("c")
            };
            let cases: [(&str, &dyn Fn() -> Option<File>); 4] = [
                (&held, &|| open("a")),
                (&linked, &|| open("b")),
                (&renamed, &moves),
                (&replaced, &|| open("a")),
            ];
            for (script, meanwhile) in cases {
                let (result, witness) = traced((backend, dir.path()), script, meanwhile);
                assert_eq!(witness, Some(MIB), "{backend}: {script}");
                assert_left(backend, &result, MIB);
            }
            // Nobody holds it any more.
            let (result, _) = traced((backend, dir.path()), &format!("{WRITES_A}; rm a"), || None);
            assert_left(backend, &result, 0);
        }
    });
}

/// A write that ends where the file ended before others had cut it.
#[test]
fn what_others_had_cut_is_not_overwritten() {
    let script = "exec 3<>a; wait; python3 -c 'import os; os.pwrite(3, bytes(10), 19990)'";
    for backend in back_ends() {
        for (cut, overwritten_bytes) in [(false, 10), (true, 0)] {
            let dir = place();
            let a = dir.path().join("a");
            fs::write(&a, vec![1; 20000]).unwrap();
            let meanwhile = || {
                if cut {
                    let file = File::options().write(true).open(&a).unwrap();
                    file.set_len(19990).unwrap();
                }
                None
            };
            let (result, _) = traced((backend, dir.path()), script, meanwhile);
            let row = crate::traced::file(&result, "a");
            let history = row.history.as_ref().unwrap();
            let found = (history.overwritten_bytes, history.appends);
            assert_eq!(found, (overwritten_bytes, u64::from(cut)), "{backend}");
        }
    }
}

/// The rest of the last page is cleared, without a write.
#[test]
fn a_cut_within_a_page_dirties_it() {
    undisturbed(|| {
        for backend in back_ends() {
            let dir = place();
            let a = dir.path().join("a");
            fs::write(&a, vec![1; 10000]).unwrap();
            File::open(&a).unwrap().sync_all().unwrap();
            let asked = || Some(File::open(&a).unwrap());
            let (result, witness) = traced((backend, dir.path()), "truncate -s 100 a", asked);
            assert_eq!(witness, Some(4096), "{backend}");
            assert_left(backend, &result, 4096);
        }
    });
}

/// A store to a page that is dirty is not reported.
#[test]
fn stores_to_pages_that_others_dirtied_may_be_the_runs() {
    undisturbed(|| {
        let script = "python3 -c '
import mmap
with open(\"a\", \"r+b\") as file:
    mmap.mmap(file.fileno(), 0)[0:8192] = bytes(8192)'";
        for backend in back_ends() {
            let dir = place();
            let a = dir.path().join("a");
            fs::write(&a, vec![1; 1 << 20]).unwrap();
            let asked = || Some(File::open(&a).unwrap());
            let (result, witness) = traced((backend, dir.path()), script, asked);
            let left = result.bytes.dirty_at_exit().unwrap();
            assert_eq!(witness, Some(MIB), "{backend}");
            assert_eq!(left, Bounds::from((0, MIB)), "{backend}");
            // To clean pages, of which the kernel may take more than were stored to.
            File::open(&a).unwrap().sync_all().unwrap();
            let (result, witness) = traced((backend, dir.path()), script, asked);
            assert!(witness > Some(0), "{backend}");
            assert_left(backend, &result, witness.unwrap());
        }
    });
}

/// A file of an overlay has no pages of its own.
#[test]
fn of_an_overlay_its_layer_is_asked() {
    if !rustix::process::geteuid().is_root() {
        skip("mounting images needs root");
        return;
    }
    undisturbed(|| {
        for backend in back_ends() {
            let image = Image::new();
            let merged = image.path("merged");
            for name in ["low", "up", "work", "merged"] {
                fs::create_dir(image.path(name)).unwrap();
            }
            fs::write(image.path("low/b"), vec![1; 200_000]).unwrap();
            done("sync", &["-f", &text(&image.path("low"))]);
            let layers = ["lowerdir", "low", "upperdir", "up", "workdir", "work"];
            let options = layers
                .chunks(2)
                .map(|pair| format!("{}={}", pair[0], text(&image.path(pair[1]))));
            let options = options.collect::<Vec<_>>().join(",");
            let mount = ["-t", "overlay", "-o", &options, "none", &text(&merged)];
            done("mount", &mount);
            // The second is copied up, and then a copy from before the run.
            let over = "dd if=/dev/zero of=b bs=4k count=5 conv=notrunc status=none; wait";
            let new = format!("{WRITES_A}; wait");
            let ran = std::panic::catch_unwind(|| {
                [(new.as_str(), "a"), (over, "b"), (over, "b")].map(|(script, name)| {
                    let copy = image.path("up").join(name);
                    let asked = || Some(File::open(&copy).unwrap());
                    let (result, witness) = traced((backend, &merged), script, asked);
                    done("sync", &["-f", &text(&copy)]);
                    (result, witness.unwrap())
                })
            });
            done("umount", &[&text(&merged)]);
            for (result, witness) in ran.unwrap() {
                assert!(witness > 0, "{backend}");
                let left = result.bytes.dirty_at_exit();
                if *backend == "ebpf" {
                    // What copies it up dirties pages before the run has written to it.
                    let holds = |left: Bounds| left.at_least <= witness && left.at_most == witness;
                    assert!(left.is_some_and(holds), "{left:?} of {witness}");
                } else {
                    // It does not know the layer.
                    assert_eq!(left, None);
                    let is_said = |gap: &Gap| gap.why == Reason::PagesNotAsked;
                    assert!(result.missing.iter().any(is_said), "{:?}", result.missing);
                }
            }
        }
    });
}

/// After the observation it goes on to write.
#[test]
fn of_a_process_that_runs_on_no_figure_is_exact() {
    let script = "import os, time
time.sleep(1)
log = os.open('log', os.O_WRONLY | os.O_CREAT)
while True:
    os.write(log, bytes(40960))
    time.sleep(.01)";
    for backend in back_ends() {
        let dir = place();
        let mut command = Command::new("python3");
        let command = command.args(["-c", script]).current_dir(dir.path());
        let daemon = Endless(command.spawn().unwrap());
        until(
            || match fs::read_to_string(format!("/proc/{}/comm", daemon.0.id())) {
                Ok(name) if name.starts_with("python3") => Ok(()),
                other => Err(other),
            },
        );
        let saved = dir.path().join("result.json");
        let pid = daemon.0.id().to_string();
        let mut trace = Command::new(env!("CARGO_BIN_EXE_iostrata"));
        let trace = trace.args([
            "trace",
            "--backend",
            backend,
            "--for",
            "3s",
            "-p",
            &pid,
            "-o",
        ]);
        let output = trace.arg(&saved).output().unwrap();
        assert!(output.status.success(), "{output:?}");
        let result: TraceResult = serde_json::from_slice(&fs::read(saved).unwrap()).unwrap();
        let left = result.bytes.dirty_at_exit().unwrap();
        assert_eq!(left.at_least, 0, "{backend}: {left:?}");
        // Where it had written before, it is one of the others.
        let is_said = |gap: &Gap| {
            let reasons = [
                Reason::RunsOn,
                Reason::OthersDirtyFiles,
                Reason::FoliosUnseen,
            ];
            reasons.contains(&gap.why)
        };
        let is_exact = left.exact().is_some();
        assert!(
            is_exact || result.missing.iter().any(is_said),
            "{backend}: {:?}",
            result.missing
        );
    }
}
