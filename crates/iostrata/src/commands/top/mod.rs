//! `iostrata top`.

mod screen;
mod source;

use std::io::{self, IsTerminal as _};
use std::process::ExitCode;
use std::thread::sleep;
use std::time::{Duration, Instant};

use iostrata_core::top::{Interval, Selection};
use iostrata_lab::interrupt::{Interrupt, Interrupted};
use iostrata_report::Json as _;
use iostrata_report::terminal::top::{Style, draw};
use signal_hook::consts::SIGINT;

use crate::cli::Top;
use crate::error::Failure;
use crate::signals;
use crate::ui::{self, Canvas};

pub(super) use self::source::{Source, open};

/// Rows of the text, unless --top says how many.
pub(in crate::commands) const ROWS: usize = 10;

/// Time between two reads of the kernel's ring and of signals.
const PAUSE: Duration = Duration::from_millis(50);

/// Whether the reader of the output is still there.
#[derive(Debug, PartialEq, Eq)]
enum Reader {
    Reads,
    HasGone,
}

pub(crate) fn run(options: &Top) -> Result<ExitCode, Failure> {
    let interrupt = signals::interrupt()?;
    let mut source = open("showing")?;
    watch(options, &interrupt, source.as_mut())
}

struct Watched<'a> {
    source: &'a mut dyn Source,
    interrupt: &'a Interrupt,
    intervals: usize,
}

fn watch(
    options: &Top,
    interrupt: &Interrupt,
    source: &mut dyn Source,
) -> Result<ExitCode, Failure> {
    let mut watched = Watched {
        source,
        interrupt,
        intervals: 0,
    };
    let is_screen =
        !options.json && !options.once && io::stdin().is_terminal() && io::stdout().is_terminal();
    let signal = if is_screen {
        screen::watch(options, &mut watched)?
    } else {
        lines(options, &mut watched)?
    };
    match signal {
        // Ctrl-C is how a watch without a limit ends.
        Some(by) if options.once || options.time.is_some() || by.signal != SIGINT => {
            let rows = watched.intervals;
            Err(Failure::Interrupted { by, rows })
        }
        _ => Ok(ExitCode::SUCCESS),
    }
}

/// Prints intervals until a signal comes, which is returned, the time is over or the reader has gone.
fn lines(options: &Top, watched: &mut Watched<'_>) -> Result<Option<Interrupted>, Failure> {
    let mut shown = Shown::new(options);
    let begun = Instant::now();
    let limit = if options.once {
        Some(options.every)
    } else {
        options.time
    };
    let mut due = options.every;
    loop {
        let until = limit.map_or(due, |limit| limit.min(due));
        let signal = wait(begun + until, watched.interrupt, watched.source);
        let reader = shown.show(watched.source.turn()?)?;
        watched.intervals += 1;
        let is_over = limit.is_some_and(|limit| until >= limit);
        if signal.is_some() || is_over || reader == Reader::HasGone {
            return Ok(signal.filter(|_| reader == Reader::Reads));
        }
        // Intervals that were missed, as the machine slept, are one.
        while due <= begun.elapsed() {
            due = due.saturating_add(options.every);
        }
    }
}

/// Returns the signal that came before that.
fn wait(until: Instant, interrupt: &Interrupt, source: &mut dyn Source) -> Option<Interrupted> {
    loop {
        if let Err(interrupted) = interrupt.check() {
            return Some(interrupted);
        }
        source.look();
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return None;
        }
        sleep(left.min(PAUSE));
    }
}

struct Shown {
    selection: Selection,
    style: Style,
    as_json: bool,
}

impl Shown {
    fn new(options: &Top) -> Self {
        let top = options.rows.map(|rows| rows as usize);
        Self {
            selection: Selection {
                by: options.by,
                sort: options.sort,
                name: options.name.clone(),
                top: top.or((!options.json).then_some(ROWS)),
            },
            style: Style {
                by: options.by,
                is_first: true,
                colour: Canvas::Output.colour(),
            },
            as_json: options.json,
        }
    }

    fn show(&mut self, mut interval: Interval) -> Result<Reader, Failure> {
        self.selection.apply(&mut interval);
        let written = if self.as_json {
            ui::write_exactly(|to| interval.write_json(to))
        } else {
            let text = draw(&interval, Canvas::Output.width(), self.style);
            ui::write(text.as_bytes())
        };
        self.style.is_first = false;
        match written {
            Ok(()) => Ok(Reader::Reads),
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(Reader::HasGone),
            Err(error) => Err(Failure::Cannot(format!(
                "cannot write to standard output: {error}"
            ))),
        }
    }
}
