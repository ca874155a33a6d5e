//! Runs before the observed one: one to list the program's files, warm-ups, timed runs.

mod cold;
mod streams;

use std::ffi::OsString;
use std::fs::File;
use std::io::{Read as _, Seek as _};
use std::os::unix::process::ExitStatusExt as _;
use std::process::ExitStatus;
use std::time::{Duration, Instant};

use iostrata_core::gap::{Gap, Missing, Reason};
use iostrata_core::trace::{TimedRun, TimedRuns, TraceResult};
use iostrata_lab::engine::{Meter, Progress as _, Reading, Step};
use iostrata_lab::interrupt::Interrupted;
use iostrata_report::Json as _;
use iostrata_tracer::program::timed::{Ended, Took, prepare, time};
use iostrata_tracer::signals::Held;

use self::cold::Files;
pub(super) use self::streams::Streams;
use super::{itself, number_of};
use crate::cli::{Trace, TraceBackend};
use crate::error::Failure;
use crate::progress::Bar;

pub(super) struct Before {
    timed: TimedRuns,
    files: Option<Files>,
    pub(super) streams: Streams,
    missing: Option<Gap>,
}

/// What cannot be run several times.
pub(super) fn check(options: &Trace) -> Result<(), Failure> {
    let runs = &options.runs;
    let refuse = |message: &str| Err(Failure::Usage(message.to_owned()));
    if !runs.are_several() {
        return if runs.ignore_failure || runs.show_output {
            refuse(
                "--ignore-failure and --show-output are about several runs; give --runs, --warmup or --cold too",
            )
        } else {
            Ok(())
        };
    }
    if options.attach.is_asked() {
        return refuse(
            "--runs, --warmup and --cold start the program several times, and -p, --name, --unit, \
             --cgroup and --container attach to running processes; give the command instead",
        );
    }
    if options.time.is_some() {
        return refuse(
            "--for ends the observation while the program keeps running, so it cannot be compared with \
             whole runs; leave out --for, or --runs, --warmup and --cold",
        );
    }
    Ok(())
}

pub(super) fn before(options: &Trace, held: &Held) -> Result<Before, Failure> {
    let (streams, missing) = Streams::of_several(options.runs.show_output).map_err(itself)?;
    let mut series = Series {
        options,
        held,
        streams,
        files: None,
        meter: Meter::default(),
        metered: Duration::ZERO,
        bar: Bar::new("runs"),
        done: 0,
    };
    let each = series.all();
    series.bar.finished();
    let each = each?;
    let warmup = u64::from(options.runs.warmup.unwrap_or(0));
    let mut timed = TimedRuns::of(warmup, each, None);
    let others_s = series.meter.interference().other_cpu_s;
    let metered_s = series.metered.as_secs_f64();
    timed.others_cpus = others_s
        .filter(|_| metered_s > 0.0)
        .map(|time_s| time_s / metered_s);
    Ok(Before {
        timed,
        files: series.files,
        streams: series.streams,
        missing,
    })
}

impl Before {
    /// Makes the observed run begin as the timed ones did.
    pub(super) fn prepare(&mut self, held: &Held) -> Result<(), Failure> {
        if let Some(files) = &mut self.files {
            files.evict(&|| held.arrived().is_some())?;
        }
        go_on(held, "the preparation of the observed run")
    }

    pub(super) fn tell(self, result: &mut TraceResult) {
        result.missing.extend(self.missing);
        result.missing.extend(without_memory(&self.timed.each));
        let mut timed = self.timed;
        if let Some(files) = self.files {
            result.missing.extend(files.not_evicted(result));
            timed.cold = Some(files.told());
        }
        result.runs = Some(timed);
    }
}

struct Series<'a> {
    options: &'a Trace,
    held: &'a Held,
    streams: Streams,
    files: Option<Files>,
    meter: Meter,
    metered: Duration,
    bar: Bar,
    done: usize,
}

