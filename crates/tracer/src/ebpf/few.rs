//! The sum of a call on a file. Most files are opened, read and closed once: such a sum is kept as
//! it arrived, in a fifth of the memory.

use zerocopy::FromZeros as _;

use super::wire::{CallValue, FEW, FewEvent, FileKey, add, event, span_of};

/// A bucket that no histogram has.
const NO_BUCKET: u8 = u8::MAX;

#[derive(Debug)]
pub(super) enum Sum {
    /// At most [`FEW`] calls.
    Few(Box<FewEvent>),
    /// More than [`FEW`] calls.
    Many(Box<CallValue>),
}

/// A sum to add: as it came through the ring, or from the kernel's table.
#[derive(Clone, Copy)]
pub(super) enum Part<'a> {
    Few(&'a FewEvent),
    Many(&'a CallValue),
}

impl Part<'_> {
    pub(super) fn count(self) -> u64 {
        match self {
            Self::Few(few) => u64::from(few.count),
            Self::Many(many) => many.count,
        }
    }
}

impl Sum {
    pub(super) fn of(part: Part<'_>) -> Self {
        let few = match part {
            Part::Few(few) => return Self::Few(Box::new(*few)),
            Part::Many(many) => FewEvent::of(many).ok_or(many),
        };
        match few {
            Ok(few) => Self::Few(Box::new(few)),
            Err(many) => Self::Many(Box::new(*many)),
        }
    }

    pub(super) fn part(&self) -> Part<'_> {
        match self {
            Self::Few(few) => Part::Few(few),
            Self::Many(many) => Part::Many(many),
        }
    }

    pub(super) fn time_ns(&self) -> u64 {
        match self {
            Self::Few(few) => few.time_ns,
            Self::Many(many) => many.time_ns,
        }
    }

    /// In the general form.
    pub(super) fn whole(&self) -> CallValue {
        match self {
            Self::Few(few) => {
                let mut whole = CallValue::new_zeroed();
                whole.add_few(few);
                whole
            }
            Self::Many(many) => **many,
        }
    }

    pub(super) fn add(&mut self, part: Part<'_>) {
        if let Self::Many(sum) = self {
            return sum.add_part(part);
        }
        if let (Self::Few(few), Part::Few(more)) = (&*self, part)
            && let Some(both) = few.with(more)
        {
            *self = Self::Few(Box::new(both));
            return;
        }
        let mut whole = self.whole();
        whole.add_part(part);
        *self = Self::of(Part::Many(&whole));
    }
}

impl FewEvent {
    /// In the compact form, if the calls are few.
    fn of(many: &CallValue) -> Option<Self> {
        if many.count > FEW as u64 {
            return None;
        }
        let few = |count: u64| u8::try_from(count).ok();
        Some(Self {
            kind: event::FEW,
            nr: 0,
            file: FileKey::default(),
            returned: many.returned,
            time_ns: many.time_ns,
            blocked_ns: many.blocked_ns,
            alone_ns: many.alone_ns,
            furthest: many.furthest,
            first_ns: many.first_ns,
            last_ns: many.last_ns,
            count: few(many.count)?,
            errors: few(many.errors)?,
            pairs: few(many.pairs)?,
            sequential: few(many.sequential)?,
            backward: few(many.backward)?,
            empty: few(many.empty)?,
            pad: [0; 2],
            buckets: buckets(&many.histogram, few(many.count)?)?,
            sizes: buckets(&many.sizes, few(many.count)?)?,
        })
    }

