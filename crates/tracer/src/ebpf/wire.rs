//! The data shared by the kernel side and the loader: `bpf/wire.h`, translated by `build.rs`.
#![expect(unsafe_code, reason = "aya::Pod is an unsafe trait")]

use zerocopy::{FromBytes, FromZeros, Immutable, IntoBytes, KnownLayout};

/// A structure of integers. Both sides have the same fields in the same order, and none has padding, as `IntoBytes`
/// proves: so the fields are at the same offsets.
macro_rules! wire {
    (struct $name:ident { $($field:ident: $kind:ty),+ $(,)? }) => {
        #[repr(C)]
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, FromBytes, IntoBytes, Immutable, KnownLayout)]
        pub(crate) struct $name { $(pub(crate) $field: $kind),+ }
        // SAFETY: repr(C), made of integers, without padding (IntoBytes proves it).
        unsafe impl aya::Pod for $name {}
        impl Default for $name {
            fn default() -> Self {
                Self::new_zeroed()
            }
        }
    };
}

#[expect(
    dead_code,
    unused_parens,
    clippy::identity_op,
    clippy::unreadable_literal,
    reason = "translated as they are, and some are of the kernel side alone"
)]
mod translated {
    use super::{FromBytes, FromZeros as _, Immutable, IntoBytes, KnownLayout};
    include!(concat!(env!("OUT_DIR"), "/wire.rs"));
}
pub(crate) use translated::*;

/// Saturating sum of kernel-side figures: real sums never reach the limit.
pub(super) fn add(sum: &mut u64, more: u64) {
    *sum = sum.saturating_add(more);
}

impl RunEvent {
    /// Whether it syncs only what is needed to read the data (fdatasync(2)).
    pub(super) fn is_data_only(&self) -> bool {
        self.flags & run::DATA_ONLY != 0
    }
}

/// Begin of the first and end of the last of so many calls and of others; zeros where that is not
/// known of all.
pub(super) fn span_of(
    (count, span): (u64, (u64, u64)),
    (more, other): (u64, (u64, u64)),
) -> (u64, u64) {
    match (count, more) {
        (_, 0) => span,
        (0, _) => other,
        _ if span.0 == 0 || other.0 == 0 => (0, 0),
        _ => (span.0.min(other.0), span.1.max(other.1)),
    }
}

impl CallValue {
    /// Takes in when so many more calls were; before they are counted.
    pub(super) fn lengthen(&mut self, more: u64, other: (u64, u64)) {
        let own = (self.first_ns, self.last_ns);
        (self.first_ns, self.last_ns) = span_of((self.count, own), (more, other));
    }

    pub(super) fn add(&mut self, other: &Self) {
        self.lengthen(other.count, (other.first_ns, other.last_ns));
        add(&mut self.count, other.count);
        add(&mut self.errors, other.errors);
        add(&mut self.returned, other.returned);
        add(&mut self.time_ns, other.time_ns);
        add(&mut self.blocked_ns, other.blocked_ns);
        add(&mut self.alone_ns, other.alone_ns);
        add(&mut self.pairs, other.pairs);
        add(&mut self.sequential, other.sequential);
        add(&mut self.backward, other.backward);
        add(&mut self.empty, other.empty);
        self.furthest = self.furthest.max(other.furthest);
        for (sum, count) in self.histogram.iter_mut().zip(other.histogram) {
            *sum = sum.saturating_add(count);
        }
        for (sum, count) in self.sizes.iter_mut().zip(other.sizes) {
            *sum = sum.saturating_add(count);
        }
    }
}

impl CacheValue {
    pub(super) fn add(&mut self, other: &Self) {
        add(&mut self.lookups_pages, other.lookups_pages);
        add(&mut self.missed_pages, other.missed_pages);
        add(&mut self.filled_pages, other.filled_pages);
        add(&mut self.dirtied_bytes, other.dirtied_bytes);
    }
}

impl BlockValue {
    pub(super) fn add(&mut self, other: &Self) {
        add(&mut self.count, other.count);
        add(&mut self.bytes, other.bytes);
        add(&mut self.time_ns, other.time_ns);
        add(&mut self.ended, other.ended);
        self.longest_ns = self.longest_ns.max(other.longest_ns);
    }
}

impl ShareValue {
    pub(super) fn add(&mut self, other: &Self) {
        for (sum, more) in self.of.iter_mut().zip(&other.of) {
            sum.add(more);
        }
        self.synchronous.add(&other.synchronous);
        self.cache.add(&other.cache);
    }
}

impl ShareSum {
    fn add(&mut self, more: &Self) {
        add(&mut self.count, more.count);
        add(&mut self.errors, more.errors);
        add(&mut self.bytes, more.bytes);
        add(&mut self.time_ns, more.time_ns);
        self.longest_ns = self.longest_ns.max(more.longest_ns);
    }
}
