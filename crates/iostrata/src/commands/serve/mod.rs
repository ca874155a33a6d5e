//! `iostrata serve`.

mod connection;
mod http;
mod request;

use std::fmt;
use std::sync::Arc;
use std::time::Instant;

use iostrata_core::top::{Interval, Sums};
use iostrata_report::export::openmetrics::{Format, write};
use iostrata_tracer::permission::caller::keep_only;

use self::http::Server;
use super::top::open;
use crate::cli::Serve;
use crate::error::Failure;
use crate::signals;
use crate::ui;

/// Serves what all processes do with files, until a signal ends it, which is how it is meant to end.
pub(crate) fn run(options: &Serve) -> Result<(), Failure> {
    let interrupt = signals::interrupt()?;
    let cannot = |error| {
        Failure::Cannot(format!(
            "cannot listen on {}: {error}; choose another address with --listen",
            options.listen
        ))
    };
    let mut server = Server::bind(options.listen).map_err(cannot)?;
    let mut source = open("serving")?;
    if let Err(error) = keep_only(source.needs()) {
        ui::say(&format!(
            "warning: serving with all privileges, as they cannot be given up: {error}; allow capset(2) and prctl(2) in \
             the active seccomp filter"
        ));
    }
    let address = server.address().map_err(cannot)?;
    ui::say(&format!("serving http://{address}/metrics"));
    if !address.ip().is_loopback() {
        ui::say(&format!(
            "warning: all who reach {address} can read the metrics: there is no authentication"
        ));
    }
    let mut metrics = Metrics::new(Sums::new(options.rows as usize, options.label_paths));
    let mut due = Instant::now() + options.every;
    while interrupt.check().is_ok() {
        source.look();
        server.turn(due, &mut metrics);
        let now = Instant::now();
        if now < due {
            continue;
        }
        metrics.add(&source.turn()?);
        // Intervals that were missed, as the machine slept, are one.
        while due <= now {
            due += options.every;
        }
    }
    Ok(())
}

/// The sums, and their text once it was requested.
struct Metrics {
    sums: Arc<Sums>,
    texts: [Option<Arc<str>>; 2],
}

impl Metrics {
    fn new(sums: Sums) -> Self {
        Self {
            sums: Arc::new(sums),
            texts: [None, None],
        }
    }

    fn add(&mut self, interval: &Interval) {
        Arc::make_mut(&mut self.sums).add(interval);
        self.texts = [None, None];
    }

    /// One for all who ask until the next interval is over.
    fn text(&mut self, format: Format) -> Result<Arc<str>, fmt::Error> {
        let kept = &mut self.texts[usize::from(format == Format::OpenMetrics)];
        if let Some(text) = kept {
            return Ok(Arc::clone(text));
        }
        let text: Arc<str> = write(&self.sums, format)?.into();
        Ok(Arc::clone(kept.insert(text)))
    }
}
