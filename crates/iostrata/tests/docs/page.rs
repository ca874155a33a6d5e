//! A Markdown page: its blocks of code and what the comments before them ask for.

use std::ops::Range;
use std::path::{Path, PathBuf};

/// The repository.
pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../..")
        .canonicalize()
        .unwrap()
}

/// Every page of the documentation, relative to the repository.
pub(crate) fn all() -> Vec<PathBuf> {
    let mut pages: Vec<PathBuf> = [
        "README.md",
        "ARCHITECTURE.md",
        "CHANGELOG.md",
        "SECURITY.md",
        "STYLE.md",
    ]
    .map(PathBuf::from)
    .to_vec();
    let mut directories = vec![PathBuf::from("docs")];
    while let Some(directory) = directories.pop() {
        for entry in root().join(&directory).read_dir().unwrap() {
            let entry = entry.unwrap();
            let path = directory.join(entry.file_name());
            if entry.file_type().unwrap().is_dir() {
                directories.push(path);
            } else if path.extension().is_some_and(|extension| extension == "md") {
                pages.push(path);
            }
        }
    }
    pages.sort();
    pages
}

/// What a comment before a block says of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum About {
    /// Nothing.
    Plain,
    /// `<!-- file: NAME -->`: the contents of a file of the session.
    File(String),
    /// `<!-- output -->`: commands after `$` and what they print.
    Output {
        /// `varies: A, B`: beginnings of lines of which every figure varies.
        varies: Vec<String>,
        /// `needs: A, B`: programs without which this cannot be run.
        needs: Vec<String>,
    },
    /// `<!-- drawn: ARGUMENTS -->`: what `iostrata report ARGUMENTS` prints in the repository.
    Drawn(Vec<String>),
}

/// A fenced or indented block.
#[derive(Debug, Clone)]
pub(crate) struct Block {
    pub(crate) about: About,
    /// Its lines, counted from 0, without fences.
    pub(crate) lines: Range<usize>,
    pub(crate) is_fenced: bool,
}

/// A page in lines.
#[derive(Debug, Clone)]
pub(crate) struct Page {
    pub(crate) path: PathBuf,
    pub(crate) lines: Vec<String>,
    pub(crate) blocks: Vec<Block>,
}

impl Page {
    pub(crate) fn read(path: &Path) -> Self {
        let text = std::fs::read_to_string(root().join(path)).unwrap();
        Self::parse(path, &text)
    }

    pub(crate) fn parse(path: &Path, text: &str) -> Self {
        let lines: Vec<String> = text.lines().map(str::to_owned).collect();
        let mut page = Self {
            path: path.to_owned(),
            blocks: Vec::new(),
            lines,
        };
        let mut about = About::Plain;
        let mut at = 0;
        while at < page.lines.len() {
            let line = &page.lines[at];
            if let Some(comment) = comment(line) {
                about = read_about(comment);
            } else if line.starts_with("```") {
                let rest = &page.lines[at + 1..];
                let length = rest.iter().position(|line| line.starts_with("```"));
                let length = length.unwrap_or_else(|| panic!("{}: open fence", page.at(at)));
                page.blocks.push(Block {
                    about: std::mem::replace(&mut about, About::Plain),
                    lines: at + 1..at + 1 + length,
                    is_fenced: true,
                });
                at += length + 1;
            } else if line.starts_with("    ") && at > 0 && page.lines[at - 1].is_empty() {
                let rest = &page.lines[at..];
                let inside = |line: &&String| line.starts_with("    ") || line.is_empty();
                let length = rest.iter().take_while(inside).count();
                page.blocks.push(Block {
                    about: About::Plain,
                    lines: at..at + length,
                    is_fenced: false,
                });
                at += length - 1;
            } else if !line.is_empty() {
                let wrong = about != About::Plain;
                assert!(!wrong, "{}: a block has to follow the comment", page.at(at));
            }
            at += 1;
        }
        page
    }

    /// `path:line` of a line counted from 0.
    pub(crate) fn at(&self, line: usize) -> String {
        format!("{}:{}", self.path.display(), line + 1)
    }

    /// The lines of a block.
    pub(crate) fn block(&self, block: &Block) -> &[String] {
        &self.lines[block.lines.clone()]
    }
}

fn comment(line: &str) -> Option<&str> {
    let inner = line.strip_prefix("<!--")?.strip_suffix("-->")?;
    Some(inner.trim())
}

fn read_about(comment: &str) -> About {
    let (name, rest) = comment.split_once(':').unwrap_or((comment, ""));
    match name {
        "file" => About::File(rest.trim().to_owned()),
        "drawn" => About::Drawn(rest.split_whitespace().map(str::to_owned).collect()),
        "output" => output(rest),
        _ => About::Plain,
    }
}

/// `needs: A, B; varies: C, D`, each of them if there is any.
fn output(options: &str) -> About {
    let (mut varies, mut needs) = (Vec::new(), Vec::new());
    for option in options
        .split(';')
        .filter(|option| !option.trim().is_empty())
    {
        let (name, values) = option.split_once(':').unwrap_or((option, ""));
        let values = values.split(',').map(|value| value.trim().to_owned());
        match name.trim() {
            "varies" => varies.extend(values),
            "needs" => needs.extend(values),
            other => panic!("`{other}` is no option of an output"),
        }
    }
    About::Output { varies, needs }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_have_what_the_comment_before_them_says() {
        let text = "\
words

<!-- file: a.sql -->
```sql
select 1;
```

    $ indented

<!-- output: varies: read, wait4; needs: go -->

```console
$ true
```
<!-- drawn: docs/x.json --files -->
```text
x
```
";
        let page = Page::parse(Path::new("p.md"), text);
        let about: Vec<_> = page
            .blocks
            .iter()
            .map(|block| block.about.clone())
            .collect();
        let strings = |words: &[&str]| words.iter().map(|&word| word.to_owned()).collect();
        assert_eq!(
            about,
            [
                About::File("a.sql".to_owned()),
                About::Plain,
                About::Output {
                    varies: strings(&["read", "wait4"]),
                    needs: strings(&["go"]),
                },
                About::Drawn(strings(&["docs/x.json", "--files"])),
            ]
        );
        assert_eq!(page.block(&page.blocks[0]), ["select 1;"]);
        assert_eq!(page.block(&page.blocks[2]), ["$ true"]);
    }
}
