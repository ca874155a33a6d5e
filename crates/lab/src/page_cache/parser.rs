//! The work on the bytes of a file.

use iostrata_core::page_cache::Parse;
use serde::{Deserialize, Serialize};

/// The JSON files contain a list of these.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Person {
    pub(super) id: u64,
    pub(super) is_active: bool,
    pub(super) balance: f64,
    pub(super) name: String,
    pub(super) email: String,
    pub(super) about: String,
    pub(super) latitude: f64,
    pub(super) longitude: f64,
    pub(super) tags: Vec<String>,
    pub(super) friends: Vec<Friend>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Friend {
    pub(super) id: u64,
    pub(super) name: String,
}

/// Does the parser's work, and returns a number that depends on all of it: values, people, lines,
/// or the sum of the words.
pub(super) fn parse(what: Parse, bytes: &[u8]) -> Result<u64, serde_json::Error> {
    Ok(match what {
        Parse::None => 0,
        Parse::Json => {
            let value: serde_json::Value = serde_json::from_slice(bytes)?;
            value.as_array().map_or(1, Vec::len) as u64
        }
        Parse::JsonTyped => {
            let people: Vec<Person> = serde_json::from_slice(bytes)?;
            people.len() as u64
        }
        Parse::Lines => bytes.iter().map(|byte| u64::from(*byte == b'\n')).sum(),
        Parse::Checksum => sum_of_words(bytes),
    })
}

/// The sum of all 64-bit words; the rest counts as a word padded with zeros.
pub(super) fn sum_of_words(bytes: &[u8]) -> u64 {
    let (words, rest) = bytes.as_chunks::<8>();
    let mut last = [0; 8];
    last[..rest.len()].copy_from_slice(rest);
    let sum = words
        .iter()
        .map(|word| u64::from_le_bytes(*word))
        .fold(0, u64::wrapping_add);
    sum.wrapping_add(u64::from_le_bytes(last))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_parser_sees_all_bytes() {
        let people = br#"[
{"id":1,"is_active":true,"balance":1.5,"name":"a","email":"b","about":"c","latitude":1,
"longitude":-1,"tags":["d"],"friends":[{"id":0,"name":"e"}]},
{"id":2,"is_active":false,"balance":0,"name":"","email":"","about":"","latitude":0,
"longitude":0,"tags":[],"friends":[]}
]"#;
        for (what, due) in [
            (Parse::None, 0),
            (Parse::Json, 2),
            (Parse::JsonTyped, 2),
            (Parse::Lines, 5),
        ] {
            assert_eq!(parse(what, people).unwrap(), due, "{what:?}");
        }
        assert!(parse(Parse::Json, b"[1,").is_err());
        assert!(parse(Parse::JsonTyped, b"[1]").is_err());
    }

    #[test]
    fn the_sum_is_of_words_and_of_the_rest() {
        assert_eq!(sum_of_words(&[]), 0);
        assert_eq!(sum_of_words(&[1, 1]), 257);
        let mut two_words = [0; 17];
        (two_words[0], two_words[8], two_words[16]) = (1, 2, 4);
        assert_eq!(sum_of_words(&two_words), 7);
        assert_eq!(sum_of_words(&[0xff; 16]), u64::MAX - 1, "it wraps");
    }
}
