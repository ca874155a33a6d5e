//! The files to copy, the methods, and how thoroughly.

use iostrata_core::copy::{Case, CopyMethod, DIRECT_ALIGNMENT_BYTES, Destination, Source};
use iostrata_core::distinct;

use crate::engine::StoppingRule;
use crate::error::LabError;
use crate::experiment::{chosen_or, refuse_no_bytes, refuse_too_large, with_structures};
use crate::session::Effort;
use crate::target::Target;

/// The article's file: 204,800 blocks of 512 bytes.
const ARTICLES_BYTES: u64 = 100 << 20;

/// With `--quick`: still larger than a second-level cache.
const QUICK_BYTES: u64 = 8 << 20;

/// Buffers of `read` and `write`.
const BUFFERS: [Buffer; 5] = [
    Buffer::Bytes(64),
    Buffer::Bytes(4 << 10),
    Buffer::Bytes(64 << 10),
    Buffer::Bytes(1 << 20),
    Buffer::Whole,
];

/// Buffer of every other method with a buffer.
const USUAL_BUFFER: Buffer = Buffer::Bytes(1 << 20);

/// Methods that also have a durable variant by default.
const DURABLE: [CopyMethod; 5] = [
    CopyMethod::ReadWrite,
    CopyMethod::MmapMemcpy,
    CopyMethod::CopyFileRange,
    CopyMethod::Direct,
    CopyMethod::Cp,
];

/// Methods that also copy from a cold source.
const COLD: [CopyMethod; 4] = [
    CopyMethod::ReadWrite,
    CopyMethod::MmapMemcpy,
    CopyMethod::CopyFileRange,
    CopyMethod::Cp,
];

/// Methods on the images that exist to show the effect of shared blocks.
const SHARING: [CopyMethod; 4] = [
    CopyMethod::ReadWrite,
    CopyMethod::CopyFileRange,
    CopyMethod::Reflink,
    CopyMethod::Cp,
];

/// Runs of a case unless `--thorough`: a copy with every method takes long enough already.
const MOST_RUNS: usize = 5;

/// Minimum seconds of copying per case before its runs end.
const LEAST_BUDGET_S: f64 = 6.0;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Buffer {
    Bytes(u64),
    /// As many bytes as the file has.
    Whole,
}

/// What the user chose; empty lists and `None` mean the defaults of the effort.
#[derive(Debug, Clone, Default)]
pub struct Selection {
    pub methods: Vec<CopyMethod>,
    pub sources: Vec<Source>,
    pub sizes_bytes: Vec<u64>,
    /// Buffers of the methods that have one.
    pub buffers: Vec<Buffer>,
    pub destination: Destination,
    /// Whether every copy ends with an `fsync`; otherwise separate rows do.
    pub durable: bool,
    /// Whether the user named images, which then get the same cases as the host.
    pub named_images: bool,
    pub effort: Effort,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plan {
    /// On the user's own file system.
    pub host: Vec<Case>,
    /// On each image. Empty when images would show nothing.
    pub images: Vec<Case>,
    pub effort: Effort,
}

impl Plan {
    pub(super) fn of(&self, target: &Target) -> &[Case] {
        if target.image {
            &self.images
        } else {
            &self.host
        }
    }
}

impl Selection {
    /// The cases, by state and then by method and buffer. Fails with a usage error for impossible
    /// copies.
    pub fn plan(&self) -> Result<Plan, LabError> {
        let mut host = Vec::new();
        let mut images = Vec::new();
        let usual = match self.effort {
            Effort::Quick => [QUICK_BYTES],
            Effort::Normal | Effort::Thorough => [ARTICLES_BYTES],
        };
        for &size_bytes in chosen_or(&self.sizes_bytes, &usual) {
            refuse_no_bytes(&[size_bytes], "copies nothing")?;
            refuse_too_large(&[size_bytes])?;
            self.check_buffers()?;
            self.add_host(size_bytes, &mut host);
            let sharing = SHARING.into_iter().filter(|method| self.has(*method));
            for method in sharing {
                self.add(&mut images, method, size_bytes, Source::Warm, false, false);
            }
        }
        if self.named_images {
            images.clone_from(&host);
        } else if !images.iter().any(|case| case.method == CopyMethod::Reflink) || self.is_exact() {
            images.clear();
        }
        Ok(Plan {
            host: distinct(host),
            images: distinct(images),
            effort: self.effort,
        })
    }

