//! What this kernel allows, and what this user may do.
//!
//! Whether the eBPF programs load is not predicted here: no file shows it. The observer loads them
//! and reports.

pub mod caller;
pub mod filtered;
pub(crate) mod grant;
mod probe;

use std::ffi::OsStr;

use iostrata_core::Gap;
use iostrata_core::doctor::AbilityKind::{See, Use};
use iostrata_core::doctor::{Ability, AbilityKind};
use iostrata_core::environment::Way;

use crate::stack::Roots;
use grant::Grant;
use probe::Capabilities;

/// Facts from the caller that this module cannot determine.
#[derive(Debug, Clone, Copy, Default)]
pub struct Known<'a> {
    /// The strata whose programs load, and how they are observed.
    pub seen: &'a [Way],
    pub missing: &'a [Gap],
    /// `PATH`, which is searched first for the tools that create file systems.
    pub search_path: Option<&'a OsStr>,
}

/// All abilities: strata first, then their requirements, then what experiments use.
pub fn abilities(roots: &Roots, known: &Known<'_>) -> Vec<Ability> {
    let capabilities = Capabilities::read(roots);
    let grant = grant::here(roots);
    let mut abilities = strata(known, capabilities, &grant, roots);
    let privileges = Ability {
        command: grant.command.clone().filter(|_| !capabilities.may_trace()),
        ..ability(
            Use,
            "eBPF tracing programs",
            privileges(roots, known, capabilities, &grant),
        )
    };
    abilities.extend([
        ability(See, "resident pages of a file (cachestat)", cachestat()),
        ability(See, "other processes (ptrace)", attach(roots, capabilities)),
        privileges,
        ability(Use, "kernel types (BTF)", types(roots)),
        ability(Use, "kernel symbol addresses", symbols(roots)),
        ability(
            Use,
            "kernel memory from eBPF (lockdown)",
            lockdown(roots, known),
        ),
        ability(Use, "kernel perf events", perf_events(roots, capabilities)),
        ability(Use, "io_uring", io_uring(roots)),
    ]);
    let image = |kind: &str| {
        let found = image(kind, capabilities, known);
        ability(Use, &format!("{kind} images"), found)
    };
    abilities.extend(["ext4", "xfs", "btrfs"].map(image));
    abilities
}

/// The fact that makes it available, or why it is not.
type Verdict = Result<String, Refusal>;

/// The deciding fact, and what to do, if anything helps.
struct Refusal {
    why: String,
    remedy: Option<&'static str>,
}

fn refused(why: impl Into<String>, remedy: Option<&'static str>) -> Verdict {
    Err(Refusal {
        why: why.into(),
        remedy,
    })
}

fn ability(kind: AbilityKind, name: &str, verdict: Verdict) -> Ability {
    let available = verdict.is_ok();
    let (why, remedy) = verdict.map_or_else(|it| (it.why, it.remedy), |why| (why, None));
    Ability {
        kind,
        name: name.to_owned(),
        available,
        why,
        remedy: remedy.map(str::to_owned),
        command: None,
    }
}

/// The ending of eBPF errors that have no remedy of their own.
const ASK_DOCTOR: &str = "iostrata doctor shows what is permitted";
const GAIN_SYMBOLS: &str = "run as root with kernel.kptr_restrict at 1 or 0";

/// One ability per stratum. A stratum whose programs were refused one by one is listed once, with
/// every reason.
fn strata(
    known: &Known<'_>,
    capabilities: Capabilities,
    grant: &Grant,
    roots: &Roots,
) -> Vec<Ability> {
    let seen = known
        .seen
        .iter()
        .map(|way| ability(See, &way.what, Ok(format!("by {}", way.by))));
    let mut abilities: Vec<Ability> = seen.collect();
    for Gap { what, why } in known.missing {
        let (what, why) = (what.text(), why.text());
        let told = abilities
            .iter_mut()
            .find(|ability| !ability.available && ability.name == what);
        if let Some(ability) = told {
            ability.why = format!("{}; {why}", ability.why);
            continue;
        }
        // Errors end with their remedy, which has its own place here, or say where to find it.
        let remedy = remedy(&why, capabilities, grant, roots);
        let mut ends = [remedy, Some(ASK_DOCTOR)].into_iter().flatten();
        let without = ends.find_map(|end| why.strip_suffix(end));
        let why = without.map_or(why.as_str(), |why| why.trim_end_matches("; "));
        abilities.push(ability(See, &what, refused(why, remedy)));
    }
    abilities
}

