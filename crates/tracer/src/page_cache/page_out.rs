//! DAMON threads that evict file pages from the page cache.
//!
//! Sources: Documentation/admin-guide/mm/damon/usage.rst and reclaim.rst.

use std::fs;
use std::path::{Path, PathBuf};

use iostrata_core::doctor::{PageOut, Scheme};

use crate::stack::Roots;

/// `PF_KTHREAD` of include/linux/sched.h, in field 9 of `/proc/PID/stat`: any program may name
/// itself kdamond.
const KERNEL_THREAD: u64 = 0x0020_0000;

/// A page as a scheme's filters see it, when nothing else is known of it.
#[derive(Clone, Copy)]
struct FilePage {
    mapped: bool,
}

/// The active threads.
pub fn page_out() -> Vec<PageOut> {
    page_outs(&Roots::default())
}

pub(crate) fn page_outs(roots: &Roots) -> Vec<PageOut> {
    let threads = threads(roots);
    let mut found = Vec::new();
    for (pid, thread) in threads {
        let scheme = match settings(roots, pid) {
            Settings::Files(scheme) => scheme,
            Settings::Nothing => Scheme::Hidden,
            Settings::NoFiles => continue,
        };
        found.push(PageOut { thread, scheme });
    }
    found
}

/// Kernel threads with the name, by id.
fn threads(roots: &Roots) -> Vec<(u64, String)> {
    let processes = fs::read_dir(&roots.proc).into_iter().flatten().flatten();
    let mut threads: Vec<(u64, String)> = processes
        .filter_map(|process| {
            let pid = process.file_name().to_str()?.parse().ok()?;
            let stat = Roots::read(&process.path().join("stat"))?;
            let (name, rest) = stat.split_once(" (")?.1.rsplit_once(") ")?;
            let flags: u64 = rest.split(' ').nth(6)?.parse().ok()?;
            let named = name.starts_with("kdamond");
            (named && flags & KERNEL_THREAD != 0).then(|| (pid, name.to_owned()))
        })
        .collect();
    threads.sort();
    threads
}

enum Settings {
    /// They are not readable, or have a form that is unknown here.
    Nothing,
    /// It evicts no file pages.
    NoFiles,
    Files(Scheme),
}

fn settings(roots: &Roots, pid: u64) -> Settings {
    let module = roots.sys.join("module/damon_reclaim/parameters");
    if Roots::read_number(&module.join("kdamond_pid")) == Some(pid) {
        let Some(unused_us) = Roots::read_number(&module.join("min_age")) else {
            return Settings::Nothing;
        };
        return Settings::Files(Scheme::Files {
            unused_s: unused_us as f64 / 1e6,
            waits_for_low_memory: true,
        });
    }
    let all = numbered(&roots.sys.join("kernel/mm/damon/admin/kdamonds"));
    let is_its = |path: &PathBuf| Roots::read_number(&path.join("pid")) == Some(pid);
    let Some(its) = all.into_iter().find(is_its) else {
        return Settings::Nothing;
    };
    let schemes = numbered(&its.join("contexts")).into_iter();
    let schemes = schemes.flat_map(|context| {
        let schemes = numbered(&context.join("schemes")).into_iter();
        schemes.filter_map(move |scheme| of_files(&context, &scheme))
    });
    // The thread that evicts pages soonest decides.
    schemes.min_by(|(a, _), (b, _)| a.total_cmp(b)).map_or(
        Settings::NoFiles,
        |(unused_s, waits_for_low_memory)| {
            Settings::Files(Scheme::Files {
                unused_s,
                waits_for_low_memory,
            })
        },
    )
}

/// Directories with numeric names, in order.
fn numbered(dir: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(dir).into_iter().flatten().flatten();
    let mut numbers: Vec<u64> = entries
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .collect();
    numbers.sort_unstable();
    let paths = numbers.iter().map(|number| dir.join(number.to_string()));
    paths.collect()
}

/// How long file pages must seem unused before the scheme evicts them, seconds, and whether it
/// waits for low memory; `None` if it evicts none.
fn of_files(context: &Path, scheme: &Path) -> Option<(f64, bool)> {
    let is = |path: PathBuf, value: &str| Roots::read(&path).as_deref() == Some(value);
    let takes = is(context.join("operations"), "paddr") && is(scheme.join("action"), "pageout");
    if !takes
        || ![true, false]
            .iter()
            .any(|&mapped| passes(scheme, FilePage { mapped }))
    {
        return None;
    }
    let interval_us = context.join("monitoring_attrs/intervals/aggr_us");
    let interval_us = Roots::read_number(&interval_us)?;
    let intervals = Roots::read_number(&scheme.join("access_pattern/age/min"))?;
    let unused_s = interval_us as f64 * intervals as f64 / 1e6;
    Some((unused_s, !is(scheme.join("watermarks/metric"), "none")))
}

