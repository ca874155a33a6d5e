use iostrata_core::gap::{Missing, Reason, Stratum};
use std::fs;

use super::*;

const REMEDY: &str = "become root";

fn grant() -> Grant {
    Grant {
        remedy: REMEDY,
        command: None,
    }
}

#[test]
fn capabilities_are_those_in_effect() {
    let (_kept, roots) = Roots::with(&[(
        "proc/thread-self/status",
        "CapPrm:\tffff\nCapEff:\t000000c000000000\n",
    )]);
    let capabilities = Capabilities::read(&roots);
    assert!(
        capabilities.may_trace(),
        "CAP_BPF and CAP_PERFMON are enough"
    );
    assert_eq!(capabilities.in_words(), "CAP_BPF, CAP_PERFMON");
    assert!(
        !Capabilities(1 << Capabilities::BPF).may_trace(),
        "CAP_BPF alone is not"
    );
    assert_eq!(Capabilities(0).in_words(), "none");
}

fn page_cache(why: &str) -> Gap {
    let what = Missing::Stratum(Stratum::PageCache);
    Gap::new(what, Reason::Error(why.to_owned()))
}

#[test]
fn an_unprivileged_user_is_told_how_to_get_each_stratum() {
    let (_kept, roots) = Roots::with(&[("sys/kernel/btf/vmlinux", "")]);
    let missing = [page_cache("tp_btf/a: EPERM"), page_cache("tp_btf/b: EPERM")];
    let known = Known {
        seen: &[by_tracepoints("syscalls")],
        missing: &missing,
        search_path: None,
    };
    let strata = strata(&known, Capabilities(0), &grant(), &roots);
    assert_eq!(strata.len(), 2, "one ability a stratum: {strata:?}");
    assert!(strata[0].available);
    assert_eq!(strata[1].why, "tp_btf/a: EPERM; tp_btf/b: EPERM");
    assert_eq!(strata[1].remedy.as_deref(), Some(REMEDY));
}

#[test]
fn a_remedy_is_told_once() {
    let (_kept, roots) = Roots::with(&[("sys/kernel/btf/vmlinux", "")]);
    let missing = [page_cache(&format!("eBPF is refused; {REMEDY}"))];
    let known = Known {
        missing: &missing,
        ..Known::default()
    };
    let strata = strata(&known, Capabilities(0), &grant(), &roots);
    assert_eq!(strata[0].why, "eBPF is refused");
    assert_eq!(strata[0].remedy.as_deref(), Some(REMEDY));
}

#[test]
fn root_is_not_told_to_become_root() {
    let (_kept, roots) = Roots::with(&[("sys/kernel/btf/vmlinux", "")]);
    let root = Capabilities(u64::MAX);
    assert_eq!(remedy("tp_btf/a: not there", root, &grant(), &roots), None);
    assert_eq!(
        remedy(
            "kernel addresses are hidden (kptr_restrict)",
            root,
            &grant(),
            &roots
        ),
        Some(GAIN_SYMBOLS)
    );
    let (_kept, bare) = Roots::with(&[]);
    assert_eq!(remedy("no types", root, &grant(), &bare), Some(NEED_TYPES));
}

#[test]
fn hidden_symbols_are_zeros() {
    let (_kept, roots) = Roots::with(&[
        ("proc/kallsyms", "0000000000000000 T _text\n"),
        ("proc/sys/kernel/kptr_restrict", "2\n"),
    ]);
    let hidden = symbols(&roots);
    assert!(hidden.is_err_and(|it| it.why.ends_with("kptr_restrict=2")));
    let (_kept, roots) = Roots::with(&[("proc/kallsyms", "ffffffff81000000 T _text\n")]);
    assert!(symbols(&roots).is_ok());
}

#[test]
fn lockdown_refuses_only_when_confidential() {
    let of = |modes: &str| {
        let (_kept, roots) = Roots::with(&[("sys/kernel/security/lockdown", modes)]);
        lockdown(&roots, &Known::default()).is_ok()
    };
    assert!(of("none [integrity] confidentiality\n"));
    assert!(!of("none integrity [confidentiality]\n"));
    let (_kept, roots) = Roots::with(&[]);
    assert!(
        lockdown(&roots, &Known::default()).is_err(),
        "nothing is claimed that was not seen"
    );
    assert!(
        lockdown(
            &roots,
            &Known {
                seen: &[by_tracepoints("syscalls")],
                ..Known::default()
            }
        )
        .is_ok()
    );
}

#[test]
fn ptrace_scope_binds_those_without_the_capability() {
    let scope = |value: &str| Roots::with(&[("proc/sys/kernel/yama/ptrace_scope", value)]);
    let (_kept, restricted) = scope("1\n");
    assert!(attach(&restricted, Capabilities(0)).is_err());
    assert!(attach(&restricted, Capabilities(u64::MAX)).is_ok());
    let (_kept, nobody) = scope("3\n");
    assert!(attach(&nobody, Capabilities(u64::MAX)).is_err());
}

#[test]
fn tools_are_found_by_permission_not_by_name_alone() {
    use std::os::unix::fs::PermissionsExt as _;
    let directory = tempfile::tempdir().unwrap();
    let tool = directory.path().join("mkfs.made-up");
    fs::write(&tool, "").unwrap();
    let search = Some(directory.path().as_os_str());
    fs::set_permissions(&tool, fs::Permissions::from_mode(0o644)).unwrap();
    assert_eq!(probe::find_tool("mkfs.made-up", search), None);
    fs::set_permissions(&tool, fs::Permissions::from_mode(0o755)).unwrap();
    assert_eq!(probe::find_tool("mkfs.made-up", search), Some(tool));
}

/// The machine that runs the tests answers, whatever the answer is.
#[test]
fn this_kernel_is_asked() {
    let all = abilities(&Roots::default(), &Known::default());
    for ability in &all {
        assert!(!ability.why.is_empty(), "{ability:?}");
        assert!(
            !ability.available || ability.remedy.is_none(),
            "{ability:?}"
        );
    }
    let images: Vec<&str> = all
        .iter()
        .map(|a| a.name.as_str())
        .filter(|name| name.ends_with("images"))
        .collect();
    assert_eq!(images, ["ext4 images", "xfs images", "btrfs images"]);
}

fn by_tracepoints(what: &str) -> Way {
    Way {
        what: what.to_owned(),
        by: "tracepoints".to_owned(),
    }
}
