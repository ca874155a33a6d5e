//! Counts with their nouns: `1 file`, `1,204 files`, `2 processes`.

use crate::bytes::grouped;

/// A count and its noun, given in the singular: `1 fsync call`, `2 fsync calls`.
pub fn counted(count: u64, noun: &str) -> String {
    format!("{} {}", grouped(count), noun_of(count, noun))
}

/// The noun for a count that is printed elsewhere, in singular or plural.
pub fn noun_of(count: u64, noun: &str) -> String {
    if count == 1 {
        noun.to_owned()
    } else {
        plural(noun)
    }
}

/// The regular plural of the last word.
fn plural(noun: &str) -> String {
    if let Some(stem) = noun.strip_suffix('y')
        && !stem.ends_with(['a', 'e', 'o', 'u'])
    {
        return format!("{stem}ies");
    }
    let hisses = ["s", "x", "ch", "sh"];
    // Greek: its `ch` is a `k`.
    let is_hard = noun.ends_with("epoch");
    let ending = if !is_hard && hisses.iter().any(|end| noun.ends_with(end)) {
        "es"
    } else {
        "s"
    };
    format!("{noun}{ending}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn plurals_are_regular() {
        let said = |noun| [0, 1, 2].map(|count| counted(count, noun));
        assert_eq!(said("file"), ["0 files", "1 file", "2 files"]);
        assert_eq!(said("flush"), ["0 flushes", "1 flush", "2 flushes"]);
        assert_eq!(said("process"), ["0 processes", "1 process", "2 processes"]);
        assert_eq!(
            said("directory"),
            ["0 directories", "1 directory", "2 directories"]
        );
        assert_eq!(
            said("more row"),
            ["0 more rows", "1 more row", "2 more rows"]
        );
        assert_eq!(said("day"), ["0 days", "1 day", "2 days"]);
        assert_eq!(said("epoch"), ["0 epochs", "1 epoch", "2 epochs"]);
        assert_eq!(counted(1204, "fsync call"), "1,204 fsync calls");
        assert_eq!([1, 3].map(|count| noun_of(count, "row")), ["row", "rows"]);
    }

    proptest! {
        #[test]
        fn only_one_is_singular(count in any::<u64>(), noun in "[a-z]{1,9}( [a-z]{2,9})?") {
            let text = counted(count, &noun);
            let (figure, word) = text.split_once(' ').unwrap();
            prop_assert_eq!(figure.replace(',', ""), count.to_string());
            prop_assert_eq!(word == noun, count == 1);
            prop_assert_eq!(word.ends_with('s') && word != noun, count != 1);
        }
    }
}