/// Whether all filter lists let the page through. The first filter that applies to the page
/// decides; if none does, the opposite of the last filter's decision holds. Filters on unknown
/// properties of a page do not apply.
fn passes(scheme: &Path, page: FilePage) -> bool {
    // `filters` holds filters of both kinds on kernels without the other two.
    ["filters", "core_filters", "ops_filters"]
        .iter()
        .all(|list| {
            let mut otherwise = true;
            for filter in numbered(&scheme.join(list)) {
                let yes = |name: &str| Roots::read(&filter.join(name)).as_deref() == Some("Y");
                // Before `allow` existed (Linux 6.14), every filter kept pages out.
                let allows = yes("allow");
                let is_kind = match Roots::read(&filter.join("type")).as_deref() {
                    Some("anon") => Some(false),
                    Some("unmapped") => Some(!page.mapped),
                    _ => None,
                };
                if is_kind == Some(yes("matching")) {
                    return allows;
                }
                otherwise = !allows;
            }
            otherwise
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    const KDAMOND: &str = "sys/kernel/mm/damon/admin/kdamonds/0";
    const THREAD: (&str, &str) = (
        "proc/77/stat",
        "77 (kdamond.0) I 2 0 0 0 -1 2129984 0 0 0 0 0 1573",
    );

    fn found(files: &[(&str, &str)]) -> Vec<PageOut> {
        let directory = tempfile::tempdir().unwrap();
        for (path, text) in files {
            let path = directory.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        page_outs(&Roots {
            proc: directory.path().join("proc"),
            sys: directory.path().join("sys"),
        })
    }

    fn scheme(files: &[(&str, &str)]) -> Vec<PageOut> {
        let usual = [
            ("pid", "77"),
            ("contexts/0/operations", "paddr"),
            ("contexts/0/monitoring_attrs/intervals/aggr_us", "5000000"),
            ("contexts/0/schemes/0/action", "pageout"),
            ("contexts/0/schemes/0/access_pattern/age/min", "6"),
            ("contexts/0/schemes/0/watermarks/metric", "none"),
        ];
        let paths = usual.iter().chain(files);
        let paths: Vec<(String, &str)> = paths
            .map(|(path, text)| (format!("{KDAMOND}/{path}"), *text))
            .collect();
        let mut all = vec![THREAD];
        all.extend(paths.iter().map(|(path, text)| (path.as_str(), *text)));
        found(&all)
    }

    fn filters(all: &[[&str; 3]]) -> Vec<PageOut> {
        let mut files = Vec::new();
        for (number, filter) in all.iter().enumerate() {
            for (name, text) in ["type", "matching", "allow"].iter().zip(filter) {
                let path = format!("contexts/0/schemes/0/ops_filters/{number}/{name}");
                files.push((path, *text));
            }
        }
        let files: Vec<(&str, &str)> = files.iter().map(|(path, text)| (&**path, *text)).collect();
        scheme(&files)
    }

    #[test]
    fn a_scheme_that_pages_out_is_told_with_its_patience() {
        let files = Scheme::Files {
            unused_s: 30.0,
            waits_for_low_memory: false,
        };
        let thread = "kdamond.0".to_owned();
        let expected = [PageOut {
            thread,
            scheme: files,
        }];
        assert_eq!(scheme(&[]), expected);
        let low = scheme(&[("contexts/0/schemes/0/watermarks/metric", "free_mem_rate")]);
        assert!(low[0].in_words().contains("below its watermark"));
        assert_eq!(scheme(&[("contexts/0/schemes/0/action", "stat")]), []);
        assert_eq!(scheme(&[("contexts/0/operations", "vaddr")]), []);
    }

    #[test]
    fn filters_decide_whether_it_takes_file_pages() {
        let anonymous_out = ["anon", "Y", "N"];
        assert_eq!(filters(&[anonymous_out]).len(), 1);
        assert_eq!(filters(&[anonymous_out, ["unmapped", "Y", "Y"]]).len(), 1);
        assert_eq!(filters(&[["anon", "Y", "Y"]]), [], "anonymous only");
        assert_eq!(filters(&[["anon", "N", "N"]]), [], "files are kept out");
        let nothing = [["unmapped", "Y", "N"], ["unmapped", "N", "N"]];
        assert_eq!(filters(&nothing), []);
        assert_eq!(filters(&[["young", "Y", "N"]]).len(), 1);
    }

    #[test]
    fn without_its_settings_the_thread_alone_is_told() {
        let hidden = found(&[THREAD]);
        assert_eq!(hidden[0].scheme, Scheme::Hidden);
        let program = ("proc/78/stat", "78 (kdamond.1) S 1 78 78 0 -1 4194560 0");
        assert_eq!(found(&[program]), [], "task names lie");
        assert_eq!(found(&[("proc/cpuinfo", "")]), []);
    }

    #[test]
    fn the_module_that_reclaims_is_known() {
        let module = "sys/module/damon_reclaim/parameters";
        let (pid, age) = (format!("{module}/kdamond_pid"), format!("{module}/min_age"));
        let seen = found(&[THREAD, (&pid, "77"), (&age, "120000000")]);
        let expected = Scheme::Files {
            unused_s: 120.0,
            waits_for_low_memory: true,
        };
        assert_eq!(seen[0].scheme, expected);
    }

    /// Whatever this machine has, the result is a list, and root sees everything.
    #[test]
    fn this_machine_is_asked() {
        let root = rustix::process::geteuid().is_root();
        let hidden = page_out()
            .iter()
            .any(|page_out| page_out.scheme == Scheme::Hidden);
        assert!(!(root && hidden), "{:?}", page_out());
    }
}
