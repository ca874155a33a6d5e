//! The committed eBPF objects, their sources, and the loader's structures match.

use std::collections::BTreeSet;
use std::io::Write as _;
use std::mem::offset_of;
use std::path::Path;
use std::process::{Command, Stdio};

#[expect(
    dead_code,
    reason = "the loader's own file; only its layout is looked at"
)]
#[path = "../src/ebpf/wire.rs"]
mod wire;

const BPF: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../bpf");
const SUMS: &str = "iostrata.bpf.sha256";
const OBJECTS: [&str; 5] = ["casts", "casts-log", "plain", "top", "top-plain"];

#[test]
fn the_objects_were_made_from_the_sources_beside_it() {
    let checked = Command::new("sha256sum")
        .args(["--check", "--quiet", "--strict", SUMS])
        .current_dir(BPF)
        .output()
        .unwrap();
    assert!(
        checked.status.success(),
        "run `make bpf` after a change in bpf/: {}{}",
        String::from_utf8_lossy(&checked.stdout),
        String::from_utf8_lossy(&checked.stderr)
    );
}

#[test]
fn every_source_is_recorded() {
    let sums = std::fs::read_to_string(Path::new(BPF).join(SUMS)).unwrap();
    let listed: BTreeSet<String> = sums
        .lines()
        .filter(|line| !line.starts_with('#'))
        .map(|line| line.split_whitespace().nth(1).unwrap().to_owned())
        .collect();
    let present: BTreeSet<String> = std::fs::read_dir(BPF)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| name != SUMS)
        .chain(OBJECTS.map(|name| format!("../crates/tracer/src/ebpf/{name}.bpf.o")))
        .collect();
    assert_eq!(listed, present);
}

/// Assertions that the structures of `bpf/wire.h` have these fields, each with the
/// offset and size it has in Rust, and no room for others.
macro_rules! same_layout {
    ($($c:literal $rust:ident { $($field:ident: $type:ty),+ $(,)? })+) => {
        [$(same_fields($c, size_of::<wire::$rust>(), &[$((
            stringify!($field),
            offset_of!(wire::$rust, $field),
            size_of::<$type>(),
        )),+])),+]
        .concat()
    };
}

fn same_fields(c: &str, bytes: usize, fields: &[(&str, usize, usize)]) -> Vec<String> {
    let listed: usize = fields.iter().map(|(_, _, size)| size).sum();
    assert_eq!(listed, bytes, "a field of {c} is not listed");
    let same = |(field, offset, size): &(&str, usize, usize)| {
        format!(
            "ASSERT(__builtin_offsetof(struct {c}, {field}) == {offset});\n\
             ASSERT(sizeof ((struct {c} *)0)->{field} == {size});"
        )
    };
    fields.iter().map(same).collect()
}

