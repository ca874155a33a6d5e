//! Signals while a command only reads and writes files: they end it at once, with a message, and
//! leave nothing half written.

use std::io;
use std::process;
use std::sync::Arc;
use std::thread;

use iostrata_lab::interrupt::{Interrupted, caught};
use signal_hook::consts::SIGXFSZ;
use signal_hook::iterator::Signals;

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
    Ok(())
}

#[expect(
    clippy::exit,
    reason = "the work runs in a thread that cannot be stopped"
)]
fn end(signal: i32) -> ! {
    let _names = replacement::remove_hidden();
    ui::say(&Interrupted { signal }.to_string());
    process::exit(128 + signal)
}
