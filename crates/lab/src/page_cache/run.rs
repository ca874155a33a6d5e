//! The experiment from end to end.

use std::fs;
use std::path::Path;

use iostrata_core::bytes;
use iostrata_core::doctor::PageOut;
use iostrata_core::lab::{self, OwnCost};
use iostrata_core::page_cache::{self, Case, PageCacheRow, Parsing, RANDOM_READ_BYTES, Reader};
use iostrata_tracer::machine::available_memory_bytes;
use iostrata_tracer::page_cache::page_out;

use super::content::Content;
use super::item::Item;
use super::possible::refused;
use super::reader::FileStep;
use super::settings::{self, Plan, copies, files};
use crate::caveats;
use crate::error::LabError;
use crate::experiment::Experiment;
use crate::scratch::ImageKind;
use crate::session::{Effort, RunFile, Session, measure};
use crate::target::Target;

struct Made<'a> {
    target: &'a Target,
    size_bytes: u64,
    content: Content,
    file: RunFile,
}

impl Experiment for Plan {
    fn nothing(&self) -> &'static str {
        "nothing to measure: give at least one state, reader, size and file system"
    }

    /// The cost of the cache is the same for all of them.
    fn usual_images(&self, _: Effort) -> &'static [ImageKind] {
        &[]
    }

    fn rows_on(&self, _: &Target) -> usize {
        self.cases.len()
    }

    fn needed_bytes(&self) -> u64 {
        settings::needed_bytes(&self.cases)
    }

    fn check(&self) -> Result<(), LabError> {
        check_memory(&self.cases)
    }

    fn measure(&self, session: &mut Session<'_>) -> Result<lab::Experiment, LabError> {
        let made = self.make_files(session)?;
        let items = self.items(session, &made)?;
        let own_cost_ns = own_cost_ns(session, &items)?;
        let mut rows = measure(session, &items, 0)?;
        session.lack_what_is_unseen();
        for (index, figures) in page_cache::figures(&rows).into_iter().enumerate() {
            rows[index].figures = figures;
        }
        let parsing = page_cache::parse_lines(&rows);
        let mut result = session.result(
            page_cache::QUESTION,
            rows,
            Parsing { parsing },
            OwnCost { own_cost_ns },
            items.len(),
        );
        result.caveats = caveats(session, &result.rows, own_cost_ns);
        for made in made {
            if let Err(error) = made.file.remove() {
                session.ledger.to.failed(error);
            }
        }
        Ok(lab::Experiment::PageCache(result))
    }
}

impl Plan {
    fn make_files<'a>(&self, session: &mut Session<'a>) -> Result<Vec<Made<'a>>, LabError> {
        let mut made = Vec::new();
        for target in session.targets {
            for (size_bytes, content) in files(&self.cases) {
                let size = bytes::exact(size_bytes);
                session.step(&format!("making {size} on {}", target.name));
                let file = session
                    .until_stopped(|session| content.make(&target.dir, size_bytes, session.stop))?;
                made.extend(file.flatten().map(|file| Made {
                    target,
                    size_bytes,
                    content,
                    file,
                }));
            }
        }
        Ok(made)
    }

    /// The cases that each target supports; the others are listed as missing.
    fn items<'a>(
        &'a self,
        session: &mut Session<'_>,
        made: &'a [Made<'a>],
    ) -> Result<Vec<Item<'a>>, LabError> {
        let mut items = Vec::new();
        for target in session.targets {
            let here = || made.iter().filter(|made| made.target.name == target.name);
            let Some(Made { target, file, .. }) = here().next() else {
                continue;
            };
            let refused = refused(target, file.path());
            session.missing.extend(refused.gaps(target, &self.cases));
            let file = |case: &Case| -> Option<&'a Path> {
                let wanted = (case.size_bytes, Content::of(case.parse));
                let made = here().find(|made| (made.size_bytes, made.content) == wanted)?;
                Some(made.file.path())
            };
            items.extend(refused.possible(&self.cases).filter_map(|&case| {
                Some(Item {
                    target,
                    case,
                    file: file(&case)?,
                    plan: self,
                })
            }));
        }
        match session.missing.first() {
            Some(gap) if items.is_empty() => Err(LabError::Impossible(format!(
                "nothing can be measured: {}: {}; choose another --dir, --fs or --state",
                gap.what.text(),
                gap.why.text()
            ))),
            _ => Ok(items),
        }
    }
}