fn layouts_of_tables() -> Vec<String> {
    use wire::{END_IOS, FileKey, HISTOGRAM_BUCKETS, SIZE_BUCKETS};
    same_layout! {
        "file_key" FileKey { inode: u64, device: u32, generation: u32 }
        "call_key" CallKey { file: FileKey, nr: u32, cpu: u32 }
        "call_value" CallValue {
            count: u64, errors: u64, returned: u64, time_ns: u64, blocked_ns: u64,
            pairs: u64, sequential: u64, backward: u64, empty: u64, furthest: u64,
            first_ns: u64, last_ns: u64,
            histogram: [u32; HISTOGRAM_BUCKETS], sizes: [u32; SIZE_BUCKETS],
        }
        "cache_key" CacheKey { file: FileKey, metadata: u32, cpu: u32 }
        "cache_value" CacheValue {
            lookups_pages: u64, missed_pages: u64, filled_pages: u64, dirtied_bytes: u64,
        }
        "block_key" BlockKey {
            file: FileKey, disk: u32, cpu: u32, cause: u8, phase: u8, by_tree: u8, pad: u8,
            process: u32,
        }
        "use_key" UseKey { device: u32, using: u32 } "block_value" BlockValue {
            count: u64, bytes: u64, time_ns: u64, ended: u64, longest_ns: u64,
        }
        "commit_key" CommitKey { file: FileKey, device: u32, transaction: u32, process: u32, interval: u32 }
        "share_key" ShareKey { file: FileKey, process: u32, interval: u32, cpu: u32, pad: u32 }
        "share_sum" ShareSum {
            count: u64, errors: u64, bytes: u64, time_ns: u64, longest_ns: u64,
        }
        "share_value" ShareValue {
            of: [wire::ShareSum; wire::PURPOSES], synchronous: wire::ShareSum, cache: wire::CacheValue,
        }
        "actor_key" ActorKey { process: u32, interval: u32 }
        "actor_value" ActorValue { cgroup: u64, parent: u32, pad: u32, name: [u8; 16] }
        "totals" Totals {
            on_cpu_ns: u64, minor_faults: u64, major_faults: u64, tasks: u64,
        }
        "config" Config {
            root: u32, phase: u32, stream_calls: u32, stream_requests: u32,
            end_io: [u64; END_IOS], started_ns: u64, adoption: u32, ends: u32, wants: u32,
            wants_pad: u32,
        }
        "wanted_name" WantedName { name: [u8; 64] }
        "joined_key" JoinedKey { numbers: u64, started: u64 }
        "joined" Joined { by: u32, pad: u32, name: [u8; 16] }
        "claim_key" ClaimKey { task: u64, started: u64 }
        "observer" Known {
            namespace: u64, level: u32, process: u32, adopted: u64, executed: u64, living: u64,
            late: u64, gone: u64, moved: u64, unlisted: u64,
        }
        "moment_sum" MomentSum { count: u64, bytes: u64, time_ns: u64 }
        "moment" Moment { of: [wire::MomentSum; wire::PURPOSES] }
        "request_moment_key" RequestMomentKey { moment: u32, disk: u32 }
        "request_moment" RequestMomentValue {
            count: [u64; wire::CAUSES], bytes: [u64; wire::CAUSES],
        }
    }
}

fn layouts_of_events() -> Vec<String> {
    use wire::{FileKey, PIECES};
    same_layout! {
        "call_event" CallEvent {
            kind: u32, nr: u32, process: u32, thread: u32, entered_ns: u64, took_ns: u64,
            result: i64, file: FileKey, pieces: u32, pieces_read: u32,
            piece_bytes: [u64; PIECES],
        }
        "name_event" NameEvent {
            kind: u32, mode: u32, file: FileKey, base: FileKey, size: u64, bytes: u32,
            complete: u16, as_base: u16, superblock: u32, shown_device: u32,
            shown_inode: u64, filesystem: [u8; 16],
        }
        "touched_event" TouchedEvent {
            kind: u32, thread: u32, file: FileKey, parent: FileKey, mode: u32, flags: u32,
            bytes: u32, device: u32, size: u64, request: u64,
        }
        "step_event" StepEvent {
            kind: u32, nr: u32, process: u32, thread: u32, entered_ns: u64, left_ns: u64,
            result: i64, file: FileKey, argument: [u64; 5], mode: u32, flags: u32,
            base: [FileKey; 2], bytes: [u32; 2], open_file: u64, inode_mode: u32, extra: u32,
            request: u64,
        }
        "run_event" RunEvent {
            kind: u32, nr: u32, process: u32, thread: u32, started_ns: u64, ended_ns: u64,
            file: FileKey, count: u64, bytes: u64, from: u64, to: u64, sequential: u64,
            flags: u32, error: i32,
        }
        "report_event" ReportEvent {
            kind: u32, nr: u32, process: u32, thread: u32, started_ns: u64, ended_ns: u64,
            count: u64,
        }
        "site_event" SiteEvent {
            kind: u32, nr: u32, process: u32, parent: u32, execs: u64, file: FileKey,
            spent_ns: u64, ip: u64, sp: u64, bp: u64, ended_ns: u64, thread: u32, bytes: u32,
        }
        "task_event" TaskEvent {
            kind: u32, thread: u32, process: u32, parent: u32, started_ns: u64, ended_ns: u64,
            on_cpu_ns: u64, minor_faults: u64, major_faults: u64, calls: u64, time_ns: u64,
            blocked_ns: u64, read_bytes: u64, written_bytes: u64, name: [u8; 16],
        }
        "payload_event" PayloadEvent {
            kind: u32, nr: u32, process: u32, thread: u32, entered_ns: u64, left_ns: u64,
            file: FileKey, offset: u64, bytes: u64, at: u64, part: u64, address: u64, form: u32,
            descriptor: u32, mode: u32, landing: u32, open_file: u64, lowest: u64, looked_ns: u64,
            seen_ns: u64, flags: u32,
            call_flags: u32,
        }
        "request_event" RequestEvent {
            kind: u32, disk: u32, file: FileKey, file_offset: u64, sector: u64, bytes: u64,
            issued_ns: u64, completed_ns: u64, cause: u8, phase: u8, by_tree: u8,
            forced_unit_access: u8, pad: u32,
        }
    }
}

