//! Suggestions for unknown names.

/// Names less alike are not offered. Measure and bound are those of the command line's own
/// suggestions (clap, `parser/features/suggestions.rs`), so that one slip is judged alike.
const ALIKE: f64 = 0.7;

/// The known name most like `name`; `None` when nothing is like it.
pub fn nearest<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    known
        .into_iter()
        .map(|candidate| (strsim::jaro(name, candidate), candidate))
        .filter(|(likeness, _)| *likeness > ALIKE)
        .max_by(|(one, _), (other, _)| one.total_cmp(other))
        .map(|(_, candidate)| candidate)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_is_understood_and_nonsense_is_not() {
        let known = ["fsync", "fdatasync", "device.writes", "dirty_at_exit"];
        assert_eq!(nearest("fsink", known), Some("fsync"));
        assert_eq!(nearest("fdatsync", known), Some("fdatasync"));
        assert_eq!(nearest("device.write", known), Some("device.writes"));
        assert_eq!(nearest("dirty_on_exit", known), Some("dirty_at_exit"));
        assert_eq!(nearest("mkdir", known), None);
        assert_eq!(nearest("", known), None);
        assert_eq!(nearest("fsync", []), None);
    }
}
