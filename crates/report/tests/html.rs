//! HTML pages as a browser would parse them: every name in them stays text, every part of the
//! terminal text is there, and links and labels have targets.
#![forbid(unsafe_code)]
#![expect(clippy::unwrap_used, reason = "test helpers")]

use std::collections::{BTreeMap, BTreeSet};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use iostrata_core::doctor::DoctorResult;
use iostrata_core::lab::LabResult;
use iostrata_core::trace::{Selection, TraceResult};
use iostrata_report::html::{Drawn, Titled, page};
use iostrata_report::terminal;
use iostrata_report::terminal::lab_screen::{self, Parts, Screen};
use proptest::prelude::*;
use serde::de::DeserializeOwned;
use serde_json::Value;
use sha2::{Digest as _, Sha256};

const LAB: &str = include_str!("saved/lab.json");
const TRACE: &str = include_str!("saved/trace.json");
const DOCTOR: &str = include_str!("saved/doctor.json");

/// Names with contents that a page must not act on.
const HOSTILE: &str = "</script><script>acted=1</script><img src=x onerror=acted=1>\" onload=\"acted=1' \
     ]]>--><!--&lt;&#60;\u{0}\u{1b}[2J\r\n\u{202e}\u{2028}";

/// A tag of a document, with its attributes.
#[derive(Debug)]
struct Tag {
    name: String,
    attributes: BTreeMap<String, String>,
}

/// The tags of a document in order, and the text between them. Contents of `style` and `script`
/// count as their text.
fn parse(page: &str) -> Vec<(Option<Tag>, String)> {
    let mut pieces = Vec::new();
    let mut rest = page;
    while let Some((text, after)) = rest.split_once('<') {
        pieces.push((None, unescaped(text)));
        let (tag, after) = after.split_once('>').unwrap();
        let tag = tag_of(tag);
        rest = after;
        if ["script", "style"].contains(&tag.name.as_str()) {
            let (content, end) = after.split_once(&format!("</{}>", tag.name)).unwrap();
            pieces.push((Some(tag), content.to_owned()));
            rest = end;
        } else {
            pieces.push((Some(tag), String::new()));
        }
    }
    pieces
}

/// Attributes are all in double quotes, and none contains a `>`.
fn tag_of(text: &str) -> Tag {
    let (name, mut rest) = text.split_once(' ').unwrap_or((text, ""));
    let mut attributes = BTreeMap::new();
    while !rest.is_empty() {
        let end = rest.find(['=', ' ']).unwrap_or(rest.len());
        let (attribute, after) = rest.split_at(end);
        let (value, after) = match after.strip_prefix("=\"") {
            Some(quoted) => quoted.split_once('"').unwrap(),
            None => ("", after),
        };
        let known = attributes.insert(attribute.to_owned(), unescaped(value));
        assert!(known.is_none(), "{text}");
        rest = after.strip_prefix(' ').unwrap_or(after);
    }
    Tag {
        name: name.to_owned(),
        attributes,
    }
}

fn unescaped(text: &str) -> String {
    let entities = [
        ("&lt;", "<"),
        ("&gt;", ">"),
        ("&quot;", "\""),
        ("&#39;", "'"),
        ("&amp;", "&"),
    ];
    entities
        .iter()
        .fold(text.to_owned(), |text, (entity, char)| {
            text.replace(entity, char)
        })
}

fn tags(page: &str) -> Vec<Tag> {
    parse(page).into_iter().filter_map(|(tag, _)| tag).collect()
}

/// Every text of a saved result replaced, as far as it then still is a result.
fn spoiled<T: DeserializeOwned>(saved: &str, text: &str) -> T {
    fn places(value: &Value, at: String, found: &mut Vec<String>) {
        match value {
            Value::Object(fields) => {
                for (name, field) in fields {
                    places(field, format!("{at}/{name}"), found);
                }
            }
            Value::Array(items) => {
                for (position, item) in items.iter().enumerate() {
                    places(item, format!("{at}/{position}"), found);
                }
            }
            Value::String(_) => found.push(at),
            _ => {}
        }
    }
    let mut value: Value = serde_json::from_str(saved).unwrap();
    let mut found = Vec::new();
    places(&value, String::new(), &mut found);
    for place in found {
        let before = std::mem::replace(value.pointer_mut(&place).unwrap(), text.into());
        if T::deserialize(&value).is_err() {
            *value.pointer_mut(&place).unwrap() = before;
        }
    }
    T::deserialize(&value).unwrap()
}

/// One page of all kinds of results, with this text for each of theirs.
fn page_of(text: &str) -> String {
    let lab: LabResult = spoiled(LAB, text);
    let trace: TraceResult = spoiled(TRACE, text);
    let doctor: DoctorResult = spoiled(DOCTOR, text);
    let titled = |result| Titled {
        name: Some(text.to_owned()),
        result,
    };
    page(&[
        titled(Drawn::Lab(&lab)),
        titled(Drawn::Trace(&trace)),
        titled(Drawn::Doctor(&doctor)),
    ])
}

