//! Numbers by a seed.

use std::time::Duration;

/// xorshift64*, begun by the seed of the run, the name of an attack and the number of a trial.
pub(crate) struct Seeded(u64);

impl Seeded {
    pub(crate) fn new(seed: u64, attack: &str, trial: u64) -> Self {
        // FNV-1a, then the end of splitmix64, so that neighbours have nothing in common.
        let mut hash = 0xcbf2_9ce4_8422_2325_u64;
        let bytes = attack.bytes().chain(seed.to_le_bytes());
        for byte in bytes.chain(trial.to_le_bytes()) {
            hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
        hash = (hash ^ (hash >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        hash = (hash ^ (hash >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        Self((hash ^ (hash >> 31)).max(1))
    }

    /// A number below `bound`, which is not 0.
    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33) % bound
    }

    pub(crate) fn one_of<'a, T>(&mut self, all: &'a [T]) -> &'a T {
        let at = self.below(all.len() as u64);
        &all[usize::try_from(at).unwrap()]
    }

    /// Once in `times`.
    pub(crate) fn is_rare(&mut self, times: u64) -> bool {
        self.below(times) == 0
    }

    pub(crate) fn shorter_than(&mut self, longest: Duration) -> Duration {
        let longest_us = u64::try_from(longest.as_micros()).unwrap();
        Duration::from_micros(self.below(longest_us.max(1)))
    }
}
