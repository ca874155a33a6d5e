//! The description of the machine in a result, and the report of `doctor`.

use std::path::Path;

use iostrata_core::Environment;
use iostrata_core::doctor::{self, DoctorResult, PageOut, Setting, Stack, WritebackSettings};
use iostrata_core::environment::Backend;

use crate::page_cache::page_outs;
use crate::permission::{self, Known};
use crate::stack::{self, Roots, StackError};

#[derive(Debug, Clone, PartialEq, Eq, Default)]
struct Virtualization {
    /// Name of the hypervisor, or only that there is one.
    hypervisor: Option<String>,
    /// A mark that container engines leave.
    container: Option<String>,
}

/// The machine and the storage under `path`, as every result stores it.
pub fn environment(path: &Path, backend: Backend) -> Result<Environment, StackError> {
    let roots = Roots::default();
    let stack = stack::inspect(path, &roots)?;
    Ok(describe(path, backend, &stack, &roots))
}

/// The settings that decide when bytes written under `path` reach a device.
pub fn settings(path: &Path) -> Result<Vec<Setting>, StackError> {
    let roots = Roots::default();
    let stack = stack::inspect(path, &roots)?;
    Ok(doctor::settings(&stack, &writeback(&roots)))
}

/// Everything `iostrata doctor` shows about `path`. `known` is what the caller learnt by loading
/// the observer's programs.
pub fn doctor(
    path: &Path,
    backend: Backend,
    known: &Known<'_>,
) -> Result<DoctorResult, StackError> {
    let roots = Roots::default();
    let stack = stack::inspect(path, &roots)?;
    let environment = describe(path, backend, &stack, &roots);
    let virtual_machine = virtualization(&roots).hypervisor.is_some();
    let mut warnings = doctor::warnings(&stack, virtual_machine);
    warnings.extend(page_outs(&roots).iter().map(PageOut::in_words));
    Ok(DoctorResult {
        schema: doctor::SCHEMA.to_owned(),
        settings: doctor::settings(&stack, &writeback(&roots)),
        abilities: permission::abilities(&roots, known),
        warnings,
        environment,
        stack,
    })
}

fn describe(path: &Path, backend: Backend, stack: &Stack, roots: &Roots) -> Environment {
    let path = std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let mut environment = Environment {
        machine: String::new(),
        kernel: rustix::system::uname()
            .release()
            .to_string_lossy()
            .into_owned(),
        cpus: cpus(),
        cpu_model: cpu_model(roots),
        memory_bytes: memory(roots, "MemTotal").unwrap_or_default(),
        virtualization: virtualization(roots).in_words(),
        target: stack.target(path.to_string_lossy().into_owned()),
        backend,
        iostrata_version: env!("CARGO_PKG_VERSION").to_owned(),
        ways: Vec::new(),
    };
    environment.machine = environment.label();
    environment
}

/// The model name of the first CPU (`proc_cpuinfo(5)`); only x86 reports it.
fn cpu_model(roots: &Roots) -> Option<String> {
    let text = Roots::read(&roots.proc.join("cpuinfo"))?;
    let model = text.lines().find_map(|line| {
        let value = line.strip_prefix("model name")?.trim_start();
        value.strip_prefix(':')
    })?;
    let model = model.trim();
    (!model.is_empty()).then(|| model.to_owned())
}

/// CPUs in this thread's affinity mask; all of them where the mask is longer
/// than rustix's (1,024).
fn cpus() -> u32 {
    let mask = rustix::thread::sched_getaffinity(None).map(|set| set.count());
    mask.ok().filter(|count| *count > 0).unwrap_or_else(|| {
        std::thread::available_parallelism()
            .map_or(1, |count| u32::try_from(count.get()).unwrap_or(u32::MAX))
    })
}

/// Whether `/proc` shows the same process ids that the kernel uses for this process. `NSpid` has an
/// id for each PID namespace from that of `/proc` down to the process's own (`proc_pid_status(5)`).
pub fn has_own_proc() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let numbers = status.lines().find_map(|line| line.strip_prefix("NSpid:"));
    numbers.is_some_and(|numbers| numbers.split_whitespace().count() == 1)
}

/// Memory that programs can still get without swapping, including reclaimable page cache, bytes
/// (`MemAvailable`, `proc_meminfo(5)`). `None` where `/proc` does not report it.
pub fn available_memory_bytes() -> Option<u64> {
    memory(&Roots::default(), "MemAvailable")
}

/// Whether the kernel reads files that are opened or executed, to measure them, and accounts for it to the thread
/// (`integrity_kernel_read`, security/integrity/iint.c). The first entry of its list is that of the boot.
pub(crate) fn measures_files() -> bool {
    measures(&Roots::default())
}