fn saved<T: DeserializeOwned>(text: &str) -> T {
    serde_json::from_str(text).unwrap()
}

/// Pages of the saved results: each alone, and all together.
fn pages() -> Vec<String> {
    let (lab, trace, doctor) = (saved(LAB), saved(TRACE), saved(DOCTOR));
    let all = [
        Drawn::Lab(&lab),
        Drawn::Trace(&trace),
        Drawn::Doctor(&doctor),
    ];
    let titled = all.map(|result| Titled {
        name: Some("saved.json".to_owned()),
        result,
    });
    let alone = titled.iter().map(|one| page(std::slice::from_ref(one)));
    alone.chain([page(&titled)]).collect()
}

/// The elements and attributes of a page, each once.
fn vocabulary(page: &str) -> BTreeSet<String> {
    let words = tags(page).into_iter().flat_map(|tag| {
        let attributes = tag.attributes.into_keys();
        let name = tag.name.clone();
        attributes
            .map(move |attribute| format!("{name} {attribute}"))
            .chain([tag.name])
            .collect::<Vec<_>>()
    });
    words.collect()
}

#[test]
fn hostile_names_stay_text() {
    let page = page_of(HOSTILE);
    let harmless = page_of("/a/name");
    let new: Vec<String> = vocabulary(&page)
        .difference(&vocabulary(&harmless))
        .cloned()
        .collect();
    assert_eq!(new, Vec::<String>::new());
    let count = |page: &str, name: &str| tags(page).iter().filter(|tag| tag.name == name).count();
    for element in ["script", "img", "style", "meta"] {
        assert_eq!(
            count(&page, element),
            count(&harmless, element),
            "{element}"
        );
    }
    let hidden =
        |char: char| (char.is_control() && char != '\n') || "\u{202e}\u{2028}".contains(char);
    assert!(!page.contains(hidden));
    let shown = "&lt;/script&gt;&lt;script&gt;acted=1";
    assert!(page.matches(shown).count() > 100);
}

#[test]
fn names_of_any_length_are_drawn() {
    let page = page_of(&"<&\"'".repeat(1024));
    assert!(page.len() < 40_000_000);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 16, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_name_becomes_markup(name in "(?s)([<>\"'&/=!\\- a-z]|\\PC|.){0,40}") {
        let spoiled = page_of(&name);
        let harmless = page_of("/a/name");
        prop_assert!(vocabulary(&spoiled).is_subset(&vocabulary(&harmless)), "{name:?}");
    }
}

#[test]
fn nothing_acts_but_what_the_policy_names() {
    for page in pages() {
        let pieces = parse(&page);
        let tags: Vec<&Tag> = pieces.iter().filter_map(|(tag, _)| tag.as_ref()).collect();
        let policy = tags
            .iter()
            .find(|tag| tag.attributes.contains_key("http-equiv"))
            .map(|tag| tag.attributes["content"].clone())
            .unwrap();
        assert!(policy.starts_with("default-src 'none'; "), "{policy}");
        assert!(
            !policy.contains("unsafe") && !policy.contains("http"),
            "{policy}"
        );
        for (tag, content) in &pieces {
            let Some(tag) = tag else { continue };
            let directive = match tag.name.as_str() {
                "style" => "style-src",
                "script" if tag.attributes.is_empty() => "script-src",
                _ => continue,
            };
            let hash = format!("'sha256-{}'", STANDARD.encode(Sha256::digest(content)));
            let sources = policy.split("; ").find(|part| part.starts_with(directive));
            assert!(
                sources.unwrap().contains(&hash),
                "{directive} {hash} {policy}"
            );
        }
        for tag in tags {
            for name in tag.attributes.keys() {
                assert!(
                    !name.starts_with("on") && name != "style" && name != "src",
                    "{tag:?}"
                );
            }
            if let Some(link) = tag.attributes.get("href") {
                assert!(link.starts_with('#'), "{link}");
            }
        }
    }
}

#[test]
fn every_link_and_label_leads_somewhere() {
    for page in pages() {
        let tags = tags(&page);
        let mut ids = BTreeSet::new();
        for id in tags.iter().filter_map(|tag| tag.attributes.get("id")) {
            assert!(ids.insert(id.as_str()), "{id} twice");
        }
        for tag in &tags {
            let link = tag.attributes.get("href");
            let targets = link.map(|link| link.trim_start_matches('#'));
            let label = tag.attributes.get("aria-labelledby");
            for name in targets.into_iter().chain(label.map(String::as_str)) {
                assert!(ids.contains(name), "{name} is nowhere");
            }
        }
    }
}

#[test]
fn headings_go_down_one_by_one() {
    for page in pages() {
        let levels: Vec<u32> = tags(&page)
            .iter()
            .filter_map(|tag| tag.name.strip_prefix('h')?.parse().ok())
            .collect();
        assert_eq!(levels.first(), Some(&1));
        assert_eq!(levels.iter().filter(|level| **level == 1).count(), 1);
        assert!(
            levels.windows(2).all(|pair| pair[1] <= pair[0] + 1),
            "{levels:?}"
        );
    }
}