fn remedy(
    why: &str,
    capabilities: Capabilities,
    grant: &Grant,
    roots: &Roots,
) -> Option<&'static str> {
    if !capabilities.may_trace() || why.ends_with(grant.remedy) {
        Some(grant.remedy)
    } else if !probe::types_readable(roots) {
        Some(NEED_TYPES)
    } else {
        why.contains("kptr_restrict").then_some(GAIN_SYMBOLS)
    }
}

fn cachestat() -> Verdict {
    match probe::cachestat() {
        Ok(()) => Ok("supported; for files that you own or may write".to_owned()),
        Err(cause) => refused(
            cause.to_string(),
            Some("needs Linux 6.5, and a seccomp filter that allows cachestat"),
        ),
    }
}

/// Source: Documentation/admin-guide/LSM/Yama.rst.
fn attach(roots: &Roots, capabilities: Capabilities) -> Verdict {
    let scope = Roots::read_number(&roots.proc.join("sys/kernel/yama/ptrace_scope"));
    let may = capabilities.has(Capabilities::SYS_PTRACE);
    if let Err(cause) = probe::ptrace() {
        let remedy = "use a seccomp filter that allows ptrace";
        return refused(cause.to_string(), Some(remedy));
    }
    match (scope, may) {
        (Some(3), _) => refused(
            "kernel.yama.ptrace_scope=3 denies ptrace to everyone until the next boot",
            None,
        ),
        (_, true) => Ok("CAP_SYS_PTRACE".to_owned()),
        (None | Some(0), false) => Ok("your own processes, without CAP_SYS_PTRACE".to_owned()),
        (Some(scope), false) => refused(
            format!("kernel.yama.ptrace_scope={scope} and no CAP_SYS_PTRACE"),
            Some("run as root, or start the program with iostrata"),
        ),
    }
}

/// Tracing programs need privileges whatever `unprivileged_bpf_disabled` says (`bpf(2)`); it is
/// listed because users look for it.
fn privileges(
    roots: &Roots,
    known: &Known<'_>,
    capabilities: Capabilities,
    grant: &Grant,
) -> Verdict {
    let setting = Roots::read(&roots.proc.join("sys/kernel/unprivileged_bpf_disabled"));
    let words = capabilities.in_words();
    let was_refused = |gap: &Gap| gap.why.text().ends_with(grant.remedy);
    if capabilities.may_trace() && known.seen.is_empty() && !known.missing.is_empty() {
        let remedy = known.missing.iter().any(was_refused);
        let why = format!("no program could be loaded, despite {words}");
        return refused(why, remedy.then_some(grant.remedy));
    }
    if capabilities.may_trace() {
        let why = if caller::is_raised() {
            format!(
                "{words}, from file capabilities: every user who may execute iostrata can use \
                 them on their own programs; allow only a group to execute it (SECURITY.md)"
            )
        } else {
            words
        };
        return Ok(why);
    }
    let setting = setting.map_or_else(String::new, |value| {
        format!(" (unprivileged_bpf_disabled={value} has no effect on tracing)")
    });
    let why = format!("needs CAP_BPF and CAP_PERFMON; effective here: {words}{setting}");
    refused(why, Some(grant.remedy))
}

const NEED_TYPES: &str = "use a kernel with CONFIG_DEBUG_INFO_BTF, and mount /sys";

fn types(roots: &Roots) -> Verdict {
    if probe::types_readable(roots) {
        Ok("/sys/kernel/btf/vmlinux is readable".to_owned())
    } else {
        refused("/sys/kernel/btf/vmlinux cannot be read", Some(NEED_TYPES))
    }
}

