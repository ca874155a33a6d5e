//! The sum of a call on a file. Most files are opened, read and closed once: such a sum is kept as it
//! came, in a fifth of the memory.

use super::wire::{CallValue, FEW, FewEvent, add};

/// What was summed.
#[derive(Debug)]
pub(super) enum Sum {
    /// At most [`FEW`] calls.
    Few(Box<FewEvent>),
    /// More.
    Many(Box<CallValue>),
}

impl Sum {
    /// Of an entry of the kernel's table.
    pub(super) fn of(value: &CallValue) -> Self {
        Self::Many(Box::new(*value))
    }

    pub(super) fn count(&self) -> u64 {
        match self {
            Self::Few(few) => u64::from(few.count),
            Self::Many(many) => many.count,
        }
    }

    pub(super) fn time_ns(&self) -> u64 {
        match self {
            Self::Few(few) => few.time_ns,
            Self::Many(many) => many.time_ns,
        }
    }

    /// In the form that all have.
    pub(super) fn whole(&self) -> CallValue {
        match self {
            Self::Few(few) => {
                let mut whole = CallValue::ZERO;
                whole.add_few(few);
                whole
            }
            Self::Many(many) => **many,
        }
    }

    fn change(&mut self, add: impl FnOnce(&mut CallValue)) {
        if let Self::Many(many) = self {
            return add(many);
        }
        let mut whole = self.whole();
        add(&mut whole);
        *self = Self::of(&whole);
    }

    pub(super) fn add(&mut self, value: &CallValue) {
        self.change(|sum| sum.add(value));
    }

    pub(super) fn add_sum(&mut self, other: &Self) {
        match other {
            Self::Few(few) => self.add_few(few),
            Self::Many(many) => self.add(many),
        }
    }

    pub(super) fn add_few(&mut self, other: &FewEvent) {
        let both = match self {
            Self::Few(few) => few.with(other),
            Self::Many(_) => None,
        };
        match both {
            Some(both) => *self = Self::Few(Box::new(both)),
            None => self.change(|sum| sum.add_few(other)),
        }
    }
}

impl FewEvent {
    /// Both, where they are few together.
    fn with(&self, other: &Self) -> Option<Self> {
        let (own, others) = (usize::from(self.count), usize::from(other.count));
        let count = own + others;
        if count > FEW {
            return None;
        }
        let mut both = *self;
        both.count = u8::try_from(count).ok()?;
        both.buckets[own..count].copy_from_slice(&other.buckets[..others]);
        both.sizes[own..count].copy_from_slice(&other.sizes[..others]);
        for (sum, more) in [
            (&mut both.returned, other.returned),
            (&mut both.time_ns, other.time_ns),
            (&mut both.blocked_ns, other.blocked_ns),
        ] {
            add(sum, more);
        }
        both.furthest = both.furthest.max(other.furthest);
        for (sum, more) in [
            (&mut both.errors, other.errors),
            (&mut both.pairs, other.pairs),
            (&mut both.sequential, other.sequential),
            (&mut both.backward, other.backward),
            (&mut both.empty, other.empty),
        ] {
            *sum = sum.checked_add(more)?;
        }
        Some(both)
    }
}

impl CallValue {
    pub(super) fn add_few(&mut self, few: &FewEvent) {
        add(&mut self.count, u64::from(few.count));
        add(&mut self.errors, u64::from(few.errors));
        add(&mut self.returned, few.returned);
        add(&mut self.time_ns, few.time_ns);
        add(&mut self.blocked_ns, few.blocked_ns);
        add(&mut self.pairs, u64::from(few.pairs));
        add(&mut self.sequential, u64::from(few.sequential));
        add(&mut self.backward, u64::from(few.backward));
        add(&mut self.empty, u64::from(few.empty));
        self.furthest = self.furthest.max(few.furthest);
        let calls = usize::from(few.count);
        count(&mut self.histogram, few.buckets.iter().take(calls));
        // SIZE_BUCKETS stands for a call that moved nothing.
        count(&mut self.sizes, few.sizes.iter().take(calls));
    }
}

fn count<'a>(histogram: &mut [u32], buckets: impl Iterator<Item = &'a u8>) {
    for bucket in buckets {
        if let Some(count) = histogram.get_mut(usize::from(*bucket)) {
            *count = count.saturating_add(1);
        }
    }
}

#[cfg(test)]
mod tests {
    use zerocopy::IntoBytes as _;

    use super::*;
    use crate::ebpf::wire::FileKey;

    fn few(count: u8, seed: u8) -> FewEvent {
        FewEvent {
            kind: 0,
            nr: 1,
            file: FileKey::default(),
            returned: 100 * u64::from(seed),
            time_ns: 7 + u64::from(seed),
            blocked_ns: 3,
            furthest: 1000 - u64::from(seed),
            count,
            errors: seed & 1,
            pairs: 1,
            sequential: seed & 2,
            backward: 0,
            empty: 1,
            pad: [0; 2],
            buckets: [seed; FEW],
            sizes: [seed + 1; FEW],
        }
    }

    /// Whatever comes together, in whatever form, is what one table would have summed.
    #[test]
    fn every_form_sums_alike() {
        for counts in [
            [1, 1, 1, 1, 1],
            [2, 2, 1, 4, 3],
            [4, 4, 4, 4, 4],
            [3, 1, 0, 0, 0],
        ] {
            let mut expected = CallValue::ZERO;
            let first = few(counts[0], 9);
            expected.add_few(&first);
            let (mut one, mut other) = (Sum::Few(Box::new(first)), Sum::of(&CallValue::ZERO));
            other.add_sum(&one);
            for (seed, count) in (0..).zip(counts).skip(1) {
                let more = few(count, seed);
                expected.add_few(&more);
                one.add_few(&more);
                other.add_sum(&Sum::Few(Box::new(more)));
            }
            for sum in [&one, &other] {
                assert_eq!(sum.whole().as_bytes(), expected.as_bytes());
                let told = (sum.count(), sum.time_ns());
                assert_eq!(told, (expected.count, expected.time_ns));
            }
            let is_few = matches!(one, Sum::Few(_));
            assert_eq!(is_few, expected.count <= FEW as u64, "{counts:?}");
        }
    }
}
