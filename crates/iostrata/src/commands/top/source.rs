//! Where intervals come from.

use iostrata_core::top::{Interval, Samples, assemble, of_samples};
use iostrata_tracer::ebpf::Limits;
use iostrata_tracer::memory;
use iostrata_tracer::permission::caller;
use iostrata_tracer::top::{Machine, NEEDED, samples};
use rustix::thread::CapabilitySet;

use super::super::check_proc;
use crate::error::Failure;
use crate::ui;

pub(in crate::commands) trait Source {
    /// Called several times a second.
    fn look(&mut self);

    /// Ends an interval, and begins the next.
    fn turn(&mut self) -> Result<Interval, Failure>;

    /// Without other capabilities it counts on.
    fn needs(&self) -> CapabilitySet;
}

/// Begins to count: in the kernel, or else what `/proc` says, which is stated. `doing` says what is done
/// with it.
pub(in crate::commands) fn open(doing: &str) -> Result<Box<dyn Source>, Failure> {
    check_proc()?;
    match in_kernel() {
        Ok(mut kernel) => {
            kernel.begin()?;
            // What loading took.
            memory::give_back();
            Ok(Box::new(kernel))
        }
        Err(why) => {
            let source = Unprivileged::begin(format!("/proc/PID/io does not show them; {why}"))?;
            ui::say(&format!(
                "not observed: {why}; {doing} what /proc/PID/io says of your own processes"
            ));
            Ok(Box::new(source))
        }
    }
}

/// It would show what all users do: not to one who has the privileges from the program file alone
/// (SECURITY.md).
fn in_kernel() -> Result<Machine, String> {
    if caller::is_raised() && !caller::may_trace_all() {
        return Err(
            "the privileges of this program file (setcap) are not for watching other users' files; run it as \
             root, or with CAP_BPF and CAP_PERFMON of your own"
                .to_owned(),
        );
    }
    let limits = Limits {
        without: super::super::without(),
        ..Limits::top()
    };
    Machine::open(&limits).map_err(|error| error.to_string())
}

/// The counters at the begin of the interval, and why there are no others.
pub(super) struct Unprivileged {
    before: Samples,
    why: String,
}

impl Unprivileged {
    pub(super) fn begin(why: String) -> Result<Self, Failure> {
        let before = look()?;
        Ok(Self { before, why })
    }
}

impl Source for Unprivileged {
    fn look(&mut self) {}

    fn turn(&mut self) -> Result<Interval, Failure> {
        let now = look()?;
        let interval = of_samples(&self.before, &now, &self.why);
        self.before = now;
        Ok(interval)
    }

    fn needs(&self) -> CapabilitySet {
        NEEDED
    }
}

fn look() -> Result<Samples, Failure> {
    samples().map_err(|error| Failure::Cannot(format!("cannot read /proc: {error}; mount it")))
}

impl Source for Machine {
    fn look(&mut self) {
        self.take_names();
    }

    fn turn(&mut self) -> Result<Interval, Failure> {
        Ok(assemble(&Self::turn(self)?))
    }

    fn needs(&self) -> CapabilitySet {
        Self::needs(self)
    }
}
