//! The string literals of Rust source, found by their quotes.

use std::iter::Peekable;
use std::str::Chars;

/// The literals outside of comments, each with its line. A line that is continued by a backslash
/// is joined to the next one; other escapes are left as they are written.
pub(crate) fn literals(code: &str) -> Vec<(usize, String)> {
    let mut source = Source {
        left: code.chars().peekable(),
        line: 1,
    };
    let mut found = Vec::new();
    let mut before = ' ';
    while let Some(character) = source.next() {
        let line = source.line;
        match character {
            '/' if source.left.peek() == Some(&'/') => source.skip_line(),
            '"' => found.push((line, source.quoted())),
            'r' if !before.is_alphanumeric() && before != '_' || before == 'b' => {
                found.extend(source.raw().map(|text| (line, text)));
            }
            '\'' => source.skip_character(),
            _ => {}
        }
        before = character;
    }
    found
}

struct Source<'a> {
    left: Peekable<Chars<'a>>,
    line: usize,
}

impl Source<'_> {
    fn next(&mut self) -> Option<char> {
        let next = self.left.next()?;
        self.line += usize::from(next == '\n');
        Some(next)
    }

    fn skip_line(&mut self) {
        while self.left.peek().is_some_and(|it| *it != '\n') {
            self.next();
        }
    }

    fn quoted(&mut self) -> String {
        let mut text = String::new();
        while let Some(character) = self.next() {
            match character {
                '"' => break,
                '\\' if self.left.peek() == Some(&'\n') => {
                    while self.left.peek().is_some_and(|it| it.is_whitespace()) {
                        self.next();
                    }
                }
                '\\' => {
                    text.push('\\');
                    text.extend(self.next());
                }
                _ => text.push(character),
            }
        }
        text
    }

    /// After an `r`: a raw literal, unless the letter is of a name such as `r#type`.
    fn raw(&mut self) -> Option<String> {
        let mut ahead = self.left.clone();
        let mut hashes = 0;
        while ahead.peek() == Some(&'#') {
            ahead.next();
            hashes += 1;
        }
        if ahead.peek() != Some(&'"') {
            return None;
        }
        for _ in 0..=hashes {
            self.next();
        }
        let end = format!("\"{}", "#".repeat(hashes));
        let mut text = String::new();
        while !text.ends_with(&end) {
            text.push(self.next()?);
        }
        text.truncate(text.len() - end.len());
        Some(text)
    }

    /// After an apostrophe: a character such as `'"'`, or a lifetime, of which nothing is skipped.
    fn skip_character(&mut self) {
        let mut ahead = self.left.clone();
        match ahead.next() {
            Some('\\') => {
                self.next();
                self.next();
                while self.left.peek().is_some_and(|it| *it != '\'') {
                    self.next();
                }
                self.next();
            }
            Some(_) if ahead.next() == Some('\'') => {
                self.next();
                self.next();
            }
            _ => {}
        }
    }
}

#[test]
fn literals_are_found_and_comments_are_not() {
    let code = "let a = \"one \\\n    two\"; // \"no\"\nlet b = ('\"', '\\'', r#\"raw \"text\"\"#);\n\
                fn f<'a>(c: &'a str) { g(\"\\\"x\", br\"y\") }";
    let expected = [(1, "one two"), (3, "raw \"text\""), (4, "\\\"x"), (4, "y")];
    let expected = expected.map(|(line, text)| (line, text.to_owned()));
    assert_eq!(literals(code), expected);
}
