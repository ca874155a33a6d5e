//! `docs/calls.md` contains the table of all calls as in the code.

use iostrata_core::gap::{NotFollowed, Reason};
use iostrata_core::trace::calls::{Counted, Effect, Following, GROUPS, Group};
use iostrata_report::words::{self, Words};

fn does(effect: Effect) -> &'static str {
    match effect {
        Effect::Reads => "reads",
        Effect::Writes => "writes",
        Effect::Copies => "copies inside the kernel",
        Effect::Syncs => "syncs",
        Effect::Opens => "opens",
        Effect::Closes => "closes",
        Effect::Maps => "maps",
        Effect::Resizes => "length, space",
        Effect::Names => "names",
        Effect::Attributes => "attributes",
        Effect::Looks => "looks",
        Effect::Handles => "handles",
        Effect::Mounts => "mounts",
        Effect::Delegates => "lets the kernel write",
        Effect::Queues => "queues",
        Effect::Waits => "waits",
        Effect::Nothing => "nothing",
    }
}

fn because(why: NotFollowed) -> Words {
    words::reason(&Reason::NotFollowed(why))
}

fn row(group: &Group) -> String {
    let counted = match group.counted {
        Counted::ByName => "name",
        Counted::AtFile => "file",
    };
    let followed = match group.following {
        Following::NotNeeded => "–".to_owned(),
        Following::Both => "history, log".to_owned(),
        Following::HistoryOnly(why) => format!("history; not in the log: {}", because(why)),
        Following::Neither(why) => format!("**in neither**: {}", because(why)),
    };
    let names: Vec<String> = group.names().map(|name| format!("`{name}`")).collect();
    let names = match group.effect {
        Effect::Nothing => "all others".to_owned(),
        _ => names.join(" "),
    };
    let effect = does(group.effect);
    format!("| {effect} | {counted} | {followed} | {names} |")
}

#[test]
fn the_page_shows_the_table() {
    let page = include_str!("../../../docs/calls.md");
    let shown = page.lines().filter(|line| line.starts_with('|'));
    let shown: Vec<&str> = shown.skip(2).collect();
    let rows: Vec<String> = GROUPS.iter().map(row).collect();
    assert_eq!(
        shown,
        rows,
        "the table in docs/calls.md is to be\n{}",
        rows.join("\n")
    );
}