    /// Whether the user chose state or durability, so that no other rows are added.
    fn is_exact(&self) -> bool {
        self.durable || !self.sources.is_empty()
    }

    fn add_host(&self, size_bytes: u64, cases: &mut Vec<Case>) {
        let methods = || {
            CopyMethod::ALL
                .into_iter()
                .filter(|method| self.has(*method))
        };
        if self.is_exact() {
            for &source in chosen_or(&self.sources, &[Source::Warm]) {
                for method in methods() {
                    self.add(cases, method, size_bytes, source, self.durable, true);
                }
            }
            return;
        }
        for method in methods() {
            self.add(cases, method, size_bytes, Source::Warm, false, true);
        }
        for method in methods().filter(|method| DURABLE.contains(method)) {
            self.add(cases, method, size_bytes, Source::Warm, true, false);
        }
        for method in methods().filter(|method| COLD.contains(method)) {
            self.add(cases, method, size_bytes, Source::Cold, false, false);
        }
    }

    /// Adds a method with its buffers: `all` of them, or the usual one.
    fn add(
        &self,
        cases: &mut Vec<Case>,
        method: CopyMethod,
        size_bytes: u64,
        source: Source,
        durable: bool,
        all: bool,
    ) {
        let buffers = self.buffers_of(method, size_bytes, all).into_iter();
        cases.extend(buffers.map(|buffer_bytes| Case {
            method,
            buffer_bytes,
            source,
            durable,
            size_bytes,
            destination: self.destination,
        }));
    }

    fn buffers_of(&self, method: CopyMethod, size_bytes: u64, all: bool) -> Vec<Option<u64>> {
        if !method.has_buffer() {
            return vec![None];
        }
        let usual = if all && method == CopyMethod::ReadWrite {
            &BUFFERS[..]
        } else {
            &[USUAL_BUFFER]
        };
        let bytes = chosen_or(&self.buffers, usual).iter().map(|buffer| {
            let bytes = match buffer {
                // A larger one is never filled.
                Buffer::Bytes(bytes) => (*bytes).min(size_bytes),
                Buffer::Whole => size_bytes,
            };
            Some(match method {
                CopyMethod::Direct => bytes.next_multiple_of(DIRECT_ALIGNMENT_BYTES),
                _ => bytes,
            })
        });
        bytes.collect()
    }

    fn check_buffers(&self) -> Result<(), LabError> {
        for buffer in &self.buffers {
            let Buffer::Bytes(bytes) = *buffer else {
                continue;
            };
            if bytes == 0 {
                return Err(LabError::usage(
                    "--buffer 0 holds nothing; give 1 byte or more",
                ));
            }
            if self.methods.contains(&CopyMethod::Direct)
                && !bytes.is_multiple_of(DIRECT_ALIGNMENT_BYTES)
            {
                return Err(LabError::usage(format!(
                    "--buffer {bytes} cannot be used with direct: O_DIRECT transfers whole \
                     blocks; give multiples of {DIRECT_ALIGNMENT_BYTES}, or leave direct out"
                )));
            }
        }
        Ok(())
    }

