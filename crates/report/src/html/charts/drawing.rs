//! The grammar of all charts: rows of a name, a plot and its figures, below one another on one axis. Positions along
//! the axis are shares of its width, so that one drawing serves a desktop and a telephone; texts are HTML, which
//! wraps them. Colours come from the classes, so that a drawing follows dark and light.

use crate::html::markup::{Attributes, Markup};

/// Axes with more names leave out every other one on a telephone.
const NAMES_ON_A_TELEPHONE: usize = 4;

/// Shapes of a symbol around its middle, pixels: class, and path in the language of SVG paths.
pub(in crate::html) type Symbol = &'static [(&'static str, &'static str)];

/// The shape that explains a colour.
pub(in crate::html) const SQUARE: &str = "M-6-6h12v12h-12z";

/// A number with as many decimals as can be seen, and no zeros at its end.
pub(super) fn short(value: f64, decimals: usize) -> String {
    let text = format!("{value:.decimals$}");
    if text.contains('.') {
        let text = text.trim_end_matches('0').trim_end_matches('.');
        return text.to_owned();
    }
    text
}

fn percent(share: f64) -> String {
    format!("{}%", short(share * 100.0, 2))
}

/// What stands on the axis in one row. Positions along it are shares of the width, from 0 to 1.
#[derive(Debug)]
pub(in crate::html) struct Plot {
    attributes: Vec<(&'static str, String)>,
    /// Pixels; `None` where the row has what height its texts need, and heights are shares too.
    height: Option<f64>,
    body: Markup,
}

impl Plot {
    pub(in crate::html) fn new(class: &str, height: f64) -> Self {
        let mut plot = Self::tall(class);
        plot.height = Some(height);
        plot.with("height", &short(height, 1))
    }

    /// As high as its row.
    pub(super) fn tall(class: &str) -> Self {
        let plot = Self {
            attributes: Vec::new(),
            height: None,
            body: Markup::default(),
        };
        plot.with("class", class)
    }

    /// With its own units along the axis, for the script to zoom in on.
    pub(super) fn zoomed(units: f64, height: f64) -> Self {
        let view = format!("0 0 {} {}", short(units, 1), short(height, 1));
        let plot = Self::new("plot zoomed", height).with("viewBox", &view);
        plot.with("preserveAspectRatio", "none")
    }

    pub(in crate::html) fn with(mut self, name: &'static str, value: &str) -> Self {
        self.attributes.push((name, value.to_owned()));
        self
    }

    fn y(&self, y: f64) -> String {
        match self.height {
            Some(_) => short(y, 1),
            None => percent(y),
        }
    }

    pub(in crate::html) fn rect(&mut self, class: &str, from: f64, to: f64, top: f64, height: f64) {
        let attributes = [
            ("class", class),
            ("x", &percent(from)),
            ("y", &self.y(top)),
            ("width", &percent((to - from).max(0.0))),
            ("height", &self.y(height.max(0.0))),
        ];
        self.body.element("rect", &attributes, "");
    }

    pub(super) fn line(&mut self, class: &str, from: (f64, f64), to: (f64, f64)) {
        let attributes = [
            ("class", class),
            ("x1", &percent(from.0)),
            ("y1", &self.y(from.1)),
            ("x2", &percent(to.0)),
            ("y2", &self.y(to.1)),
        ];
        self.body.element("line", &attributes, "");
    }

    /// `path` in the language of SVG paths, in the units of the plot.
    pub(super) fn path(&mut self, class: &str, path: &str) {
        let attributes = [("class", class), ("d", path)];
        self.body.element("path", &attributes, "");
    }

    /// A text whose middle is at a place.
    pub(super) fn text(&mut self, class: &str, x: f64, y: f64, text: &str) {
        let attributes = [("class", class), ("x", &percent(x)), ("y", &self.y(y))];
        self.body.element("text", &attributes, text);
    }

    pub(super) fn symbol(&mut self, symbol: Symbol, x: f64, y: f64) {
        let attributes = [("class", "symbol"), ("x", &percent(x)), ("y", &self.y(y))];
        self.body.open("svg", &attributes);
        for (class, path) in symbol {
            self.path(class, path);
        }
        self.body.close("svg");
    }

    /// A path that is stretched: its own axis has 100 units.
    pub(super) fn stretched(&mut self, class: &str, path: &str, from: f64, to: f64) {
        let (from, width) = (percent(from), percent((to - from).max(0.0)));
        let view = format!("0 0 100 {}", short(self.height.unwrap_or(1.0), 1));
        let attributes = [
            ("x", from.as_str()),
            ("width", &width),
            ("viewBox", &view),
            ("preserveAspectRatio", "none"),
        ];
        self.body.open("svg", &attributes);
        self.path(class, path);
        self.body.close("svg");
    }

    /// A name with as many letters as its box has room for.
    pub(super) fn name(&mut self, text: &str, from: f64, to: f64, top: f64, height: f64) {
        let attributes = [
            ("x", percent(from)),
            ("y", self.y(top)),
            ("width", percent((to - from).max(0.0))),
            ("height", self.y(height)),
        ];
        let attributes = attributes
            .each_ref()
            .map(|(name, value)| (*name, value.as_str()));
        self.body.open("foreignObject", &attributes);
        self.body.element("div", &[("class", "name")], text);
        self.body.close("foreignObject");
    }

    /// Shapes that stand for one value, with the words that appear on pointing at them.
    pub(in crate::html) fn mark(&mut self, words: &str, draw: impl FnOnce(&mut Self)) {
        self.body.open("g", &[("class", "mark")]);
        self.body.element("title", &[], words);
        draw(self);
        self.body.close("g");
    }

