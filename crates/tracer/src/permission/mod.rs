//! What this kernel and this user allow.
//!
//! Whether the eBPF programs load is not predicted here: no file tells. The
//! observer loads them and says.

pub mod caller;
pub mod filtered;
pub(crate) mod grant;
mod probe;

use std::ffi::OsStr;

use iostrata_core::Gap;
use iostrata_core::doctor::{Ability, AbilityKind};
use iostrata_core::environment::Way;

use crate::stack::Roots;
use grant::Grant;
use probe::Capabilities;

/// What the caller knows and this module cannot find out.
#[derive(Debug, Clone, Copy, Default)]
pub struct Known<'a> {
    /// The strata whose programs load, and how they observe.
    pub seen: &'a [Way],
    /// Strata and details that cannot be seen, and why.
    pub missing: &'a [Gap],
    /// `PATH`, where the tools that make file systems are looked for first.
    pub search_path: Option<&'a OsStr>,
}

/// All abilities: strata first, then what they rest on, then what experiments use.
pub fn abilities(roots: &Roots, known: &Known<'_>) -> Vec<Ability> {
    let capabilities = Capabilities::read(roots);
    let grant = grant::here(roots);
    let mut abilities = strata(known, capabilities, &grant, roots);
    abilities.extend([
        cachestat(),
        attach(roots, capabilities),
        privileges(roots, known, capabilities, grant),
        types(roots),
        symbols(roots),
        lockdown(roots, known),
        perf_events(roots, capabilities),
        io_uring(roots),
    ]);
    abilities.extend(images(capabilities, known));
    abilities
}

fn available(kind: AbilityKind, name: &str, why: impl Into<String>) -> Ability {
    Ability {
        kind,
        name: name.to_owned(),
        available: true,
        why: why.into(),
        remedy: None,
        command: None,
    }
}

fn refused(kind: AbilityKind, name: &str, why: impl Into<String>, remedy: Option<&str>) -> Ability {
    Ability {
        kind,
        name: name.to_owned(),
        available: false,
        why: why.into(),
        remedy: remedy.map(str::to_owned),
        command: None,
    }
}

/// How errors of the eBPF side end that have no remedy of their own.
const ASK_DOCTOR: &str = "iostrata doctor tells what it allows";
const GAIN_SYMBOLS: &str = "run as root with kernel.kptr_restrict at 1 or 0";