    fn has(&self, method: CopyMethod) -> bool {
        self.methods.is_empty() || self.methods.contains(&method)
    }
}

pub(super) fn stopping(effort: Effort, stopping: StoppingRule) -> StoppingRule {
    match effort {
        Effort::Thorough => stopping,
        Effort::Quick | Effort::Normal => StoppingRule {
            max_runs: stopping.max_runs.min(MOST_RUNS),
            // Buffers of 64 B make thousands of calls per copy, and need as many runs as others.
            budget_s: stopping.budget_s.max(LEAST_BUDGET_S),
            ..stopping
        },
    }
}

/// Bytes that must be free on each target: every source, the largest once more for its
/// copy, and a fifth more for the file system's own structures.
pub(super) fn needed_bytes(plan: &Plan) -> u64 {
    let needed = |cases: &[Case]| {
        let sizes = sizes(cases);
        let largest = sizes.last().copied().unwrap_or(0);
        with_structures(sizes.into_iter().fold(largest, u64::saturating_add))
    };
    needed(&plan.host).max(needed(&plan.images))
}

/// Sizes of the files, each once, the largest last.
pub(super) fn sizes(cases: &[Case]) -> Vec<u64> {
    let mut sizes: Vec<u64> = cases.iter().map(|case| case.size_bytes).collect();
    sizes.sort_unstable();
    sizes.dedup();
    sizes
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(cases: &[Case]) -> Vec<(CopyMethod, Option<u64>)> {
        let name = |case: &Case| (case.method, case.buffer_bytes);
        cases.iter().map(name).collect()
    }

    #[test]
    fn the_default_has_every_method_and_some_states_more() {
        let cases = Selection::default().plan().unwrap();
        let plain = |case: &&Case| case.source == Source::Warm && !case.durable;
        let warm: Vec<Case> = cases.host.iter().filter(plain).copied().collect();
        assert_eq!(warm.len(), 17, "13 methods, one of them with 5 buffers");
        assert!(
            CopyMethod::ALL
                .iter()
                .all(|method| warm.iter().any(|case| case.method == *method))
        );
        assert_eq!(cases.host.iter().filter(|case| case.durable).count(), 5);
        let cold = |case: &&Case| case.source == Source::Cold;
        assert_eq!(cases.host.iter().filter(cold).count(), 4);
        assert!(cases.host.iter().all(|case| case.size_bytes == 104_857_600));
        assert_eq!(cases.images.len(), 4);
    }

    #[test]
    fn a_state_that_is_asked_for_is_the_only_one() {
        let selection = Selection {
            methods: vec![CopyMethod::Sendfile, CopyMethod::ReadWrite],
            sources: vec![Source::Cold],
            buffers: vec![Buffer::Bytes(4096), Buffer::Whole],
            sizes_bytes: vec![10_000],
            durable: true,
            ..Selection::default()
        };
        let cases = selection.plan().unwrap();
        assert_eq!(
            names(&cases.host),
            [
                (CopyMethod::ReadWrite, Some(4096)),
                (CopyMethod::ReadWrite, Some(10_000)),
                (CopyMethod::Sendfile, None)
            ]
        );
        assert!(
            cases
                .host
                .iter()
                .all(|case| case.durable && case.source == Source::Cold)
        );
        assert!(cases.images.is_empty());
    }

    #[test]
    fn images_get_what_the_host_gets_when_they_are_named() {
        let selection = Selection {
            named_images: true,
            ..Selection::default()
        };
        let cases = selection.plan().unwrap();
        assert_eq!(cases.images, cases.host);
    }

    #[test]
    fn no_image_is_made_without_a_reflink_to_show() {
        let selection = Selection {
            methods: vec![CopyMethod::Cp],
            ..Selection::default()
        };
        assert!(selection.plan().unwrap().images.is_empty());
    }

    #[test]
    fn buffers_fit_the_file_and_direct_moves_whole_blocks() {
        let selection = Selection {
            methods: vec![CopyMethod::ReadWrite, CopyMethod::Direct],
            sizes_bytes: vec![5000],
            ..Selection::default()
        };
        let cases = selection.plan().unwrap();
        let plain: Vec<_> = names(&cases.host).into_iter().take(4).collect();
        assert_eq!(
            plain,
            [
                (CopyMethod::ReadWrite, Some(64)),
                (CopyMethod::ReadWrite, Some(4096)),
                (CopyMethod::ReadWrite, Some(5000)),
                (CopyMethod::Direct, Some(8192))
            ]
        );
    }

    #[test]
    fn nonsense_is_a_usage_error() {
        let direct = Selection {
            methods: vec![CopyMethod::Direct],
            buffers: vec![Buffer::Bytes(64)],
            ..Selection::default()
        };
        let empty = Selection {
            sizes_bytes: vec![0],
            ..Selection::default()
        };
        let endless = Selection {
            sizes_bytes: vec![u64::MAX],
            ..Selection::default()
        };
        let nothing = Selection {
            buffers: vec![Buffer::Bytes(0)],
            ..Selection::default()
        };
        for selection in [direct, empty, endless, nothing] {
            let refused = selection.plan().unwrap_err();
            assert!(matches!(refused, LabError::Usage(_)), "{selection:?}");
        }
    }

    #[test]
    fn space_is_for_every_source_a_copy_and_a_fifth_more() {
        let selection = Selection {
            sizes_bytes: vec![1000, 5000],
            ..Selection::default()
        };
        assert_eq!(needed_bytes(&selection.plan().unwrap()), 13_200);
    }
}
