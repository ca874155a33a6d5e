//! Whether an output is what the page shows, and the page's text with the output's figures.
//!
//! A line of three dots stands for any number of lines. What is between two such lines has to
//! be found in the output, in this order, word by word: where lines end depends on the widths
//! of figures, so words of consecutive lines are compared as one sequence.

use std::ops::Range;

use crate::masks;

/// Stands for any number of lines.
const ELISION: &str = "...";

/// What may differ.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Differences<'a> {
    /// Nothing.
    None,
    /// What [`masks`] lists, and all figures of entries that begin so.
    Figures(&'a [String]),
}

/// The shown lines with the real lines in their place, elisions kept.
///
/// Fails with the shown lines that are not in the output.
pub(crate) fn renewed(
    shown: &[String],
    real: &[String],
    differences: Differences<'_>,
) -> Result<Vec<String>, Vec<String>> {
    let words = words(real, differences);
    let segments: Vec<&[String]> = shown.split(|line| line.trim() == ELISION).collect();
    let last = segments.len() - 1;
    let mut renewed = Vec::new();
    let mut from = 0;
    for (at, segment) in segments.iter().enumerate() {
        if at > 0 {
            let elision = shown.iter().find(|line| line.trim() == ELISION);
            renewed.extend(elision.cloned());
        }
        let wanted = joined(&self::words(segment, differences));
        let fits = |range: &Range<usize>| {
            (at > 0 || is_blank(&words[..range.start]))
                && (at < last || is_blank(&words[range.end..]))
        };
        let mut candidates =
            (from..=words.len()).filter_map(|start| begins_with(&words, start, &wanted));
        let Some(found) = candidates.find(fits) else {
            return Err(segment.to_vec());
        };
        // Masked lines, such as those of the machine after its first, have no words either.
        let masked = real[found.end..].iter().zip(&words[found.end..]);
        let masked = masked.take_while(|(line, words)| words.is_empty() && !line.trim().is_empty());
        let end = found.end + masked.count();
        from = end;
        let is_empty = |line: &&String| line.trim().is_empty();
        let before = segment.iter().take_while(is_empty).count();
        renewed.extend_from_slice(&segment[..before]);
        renewed.extend_from_slice(&real[found.start..end]);
        if before < segment.len() {
            renewed.extend(segment.iter().rev().take_while(is_empty).cloned());
        }
    }
    Ok(renewed)
}

fn words(lines: &[String], differences: Differences<'_>) -> Vec<Vec<String>> {
    match differences {
        Differences::Figures(varies) => masks::words(lines, varies),
        Differences::None => {
            let words = |line: &String| line.split_whitespace().map(str::to_owned).collect();
            lines.iter().map(words).collect()
        }
    }
}

fn is_blank(words: &[Vec<String>]) -> bool {
    words.iter().all(Vec::is_empty)
}

/// The lines from `start` on whose words are those wanted, if they are.
fn begins_with(words: &[Vec<String>], start: usize, wanted: &[String]) -> Option<Range<usize>> {
    if wanted.is_empty() {
        return Some(start..start);
    }
    if words.get(start)?.is_empty() {
        return None;
    }
    for end in start + 1..=words.len() {
        // Trailing lines without words belong to what follows.
        if words[end - 1].is_empty() {
            continue;
        }
        let found = joined(&words[start..end]);
        if found == wanted {
            return Some(start..end);
        }
        if found.len() > wanted.len() {
            return None;
        }
    }
    None
}

/// The words of lines in one sequence. A word that was divided at a hyphen is whole again.
fn joined(lines: &[Vec<String>]) -> Vec<String> {
    let mut all: Vec<String> = Vec::new();
    for line in lines {
        let mut words = line.iter();
        if let Some(last) = all.last_mut()
            && last.len() > 1
            && last.ends_with('-')
            && let Some(rest) = words.next()
        {
            last.push_str(rest);
        }
        all.extend(words.cloned());
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    const REAL: &str = "app · 387 ms · exit 0 · observed by eBPF, 0
events lost
in /mnt on ext4 on loop0 ·
virtual machine

findings
  high  fsync-per-record · db
        300 syncs · cost 221 ms

files  time
db     45.8 ms
log    1.00 ms
not measured: nothing";

    fn lines(text: &str) -> Vec<String> {
        text.lines().map(str::to_owned).collect()
    }

    fn renew(shown: &str) -> Result<String, String> {
        let renewed = renewed(&lines(shown), &lines(REAL), Differences::Figures(&[]));
        renewed
            .map(|lines| lines.join("\n"))
            .map_err(|lines| lines.join("\n"))
    }

    #[test]
    fn an_output_renews_itself() {
        assert_eq!(renew(REAL), Ok(REAL.to_owned()));
    }

    #[test]
    fn figures_are_renewed_between_elisions_whatever_their_width() {
        let shown = "\
app · 1.00 s · exit 0 · observed by eBPF, 0 events lost
in /mnt on xfs

  ...
  high  fsync-per-record · db
        300 syncs · cost 2.00 s
  ...
db     1 s
  ...";
        let expected = "\
app · 387 ms · exit 0 · observed by eBPF, 0
events lost
in /mnt on ext4 on loop0 ·
virtual machine

  ...
  high  fsync-per-record · db
        300 syncs · cost 221 ms
  ...
db     45.8 ms
  ...";
        assert_eq!(renew(shown), Ok(expected.to_owned()));
    }

    #[test]
    fn what_is_not_there_is_told() {
        let high = "  high  fsync-per-record · db";
        assert_eq!(
            renew(&format!("...\n{high}\n  301 syncs · cost 1 s\n...")),
            Err(format!("{high}\n  301 syncs · cost 1 s"))
        );
        // Only a part of a line.
        assert!(renew("...\nfiles\n...").is_err());
        // In another order.
        assert!(renew("...\nlog 1 ms\n...\ndb 1 ms\n...").is_err());
        // An output that goes on, or begins before.
        assert!(renew("app · 1 s · exit 0 · observed by eBPF, 0 events lost").is_err());
        assert!(renew("not measured: nothing").is_err());
        assert!(renew("...\nnot measured: nothing").is_ok());
    }

    #[test]
    fn without_differences_every_figure_counts() {
        let real = lines("a 1 ms\nb 2 ms");
        assert!(renewed(&lines("a 1 ms\n..."), &real, Differences::None).is_ok());
        assert!(renewed(&lines("a 2 ms\n..."), &real, Differences::None).is_err());
    }
}
