//! Sums of single rows in bounded memory: the busiest have places of their own, all others share one.

use std::collections::BTreeMap;
use std::ops::AddAssign;

/// Time in which what a row did counts half as much for its place.
const HALF_LIFE_S: f64 = 60.0;

/// Sums by key.
#[derive(Debug, Clone, PartialEq)]
pub struct Slots<K, V> {
    /// Places.
    most: usize,
    own: BTreeMap<K, Slot<V>>,
    others: Option<V>,
    others_now: usize,
    displaced: u64,
}

#[derive(Debug, Clone, Copy, PartialEq)]
struct Slot<V> {
    sum: V,
    recent: f64,
}

/// What a row did in one interval.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Done<V> {
    pub(super) what: V,
    /// Who does more has the place.
    pub(super) weight: f64,
}

impl<K: Ord + Clone, V: AddAssign + Copy> Slots<K, V> {
    pub(super) fn new(most: usize) -> Self {
        Self {
            most,
            own: BTreeMap::new(),
            others: None,
            others_now: 0,
            displaced: 0,
        }
    }

    /// Adds an interval. A row without a place gets one that is free, or that of a row which has done
    /// less lately; the sum of that row ends there, and is not added to that of the others: their
    /// rate would rise without any work.
    pub(super) fn add(&mut self, interval_s: f64, rows: impl Iterator<Item = (K, Done<V>)>) {
        for slot in self.own.values_mut() {
            slot.recent *= 0.5_f64.powf(interval_s / HALF_LIFE_S);
        }
        let mut rest: BTreeMap<K, Done<V>> = BTreeMap::new();
        for (key, done) in rows {
            if let Some(slot) = self.own.get_mut(&key) {
                slot.sum += done.what;
                slot.recent += done.weight;
            } else if let Some(same) = rest.get_mut(&key) {
                same.what += done.what;
                same.weight += done.weight;
            } else {
                rest.insert(key, done);
            }
        }
        let mut rest: Vec<_> = rest.into_iter().collect();
        rest.sort_by(|(_, one), (_, other)| other.weight.total_cmp(&one.weight));
        self.others_now = 0;
        for (key, done) in rest {
            if self.has_place(done.weight) {
                let slot = Slot {
                    sum: done.what,
                    recent: done.weight,
                };
                self.own.insert(key, slot);
                continue;
            }
            self.others_now += 1;
            match &mut self.others {
                Some(others) => *others += done.what,
                None => self.others = Some(done.what),
            }
        }
    }

    /// Makes one where another row has done less.
    fn has_place(&mut self, weight: f64) -> bool {
        if self.own.len() < self.most {
            return true;
        }
        let idlest = self.own.iter();
        let idlest = idlest.min_by(|(_, one), (_, other)| one.recent.total_cmp(&other.recent));
        let Some((key, _)) = idlest.filter(|(_, slot)| slot.recent < weight) else {
            return false;
        };
        let key = key.clone();
        self.own.remove(&key);
        self.displaced += 1;
        true
    }

    /// Rows with a place of their own.
    pub fn own(&self) -> impl Iterator<Item = (&K, &V)> {
        self.own.iter().map(|(key, slot)| (key, &slot.sum))
    }

    /// The sum of all that was done by rows without one; `None` as long as there were none.
    pub fn others(&self) -> Option<&V> {
        self.others.as_ref()
    }

    /// Rows without a place in the last interval.
    pub fn others_now(&self) -> usize {
        self.others_now
    }

    pub fn most(&self) -> usize {
        self.most
    }

    /// Rows that have lost theirs.
    pub fn displaced(&self) -> u64 {
        self.displaced
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn done(count: u64) -> Done<u64> {
        Done {
            what: count,
            weight: count as f64,
        }
    }

    fn added(slots: &mut Slots<&'static str, u64>, rows: &[(&'static str, u64)]) {
        slots.add(1.0, rows.iter().map(|(key, count)| (*key, done(*count))));
    }

    #[test]
    fn the_busiest_have_places_and_the_rest_is_one_sum() {
        let mut slots = Slots::new(2);
        added(&mut slots, &[("a", 5), ("b", 9), ("c", 7), ("a", 1)]);
        let own: Vec<_> = slots.own().collect();
        assert_eq!(own, [(&"b", &9), (&"c", &7)]);
        assert_eq!((slots.others(), slots.others_now()), (Some(&6), 1));
        added(&mut slots, &[("b", 1)]);
        let own: Vec<_> = slots.own().collect();
        assert_eq!(own, [(&"b", &10), (&"c", &7)]);
        assert_eq!((slots.others(), slots.others_now()), (Some(&6), 0));
    }

    #[test]
    fn who_does_much_more_takes_the_place_of_the_idlest() {
        let mut slots = Slots::new(2);
        added(&mut slots, &[("a", 100), ("b", 50)]);
        added(&mut slots, &[("c", 40)]);
        assert_eq!((slots.others(), slots.displaced()), (Some(&40), 0));
        added(&mut slots, &[("c", 60)]);
        let own: Vec<_> = slots.own().map(|(key, sum)| (*key, *sum)).collect();
        assert_eq!(
            own,
            [("a", 100), ("c", 60)],
            "its sum begins with its place"
        );
        assert_eq!((slots.others(), slots.displaced()), (Some(&40), 1));
    }

    proptest! {
        /// No sum falls, memory is bounded, and while nobody loses a place nothing is lost.
        #[test]
        fn sums_only_grow(
            intervals in prop::collection::vec(
                prop::collection::vec((0_u8..12, 0_u64..1000), 0..20), 0..20),
            most in 0_usize..6,
        ) {
            let mut slots = Slots::new(most);
            let mut all = 0;
            for rows in intervals {
                all += rows.iter().map(|(_, count)| count).sum::<u64>();
                let before = slots.clone();
                slots.add(1.0, rows.into_iter().map(|(key, count)| (key, done(count))));
                for (key, sum) in slots.own() {
                    let before = before.own().find(|(other, _)| *other == key);
                    prop_assert!(before.is_none_or(|(_, before)| before <= sum));
                }
                prop_assert!(before.others() <= slots.others());
                prop_assert!(slots.own().count() <= most);
            }
            let told = slots.own().map(|(_, sum)| sum).sum::<u64>() + slots.others().unwrap_or(&0);
            prop_assert!(told <= all);
            prop_assert!(slots.displaced() > 0 || told == all);
        }
    }
}
