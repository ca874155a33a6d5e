//! Signals to a command: while it only reads and writes files they end it at once, with a message, and leave nothing
//! half written; else they ask it to end, and what keeps it is named.

use std::io;
use std::process;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use iostrata_core::noun::counted;
use iostrata_lab::interrupt::{Interrupt, Interrupted, caught, undelivered};
use iostrata_tracer::waiting::unending;
use signal_hook::consts::SIGXFSZ;
use signal_hook::iterator::Signals;

use crate::error::Failure;
use crate::replacement;
use crate::ui;

/// A file that grows beyond `ulimit -f` is an error of its write like others, instead of the
/// end of the process. Programs that are started get the default back (signal(7)).
pub(crate) fn survive_file_limit() {
    // Where that is refused, the kernel ends the process: then it leaves nothing either.
    drop(signal_hook::flag::register(SIGXFSZ, Arc::default()));
}

/// From now on a signal ends the process, as soon as no rename is in progress.
pub(crate) fn end_in_order() -> io::Result<()> {
    let mut signals = Signals::new(caught()?)?;
    thread::Builder::new()
        .name("signals".to_owned())
        .spawn(move || {
            if let Some(signal) = signals.forever().next() {
                end(signal);
            }
        })?;
    undelivered(|arrived| end(arrived.signal))
}

/// Time between two looks at what keeps a command that was asked to end. What is there at both is named.
const LOOK: Duration = Duration::from_millis(500);

/// A value that a signal sets.
pub(crate) fn interrupt() -> Result<Interrupt, Failure> {
    let installed = Interrupt::install(|asked| {
        let asked = asked.clone();
        let name = thread::Builder::new().name("late".to_owned());
        // Without it the command ends as well.
        drop(name.spawn(move || name_waits(&asked)));
    });
    installed.map_err(|error| Failure::no_signals(&error))
}

/// Names each call once that no signal ends, as long as the command is asked to end.
fn name_waits(asked: &Interrupt) {
    let (mut before, mut named) = (Vec::new(), Vec::new());
    while asked.check().is_err() {
        thread::sleep(LOOK);
        let now = unending();
        let long = now
            .iter()
            .filter(|call| before.contains(*call) && !named.contains(*call));
        let long: Vec<String> = long.cloned().collect();
        if let [first, others @ ..] = &*long {
            let others = match others.len() as u64 {
                0 => String::new(),
                count => format!(" and {}", counted(count, "more call")),
            };
            ui::say(&format!(
                "waiting for {first}{others}, which no signal ends"
            ));
        }
        named.extend(long);
        before = now;
    }
}

#[expect(
    clippy::exit,
    reason = "the work runs in a thread that cannot be stopped"
)]
pub(crate) fn end(signal: i32) -> ! {
    let _names = replacement::remove_hidden();
    ui::say(&Interrupted { signal }.to_string());
    process::exit(128 + signal)
}
