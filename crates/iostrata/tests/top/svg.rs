//! A screen as a picture: text, so that it is sharp at every size, can be searched and compared.

use std::fmt::Write as _;

/// In units of the picture.
const COLUMN: usize = 8;
const LINE: usize = 18;
const MARGIN: usize = 10;

/// Text of one kind.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Run {
    column: usize,
    text: String,
    is_bold: bool,
    is_reversed: bool,
}

/// The runs of a line that tmux has captured. iostrata uses two attributes and no colours (ECMA-48, SGR).
fn runs(line: &str, (is_bold, is_reversed): &mut (bool, bool)) -> Vec<Run> {
    let mut runs = Vec::new();
    let mut column = 0;
    for (number, part) in line.split("\u{1b}[").enumerate() {
        let text = match part.split_once('m') {
            Some((codes, text)) if number > 0 => {
                for code in codes.split(';') {
                    match code {
                        "" | "0" => (*is_bold, *is_reversed) = (false, false),
                        "1" => *is_bold = true,
                        "7" => *is_reversed = true,
                        "39" | "49" => {}
                        _ => panic!("{code} in {line:?}"),
                    }
                }
                text
            }
            _ => part,
        };
        if !text.is_empty() {
            runs.push(Run {
                column,
                text: text.to_owned(),
                is_bold: *is_bold,
                is_reversed: *is_reversed,
            });
        }
        column += text.chars().count();
    }
    runs
}

fn escaped(text: &str) -> String {
    let text = text.replace('&', "&amp;").replace('<', "&lt;");
    text.replace('>', "&gt;")
}

/// Draws what was captured.
pub(crate) fn draw(captured: &str, title: &str, columns: usize) -> String {
    let lines: Vec<&str> = captured.trim_end_matches('\n').lines().collect();
    let (width, height) = (
        columns * COLUMN + 2 * MARGIN,
        lines.len() * LINE + 2 * MARGIN,
    );
    let mut picture = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" \
         font-family=\"monospace\" font-size=\"13\" fill=\"#e6e6e6\">\n\
         <title>{}</title>\n<rect width=\"{width}\" height=\"{height}\" fill=\"#1c1c1c\"/>\n",
        escaped(title)
    );
    let mut attributes = (false, false);
    for (number, line) in lines.iter().enumerate() {
        for run in runs(line, &mut attributes) {
            draw_run(&mut picture, number, &run);
        }
    }
    picture.push_str("</svg>\n");
    picture
}

fn draw_run(picture: &mut String, line: usize, run: &Run) {
    let (x, y) = (MARGIN + run.column * COLUMN, MARGIN + line * LINE);
    let width = run.text.chars().count() * COLUMN;
    if run.is_reversed {
        writeln!(
            picture,
            "<rect x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{LINE}\" fill=\"#e6e6e6\"/>"
        )
        .unwrap();
    }
    let fill = if run.is_reversed {
        " fill=\"#1c1c1c\""
    } else {
        ""
    };
    let weight = if run.is_bold {
        " font-weight=\"bold\""
    } else {
        ""
    };
    // Whatever font it is drawn in, a column is as wide as any other.
    writeln!(
        picture,
        "<text x=\"{x}\" y=\"{}\" textLength=\"{width}\" xml:space=\"preserve\"{fill}{weight}>{}</text>",
        y + LINE - 5,
        escaped(&run.text)
    )
    .unwrap();
}

/// The lines of a picture, without attributes.
pub(crate) fn lines(picture: &str) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for element in picture.lines().filter(|line| line.starts_with("<text ")) {
        let number = |name: &str| -> usize {
            let (_, value) = element.split_once(&format!(" {name}=\"")).unwrap();
            value.split('"').next().unwrap().parse().unwrap()
        };
        let at = (number("y") - MARGIN) / LINE;
        let column = (number("x") - MARGIN) / COLUMN;
        let (_, text) = element.split_once('>').unwrap();
        let text = text.strip_suffix("</text>").unwrap();
        let text = text.replace("&lt;", "<").replace("&gt;", ">");
        lines.resize(lines.len().max(at + 1), String::new());
        let blanks = column - lines[at].chars().count();
        lines[at].extend(std::iter::repeat_n(' ', blanks));
        lines[at].push_str(&text.replace("&amp;", "&"));
    }
    lines
}

#[test]
fn a_picture_has_the_text_that_was_captured() {
    let captured = "\u{1b}[1mheads  a<b\u{1b}[0m and\n\n\u{1b}[7mchosen\n same &amp;\u{1b}[0m\n";
    let picture = draw(captured, "x", 20);
    assert_eq!(
        lines(&picture),
        ["heads  a<b and", "", "chosen", " same &amp;"]
    );
    assert_eq!(picture.matches("font-weight").count(), 1);
    assert_eq!(picture.matches("fill=\"#1c1c1c\">").count(), 2);
    assert!(picture.contains("a&lt;b"));
}
