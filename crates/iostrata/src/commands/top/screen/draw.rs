//! The screen: the interval and the disks, the rows, the waits for syncs, the keys.

use iostrata_report::printable;
use iostrata_report::terminal::top::screen;
use ratatui::Frame;
use ratatui::layout::{Constraint, Layout};
use ratatui::style::{Modifier, Style};
use ratatui::text::Line;
use ratatui::widgets::{List, ListState, Paragraph, Wrap};

use super::state::{KINDS, SORTS, State};

/// Lines that the part below the rows has at most, or a third of the screen.
const BELOW: usize = 6;

const KEYS: &str =
    "1-6 rows  s sort  / filter  Enter into  Esc back  w waits  Space freeze  q quit";

pub(super) fn draw(frame: &mut Frame<'_>, state: &State) {
    let bold = Style::new().add_modifier(Modifier::BOLD);
    let area = frame.area();
    let Some(shown) = state.shown() else {
        frame.render_widget(Paragraph::new("counting the first interval"), area);
        return;
    };
    let width = usize::from(area.width);
    let mut parts = screen(&shown.interval, width, shown.level);
    let most = usize::from(area.height / 3).max(BELOW);
    if state.is_on_waits {
        (parts.heads, parts.rows) = (Vec::new(), Vec::new());
        if parts.below.is_empty() {
            parts.below.push("no process waited for a sync".to_owned());
        }
    } else if parts.below.len() > most {
        parts.below.truncate(most - 1);
        parts.below.push("  w shows all of it".to_owned());
    }
    let rest = Constraint::Min(1);
    let height =
        |lines: &[String]| Constraint::Length(u16::try_from(lines.len()).unwrap_or(u16::MAX));
    let [above, place, heads, rows, below, keys] = Layout::vertical([
        height(&parts.above),
        Constraint::Length(1),
        height(&parts.heads),
        if state.is_on_waits {
            Constraint::Length(0)
        } else {
            rest
        },
        if state.is_on_waits {
            rest
        } else {
            height(&parts.below)
        },
        Constraint::Length(u16::try_from(KEYS.len().div_ceil(width.max(1))).unwrap_or(1)),
    ])
    .areas(area);
    let lines =
        |lines: Vec<String>| Paragraph::new(lines.into_iter().map(Line::from).collect::<Vec<_>>());
    frame.render_widget(lines(parts.above), above);
    frame.render_widget(Paragraph::new(words(state)).style(bold), place);
    frame.render_widget(lines(parts.heads).style(bold), heads);
    let chosen = (!shown.rows.is_empty()).then_some(shown.chosen);
    let reversed = Style::new().add_modifier(Modifier::REVERSED);
    let list = List::new(parts.rows).highlight_style(reversed);
    frame.render_stateful_widget(list, rows, &mut ListState::default().with_selected(chosen));
    frame.render_widget(lines(parts.below), below);
    frame.render_widget(Paragraph::new(KEYS).wrap(Wrap { trim: true }), keys);
}

/// `disks > vda > /srv/db/wal, by disk bytes, filter: wal, frozen`.
fn words(state: &State) -> String {
    let kind = KINDS.iter().find(|(by, _)| *by == state.by);
    let mut place = vec![kind.map_or("", |(_, name)| name).to_owned()];
    place.extend(state.entered.iter().map(|(_, name)| printable(name)));
    let place = place.join(" > ");
    let mut words = Vec::new();
    if !state.is_on_waits {
        words.push(place);
        let sort = SORTS.iter().find(|(sort, _)| *sort == state.sort);
        words.extend(sort.map(|(_, name)| format!("by {name}")));
    } else if state.entered.is_empty() {
        words.push("waits of all processes".to_owned());
    } else {
        words.push(format!("waits of {place}"));
    }
    if state.is_typing {
        words.push(format!("filter: {}_", printable(&state.filter)));
    } else if !state.filter.is_empty() {
        words.push(format!("filter: {}", printable(&state.filter)));
    }
    if state.is_frozen {
        words.push("frozen".to_owned());
    }
    words.join(", ")
}
