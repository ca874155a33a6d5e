//! `iostrata doctor`.

use iostrata_core::environment::Backend;
use iostrata_core::gap::{Gap, Missing, Reason, Stratum};
use iostrata_core::observe::Observer as _;
use iostrata_report::terminal;
use iostrata_tracer::ebpf::{EbpfObserver, Limits};
use iostrata_tracer::machine;
use iostrata_tracer::permission::Known;

use super::deliver;
use crate::cli::Doctor;
use crate::destination::Destination;
use crate::error::Failure;
use crate::ui::Canvas;

pub(crate) fn run(options: &Doctor) -> Result<(), Failure> {
    let destination = Destination::open(options.json.as_deref())?;
    // As for a trace with its history: nothing else uses all strata.
    let limits = Limits {
        without: super::without(),
        ..Limits::trace()
    };
    // Only loading shows whether this kernel accepts the programs.
    let (backend, seen, missing) = match EbpfObserver::with_limits(limits) {
        Ok(observer) => (Backend::Ebpf, observer.ways(), observer.missing()),
        Err(error) => {
            let why = Reason::Error(error.to_string());
            let gap = |stratum: Stratum| Gap::new(Missing::Stratum(stratum), why.clone());
            (Backend::None, Vec::new(), Stratum::ALL.map(gap).to_vec())
        }
    };
    let search_path = std::env::var_os("PATH");
    let known = Known {
        seen: &seen,
        missing: &missing,
        search_path: search_path.as_deref(),
    };
    let mut result = machine::doctor(&options.path, backend, &known)?;
    result.environment.ways = seen;
    deliver(destination, &result, || {
        Ok(terminal::doctor(&result, Canvas::Output.width()))
    })
}
