//! What the screen shows, and what keys do to it.

use crossterm::event::{KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use iostrata_core::top::{By, Interval, Scope, Selection, Sort};
use iostrata_report::terminal::top::Level;

/// Rows that are drawn at most.
const MOST_ROWS: usize = 1000;

/// The kinds of rows, in the order of their keys from 1 on.
pub(super) const KINDS: [(By, &str); 6] = [
    (By::Process, "processes"),
    (By::File, "files"),
    (By::Directory, "directories"),
    (By::Cgroup, "cgroups"),
    (By::Container, "containers"),
    (By::Device, "disks"),
];

/// The orders of rows, in the order in which `s` goes through them.
pub(super) const SORTS: [(Sort, &str); 8] = [
    (Sort::Device, "disk bytes"),
    (Sort::Time, "time in calls"),
    (Sort::Calls, "calls"),
    (Sort::Read, "bytes read"),
    (Sort::Written, "bytes written"),
    (Sort::Syncs, "syncs"),
    (Sort::Missed, "missed pages"),
    (Sort::Dirtied, "dirtied bytes"),
];

/// Whether the screen stays.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Asked {
    Nothing,
    Quit,
}

#[derive(Debug)]
pub(super) struct State {
    pub(super) by: By,
    pub(super) sort: Sort,
    /// Rows that were entered, the outermost first, each with its name.
    pub(super) entered: Vec<(Scope, String)>,
    /// Rows whose name contains this are shown.
    pub(super) filter: String,
    pub(super) is_typing: bool,
    pub(super) is_frozen: bool,
    /// Whether the waits for syncs have the place of the rows too.
    pub(super) is_on_waits: bool,
    /// The chosen row. It stays chosen when rows change their order.
    chosen: Option<Scope>,
    interval: Option<Interval>,
}

/// An interval with the rows that are to be drawn.
pub(super) struct Shown {
    pub(super) interval: Interval,
    pub(super) level: Level,
    /// One for each row; empty for calls.
    pub(super) rows: Vec<Scope>,
    pub(super) chosen: usize,
}

impl State {
    pub(super) fn new(by: By, sort: Sort, filter: Option<&str>) -> Self {
        Self {
            by,
            sort,
            entered: Vec::new(),
            filter: filter.unwrap_or_default().to_owned(),
            is_typing: false,
            is_frozen: false,
            is_on_waits: false,
            chosen: None,
            interval: None,
        }
    }

    /// Takes the next interval, unless the screen is frozen.
    pub(super) fn take(&mut self, interval: Interval) {
        if !self.is_frozen || self.interval.is_none() {
            self.interval = Some(interval);
        }
    }

    /// `None` before the end of the first interval.
    pub(super) fn shown(&self) -> Option<Shown> {
        let mut interval = self.interval.clone()?;
        for (scope, _) in &self.entered {
            scope.narrow(&mut interval);
        }
        let level = self.level();
        let rows = match level {
            Level::Rows(by) => {
                let selection = Selection {
                    by,
                    sort: self.sort,
                    name: (!self.filter.is_empty()).then(|| self.filter.clone()),
                    top: Some(MOST_ROWS),
                };
                selection.apply(&mut interval);
                Scope::of_rows(&interval, by)
            }
            Level::Calls => Vec::new(),
        };
        let chosen = rows
            .iter()
            .position(|row| Some(row) == self.chosen.as_ref());
        Some(Shown {
            interval,
            level,
            chosen: chosen.unwrap_or(0),
            rows,
        })
    }

    fn level(&self) -> Level {
        match self.entered.last() {
            None => Level::Rows(self.by),
            Some((scope, _)) => scope.below().map_or(Level::Calls, Level::Rows),
        }
    }

    pub(super) fn key(&mut self, key: KeyEvent) -> Asked {
        if key.kind == KeyEventKind::Release {
            return Asked::Nothing;
        }
        let is_control = key.modifiers.contains(KeyModifiers::CONTROL);
        match key.code {
            KeyCode::Char('c') if is_control => return Asked::Quit,
            KeyCode::Char(_) if is_control => {}
            _ if self.is_typing => self.typed(key.code),
            KeyCode::Char('q') => return Asked::Quit,
            code => self.command(code),
        }
        Asked::Nothing
    }

