//! Suggestions for unknown names.

/// Less similar names are not suggested. Measure and bound are those of the command line's own
/// suggestions (clap, `parser/features/suggestions.rs`), so that both judge a typing error alike.
const ALIKE: f64 = 0.7;

/// Shorter names differ by a single letter.
const SHORTEST: usize = 4;

/// The first known name that begins with `name`, else the one most similar to it; `None` when none is similar.
pub fn nearest<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let known: Vec<&str> = known.into_iter().collect();
    let is_long = name.chars().count() >= SHORTEST;
    let begun = known
        .iter()
        .find(|known| is_long && known.starts_with(name));
    begun.copied().or_else(|| most_like(name, &known))
}

fn most_like<'a>(name: &str, known: &[&'a str]) -> Option<&'a str> {
    known
        .iter()
        .copied()
        .filter(|candidate| is_slip(name, candidate))
        .map(|candidate| (strsim::jaro(name, candidate), candidate))
        .filter(|(likeness, _)| *likeness > ALIKE)
        .max_by(|(one, _), (other, _)| one.total_cmp(other))
        .map(|(_, candidate)| candidate)
}

/// Whether one may be a typing error of the other: with more than half of its letters wrong, or
/// with so few letters, it is another word.
pub fn is_slip(name: &str, known: &str) -> bool {
    let letters = name.chars().count().max(known.chars().count());
    name.chars().count() >= SHORTEST && 2 * strsim::osa_distance(name, known) <= letters
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_is_understood_and_nonsense_is_not() {
        let known = ["fsync", "fdatasync", "device.writes", "dirty_at_exit"];
        assert_eq!(nearest("fsink", known), Some("fsync"));
        assert_eq!(nearest("fdatsync", known), Some("fdatasync"));
        assert_eq!(nearest("dirty", known), Some("dirty_at_exit"));
        assert_eq!(nearest("device.write", known), Some("device.writes"));
        assert_eq!(nearest("dirty_on_exit", known), Some("dirty_at_exit"));
        assert_eq!(nearest("mkdir", known), None);
        assert_eq!(nearest("", known), None);
        assert_eq!(nearest("fsync", []), None);
        // By the measure, fsink is as similar as fsync.
        assert_eq!(nearest("barrier", ["base", "cache"]), None);
        assert_eq!(nearest("zfs", ["xfs", "ext4"]), None);
    }
}