/// One ability a stratum. A stratum whose programs were refused one by one is
/// told once, with every reason.
fn strata(
    known: &Known<'_>,
    capabilities: Capabilities,
    grant: &Grant,
    roots: &Roots,
) -> Vec<Ability> {
    let seen = known
        .seen
        .iter()
        .map(|way| available(AbilityKind::See, &way.what, format!("by {}", way.by)));
    let mut abilities: Vec<Ability> = seen.collect();
    for gap in known.missing {
        let told = abilities
            .iter_mut()
            .find(|ability| !ability.available && ability.name == gap.what);
        if let Some(ability) = told {
            ability.why = format!("{}; {}", ability.why, gap.why);
            continue;
        }
        // Errors end with their remedy, which has a place of its own here, or say who knows it.
        let remedy = remedy(&gap.why, capabilities, grant, roots);
        let mut ends = [remedy, Some(ASK_DOCTOR)].into_iter().flatten();
        let without = ends.find_map(|end| gap.why.strip_suffix(end));
        let why = without.map_or(gap.why.as_str(), |why| why.trim_end_matches("; "));
        abilities.push(refused(AbilityKind::See, &gap.what, why, remedy));
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

fn cachestat() -> Ability {
    let name = "resident pages of a file (cachestat)";
    match probe::cachestat() {
        Ok(()) => available(
            AbilityKind::See,
            name,
            "the kernel answered; of files that you own or may write",
        ),
        Err(cause) => refused(
            AbilityKind::See,
            name,
            cause.to_string(),
            Some("needs Linux 6.5, and a seccomp filter that lets cachestat through"),
        ),
    }
}

/// Source: Documentation/admin-guide/LSM/Yama.rst.
fn attach(roots: &Roots, capabilities: Capabilities) -> Ability {
    let name = "processes it did not start (ptrace)";
    let scope = Roots::read_number(&roots.proc.join("sys/kernel/yama/ptrace_scope"));
    let may = capabilities.has(Capabilities::SYS_PTRACE);
    if let Err(cause) = probe::ptrace() {
        let remedy = "use a seccomp filter that lets ptrace through";
        return refused(AbilityKind::See, name, cause.to_string(), Some(remedy));
    }
    match (scope, may) {
        (Some(3), _) => refused(
            AbilityKind::See,
            name,
            "kernel.yama.ptrace_scope=3 refuses everybody until the next boot",
            None,
        ),
        (_, true) => available(AbilityKind::See, name, "CAP_SYS_PTRACE"),
        (None | Some(0), false) => available(
            AbilityKind::See,
            name,
            "your own processes, without CAP_SYS_PTRACE",
        ),
        (Some(scope), false) => refused(
            AbilityKind::See,
            name,
            format!("kernel.yama.ptrace_scope={scope} and no CAP_SYS_PTRACE"),
            Some("run as root, or start the program with iostrata"),
        ),
    }
}

/// Tracing programs need privileges whatever `unprivileged_bpf_disabled` says
/// (`bpf(2)`); it is told because people look for it.
fn privileges(
    roots: &Roots,
    known: &Known<'_>,
    capabilities: Capabilities,
    grant: Grant,
) -> Ability {
    let name = "eBPF tracing programs";
    let setting = Roots::read(&roots.proc.join("sys/kernel/unprivileged_bpf_disabled"));
    let words = capabilities.in_words();
    let was_refused = |gap: &Gap| gap.why.ends_with(grant.remedy);
    if capabilities.may_trace() && known.seen.is_empty() && !known.missing.is_empty() {
        let remedy = known.missing.iter().any(was_refused);
        let why = format!("none was loaded, in spite of {words}");
        return refused(AbilityKind::Use, name, why, remedy.then_some(grant.remedy));
    }
    if capabilities.may_trace() {
        let why = if caller::is_raised() {
            format!(
                "{words}, from the program's file: whoever may execute it uses them, on programs \
                 of its own; let only a group execute it (SECURITY.md)"
            )
        } else {
            words
        };
        return available(AbilityKind::Use, name, why);
    }
    let setting = setting.map_or_else(String::new, |value| {
        format!(" (unprivileged_bpf_disabled={value} changes nothing for tracing)")
    });
    let why = format!("needs CAP_BPF and CAP_PERFMON; effective here: {words}{setting}");
    Ability {
        command: grant.command,
        ..refused(AbilityKind::Use, name, why, Some(grant.remedy))
    }
}

const NEED_TYPES: &str = "use a kernel with CONFIG_DEBUG_INFO_BTF, and mount /sys";

fn types(roots: &Roots) -> Ability {
    let name = "kernel types (BTF)";
    if probe::types_readable(roots) {
        available(
            AbilityKind::Use,
            name,
            "/sys/kernel/btf/vmlinux is readable",
        )
    } else {
        refused(
            AbilityKind::Use,
            name,
            "/sys/kernel/btf/vmlinux cannot be read",
            Some(NEED_TYPES),
        )
    }
}

/// Causes of block requests are told from the addresses of completion functions.
fn symbols(roots: &Roots) -> Ability {
    let name = "kernel symbol addresses";
    let restrict = Roots::read(&roots.proc.join("sys/kernel/kptr_restrict"))
        .unwrap_or_else(|| "unknown".to_owned());
    let why = format!("kernel.kptr_restrict={restrict}");
    if probe::symbols_shown(roots) {
        available(
            AbilityKind::Use,
            name,
            format!("/proc/kallsyms shows them, {why}"),
        )
    } else {
        refused(
            AbilityKind::Use,
            name,
            format!("/proc/kallsyms hides them, {why}"),
            Some(GAIN_SYMBOLS),
        )
    }
}

/// Source: security/security.c `lockdown_reasons`: reading kernel memory from
/// eBPF (`LOCKDOWN_BPF_READ_KERNEL`) is refused from confidentiality on.
fn lockdown(roots: &Roots, known: &Known<'_>) -> Ability {
    const UNPREDICTED: &str =
        "whether fentry loads cannot be predicted from it; it is for what has no tracepoint";
    let name = "kernel memory from eBPF (lockdown)";
    match probe::lockdown_mode(roots) {
        Some(mode) if mode == "confidentiality" => refused(
            AbilityKind::Use,
            name,
            "lockdown is confidentiality",
            Some("boot with lockdown=integrity, or without lockdown="),
        ),
        Some(mode) => available(
            AbilityKind::Use,
            name,
            format!("lockdown is {mode}; {UNPREDICTED}"),
        ),
        None if known.seen.is_empty() => refused(
            AbilityKind::Use,
            name,
            "/sys/kernel/security/lockdown cannot be read, and no program loaded",
            Some("mount -t securityfs none /sys/kernel/security shows the mode"),
        ),
        None => available(
            AbilityKind::Use,
            name,
            format!("programs load; the lockdown mode is not shown (no securityfs): {UNPREDICTED}"),
        ),
    }
}

/// Source: Documentation/admin-guide/sysctl/kernel.rst, `perf_event_paranoid`.
fn perf_events(roots: &Roots, capabilities: Capabilities) -> Ability {
    let name = "perf events of the kernel";
    let setting = Roots::read(&roots.proc.join("sys/kernel/perf_event_paranoid"));
    let level = setting.as_ref().and_then(|text| text.parse::<i64>().ok());
    let why = format!(
        "kernel.perf_event_paranoid={}",
        setting.as_deref().unwrap_or("unknown")
    );
    if capabilities.has(Capabilities::PERFMON) || capabilities.has(Capabilities::SYS_ADMIN) {
        available(
            AbilityKind::Use,
            name,
            format!("{why} does not bind CAP_PERFMON"),
        )
    } else if level.is_some_and(|level| level <= 1) {
        available(AbilityKind::Use, name, why)
    } else {
        refused(
            AbilityKind::Use,
            name,
            why,
            Some("run as root, or set kernel.perf_event_paranoid=1; iostrata does without"),
        )
    }
}

fn io_uring(roots: &Roots) -> Ability {
    let setting = Roots::read(&roots.proc.join("sys/kernel/io_uring_disabled"));
    let setting = setting.map_or_else(String::new, |value| {
        format!(" (kernel.io_uring_disabled={value})")
    });
    match probe::io_uring() {
        Ok(()) => available(
            AbilityKind::Use,
            "io_uring",
            format!("the kernel takes it{setting}"),
        ),
        Err(cause) => refused(
            AbilityKind::Use,
            "io_uring",
            format!("{cause}{setting}"),
            Some(
                "set kernel.io_uring_disabled=0, and use a seccomp filter that lets io_uring_setup through",
            ),
        ),
    }
}

/// Scratch file systems: a loop device, the right to mount, and a mkfs.
fn images(capabilities: Capabilities, known: &Known<'_>) -> Vec<Ability> {
    let control = probe::loop_control();
    let of = |kind: &str| {
        let (name, tool) = (format!("{kind} images"), format!("mkfs.{kind}"));
        let use_it = AbilityKind::Use;
        if !capabilities.has(Capabilities::SYS_ADMIN) {
            return refused(
                use_it,
                &name,
                "mounting needs CAP_SYS_ADMIN",
                Some("run as root"),
            );
        }
        if let Err(cause) = &control {
            return refused(
                use_it,
                &name,
                format!("/dev/loop-control: {cause}"),
                Some(
                    "modprobe loop; in a container, pass /dev/loop-control and the loop devices in",
                ),
            );
        }
        match probe::find_tool(&tool, known.search_path) {
            Some(found) => available(
                use_it,
                &name,
                format!("loop devices, and {}", found.display()),
            ),
            None => refused(
                use_it,
                &name,
                format!("{tool} is not in PATH, /usr/sbin or /sbin"),
                Some(package(kind)),
            ),
        }
    };
    ["ext4", "xfs", "btrfs"].map(of).into()
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
