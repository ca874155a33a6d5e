//! Keys by hand, on a terminal in memory.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use iostrata_core::top::{By, Interval, Sort};
use ratatui::Terminal;
use ratatui::backend::TestBackend;

use super::draw::draw;
use super::state::{Asked, State};

/// Of a real run: a database, a program that replaces files and a backup.
fn interval() -> Interval {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/results/top.json");
    serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap()
}

fn state() -> State {
    let mut state = State::new(By::Process, Sort::Device, None);
    state.take(interval());
    state
}

fn press(state: &mut State, keys: &[KeyCode]) {
    for key in keys {
        let asked = state.key(KeyEvent::new(*key, KeyModifiers::NONE));
        assert_eq!(asked, Asked::Nothing, "{key:?}");
    }
}

fn drawn(state: &State) -> String {
    let mut terminal = Terminal::new(TestBackend::new(80, 20)).unwrap();
    terminal.draw(|frame| draw(frame, state)).unwrap();
    terminal.backend().to_string()
}

/// The line that says where the user is.
fn place(state: &State) -> String {
    let text = drawn(state);
    let line = text.lines().find(|line| line.contains(", by ")).unwrap();
    line.trim_matches(['"', ' ']).to_owned()
}

#[test]
fn the_first_screen() {
    insta::assert_snapshot!(drawn(&state()));
}

/// The page shows what is drawn, without the marks of the terminal in memory; `UPDATE_DOCS=1` writes it.
#[test]
fn the_page_shows_the_screen() {
    const BEGIN: &str = "<!-- screen -->\n```\n";
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/top.md");
    let page = std::fs::read_to_string(path).unwrap();
    let (before, rest) = page.split_once(BEGIN).unwrap();
    let (shown, after) = rest.split_once("```\n").unwrap();
    let lines = drawn(&state());
    let lines = lines.lines().map(|line| line.trim_matches('"').trim_end());
    let now = lines.collect::<Vec<_>>().join("\n") + "\n";
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::write(path, format!("{before}{BEGIN}{now}```\n{after}")).unwrap();
    } else {
        assert_eq!(shown, now, "UPDATE_DOCS=1 writes it anew");
    }
}

#[test]
fn from_a_disk_to_a_file_to_a_process_to_its_calls() {
    let mut state = state();
    press(&mut state, &[KeyCode::Char('6'), KeyCode::Enter]);
    assert_eq!(place(&state), "disks > loop1, by disk bytes");
    press(&mut state, &[KeyCode::Down, KeyCode::Enter]);
    assert_eq!(place(&state), "disks > loop1 > /mnt/db/wal, by disk bytes");
    press(&mut state, &[KeyCode::Enter]);
    insta::assert_snapshot!(drawn(&state));
    press(&mut state, &[KeyCode::Esc, KeyCode::Esc]);
    let shown = state.shown().unwrap();
    assert_eq!(shown.chosen, 1, "the row that was entered");
}

#[test]
fn rows_are_filtered_and_sorted() {
    let mut state = state();
    press(&mut state, &[KeyCode::Char('2'), KeyCode::Char('s')]);
    press(
        &mut state,
        &[KeyCode::Char('/'), KeyCode::Char('w'), KeyCode::Char('q')],
    );
    assert_eq!(place(&state), "files, by time in calls, filter: wq_");
    press(
        &mut state,
        &[KeyCode::Backspace, KeyCode::Char('a'), KeyCode::Enter],
    );
    assert_eq!(place(&state), "files, by time in calls, filter: wa");
    let shown = state.shown().unwrap();
    assert_eq!(shown.rows.len(), 1);
    press(&mut state, &[KeyCode::Esc]);
    assert!(state.shown().unwrap().rows.len() > 1);
}

#[test]
fn a_chosen_row_stays_chosen_and_a_frozen_screen_stays() {
    let mut state = state();
    press(&mut state, &[KeyCode::Down]);
    let chosen = state.shown().unwrap();
    let chosen = chosen.rows[chosen.chosen].clone();
    let mut other = interval();
    other.processes.reverse();
    state.take(other.clone());
    let shown = state.shown().unwrap();
    assert_eq!(shown.rows[shown.chosen], chosen);
    press(&mut state, &[KeyCode::Char(' ')]);
    other.processes.clear();
    state.take(other.clone());
    assert!(!state.shown().unwrap().rows.is_empty());
    press(&mut state, &[KeyCode::Char(' ')]);
    state.take(other);
    assert!(drawn(&state).contains("no calls on files"));
    press(&mut state, &[KeyCode::Enter, KeyCode::Down, KeyCode::Esc]);
}

#[test]
fn waits_have_the_whole_screen_if_asked() {
    let mut state = state();
    press(&mut state, &[KeyCode::Char('w')]);
    insta::assert_snapshot!(drawn(&state));
    press(
        &mut state,
        &[KeyCode::Esc, KeyCode::Char('6'), KeyCode::Enter],
    );
    press(&mut state, &[KeyCode::Char('w')]);
    assert!(drawn(&state).contains("waits of disks > loop1"));
    press(&mut state, &[KeyCode::Char('1')]);
    assert_eq!(place(&state), "processes, by disk bytes");
}

#[test]
fn q_and_ctrl_c_end_it() {
    let mut state = state();
    let quit = |state: &mut State, key, modifiers| state.key(KeyEvent::new(key, modifiers));
    assert_eq!(
        quit(&mut state, KeyCode::Char('q'), KeyModifiers::NONE),
        Asked::Quit
    );
    press(&mut state, &[KeyCode::Char('/')]);
    assert_eq!(
        quit(&mut state, KeyCode::Char('c'), KeyModifiers::CONTROL),
        Asked::Quit
    );
}