fn layouts_of_queues() -> Vec<String> {
    use wire::FileKey;
    same_layout! {
        "stop_event" StopEvent { kind: u32, process: u32, thread: u32, error: i32 }
        "submission" Submission {
            entered_ns: u64, process: u32, thread: u32, opcode: u32, mode: u32, file: FileKey,
            offset: i64, bytes: u64, flags: u32, pad: u32,
        }
        "submission_key" SubmissionKey { block: u64, process: u64 }
        "operation" Operation {
            entered_ns: u64, process: u32, thread: u32, opcode: u32, flags: u32, at: u64,
            bytes: u64, closes: FileKey, closes_mode: u32, descriptor: u32,
        }
    }
}

fn constants() -> Vec<String> {
    use wire::{call, form, loss, path_end, run, told_by, touched};
    let same = [
        ("SYSCALLS", wire::SYSCALLS as u64),
        ("TOLD_BASE", wire::TOLD_BASE as u64),
        ("SOURCE_BASE", wire::SOURCE_BASE as u64),
        ("NUMBERS", wire::NUMBERS as u64),
        // The last of the names in src/ebpf/told.rs.
        ("TOLD_SUBVOLUME", 26),
        ("CALL_TOLD", call::TOLD.into()),
        ("CALL_FLAGS", call::FLAGS.into()),
        ("TOLD_BY_IOCTL", told_by::IOCTL.into()),
        ("TOLD_BY_SUBMITTING", told_by::SUBMITTING.into()),
        ("TOLD_BY_FETCHING", told_by::FETCHING.into()),
        ("TOLD_BY_HOW", told_by::HOW.into()),
        ("TOLD_BY_MAPPING", told_by::MAPPING.into()),
        ("TOLD_BY_PROTECTING", told_by::PROTECTING.into()),
        ("TOLD_BY_KEYED_PROTECTING", told_by::KEYED_PROTECTING.into()),
        ("TOLD_BY_MOVING", told_by::MOVING.into()),
        ("TOLD_BY_ADVICE", told_by::ADVICE.into()),
        ("RUN_DURABLE", run::DURABLE.into()),
        ("RUN_DATA_ONLY", run::DATA_ONLY.into()),
        ("LOSS_ARGUMENTS", loss::ARGUMENTS.into()),
        ("LOSS_COMPLETIONS", loss::COMPLETIONS.into()),
        ("LOSS_RESULTS", loss::RESULTS.into()),
        ("LOSS_ORPHANS", loss::ORPHANS.into()),
        ("LOSS_ENDS", loss::ENDS.into()),
        ("LOSSES", loss::ALL.into()),
        ("CALL_FD_FIRST", call::FD_FIRST.into()),
        ("CALL_FD_RETURNED", call::FD_RETURNED.into()),
        ("CALL_FD_THIRD", call::FD_THIRD.into()),
        ("CALL_FD_FIFTH", call::FD_FIFTH.into()),
        ("CALL_READS", call::READS.into()),
        ("CALL_CLOSES", call::CLOSES.into()),
        ("CALL_STREAMED", call::STREAMED.into()),
        ("CALL_VECTORED", call::VECTORED.into()),
        ("LOSS_CALLS", loss::CALLS.into()),
        ("LOSS_CACHE", loss::CACHE.into()),
        ("LOSS_BLOCK", loss::BLOCK.into()),
        ("LOSS_STREAM", loss::STREAM.into()),
        ("LOSS_TASKS", loss::TASKS.into()),
        ("LOSS_COMPAT", loss::COMPAT.into()),
        ("CALL_STOPS", call::STOPS.into()),
        ("CALL_TOUCHES", call::TOUCHES.into()),
        ("CALL_PLACES", call::PLACES.into()),
        ("CALL_NODE", call::NODE.into()),
        ("PATH_CUT", path_end::CUT.into()),
        ("PATH_IN_FILE_SYSTEM", path_end::IN_FILE_SYSTEM.into()),
        ("TOUCHED_AFTER", touched::AFTER.into()),
        ("TOUCHED_OVERLAY", touched::OVERLAY.into()),
        ("TOUCHED_NAMED", touched::NAMED.into()),
        ("TOUCHED_HASHED", touched::HASHED.into()),
        ("EVENT_TOUCHED", wire::EVENT_TOUCHED.into()),
        ("LOSS_PAYLOAD", loss::PAYLOAD.into()),
        ("PAYLOAD_HERE", form::HERE.into()),
        ("PAYLOAD_IN_MEMORY", form::IN_MEMORY.into()),
        ("PAYLOAD_IN_FILE", form::IN_FILE.into()),
        ("EVENT_PAYLOAD", wire::EVENT_PAYLOAD.into()),
        ("EVENT_STOP", wire::EVENT_STOP.into()),
        ("EVENT_CALL", wire::EVENT_CALL.into()),
        ("EVENT_REQUEST", wire::EVENT_REQUEST.into()),
    ];
    asserted(&same)
}

