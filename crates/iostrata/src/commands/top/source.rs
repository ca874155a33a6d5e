//! Where intervals come from.

use iostrata_core::top::Interval;
use iostrata_tracer::permission::caller;
use iostrata_tracer::{machine, memory};

use super::kernel::Kernel;
use super::unprivileged::Unprivileged;
use crate::error::Failure;
use crate::ui;

pub(in crate::commands) trait Source {
    /// Called several times a second.
    fn look(&mut self);

    /// Ends an interval, and begins the next.
    fn turn(&mut self) -> Result<Interval, Failure>;
}

/// Begins to count: in the kernel, or else what `/proc` says, which is stated. `doing` says what is done
/// with it.
pub(in crate::commands) fn open(doing: &str) -> Result<Box<dyn Source>, Failure> {
    if !machine::has_own_proc() {
        return Err(Failure::Cannot(
            "/proc is not that of this PID namespace, and what it says of a process would be \
             another's; mount it (mount -t proc proc /proc, or unshare --mount-proc)"
                .to_owned(),
        ));
    }
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
fn in_kernel() -> Result<Kernel, String> {
    if caller::is_raised() && !caller::may_trace_all() {
        return Err(
            "the privileges of this program file (setcap) are not for watching other users' files; run it as \
             root, or with CAP_BPF and CAP_PERFMON of your own"
                .to_owned(),
        );
    }
    Kernel::open().map_err(|error| error.to_string())
}
