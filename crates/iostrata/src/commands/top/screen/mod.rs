//! The machine on a terminal, with keys.

mod draw;
mod state;
#[cfg(test)]
mod tests;

use std::io;
use std::time::{Duration, Instant};

use crossterm::event::{self, Event};
use iostrata_lab::interrupt::Interrupted;
use ratatui::DefaultTerminal;
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use self::state::{Asked, State};
use super::Watched;
use crate::cli::Top;
use crate::error::Failure;

/// The terminal as it was, once this is dropped. ratatui restores it after a panic too.
struct Screen(DefaultTerminal);

impl Screen {
    fn open() -> Result<Self, Failure> {
        ratatui::try_init().map(Self).map_err(cannot)
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        ratatui::restore();
    }
}

fn cannot(error: impl std::fmt::Display) -> Failure {
    Failure::Cannot(format!(
        "cannot use the terminal: {error}; iostrata top | cat prints lines"
    ))
}

/// Shows intervals until the user or a signal ends it, or the time is over.
pub(super) fn watch(
    options: &Top,
    watched: &mut Watched<'_>,
) -> Result<Option<Interrupted>, Failure> {
    let mut screen = Screen::open()?;
    let mut state = State::new(options.by, options.sort, options.name.as_deref());
    let begun = Instant::now();
    let mut due = options.every;
    loop {
        screen
            .0
            .draw(|frame| draw::draw(frame, &state))
            .map_err(cannot)?;
        let until = options.time.map_or(due, |limit| limit.min(due));
        match wait(begun + until, watched, &mut state)? {
            Waited::Changed => continue,
            Waited::Quit => return Ok(None),
            Waited::Interrupted(by) => return Ok(Some(by)),
            Waited::Due => {}
        }
        state.take(watched.source.turn()?);
        watched.intervals += 1;
        if options.time.is_some_and(|limit| until >= limit) {
            return Ok(None);
        }
        while due <= begun.elapsed() {
            due = due.saturating_add(options.every);
        }
    }
}

enum Waited {
    Due,
    /// A key or the size of the terminal changed the screen.
    Changed,
    Quit,
    Interrupted(Interrupted),
}

enum Input {
    None,
    /// A key, or a signal, which may be that of another size.
    Some,
    /// The terminal is closed, which crossterm does not report.
    Gone,
}

/// Waits for keys at most so long.
fn input_within(most: Duration) -> Input {
    let most = Timespec::try_from(most).ok();
    let input = io::stdin();
    let mut keys = [PollFd::new(&input, PollFlags::IN)];
    let ready = poll(&mut keys, most.as_ref());
    let gone = PollFlags::HUP | PollFlags::ERR;
    match ready {
        Ok(0) => Input::None,
        _ if keys[0].revents().intersects(gone) => Input::Gone,
        _ => Input::Some,
    }
}

/// Keys that are taken at most before the screen shows what they did.
const AT_ONCE: usize = 64;

/// Takes the keys that are there; `None` if nothing changes the screen.
fn take_keys(state: &mut State) -> Result<Option<Waited>, Failure> {
    let mut waited = None;
    for _ in 0..AT_ONCE {
        // With no time at all crossterm does not look.
        if !event::poll(Duration::from_millis(1)).map_err(cannot)? {
            break;
        }
        match event::read().map_err(cannot)? {
            Event::Key(key) if state.key(key) == Asked::Quit => return Ok(Some(Waited::Quit)),
            Event::Key(_) | Event::Resize(..) => waited = Some(Waited::Changed),
            _ => {}
        }
    }
    Ok(waited)
}

/// Keys come before the end of the interval: where it takes longer to collect and to draw than it lasts, no time
/// is left for them.
fn wait(until: Instant, watched: &mut Watched<'_>, state: &mut State) -> Result<Waited, Failure> {
    let mut is_first = true;
    loop {
        if let Err(by) = watched.interrupt.check() {
            return Ok(Waited::Interrupted(by));
        }
        watched.source.look();
        let left = until.saturating_duration_since(Instant::now());
        let most = if is_first {
            Duration::ZERO
        } else {
            left.min(super::PAUSE)
        };
        let has_input = match input_within(most) {
            // crossterm may have more keys than it gave last.
            Input::None => is_first,
            Input::Some => true,
            Input::Gone => return Ok(Waited::Quit),
        };
        is_first = false;
        let changed = if has_input { take_keys(state)? } else { None };
        match changed {
            Some(Waited::Quit) => return Ok(Waited::Quit),
            _ if until <= Instant::now() => return Ok(Waited::Due),
            Some(changed) => return Ok(changed),
            None => {}
        }
    }
}
