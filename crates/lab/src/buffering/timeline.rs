//! When bytes become visible to another process, and when they are durable.

use iostrata_core::FileId;
use iostrata_core::buffering::{Mode, Step, Timeline, Written, durable_bytes};
use iostrata_core::gap::{Gap, Reason, TargetPart};
use iostrata_core::observe::{Observation, Stream};
use iostrata_core::trace::{Direction, direction};

use super::settings::{TIMELINE_RECORDS, TIMELINE_SIZE_BYTES};
use super::steps::{ReadJob, StepReport, StepsJob};
use crate::engine::{KernelFile, Workload};
use crate::error::LabError;
use crate::session::{RunFile, Session};
use crate::target::Target;

/// Steps through one mode on one target. The gap states why durability is unknown.
pub(super) fn timeline(
    session: &mut Session<'_>,
    target: &Target,
    mode: Mode,
) -> Result<(Timeline, Option<Gap>), LabError> {
    let name = mode.as_str();
    session.step(&format!("stepping through {name} on {}", target.name));
    let file = RunFile::new(&target.dir, &format!("timeline-{name}"));
    let job = StepsJob {
        mode,
        size_bytes: TIMELINE_SIZE_BYTES,
        count: TIMELINE_RECORDS,
        path: file.path().into(),
    };
    let mut writer = session.start(&job)?;
    let pid = writer.pid();
    let stream = Stream {
        calls: true,
        requests: true,
    };
    // Write-back after the last step belongs to no step.
    let (seen, observation) = session.observed(pid, stream, None, |session, _| {
        walk(session, &mut writer, &file)
    })?;
    writer.exit()?;
    let identity = file.identity()?;
    file.remove()?;
    let durability = match &observation {
        Some(observation) => Durability::of(observation, target, mode, identity),
        None => Err(session.run.unobserved_because.clone()),
    };
    let steps = seen.into_iter().map(|(step, visible_bytes)| Step {
        durable_bytes: durability
            .as_ref()
            .ok()
            .map(|durable| durable.at(step.ended_ns)),
        action: step.action,
        written_bytes: step.written_bytes,
        visible_bytes,
    });
    let timeline = Timeline {
        mode,
        target: target.name.clone(),
        size_bytes: TIMELINE_SIZE_BYTES,
        steps: steps.collect(),
    };
    let unknown = target.part(TargetPart::DurableBytes);
    let gap = durability.err().map(|why| Gap::new(unknown, why));
    Ok((timeline, gap))
}

/// One step at a time; after each a second process reports what it can read.
fn walk(
    session: &Session<'_>,
    writer: &mut Workload<StepsJob>,
    file: &RunFile,
) -> Result<Vec<(StepReport, u64)>, LabError> {
    let read = ReadJob {
        size_bytes: TIMELINE_SIZE_BYTES,
        path: file.path().into(),
    };
    let mut seen = Vec::new();
    loop {
        let step = writer.go(session.stop)?;
        let found = session.work(&read)?;
        let last = step.last;
        seen.push((step, found.right_bytes));
        if last {
            return Ok(seen);
        }
    }
}

/// What the observed requests show about the durability of one file.
struct Durability<'a> {
    observation: &'a Observation,
    file: Option<FileId>,
    writes: Vec<Written>,
}

impl<'a> Durability<'a> {
    /// Fails with the reason why the requests show nothing.
    fn of(
        observation: &'a Observation,
        target: &Target,
        mode: Mode,
        identity: KernelFile,
    ) -> Result<Self, Reason> {
        if let Some(why) = target.unchargeable().or_else(|| silent(target)) {
            return Err(why);
        }
        if observation.raw.block.is_none() {
            return Err(Reason::RequestsUnseen);
        }
        let lost = observation.raw.losses.total();
        if lost > 0 {
            return Err(Reason::EventsLost { events: lost });
        }
        let is_file =
            |file: &FileId| (file.device, file.inode) == (identity.device, identity.inode);
        let file = observation
            .requests
            .iter()
            .filter_map(|r| r.file)
            .find(is_file);
        Ok(Self {
            observation,
            file,
            writes: writes(observation, mode, is_file),
        })
    }

    /// Without any request for the file, none of it is on the device.
    fn at(&self, ns: u64) -> u64 {
        self.file.map_or(0, |file| {
            durable_bytes(&self.observation.requests, file, &self.writes, ns)
        })
    }
}

/// How the file grew. If the call itself syncs, its requests are issued before it returns and carry
/// its bytes, which are in the page cache by then (`generic_write_sync`, include/linux/fs.h): then
/// the call's start counts.
fn writes(
    observation: &Observation,
    mode: Mode,
    is_file: impl Fn(&FileId) -> bool,
) -> Vec<Written> {
    let syncs_itself = matches!(mode, Mode::OSync | Mode::ODsync | Mode::RwfDsync);
    let mut end_bytes = 0;
    let ops = observation.ops.iter().map(|op| (op.call, op.file));
    let writes = ops.filter(|(call, file)| {
        direction(call.name) == Some(Direction::Write) && file.as_ref().is_some_and(&is_file)
    });
    writes
        .filter_map(|(call, _)| {
            end_bytes += call.outcome.ok()?;
            let returned_ns = if syncs_itself {
                call.started_ns
            } else {
                call.ended_ns
            };
            Some(Written {
                end_bytes,
                returned_ns,
            })
        })
        .collect()
}