/// Causes of block requests are derived from the addresses of completion functions.
fn symbols(roots: &Roots) -> Verdict {
    let restrict = Roots::read(&roots.proc.join("sys/kernel/kptr_restrict"))
        .unwrap_or_else(|| "unknown".to_owned());
    let why = format!("kernel.kptr_restrict={restrict}");
    if probe::symbols_shown(roots) {
        Ok(format!("/proc/kallsyms shows them, {why}"))
    } else {
        refused(
            format!("/proc/kallsyms hides them, {why}"),
            Some(GAIN_SYMBOLS),
        )
    }
}

/// Source: security/security.c `lockdown_reasons`: reading kernel memory from eBPF
/// (`LOCKDOWN_BPF_READ_KERNEL`) is refused from level confidentiality on.
fn lockdown(roots: &Roots, known: &Known<'_>) -> Verdict {
    const UNPREDICTED: &str = "it does not show whether fentry programs can be loaded; they are used where there is no \
         tracepoint";
    match probe::lockdown_mode(roots) {
        Some(mode) if mode == "confidentiality" => refused(
            "lockdown is confidentiality",
            Some("boot with lockdown=integrity, or without lockdown="),
        ),
        Some(mode) => Ok(format!("lockdown is {mode}; {UNPREDICTED}")),
        None if known.seen.is_empty() => refused(
            "/sys/kernel/security/lockdown cannot be read, and no program loaded",
            Some("mount -t securityfs none /sys/kernel/security to see the mode"),
        ),
        None => Ok(format!(
            "available; lockdown mode unknown (no securityfs): {UNPREDICTED}"
        )),
    }
}

/// Source: Documentation/admin-guide/sysctl/kernel.rst, `perf_event_paranoid`.
fn perf_events(roots: &Roots, capabilities: Capabilities) -> Verdict {
    let setting = Roots::read(&roots.proc.join("sys/kernel/perf_event_paranoid"));
    let level = setting.as_ref().and_then(|text| text.parse::<i64>().ok());
    let why = format!(
        "kernel.perf_event_paranoid={}",
        setting.as_deref().unwrap_or("unknown")
    );
    if capabilities.has(Capabilities::PERFMON) || capabilities.has(Capabilities::SYS_ADMIN) {
        Ok(format!("{why} does not restrict CAP_PERFMON"))
    } else if level.is_some_and(|level| level <= 1) {
        Ok(why)
    } else {
        refused(
            why,
            Some("run as root, or set kernel.perf_event_paranoid=1; iostrata does not need it"),
        )
    }
}

fn io_uring(roots: &Roots) -> Verdict {
    let setting = Roots::read(&roots.proc.join("sys/kernel/io_uring_disabled"));
    let setting = setting.map_or_else(String::new, |value| {
        format!(" (kernel.io_uring_disabled={value})")
    });
    match probe::io_uring() {
        Ok(()) => Ok(format!("available{setting}")),
        Err(cause) => refused(
            format!("{cause}{setting}"),
            Some(
                "set kernel.io_uring_disabled=0, and use a seccomp filter that allows \
                 io_uring_setup",
            ),
        ),
    }
}

/// Scratch file systems: a loop device, permission to mount, and a mkfs.
fn image(kind: &str, capabilities: Capabilities, known: &Known<'_>) -> Verdict {
    let tool = format!("mkfs.{kind}");
    if !capabilities.has(Capabilities::SYS_ADMIN) {
        return refused("mounting needs CAP_SYS_ADMIN", Some("run as root"));
    }
    if let Err(cause) = probe::loop_control() {
        return refused(
            format!("/dev/loop-control: {cause}"),
            Some("modprobe loop; in a container, pass in /dev/loop-control and the loop devices"),
        );
    }
    match probe::find_tool(&tool, known.search_path) {
        Some(found) => Ok(format!("loop devices, and {}", found.display())),
        None => refused(
            format!("{tool} is not in PATH, /usr/sbin or /sbin"),
            Some(package(kind)),
        ),
    }
}

fn package(kind: &str) -> &'static str {
    match kind {
        "ext4" => "install e2fsprogs",
        "xfs" => "install xfsprogs",
        _ => "install btrfs-progs",
    }
}

#[cfg(test)]
mod tests;