    pub(in crate::html) fn add_to(&self, markup: &mut Markup) {
        let attributes = self.attributes.iter();
        let attributes: Vec<_> = attributes
            .map(|(name, value)| (*name, value.as_str()))
            .collect();
        markup.open("svg", &attributes);
        markup.append(&self.body);
        markup.close("svg");
    }
}

/// Adds what symbols and colours mean.
pub(in crate::html) fn key<'a, S: AsRef<[(&'static str, &'static str)]>>(
    markup: &mut Markup,
    entries: impl IntoIterator<Item = (S, &'a str)>,
) {
    let mut entries = entries.into_iter().peekable();
    if entries.peek().is_none() {
        return;
    }
    markup.open("ul", &[("class", "key")]);
    for (symbol, name) in entries {
        markup.open("li", &[]);
        let attributes = [
            ("class", "symbol"),
            ("width", "14"),
            ("height", "14"),
            ("viewBox", "-7 -7 14 14"),
            ("aria-hidden", "true"),
        ];
        markup.open("svg", &attributes);
        for (class, path) in symbol.as_ref() {
            markup.element("path", &[("class", *class), ("d", *path)], "");
        }
        markup.close("svg");
        markup.text(name);
        markup.close("li");
    }
    markup.close("ul");
}

/// A drawing under construction. It is hidden from screen readers, which get the caption and the table.
#[derive(Debug)]
pub(super) struct Drawing {
    body: Markup,
    /// Whose title was drawn last.
    group: String,
}

impl Drawing {
    /// `kind` is a class of the style sheet.
    pub(super) fn new(kind: &str) -> Self {
        let mut body = Markup::default();
        let class = format!("plots {kind}");
        body.open("div", &[("class", &class), ("aria-hidden", "true")]);
        Self {
            body,
            group: String::new(),
        }
    }

    pub(super) fn key<'a>(&mut self, entries: impl IntoIterator<Item = (Symbol, &'a str)>) {
        key(&mut self.body, entries);
    }

    /// The title of the rows that follow, once.
    pub(super) fn group(&mut self, title: &str) {
        if title != self.group {
            self.body.element("p", &[("class", "group")], title);
            title.clone_into(&mut self.group);
        }
    }

    /// Parts side by side.
    pub(super) fn block(&mut self, attributes: Attributes<'_>, draw: impl FnOnce(&mut Self)) {
        self.body.open("div", attributes);
        draw(self);
        self.body.close("div");
    }

    pub(super) fn row(&mut self, label: &str, plot: &Plot, figures: &[&str]) {
        let attributes = [("class", "line")];
        self.block(&attributes, |row| row.cells(label, plot, figures));
    }

    pub(super) fn cells(&mut self, label: &str, plot: &Plot, figures: &[&str]) {
        self.body.element("span", &[("class", "label")], label);
        self.plot(plot);
        self.body.open("span", &[("class", "figures")]);
        for figure in figures {
            self.text("figure", figure);
        }
        self.body.close("span");
    }

    pub(super) fn plot(&mut self, plot: &Plot) {
        plot.add_to(&mut self.body);
    }

    pub(super) fn text(&mut self, class: &str, text: &str) {
        self.body.element("span", &[("class", class)], text);
    }

    /// Lines behind all rows, and below the last one their names and what the axis is of.
    pub(super) fn axis(&mut self, ticks: &[(f64, String)], title: &str) {
        let mut grid = Plot::tall("grid");
        let mut names = Plot::new("plot", 18.0);
        for (position, (share, name)) in ticks.iter().enumerate() {
            let class = if position % 2 == 1 && ticks.len() > NAMES_ON_A_TELEPHONE {
                "tick minor"
            } else {
                "tick"
            };
            grid.line(class, (*share, 0.0), (*share, 1.0));
            names.text(class, *share, 12.0, name);
        }
        self.plot(&grid);
        self.block(&[("class", "line axis")], |row| row.plot(&names));
        self.body.element("p", &[("class", "title")], title);
    }

    pub(super) fn finish(mut self) -> Markup {
        self.body.close("div");
        self.body
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_has_a_name_a_plot_with_words_and_figures() {
        let mut plot = Plot::new("plot", 20.0);
        plot.mark("</title><script>", |plot| {
            plot.line("interval", (0.25, 10.0), (0.5, 10.0));
            plot.symbol(&[("dot", SQUARE)], 1.0 / 3.0, 10.0);
        });
        let mut drawing = Drawing::new("dots");
        drawing.row("<b>", &plot, &["1 ms", "2 ms"]);
        assert_eq!(
            drawing.finish().finish(),
            "<div class=\"plots dots\" aria-hidden=\"true\"><div class=\"line\">\
             <span class=\"label\">&lt;b&gt;</span><svg class=\"plot\" height=\"20\"><g class=\"mark\">\
             <title>&lt;/title&gt;&lt;script&gt;</title>\
             <line class=\"interval\" x1=\"25%\" y1=\"10\" x2=\"50%\" y2=\"10\"></line>\
             <svg class=\"symbol\" x=\"33.33%\" y=\"10\"><path class=\"dot\" d=\"M-6-6h12v12h-12z\"></path></svg>\
             </g></svg><span class=\"figures\"><span class=\"figure\">1 ms</span>\
             <span class=\"figure\">2 ms</span></span></div></div>"
        );
    }

    #[test]
    fn numbers_are_short() {
        let numbers = [0.0, 2.25, 100.0, 33.333, 1e6].map(|value| short(value, 1));
        assert_eq!(numbers, ["0", "2.2", "100", "33.3", "1000000"]);
        assert_eq!([percent(1.0), percent(0.123_456)], ["100%", "12.35%"]);
    }
}
