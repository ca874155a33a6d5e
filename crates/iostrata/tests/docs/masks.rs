//! What of an output may differ from run to run. Everything else has to be as on the page.
//! `docs/outputs.md` tells readers the same.

use std::sync::LazyLock;

use regex::Regex;

/// What is looked for, and what stands in its place when outputs are compared.
static MASKS: LazyLock<Vec<(Regex, &str)>> = LazyLock::new(|| {
    let number = r"\d[\d,]*(?:\.\d+)?";
    let mask = |pattern: &str, name: &'static str| {
        let pattern = pattern.replace("NUMBER", number);
        (Regex::new(&pattern).unwrap(), name)
    };
    vec![
        mask(r"\bNUMBER (?:ns|µs|ms|s|min|h)\b", "<time>"),
        mask(r"[−-]?\bNUMBER %", "<percent>"),
        mask(r"×NUMBER", "<ratio>"),
        mask(r"[█▒░]{2,}", "<bar>"),
        mask(r"replayed \d+ times", "replayed <n> times"),
        mask(r"\bprocess \d+", "process <pid>"),
        mask(r"\bloop\d+", "<loop device>"),
    ]
});

/// How bad a finding is: a share of the time. Masked when asked for.
static SEVERITY: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"^(?:high|medium|low|info) +([a-z-]+ · )").unwrap());

/// The finding that a run's first sentence names: of two about the syncs of one file, the one that saves more in
/// this run. Masked with the severities, but for the file.
static WORST: LazyLock<Regex> = LazyLock::new(|| {
    let batch = r"[\d,]+ \w+ calls on (\S+); batch several records per sync \(SQLite: many statements in one transaction\)";
    let preallocate =
        r"(\S+) \([\d,]+ syncs of a file that had grown\); preallocate the log and call fdatasync";
    let saves = "(?:: saves (?:about|at most) <time> of that)?";
    Regex::new(&format!(
        "<time> of it (?:{batch}|{preallocate}){saves}\\.$"
    ))
    .unwrap()
});

/// Asks for that.
const SEVERITIES: &str = "severity";

/// How a saving is known. A disk that is too slow for a measurement has it computed. Left out with the
/// severities.
const BASES: [&[&str]; 4] = [
    &["about"],
    &["at", "most"],
    &["measured", "here"],
    &["computed"],
];

/// The rest of the time is shown when it is more than one per cent of it.
const NEITHER: &[&str] = &[
    "·", "░", "neither", "(page", "faults,", "waiting", "for", "a", "CPU)", "<time>",
];

/// Metadata of the disk under the page's file system is written when others have changed it.
const METADATA: &[&str] = &["metadata", "<figure>,"];

/// A figure with its unit, in lines of which every figure varies.
static FIGURE: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"\d[\d,]*(?:\.\d+)?(?: (?:B|KiB|MiB|GiB|TiB)\b)?").unwrap());

/// The words of each line, figures that may differ masked.
///
/// `varies` are the beginnings of entries of which every figure may differ; an entry goes on
/// as long as its lines stand further right.
pub(crate) fn words(lines: &[String], varies: &[String]) -> Vec<Vec<String>> {
    let mut all = Vec::new();
    let mut is_machine = false;
    let mut varied: Option<usize> = None;
    for line in lines {
        let text = line.trim_start();
        let indent = line.len() - text.len();
        if text.is_empty() {
            is_machine = false;
        }
        if is_machine {
            all.push(Vec::new());
            continue;
        }
        // The directory, its file system and disk, the kernel, the processors.
        if line.starts_with("in /") {
            is_machine = true;
            all.push(vec!["<machine>".to_owned()]);
            continue;
        }
        if varied.is_some_and(|start| indent <= start || text.is_empty()) {
            varied = None;
        }
        if varies.iter().any(|start| text.starts_with(start.as_str())) {
            varied = Some(indent);
        }
        let mut masked = masked(text, varied.is_some());
        if varies.iter().any(|start| start == SEVERITIES) {
            masked = SEVERITY.replace(&masked, "<severity> $1").into_owned();
        }
        all.push(masked.split_whitespace().map(str::to_owned).collect());
    }
    leave_out(&mut all, NEITHER);
    leave_out(&mut all, METADATA);
    if varies.iter().any(|start| start == SEVERITIES) {
        mask_worst(&mut all);
        for basis in BASES {
            leave_out(&mut all, basis);
        }
    }
    all
}

/// In the first paragraph, which is then on its first line.
fn mask_worst(lines: &mut [Vec<String>]) {
    let end = lines.iter().position(Vec::is_empty).unwrap_or(lines.len());
    let sentence = lines[..end].concat().join(" ");
    if WORST.is_match(&sentence) {
        let masked = WORST.replace(&sentence, "<finding> of $1$2");
        lines[..end].fill(Vec::new());
        lines[0] = masked.split_whitespace().map(str::to_owned).collect();
    }
}