fn constants_of_adoption() -> Vec<String> {
    use wire::{adoption, joined_by, wants};
    asserted(&[
        ("ADOPTION_OVER", adoption::OVER.into()),
        ("ADOPTION_PREPARES", adoption::PREPARES.into()),
        ("ADOPTION_RUNS", adoption::RUNS.into()),
        ("ADOPTION_AGAIN", adoption::AGAIN.into()),
        ("WANTS_ROOTS", wants::ROOTS.into()),
        ("WANTS_GROUPS", wants::GROUPS.into()),
        ("WANTS_NAMES", wants::NAMES.into()),
        ("WANTED", wire::WANTED as u64),
        ("JOINED_FORK", joined_by::FORK.into()),
        ("JOINED_MOVE", joined_by::MOVE.into()),
        ("JOINED_COMM", joined_by::COMM.into()),
        ("JOINED_EXECUTABLE", joined_by::EXECUTABLE.into()),
        ("JOINED_ARGUMENT", joined_by::ARGUMENT.into()),
    ])
}

fn asserted(same: &[(&str, u64)]) -> Vec<String> {
    let same = same.iter();
    same.map(|(name, value)| format!("ASSERT({name} == {value});"))
        .collect()
}

/// The layout is the same for a BPF target and for this machine: the structures consist of integers
/// of fixed width, each aligned to its size.
#[test]
fn the_loader_lays_structures_out_as_the_sources_do() {
    let head = "#include \"wire.h\"\n#define ASSERT(fact) _Static_assert(fact, #fact)".to_owned();
    let layouts = [
        layouts_of_tables(),
        layouts_of_events(),
        layouts_of_queues(),
    ]
    .concat();
    let constants = [constants(), constants_of_adoption()].concat();
    let source = [vec![head], layouts, constants].concat().join("\n") + "\n";
    let mut compiler = Command::new("cc")
        .args(["-std=gnu11", "-fsyntax-only", "-I", BPF, "-x", "c", "-"])
        .stdin(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    compiler
        .stdin
        .take()
        .unwrap()
        .write_all(source.as_bytes())
        .unwrap();
    let compiled = compiler.wait_with_output().unwrap();
    assert!(
        compiled.status.success(),
        "{}",
        String::from_utf8_lossy(&compiled.stderr)
    );
}