impl Series<'_> {
    fn all(&mut self) -> Result<Vec<TimedRun>, Failure> {
        let asked = &self.options.runs;
        if asked.cold {
            self.step("looking which files it uses");
            self.files = Some(Files::of(&self.learn()?));
        }
        let warmup = asked.warmup.unwrap_or(0);
        for number in 1..=warmup {
            self.run(&format!("warm-up {number} of {warmup}"))?;
        }
        let runs = asked.timed.unwrap_or(0);
        let mut each = Vec::new();
        for number in 1..=runs {
            if let Some(files) = &mut self.files {
                files.evict(&|| self.held.arrived().is_some())?;
            }
            let (before, begun) = (Reading::now(), Instant::now());
            let took = self.run(&format!("run {number} of {runs}"))?;
            self.meter.add(&before, &Reading::now());
            self.metered += begun.elapsed();
            each.push(timed_run(&took));
        }
        Ok(each)
    }

    fn step(&mut self, label: &str) {
        let asked = &self.options.runs;
        let timed = asked.timed.unwrap_or(0);
        let total = timed + asked.warmup.unwrap_or(0) + u32::from(asked.cold);
        let total = usize::try_from(total).unwrap_or(usize::MAX);
        let done = self.done;
        self.bar.step(&Step { label, done, total });
        self.done += 1;
    }

    fn run(&mut self, label: &str) -> Result<Took, Failure> {
        self.step(label);
        go_on(self.held, label)?;
        let prepared = self
            .streams
            .around(|| prepare(&self.options.command, self.held));
        let ready = prepared.map_err(itself)??;
        let ended = time(ready, self.held)?;
        self.ended_well(label, ended)
    }

    /// One run observed by a separate iostrata process, so that its memory, its threads and its
    /// probes end with it.
    fn learn(&self) -> Result<TraceResult, Failure> {
        let label = "the run that tells which files it uses";
        go_on(self.held, label)?;
        let output = rustix::fs::memfd_create(c"result", rustix::fs::MemfdFlags::CLOEXEC);
        let mut output = File::from(output.map_err(itself)?);
        let mut command: Vec<OsString> = ["/proc/self/exe", "trace", "--purpose", "learn"]
            .map(Into::into)
            .to_vec();
        if let Some(TraceBackend::Ptrace) = self.options.backend {
            command.extend(["--backend", "ptrace"].map(Into::into));
        }
        if self.options.every_call {
            command.push("--every-call".into());
        }
        command.extend(["--no-save", "--no-measure", "--json", "-", "--"].map(Into::into));
        command.extend(self.options.command.iter().cloned());
        let prepared = self
            .streams
            .printing_to(&output, || prepare(&command, self.held));
        let ready = prepared.map_err(itself)??;
        let ended = time(ready, self.held)?;
        self.ended_well(label, ended)?;
        let mut text = String::new();
        output.rewind().map_err(itself)?;
        output.read_to_string(&mut text).map_err(itself)?;
        TraceResult::from_json(text.as_bytes())
            .map_err(|error| Failure::Cannot(format!("cannot read the result back: {error}")))
    }

    fn ended_well(&self, label: &str, ended: Ended) -> Result<Took, Failure> {
        let took = match ended {
            Ended::ByItself(took) => took,
            Ended::Interrupted(signal) => return Err(cut_off(signal, label)),
        };
        if took.status.success() || self.options.runs.ignore_failure {
            return Ok(took);
        }
        Err(Failure::Program {
            message: format!(
                "{label}: the program ended with {}; --show-output shows what it says, \
                 --ignore-failure measures it all the same",
                end(took.status)
            ),
            code: number_of(took.status),
        })
    }
}

/// Fails if the user asked to end.
fn go_on(held: &Held, label: &str) -> Result<(), Failure> {
    held.arrived()
        .map_or(Ok(()), |signal| Err(cut_off(signal, label)))
}

fn cut_off(signal: i32, label: &str) -> Failure {
    Failure::BetweenRuns {
        by: Interrupted { signal },
        label: label.to_owned(),
    }
}

/// `exit code 3`, `signal 9`.
fn end(status: ExitStatus) -> String {
    match (status.code(), status.signal()) {
        (Some(code), _) => format!("exit code {code}"),
        (None, signal) => format!("signal {}", signal.unwrap_or_default()),
    }
}

/// Whether the memory is less than iostrata's own process had before it executed the program.
fn without_memory(each: &[TimedRun]) -> Option<Gap> {
    let without = each.iter().filter(|run| run.max_resident_bytes.is_none());
    (without.count() > 0).then(|| Gap::new(Missing::Memory, Reason::LessThanIostrata))
}

fn timed_run(took: &Took) -> TimedRun {
    TimedRun {
        wall_s: took.wall.as_secs_f64(),
        user_s: took.user.as_secs_f64(),
        system_s: took.system.as_secs_f64(),
        max_resident_bytes: took.max_resident_bytes,
        exit_code: took.status.code(),
        signal: took.status.signal(),
    }
}
