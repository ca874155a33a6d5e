//! Shapes of a drawing, as SVG. Colours come from the classes, so that a drawing follows dark and
//! light.

use crate::html::markup::{Attributes, Markup};

/// Widths that a letter takes at the size of the labels, on average: fonts differ, so
/// places made with it have room to spare.
const LETTER: f64 = 7.2;

/// Room that a text takes, in the units of the drawing.
pub(super) fn text_width(text: &str) -> f64 {
    textwrap::core::display_width(text) as f64 * LETTER
}

/// Letters that fit into a room.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a cast to usize saturates; rooms are widths of drawings"
)]
pub(super) fn letters(room: f64) -> usize {
    (room / LETTER).floor().max(4.0) as usize
}

/// A length with one decimal at most: finer is not seen.
pub(super) fn length(value: f64) -> String {
    let text = format!("{value:.1}");
    text.strip_suffix(".0").map(str::to_owned).unwrap_or(text)
}

/// A drawing under construction.
pub(super) struct Svg {
    /// Width, in units that are pixels where the page has the room.
    pub(super) width: f64,
    body: Markup,
}

/// A box by its corner and its size.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Area {
    /// Left edge.
    pub(super) x: f64,
    /// Upper edge.
    pub(super) y: f64,
    /// Width.
    pub(super) width: f64,
    /// Height.
    pub(super) height: f64,
}

impl Area {
    pub(super) fn at((x, y): (f64, f64), (width, height): (f64, f64)) -> Self {
        Self {
            x,
            y,
            width,
            height,
        }
    }
}

impl Svg {
    pub(super) fn new(width: f64) -> Self {
        Self {
            width,
            body: Markup::default(),
        }
    }

    /// The element. It is hidden from screen readers, which get the caption and the table.
    pub(super) fn finish(self, class: &str, height: f64) -> Markup {
        let mut whole = Markup::default();
        let (width, height) = (length(self.width), length(height));
        let attributes = [
            ("class", class),
            ("viewBox", &format!("0 0 {width} {height}")),
            ("width", &width),
            ("height", &height),
            ("aria-hidden", "true"),
            ("focusable", "false"),
        ];
        whole.open("svg", &attributes);
        whole.append(&self.body);
        whole.close("svg");
        whole
    }

    pub(super) fn rect(&mut self, class: &str, area: Area) {
        let attributes = [
            ("class", class),
            ("x", &length(area.x)),
            ("y", &length(area.y)),
            ("width", &length(area.width.max(0.0))),
            ("height", &length(area.height.max(0.0))),
        ];
        self.body.element("rect", &attributes, "");
    }

    pub(super) fn line(&mut self, class: &str, from: (f64, f64), to: (f64, f64)) {
        let attributes = [
            ("class", class),
            ("x1", &length(from.0)),
            ("y1", &length(from.1)),
            ("x2", &length(to.0)),
            ("y2", &length(to.1)),
        ];
        self.body.element("line", &attributes, "");
    }

    pub(super) fn circle(&mut self, class: &str, centre: (f64, f64), radius: f64) {
        let attributes = [
            ("class", class),
            ("cx", &length(centre.0)),
            ("cy", &length(centre.1)),
            ("r", &length(radius)),
        ];
        self.body.element("circle", &attributes, "");
    }

    /// `path` in the language of SVG paths.
    pub(super) fn path(&mut self, class: &str, path: &str) {
        self.body
            .element("path", &[("class", class), ("d", path)], "");
    }

    /// The class says where the text stands relative to the point: `start`, `middle`, `end`.
    pub(super) fn text(&mut self, class: &str, at: (f64, f64), text: &str) {
        let attributes = [("class", class), ("x", &length(at.0)), ("y", &length(at.1))];
        self.body.element("text", &attributes, text);
    }

    /// Shapes that stand for one value, with the words that appear on pointing at them.
    pub(super) fn mark(&mut self, words: &str, draw: impl FnOnce(&mut Self)) {
        self.mark_of(words, &[], draw);
    }

    /// The same for a value that a script finds by what it is of.
    pub(super) fn mark_of(
        &mut self,
        words: &str,
        of: Attributes<'_>,
        draw: impl FnOnce(&mut Self),
    ) {
        let attributes = [&[("class", "mark")], of].concat();
        self.body.open("g", &attributes);
        self.body.element("title", &[], words);
        draw(self);
        self.body.close("g");
    }

    /// A part with an own system of coordinates that is stretched to `area`, for the script to
    /// zoom in on, with what else the script needs of it.
    pub(super) fn stretched(
        &mut self,
        area: Area,
        units: (f64, f64),
        data: Attributes<'_>,
        draw: impl FnOnce(&mut Self),
    ) {
        let view = format!("0 0 {} {}", length(units.0), length(units.1));
        let own = [
            ("class", "zoomed"),
            ("x", &length(area.x)),
            ("y", &length(area.y)),
            ("width", &length(area.width)),
            ("height", &length(area.height)),
            ("viewBox", &view),
            ("preserveAspectRatio", "none"),
        ];
        self.body.open("svg", &[&own, data].concat());
        draw(self);
        self.body.close("svg");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shapes_have_lengths_and_words() {
        let mut svg = Svg::new(10.0);
        svg.mark("</title><script>", |svg| {
            svg.circle("dot", (1.0, 2.25), 3.0);
        });
        assert_eq!(
            svg.finish("wide", 4.0).finish(),
            "<svg class=\"wide\" viewBox=\"0 0 10 4\" width=\"10\" height=\"4\" \
             aria-hidden=\"true\" focusable=\"false\"><g class=\"mark\">\
             <title>&lt;/title&gt;&lt;script&gt;</title>\
             <circle class=\"dot\" cx=\"1\" cy=\"2.2\" r=\"3\"></circle></g></svg>"
        );
    }
}