#[test]
fn elements_are_closed_in_their_order() {
    const VOID: [&str; 2] = ["meta", "wbr"];
    for page in pages() {
        let mut open: Vec<String> = Vec::new();
        for tag in tags(&page) {
            if tag.name.starts_with('!') || VOID.contains(&tag.name.as_str()) {
                continue;
            }
            // Those of `script` and `style` were taken with their contents.
            if ["script", "style"].contains(&tag.name.as_str()) {
                continue;
            }
            match tag.name.strip_prefix('/') {
                Some(closed) => assert_eq!(open.pop().as_deref(), Some(closed), "{open:?}"),
                None => open.push(tag.name),
            }
        }
        assert_eq!(open, Vec::<String>::new());
    }
}

#[test]
fn every_table_has_its_heads() {
    for page in pages() {
        let pieces = parse(&page);
        let tags = || pieces.iter().filter_map(|(tag, _)| tag.as_ref());
        let count = |name: &str| tags().filter(|tag| tag.name == name).count();
        assert!(count("table") > 0 || !page.contains("<tr"));
        assert_eq!(count("table"), count("caption"));
        assert_eq!(count("table"), count("thead"));
        for tag in tags().filter(|tag| tag.name == "th") {
            assert!(tag.attributes.contains_key("scope"), "{tag:?}");
        }
    }
}

/// The texts of a page: of its cells, and of all the rest together.
fn texts(page: &str) -> (BTreeSet<String>, String) {
    let mut cells = BTreeSet::new();
    let mut prose = String::new();
    let mut cell: Option<String> = None;
    for (tag, text) in parse(page) {
        match (&mut cell, tag.as_ref().map(|tag| tag.name.as_str())) {
            (_, Some("td" | "th")) => cell = Some(String::new()),
            (Some(_), Some("/td" | "/th")) => cells.extend(cell.take()),
            // Leads and their texts are side by side.
            (None, Some("dd")) => prose.push(' '),
            (Some(cell), None) => cell.push_str(&text),
            (None, None) => prose.push_str(&text.replace('\u{a0}', " ")),
            _ => {}
        }
    }
    let cells = cells.into_iter().map(|cell| cell.replace('\u{a0}', " "));
    (cells.map(|cell| cell.trim().to_owned()).collect(), prose)
}

/// Whether the page contains everything in the text. The text must be wide enough that nothing
/// wraps.
#[track_caller]
fn assert_complete(page: &str, text: &str) {
    let (cells, prose) = texts(page);
    // Text between backticks on a terminal is code on a page.
    let text = text.replace('`', "");
    let has = |piece: &str| cells.contains(piece) || prose.contains(piece);
    for line in text.lines() {
        // Hints about showing more apply only to shortened output.
        if line.contains("--all-rows") || line.contains("shows all") {
            continue;
        }
        let pieces = line.split("  ").flat_map(|part| part.split(" · "));
        for piece in pieces.map(str::trim).filter(|piece| !piece.is_empty()) {
            let unnumbered = piece.trim_start_matches(|char: char| char.is_ascii_digit());
            let bullet = piece.strip_prefix("- ").unwrap_or(piece);
            let found = has(piece) || has(unnumbered.trim_start()) || has(bullet);
            assert!(found, "{piece:?} of {line:?} is not on the page");
        }
    }
}

/// More columns than any line of a saved result.
const WIDE: usize = 5_000;

#[test]
fn a_page_has_all_that_a_terminal_shows_of_a_lab() {
    let result: LabResult = saved(LAB);
    let titled = Titled {
        name: None,
        result: Drawn::Lab(&result),
    };
    let page = page(&[titled]);
    for all_rows in [false, true] {
        let parts = Parts {
            answers: false,
            ..Parts::ALL
        };
        let screen = Screen {
            parts: Some(parts),
            all_rows,
            ..Screen::default()
        };
        assert_complete(&page, &lab_screen::draw(&result, WIDE, &screen));
    }
}

#[test]
fn a_page_has_all_that_a_terminal_shows_of_a_trace() {
    let result: TraceResult = saved(TRACE);
    let titled = Titled {
        name: None,
        result: Drawn::Trace(&result),
    };
    let page = page(&[titled]);
    for by in [terminal::trace::By::Process, terminal::trace::By::Thread] {
        let style = terminal::trace::Style {
            colour: false,
            findings: true,
            files: true,
            calls: true,
            by: Some(by),
            selection: Selection::default(),
        };
        assert_complete(&page, &terminal::trace::draw(&result, WIDE, &style));
    }
}

#[test]
fn a_page_has_all_that_a_terminal_shows_of_a_machine() {
    let result: DoctorResult = saved(DOCTOR);
    let titled = Titled {
        name: None,
        result: Drawn::Doctor(&result),
    };
    assert_complete(&page(&[titled]), &terminal::doctor(&result, WIDE));
}