fn measures(roots: &Roots) -> bool {
    let list = roots
        .sys
        .join("kernel/security/ima/runtime_measurements_count");
    let count = Roots::read(&list).and_then(|text| text.trim().parse().ok());
    let line = Roots::read(&roots.proc.join("cmdline")).unwrap_or_default();
    count.unwrap_or(0_u64) > 1 || line.split_whitespace().any(|word| word.starts_with("ima_"))
}

/// A line of `/proc/meminfo`, bytes.
fn memory(roots: &Roots, name: &str) -> Option<u64> {
    let text = Roots::read(&roots.proc.join("meminfo"))?;
    let line = text
        .lines()
        .find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?;
    line.trim()
        .strip_suffix(" kB")?
        .parse::<u64>()
        .ok()?
        .checked_mul(1024)
}

fn writeback(roots: &Roots) -> WritebackSettings {
    let read = |name: &str| Roots::read_number(&roots.proc.join("sys/vm").join(name));
    WritebackSettings {
        background_ratio: read("dirty_background_ratio"),
        background_bytes: read("dirty_background_bytes"),
        ratio: read("dirty_ratio"),
        bytes: read("dirty_bytes"),
        expire_centisecs: read("dirty_expire_centisecs"),
        writeback_centisecs: read("dirty_writeback_centisecs"),
        available_bytes: memory(roots, "MemAvailable"),
    }
}

fn virtualization(roots: &Roots) -> Virtualization {
    Virtualization {
        hypervisor: hypervisor(roots, signature),
        container: container(roots, Path::new("/")),
    }
}

impl Virtualization {
    fn in_words(&self) -> Option<String> {
        let machine = self
            .hypervisor
            .as_ref()
            .map(|name| format!("virtual machine ({name})"));
        let container = self
            .container
            .as_ref()
            .map(|mark| format!("container ({mark})"));
        let words: Vec<String> = machine.into_iter().chain(container).collect();
        (!words.is_empty()).then(|| words.join(", "))
    }
}

/// The hypervisor by its CPUID signature, else by the firmware's strings. Hardware vendors' names
/// mean a hypervisor only when the CPU reports one.
fn hypervisor(roots: &Roots, signature: impl Fn() -> Option<String>) -> Option<String> {
    let dmi = |file: &str| {
        Roots::read(&roots.sys.join("class/dmi/id").join(file)).filter(|text| !text.is_empty())
    };
    let firmware = [dmi("sys_vendor"), dmi("product_name")]
        .into_iter()
        .flatten()
        .collect::<Vec<_>>()
        .join(" ");
    let kind = Roots::read(&roots.sys.join("hypervisor/type")).filter(|kind| !kind.is_empty());
    let cpus = Roots::read(&roots.proc.join("cpuinfo")).unwrap_or_default();
    let flags = cpus
        .lines()
        .find(|line| line.starts_with("flags"))
        .unwrap_or_default();
    if flags.split_whitespace().any(|flag| flag == "hypervisor") {
        let name = signature()
            .or(kind)
            .or_else(|| known_firmware(&firmware))
            .unwrap_or_else(|| "unknown hypervisor".to_owned());
        return Some(match (firmware.is_empty(), firmware.contains(&name)) {
            (true, _) => name,
            (false, true) => firmware,
            (false, false) => format!("{name}, {firmware}"),
        });
    }
    kind.or_else(|| known_firmware(&firmware))
}

fn known_firmware(firmware: &str) -> Option<String> {
    let known = "QEMU, KVM, VMware, VirtualBox, Xen, Bochs, Parallels, Virtual Machine, \
                 Amazon EC2, Google Compute Engine, OpenStack";
    // EC2's bare-metal instances carry the same vendor name.
    let found = known
        .split(", ")
        .find(|name| firmware.contains(name) && !firmware.contains(".metal"));
    found.map(str::to_owned)
}

/// The hypervisor's name for itself: leaf `0x4000_0000` is reserved for it when
/// the CPU has the hypervisor flag (Linux: `Documentation/virt/kvm/x86/cpuid.rst`).
#[cfg(target_arch = "x86_64")]
fn signature() -> Option<String> {
    let leaf = core::arch::x86_64::__cpuid(0x4000_0000);
    let bytes = [leaf.ebx, leaf.ecx, leaf.edx]
        .map(u32::to_le_bytes)
        .concat();
    let text = String::from_utf8(bytes).ok()?;
    let text = text.trim_end_matches('\0');
    Some(match text {
        "KVMKVMKVM" => "KVM".to_owned(),
        "Microsoft Hv" => "Hyper-V".to_owned(),
        "VMwareVMware" => "VMware".to_owned(),
        "XenVMMXenVMM" => "Xen".to_owned(),
        "VBoxVBoxVBox" => "VirtualBox".to_owned(),
        "TCGTCGTCGTCG" => "QEMU without KVM".to_owned(),
        "" => return None,
        other => other.to_owned(),
    })
}