    fn typed(&mut self, code: KeyCode) {
        match code {
            KeyCode::Char(char) => self.filter.push(char),
            KeyCode::Backspace => _ = self.filter.pop(),
            KeyCode::Enter => self.is_typing = false,
            KeyCode::Esc => {
                self.filter.clear();
                self.is_typing = false;
            }
            _ => {}
        }
    }

    fn command(&mut self, code: KeyCode) {
        match code {
            KeyCode::Char(digit @ '1'..='6') => self.turn_to(digit as usize - '1' as usize),
            KeyCode::Tab => {
                let kinds = KINDS.iter().position(|(by, _)| *by == self.by);
                self.turn_to((kinds.unwrap_or(0) + 1) % KINDS.len());
            }
            KeyCode::Char('s') => {
                let at = SORTS.iter().position(|(sort, _)| *sort == self.sort);
                self.sort = SORTS[(at.unwrap_or(0) + 1) % SORTS.len()].0;
            }
            KeyCode::Char('/') => self.is_typing = true,
            KeyCode::Char('w') => self.is_on_waits = !self.is_on_waits,
            KeyCode::Char(' ') => self.is_frozen = !self.is_frozen,
            KeyCode::Up | KeyCode::Char('k') => self.choose(|at, _| at.saturating_sub(1)),
            KeyCode::Down | KeyCode::Char('j') => self.choose(|at, _| at + 1),
            KeyCode::PageUp => self.choose(|at, _| at.saturating_sub(10)),
            KeyCode::PageDown => self.choose(|at, _| at + 10),
            KeyCode::Home => self.choose(|_, _| 0),
            KeyCode::End => self.choose(|_, last| last),
            KeyCode::Enter | KeyCode::Right => self.enter(),
            KeyCode::Esc | KeyCode::Backspace | KeyCode::Left => self.leave(),
            _ => {}
        }
    }

    fn turn_to(&mut self, kind: usize) {
        self.by = KINDS[kind].0;
        self.is_on_waits = false;
        self.entered.clear();
        self.chosen = None;
    }

    fn choose(&mut self, to: impl Fn(usize, usize) -> usize) {
        let Some(shown) = self.shown() else { return };
        let last = shown.rows.len().saturating_sub(1);
        let to = to(shown.chosen, last).min(last);
        self.chosen = shown.rows.into_iter().nth(to);
    }

    fn enter(&mut self) {
        if self.is_on_waits {
            return;
        }
        let Some(shown) = self.shown() else { return };
        let Some(scope) = shown.rows.get(shown.chosen) else {
            return;
        };
        let name = name(scope, &shown.interval);
        self.entered.push((scope.clone(), name));
        self.filter.clear();
        self.chosen = None;
    }

    /// Back to the row that was entered; without one, the filter goes.
    fn leave(&mut self) {
        if std::mem::take(&mut self.is_on_waits) {
            return;
        }
        match self.entered.pop() {
            Some((scope, _)) => self.chosen = Some(scope),
            None => self.filter.clear(),
        }
    }
}

fn name(scope: &Scope, interval: &Interval) -> String {
    let unknown = || "not known".to_owned();
    match scope {
        Scope::Disk(name) => name.clone(),
        Scope::Directory(path) | Scope::Cgroup(path) => path.clone().unwrap_or_else(unknown),
        Scope::File { path, identity } => match (path, identity) {
            (Some(path), _) => path.clone(),
            (None, Some((device, inode))) => format!("inode {inode} on {device}"),
            (None, None) => "calls that name no open file".to_owned(),
        },
        Scope::Container(id) => format!("container {}", id.get(..12).unwrap_or(id)),
        Scope::Process(pid) => {
            let mut rows = interval.processes.iter();
            let row = rows.find(|row| row.pid == *pid);
            let name = row.and_then(|row| row.name.clone());
            format!("{} ({pid})", name.as_deref().unwrap_or("process"))
        }
    }
}