/// Cost in nanoseconds of the measuring loop for each read of `pread_random`. `None` when there is
/// no such case, or when interrupted.
fn own_cost_ns(session: &mut Session<'_>, items: &[Item<'_>]) -> Result<Option<f64>, LabError> {
    let random = items
        .iter()
        .filter(|item| item.case.reader == Reader::PreadRandom)
        .max_by_key(|item| item.case.size_bytes);
    let Some(item) = random else {
        return Ok(None);
    };
    let reads = item.case.size_bytes.div_ceil(RANDOM_READ_BYTES);
    let reads = reads.min(item.plan.random_reads);
    let job = item.job(vec![FileStep::Nothing]);
    let loop_s = session.loop_s(|session| Ok(session.work(&job)?.work))?;
    Ok(loop_s.map(|seconds| seconds * 1e9 / reads as f64))
}

fn caveats(session: &Session<'_>, rows: &[PageCacheRow], own_cost_ns: Option<f64>) -> Vec<String> {
    let targets = session.targets;
    let cold =
        "cold means not in this machine's page cache; the hypervisor may have cached the blocks";
    let mut caveats = caveats::begun(session, cold);
    let below = "their reads pass through the file system that holds the images";
    caveats.extend(caveats::images(targets, below));
    let cached = targets.iter().filter(|target| target.backing_cached);
    caveats.extend(cached.map(|target| {
        format!(
            "{}: the underlying file system caches the image file, so cold reads of the image may \
             come from memory",
            target.name
        )
    }));
    caveats.extend(page_out().iter().map(PageOut::in_words));
    let huge = fs::read_to_string("/sys/kernel/mm/transparent_hugepage/enabled");
    caveats.extend(huge.ok().as_deref().and_then(huge_pages));
    let random = rows
        .iter()
        .filter(|row| row.row.case.reader == Reader::PreadRandom);
    let reads_ns = random.map(|row| Some(row.latency_s?.p50 * 1e9));
    let read = "median read";
    caveats.extend(caveats::own_cost(
        "timing a random read",
        own_cost_ns,
        read,
        reads_ns,
    ));
    caveats
}

/// The active choice is in brackets.
fn huge_pages(enabled: &str) -> Option<String> {
    enabled.contains("[always]").then(|| {
        "transparent huge pages are always on: one page fault of a new buffer may bring 2 MiB"
            .to_owned()
    })
}

/// Fails unless the file fits into the page cache together with the buffers of the reading process:
/// otherwise a warm state is impossible.
fn check_memory(cases: &[Case]) -> Result<(), LabError> {
    let buffers = |case: &Case| match case.reader {
        _ if copies(case) => 2 * case.size_bytes,
        Reader::Mmap => 0,
        Reader::PreadRandom => RANDOM_READ_BYTES,
        _ => case.size_bytes,
    };
    let needed = cases
        .iter()
        .map(|case| case.size_bytes.saturating_add(buffers(case)));
    let needed_bytes = needed.max().unwrap_or(0);
    match available_memory_bytes() {
        Some(available) if available < needed_bytes => Err(LabError::NoMemory(format!(
            "not enough memory: the largest case needs {} for the file in the cache and the \
             buffers, and {} are available; choose a smaller --size",
            bytes::short(needed_bytes),
            bytes::short(available)
        ))),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use iostrata_core::page_cache::{Parse, State};

    use super::*;

    #[test]
    fn huge_pages_are_named_where_they_are_always_on() {
        assert!(huge_pages("[always] madvise never\n").is_some());
        assert_eq!(huge_pages("always [madvise] never\n"), None);
    }

    #[test]
    fn memory_that_is_not_there_is_refused_before() {
        let huge = Case {
            state: State::Warm,
            reader: Reader::Read,
            size_bytes: 1 << 60,
            parse: Parse::None,
        };
        let error = check_memory(&[huge]).unwrap_err();
        assert!(
            !matches!(error, LabError::Usage(_)) && error.to_string().contains("--size"),
            "{error}"
        );
    }
}