/// Why requests of this target do not show what is durable.
fn silent(target: &Target) -> Option<Reason> {
    let storage = &target.storage;
    if storage
        .mount_options
        .split(',')
        .any(|option| option == "data=journal")
    {
        return Some(Reason::DataJournaled);
    }
    // A partition has no setting of its own.
    let caches = || {
        storage
            .devices
            .iter()
            .filter_map(|device| device.write_cache.as_deref())
    };
    if caches().next().is_some() && caches().all(|cache| cache == "write through") {
        return Some(Reason::NoVolatileCache);
    }
    None
}

#[cfg(test)]
mod tests {
    use iostrata_core::environment::Device;
    use iostrata_core::evidence::{Cause, Phase, RawEvidence};
    use iostrata_core::observe::RequestEvent;
    use iostrata_core::{Call, Op};

    use super::*;
    use crate::session::target;

    const FILE: FileId = FileId {
        device: 7,
        inode: 12,
        generation: 3,
    };
    const IDENTITY: KernelFile = KernelFile {
        device: 7,
        inode: 12,
    };

    fn write(started_ns: u64, took_ns: u64, bytes: u64) -> Op {
        Op {
            call: Call {
                process: 1,
                thread: 1,
                started_ns,
                ended_ns: started_ns + took_ns,
                name: "write",
                outcome: Ok(bytes),
            },
            file: Some(FILE),
            pieces_bytes: vec![bytes],
        }
    }

    fn request(cause: Cause, issued_ns: u64, completed_ns: u64) -> RequestEvent {
        RequestEvent {
            disk: 7,
            phase: Phase::Running,
            cause,
            file: (cause == Cause::Data).then_some(FILE),
            file_offset_bytes: 0,
            sector: 0,
            bytes: 4096,
            forced_unit_access: false,
            issued_ns,
            completed_ns,
        }
    }

    fn seen(ops: Vec<Op>, requests: Vec<RequestEvent>) -> Observation {
        let raw = RawEvidence {
            block: Some(vec![]),
            ..RawEvidence::default()
        };
        Observation {
            raw,
            ops,
            requests,
            ..Observation::default()
        }
    }

    #[test]
    fn a_call_that_syncs_itself_brings_its_bytes_before_it_returns() {
        let requests = vec![request(Cause::Data, 20, 30), request(Cause::Flush, 31, 40)];
        let observation = seen(vec![write(10, 50, 3000)], requests);
        let durable = |mode| {
            let target = target("ext4", true, &[7]);
            Durability::of(&observation, &target, mode, IDENTITY)
                .ok()
                .map(|durable| durable.at(60))
        };
        assert_eq!(durable(Mode::ODsync), Some(3000));
        assert_eq!(
            durable(Mode::Fsync),
            Some(0),
            "issued before the write had returned"
        );
    }

    #[test]
    fn a_file_without_requests_is_not_durable() {
        let observation = seen(
            vec![write(10, 5, 3000)],
            vec![request(Cause::Flush, 31, 40)],
        );
        let target = target("ext4", false, &[7]);
        let durable = Durability::of(&observation, &target, Mode::Flush, IDENTITY)
            .ok()
            .unwrap();
        assert_eq!(durable.at(100), 0);
    }

    #[test]
    fn where_requests_cannot_tell_durability_is_unknown() {
        let why = |target: &Target, observation: &Observation| {
            Durability::of(observation, target, Mode::Fsync, IDENTITY).err()
        };
        let (plain, good) = (target("ext4", true, &[7]), seen(vec![], vec![]));
        assert_eq!(why(&plain, &good), None);
        let mut journalled = plain.clone();
        journalled.storage.mount_options = "rw,data=journal".to_owned();
        assert!(why(&journalled, &good).is_some_and(|why| why == Reason::DataJournaled));
        let mut through = plain.clone();
        through.storage.devices = vec![Device {
            name: "d".to_owned(),
            model: None,
            rotational: None,
            write_cache: Some("write through".to_owned()),
            fua: None,
            scheduler: None,
        }];
        assert!(why(&through, &good).is_some_and(|why| why == Reason::NoVolatileCache));
        assert!(why(&target("overlay", false, &[7]), &good).is_some());
        assert!(why(&plain, &Observation::default()).is_some());
        let mut lossy = good;
        lossy.raw.losses.stream = 2;
        assert!(why(&plain, &lossy).is_some_and(|why| why == Reason::EventsLost { events: 2 }));
    }
}
