//! What checkers said of trees, and which of these are one partition's to look at.

use std::collections::HashMap;

use blake3::Hash;

use super::search::{Seen, Stopped};

/// A tree, and the number of acknowledgements by then.
pub(super) type Key = (Hash, usize);

/// A part of all states, chosen by their hashes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Share {
    /// Which one, from 1.
    pub number: u64,
    /// How many there are.
    pub of: u64,
}

impl Share {
    /// Everything.
    pub const ALL: Self = Self { number: 1, of: 1 };

    pub(super) fn has(self, (tree, told): &Key) -> bool {
        let mut first = [0; 8];
        first.copy_from_slice(&tree.as_bytes()[..8]);
        let hash = u64::from_le_bytes(first).wrapping_add(*told as u64);
        hash % self.of == self.number - 1
    }
}

/// What a checker said of trees that were seen: none of it when all was well.
#[derive(Debug)]
pub struct Verdicts {
    known: HashMap<Key, Option<String>>,
    /// How many trees are looked at side by side.
    pub(super) beside: usize,
}

impl Verdicts {
    /// None yet; so many trees are given to a checker at once.
    pub fn new(beside: usize) -> Self {
        Self {
            known: HashMap::new(),
            beside: beside.max(1),
        }
    }

    /// All of them, in the order of their hashes: the tree, what had been said by then, the message.
    pub fn all(&self) -> Vec<(String, u64, Option<&str>)> {
        let known = self.known.iter();
        let mut all: Vec<_> = known
            .map(|((tree, told), said)| (tree.to_hex().to_string(), *told as u64, said.as_deref()))
            .collect();
        all.sort_unstable();
        all
    }

    /// Notes what a checker said elsewhere; gives whether the hash is one, and nobody said otherwise.
    pub fn add(&mut self, tree: &str, told: u64, said: Option<&str>) -> bool {
        let (Ok(tree), Ok(told)) = (Hash::from_hex(tree), usize::try_from(told)) else {
            return false;
        };
        let said = said.map(str::to_owned);
        self.known
            .entry((tree, told))
            .or_insert_with(|| said.clone())
            == &said
    }

    pub(super) fn has(&self, key: &Key) -> bool {
        self.known.contains_key(key)
    }

    /// What is known to be broken in one.
    pub(super) fn message(&self, key: &Key) -> Option<&str> {
        self.known.get(key)?.as_deref()
    }

    /// What was said of these, or is said now.
    pub(super) fn of<E>(
        &mut self,
        looks: Vec<(Key, Seen)>,
        check: impl FnOnce(&[Seen]) -> Result<Vec<Option<String>>, Stopped<E>>,
    ) -> Result<Vec<Option<String>>, E> {
        let keys: Vec<Key> = looks.iter().map(|(key, _)| *key).collect();
        let mut new: Vec<(Key, Seen)> = Vec::new();
        for look in looks {
            let is_new = |(key, _): &(Key, Seen)| *key == look.0;
            if !self.known.contains_key(&look.0) && !new.iter().any(is_new) {
                new.push(look);
            }
        }
        if !new.is_empty() {
            let (new_keys, seen): (Vec<_>, Vec<_>) = new.into_iter().unzip();
            match check(&seen) {
                Ok(said) => self.known.extend(new_keys.into_iter().zip(said)),
                Err(Stopped { said, by }) => {
                    let said = said.into_iter().map(|(at, said)| (new_keys[at], said));
                    self.known.extend(said);
                    return Err(by);
                }
            }
        }
        let said = keys
            .iter()
            .map(|key| self.known.get(key).cloned().flatten());
        Ok(said.collect())
    }
}