/// Removes each occurrence of these words in a row, on whatever lines they are.
fn leave_out(lines: &mut [Vec<String>], phrase: &[&str]) {
    let places = lines.iter().enumerate();
    let places = places.flat_map(|(line, words)| (0..words.len()).map(move |word| (line, word)));
    let places: Vec<(usize, usize)> = places.collect();
    let is_phrase = |places: &&[(usize, usize)]| {
        let mut words = places.iter().map(|&(line, word)| &lines[line][word]);
        phrase
            .iter()
            .all(|wanted| words.next().is_some_and(|word| word == wanted))
    };
    let found: Vec<(usize, usize)> = places
        .windows(phrase.len())
        .filter(is_phrase)
        .flatten()
        .copied()
        .collect();
    for (line, word) in found.into_iter().rev() {
        lines[line].remove(word);
    }
}

fn masked(text: &str, is_varied: bool) -> String {
    // Units are kept together by unbreakable spaces.
    let mut text = text.replace('\u{a0}', " ");
    for (pattern, name) in MASKS.iter() {
        text = pattern.replace_all(&text, *name).into_owned();
    }
    if is_varied {
        text = FIGURE.replace_all(&text, "<figure>").into_owned();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn masked_lines(text: &str, varies: &[&str]) -> Vec<String> {
        let lines: Vec<String> = text.lines().map(str::to_owned).collect();
        let varies: Vec<String> = varies.iter().map(|&start| start.to_owned()).collect();
        let words = words(&lines, &varies);
        words.iter().map(|words| words.join(" ")).collect()
    }

    #[test]
    fn counts_and_words_stay() {
        let text =
            "  300 syncs of 4.3 KiB · cost 221 ms, 12.5 % · would save 1.20 s, measured here";
        assert_eq!(
            masked_lines(text, &[]),
            ["300 syncs of 4.3 KiB · cost <time>, <percent> · would save <time>, measured here"]
        );
        assert_eq!(
            masked_lines("fsync × 300 · ×2.20 · sums of 2 threads", &[]),
            ["fsync × 300 · <ratio> · sums of 2 threads"]
        );
    }

    #[test]
    fn the_machine_is_one_word_up_to_the_empty_line() {
        let text = "app · exit 0\nin /mnt on ext4 on loop0 · 2 CPUs ·\nvirtual\n\nfindings: none";
        assert_eq!(
            masked_lines(text, &[]),
            ["app · exit 0", "<machine>", "", "", "findings: none"]
        );
    }

    #[test]
    fn the_rest_of_the_time_may_be_told_or_not() {
        let told = "wall  █▒▒  █ on CPU 1 s · ▒ blocked 2 s · ░\nneither (page faults, waiting for a CPU)\n3 ms\n  read  9 B";
        assert_eq!(
            masked_lines(told, &[]),
            [
                "wall <bar> █ on CPU <time> · ▒ blocked <time>",
                "",
                "",
                "read 9 B"
            ]
        );
    }

    #[test]
    fn an_entry_that_varies_keeps_its_words() {
        let text = "  read     device 4.0 KiB → 12 pages\n           of 7\n  unpaid   9 B";
        assert_eq!(
            masked_lines(text, &["read "]),
            [
                "read device <figure> → <figure> pages",
                "of <figure>",
                "unpaid 9 B"
            ]
        );
    }

    #[test]
    fn savings_are_measured_or_computed_where_severities_vary() {
        let measured = "would save about 9 ms, measured here";
        let computed = "would save at most 9 ms, computed";
        let said = |text| masked_lines(text, &["severity"]);
        assert_eq!(said(measured), said(computed));
        assert_eq!(
            masked_lines(measured, &[]),
            ["would save about <time>, measured here"]
        );
    }

    #[test]
    fn the_worst_of_two_findings_varies_with_the_severities() {
        let batch = "91 % of 1.29 s was 1,200 syncs of 3 files, 981 ms of it 600 fdatasync calls on\njournal; batch several \
            records per sync (SQLite: many statements in one transaction): saves about 616 ms of\nthat.\n\n";
        let preallocate = "95 % of 4.95 s was 1,200 syncs of 3 files, 2.60 s of it journal (300 syncs of a file\nthat had \
            grown); preallocate the log and call fdatasync: saves at most 2.34 s of that.";
        let said = |text: &str| masked_lines(text, &["severity"]).remove(0);
        let masked = "<percent> of <time> was 1,200 syncs of 3 files, <finding> of journal";
        assert_eq!(said(batch), masked);
        assert_eq!(said(preallocate), masked);
        assert_ne!(said(&batch.replace("journal", "orders.db")), masked);
        assert_ne!(said(&batch.replace("records", "reads")), masked);
    }

    #[test]
    fn severities_vary_where_that_is_said() {
        let text = "  high    small-writes · out.log";
        assert_eq!(masked_lines(text, &[]), ["high small-writes · out.log"]);
        assert_eq!(
            masked_lines(text, &["severity"]),
            ["<severity> small-writes · out.log"]
        );
    }
}
