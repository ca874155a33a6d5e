//! What stands around the results: the head with the rules that bind the page, the way around
//! it, and where its figures are from.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use sha2::{Digest as _, Sha256};

use super::markup::Markup;
use super::outline::Outline;
use crate::format::beginning;

const STYLE: &str = concat!(include_str!("style.css"), include_str!("charts.css"));

/// Of every page: they add sorting, filtering and marked rows to tables that can be read without
/// them, and open what a link leads to.
const SCRIPTS: [&str; 3] = [
    include_str!("tables.js"),
    include_str!("folds.js"),
    include_str!("file.js"),
];

/// Of pages that have charts.
const CHART_SCRIPTS: [&str; 1] = [include_str!("charts.js")];

/// A page whose parts are drawn.
pub(super) struct Document<'a> {
    pub(super) title: &'a str,
    pub(super) outline: &'a Outline,
    pub(super) body: Markup,
    /// Of the files that hold the results.
    pub(super) names: Vec<&'a str>,
    pub(super) has_charts: bool,
}

impl Document<'_> {
    /// The whole document.
    pub(super) fn draw(self) -> String {
        let mut scripts = SCRIPTS.to_vec();
        if self.has_charts {
            scripts.extend(CHART_SCRIPTS);
        }
        let mut markup = Markup::default();
        markup.verbatim("<!DOCTYPE html>\n");
        markup.open("html", &[("lang", "en")]);
        self.head(&mut markup, &scripts);
        markup.open("body", &[]);
        markup.element(
            "a",
            &[("class", "skip"), ("href", "#main")],
            "Skip to the result",
        );
        markup.open("header", &[]);
        markup.element("p", &[("class", "product")], "iostrata");
        markup.close("header");
        self.outline.draw(&mut markup);
        markup.open("main", &[("id", "main"), ("tabindex", "-1")]);
        markup.line();
        markup.append(&self.body);
        markup.close("main");
        footer(&mut markup, &self.names);
        for script in scripts {
            markup.open("script", &[]);
            markup.verbatim(script);
            markup.close("script");
            markup.line();
        }
        markup.close("body");
        markup.close("html");
        markup.line();
        markup.finish()
    }

    fn head(&self, markup: &mut Markup, scripts: &[&str]) {
        markup.open("head", &[]);
        markup.open("meta", &[("charset", "utf-8")]);
        let rules = rules(scripts);
        let policy = [
            ("http-equiv", "Content-Security-Policy"),
            ("content", &rules),
        ];
        markup.open("meta", &policy);
        let width = "width=device-width, initial-scale=1";
        markup.open("meta", &[("name", "viewport"), ("content", width)]);
        markup.open(
            "meta",
            &[("name", "color-scheme"), ("content", "light dark")],
        );
        markup.open("meta", &[("name", "referrer"), ("content", "no-referrer")]);
        markup.element(
            "title",
            &[],
            &format!("{} · iostrata", beginning(self.title, 100)),
        );
        markup.open("style", &[]);
        markup.verbatim(STYLE);
        markup.close("style");
        markup.close("head");
        markup.line();
    }
}

/// Nothing is loaded, and only this program's own style sheet and scripts act, known by their
/// hashes (Content Security Policy Level 3, 2.3.1).
fn rules(scripts: &[&str]) -> String {
    let hashes: Vec<String> = scripts.iter().map(|script| hash(script)).collect();
    format!(
        "default-src 'none'; style-src {}; script-src {}; img-src data:; base-uri 'none'; \
         form-action 'none'",
        hash(STYLE),
        hashes.join(" ")
    )
}

fn hash(text: &str) -> String {
    format!("'sha256-{}'", STANDARD.encode(Sha256::digest(text)))
}

fn footer(markup: &mut Markup, names: &[&str]) {
    markup.open("footer", &[]);
    markup.open("p", &[]);
    let version = concat!("Drawn by iostrata ", env!("CARGO_PKG_VERSION"), ". ");
    markup.text(version);
    if names.is_empty() {
        markup.text(
            "With --json FILE the same run is saved for other programs and to be drawn again.",
        );
    } else {
        markup.text("The figures for other programs: ");
        for (position, name) in names.iter().enumerate() {
            if position > 0 {
                markup.text(", ");
            }
            markup.element("code", &[], name);
        }
        markup.text(".");
    }
    markup.close("p");
    markup.close("footer");
    markup.line();
}