    /// The sum of both, if it is still few calls.
    fn with(&self, other: &Self) -> Option<Self> {
        let (own, others) = (usize::from(self.count), usize::from(other.count));
        let count = own + others;
        if count > FEW {
            return None;
        }
        let mut both = *self;
        (both.first_ns, both.last_ns) = span_of(
            (u64::from(self.count), (self.first_ns, self.last_ns)),
            (u64::from(other.count), (other.first_ns, other.last_ns)),
        );
        both.count = u8::try_from(count).ok()?;
        both.buckets[own..count].copy_from_slice(&other.buckets[..others]);
        both.sizes[own..count].copy_from_slice(&other.sizes[..others]);
        for (sum, more) in [
            (&mut both.returned, other.returned),
            (&mut both.time_ns, other.time_ns),
            (&mut both.blocked_ns, other.blocked_ns),
            (&mut both.alone_ns, other.alone_ns),
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
    fn add_part(&mut self, part: Part<'_>) {
        match part {
            Part::Few(few) => self.add_few(few),
            Part::Many(many) => self.add(many),
        }
    }

    fn add_few(&mut self, few: &FewEvent) {
        self.lengthen(u64::from(few.count), (few.first_ns, few.last_ns));
        add(&mut self.count, u64::from(few.count));
        add(&mut self.errors, u64::from(few.errors));
        add(&mut self.returned, few.returned);
        add(&mut self.time_ns, few.time_ns);
        add(&mut self.blocked_ns, few.blocked_ns);
        add(&mut self.alone_ns, few.alone_ns);
        add(&mut self.pairs, u64::from(few.pairs));
        add(&mut self.sequential, u64::from(few.sequential));
        add(&mut self.backward, u64::from(few.backward));
        add(&mut self.empty, u64::from(few.empty));
        self.furthest = self.furthest.max(few.furthest);
        let calls = usize::from(few.count);
        count(&mut self.histogram, few.buckets.iter().take(calls));
        // Calls that moved nothing have no bucket.
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

/// The bucket of each call, [`NO_BUCKET`] for calls that are in no bucket.
fn buckets(histogram: &[u32], calls: u8) -> Option<[u8; FEW]> {
    let mut buckets = [NO_BUCKET; FEW];
    let mut free = buckets.get_mut(..usize::from(calls))?.iter_mut();
    for (bucket, count) in (0_u8..).zip(histogram) {
        for _ in 0..*count {
            *free.next()? = bucket;
        }
    }
    Some(buckets)
}

#[cfg(test)]
mod tests {
    use zerocopy::IntoBytes as _;

    use super::*;

    fn few(count: u8, seed: u8) -> FewEvent {
        FewEvent {
            kind: 0,
            nr: 1,
            file: FileKey::default(),
            returned: 100 * u64::from(seed),
            time_ns: 7 + u64::from(seed),
            blocked_ns: 3,
            alone_ns: 2,
            furthest: 1000 - u64::from(seed),
            first_ns: 50 - u64::from(seed),
            last_ns: 60 + u64::from(seed % 3),
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

    /// Sums in any form add up to the sum that a single table would hold.
    #[test]
    fn every_form_sums_alike() {
        for counts in [
            [1, 1, 1, 1, 1],
            [2, 2, 1, 4, 3],
            [4, 4, 4, 4, 4],
            [3, 1, 0, 0, 0],
        ] {
            let mut expected = CallValue::new_zeroed();
            let first = few(counts[0], 9);
            expected.add_few(&first);
            let mut one = Sum::of(Part::Few(&first));
            let (mut other, mut third) = (Sum::of(one.part()), Sum::of(Part::Many(&expected)));
            for (seed, count) in (0..).zip(counts).skip(1) {
                let more = few(count, seed);
                expected.add_few(&more);
                one.add(Part::Few(&more));
                let mut of_table = CallValue::new_zeroed();
                of_table.add_few(&more);
                other.add(Part::Many(&of_table));
                third.add(Sum::of(Part::Many(&of_table)).part());
            }
            for sum in [&one, &other, &third] {
                assert_eq!(sum.whole().as_bytes(), expected.as_bytes());
                let told = (sum.part().count(), sum.time_ns());
                assert_eq!(told, (expected.count, expected.time_ns));
                let is_few = matches!(sum, Sum::Few(_));
                assert_eq!(is_few, expected.count <= FEW as u64, "{counts:?}");
            }
        }
    }

    #[test]
    fn calls_without_a_time_leave_no_span() {
        assert_eq!(span_of((1, (5, 9)), (2, (3, 7))), (3, 9));
        assert_eq!(span_of((1, (5, 9)), (1, (0, 0))), (0, 0));
        assert_eq!(span_of((0, (0, 0)), (1, (3, 7))), (3, 7));
        assert_eq!(span_of((1, (5, 9)), (0, (0, 0))), (5, 9));
    }

    #[test]
    fn what_has_more_in_its_histograms_than_calls_stays_as_it_is() {
        let mut many = CallValue::new_zeroed();
        many.add_few(&few(2, 5));
        many.sizes[7] = 1;
        let sum = Sum::of(Part::Many(&many));
        assert!(matches!(sum, Sum::Many(_)));
        assert_eq!(sum.whole().as_bytes(), many.as_bytes());
    }
}