#[cfg(not(target_arch = "x86_64"))]
fn signature() -> Option<String> {
    None
}

/// Only marks: the kernel has no notion of a container.
fn container(roots: &Roots, root: &Path) -> Option<String> {
    let marks = [
        "/.dockerenv",
        "/run/.containerenv",
        "/run/systemd/container",
    ];
    if let Some(mark) = marks
        .into_iter()
        .find(|mark| root.join(&mark[1..]).exists())
    {
        return Some(mark.to_owned());
    }
    let groups = Roots::read(&roots.proc.join("1/cgroup"))?;
    let engines = ["docker", "kubepods", "containerd", "libpod", "lxc"];
    let engine = engines.into_iter().find(|engine| groups.contains(engine))?;
    Some(format!("control group of {engine}"))
}

#[cfg(test)]
mod changed;

#[cfg(test)]
mod tests {
    use super::*;

    const GUEST: (&str, &str) = (
        "proc/cpuinfo",
        "processor\t: 0\nflags\t\t: fpu hypervisor lahf_lm\n",
    );

    #[test]
    fn a_guest_is_named_by_its_hypervisor() {
        let (_kept, roots) = Roots::with(&[GUEST, ("sys/class/dmi/id/sys_vendor", "QEMU\n")]);
        assert_eq!(
            hypervisor(&roots, || Some("KVM".into())).as_deref(),
            Some("KVM, QEMU")
        );
        assert_eq!(hypervisor(&roots, || None).as_deref(), Some("QEMU"));
        let (_kept, roots) = Roots::with(&[GUEST]);
        assert_eq!(
            hypervisor(&roots, || None).as_deref(),
            Some("unknown hypervisor")
        );
    }

    #[test]
    fn hardware_is_not_a_guest() {
        let (_kept, roots) = Roots::with(&[
            ("proc/cpuinfo", "flags\t\t: fpu\n"),
            ("sys/class/dmi/id/sys_vendor", "Dell Inc.\n"),
        ]);
        assert_eq!(hypervisor(&roots, || Some("unused leaf".into())), None);
    }

    #[test]
    fn a_guest_without_the_cpu_flag_is_told_by_its_firmware() {
        let (_kept, roots) = Roots::with(&[
            ("sys/class/dmi/id/sys_vendor", "Amazon EC2\n"),
            ("sys/class/dmi/id/product_name", "t4g.small\n"),
        ]);
        assert_eq!(hypervisor(&roots, || None).as_deref(), Some("Amazon EC2"));
        let (_kept, roots) = Roots::with(&[
            ("sys/class/dmi/id/sys_vendor", "Amazon EC2\n"),
            ("sys/class/dmi/id/product_name", "m7g.metal\n"),
        ]);
        assert_eq!(hypervisor(&roots, || None), None);
    }

    #[test]
    fn containers_leave_marks() {
        let (kept, roots) = Roots::with(&[("proc/1/cgroup", "0::/kubepods/pod1\n")]);
        assert_eq!(
            container(&roots, kept.path()).as_deref(),
            Some("control group of kubepods")
        );
        let (kept, roots) = Roots::with(&[("proc/1/cgroup", "0::/\n"), ("run/.containerenv", "")]);
        assert_eq!(
            container(&roots, kept.path()).as_deref(),
            Some("/run/.containerenv")
        );
        let (kept, roots) = Roots::with(&[("proc/1/cgroup", "0::/init.scope\n")]);
        assert_eq!(container(&roots, kept.path()), None);
    }

    #[test]
    fn a_kernel_that_measures_files_says_so() {
        let count = "sys/kernel/security/ima/runtime_measurements_count";
        for (name, text, expected) in [
            (count, "1\n", false),
            (count, "2\n", true),
            ("proc/cmdline", "quiet ima_policy=tcb\n", true),
            ("proc/cmdline", "quiet\n", false),
        ] {
            let (_kept, roots) = Roots::with(&[(name, text)]);
            assert_eq!(measures(&roots), expected, "{text}");
        }
    }

    #[test]
    fn memory_is_in_bytes() {
        let (_kept, roots) = Roots::with(&[(
            "proc/meminfo",
            "MemTotal:       24684096 kB\nMemTotalX: 1 kB\n",
        )]);
        assert_eq!(memory(&roots, "MemTotal"), Some(24_684_096 * 1024));
        assert_eq!(memory(&roots, "MemAvailable"), None);
        assert!(available_memory_bytes() < memory(&Roots::default(), "MemTotal"));
    }
}
