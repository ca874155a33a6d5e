//! Sandboxes of `bwrap(1)`, in the shape of Flatpak's: namespaces of all kinds and no privileges.

use iostrata_report::words;
use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use iostrata_core::environment::Backend;
use iostrata_core::trace::TraceResult;

use crate::contained::file;

/// An ordinary user, without a home.
const NOBODY: [&str; 4] = [
    "setpriv",
    "--reuid=65534",
    "--regid=65534",
    "--clear-groups",
];

fn sandboxed(dir: &Path, by: &[&str], more: &[&str], options: &[&str]) -> Output {
    let dir = dir.to_str().unwrap();
    let sandbox = [
        "bwrap",
        "--unshare-all",
        "--die-with-parent",
        "--new-session",
        "--ro-bind",
        "/usr",
        "/usr",
        "--ro-bind",
        "/etc",
        "/etc",
        "--symlink",
        "usr/bin",
        "/bin",
        "--symlink",
        "usr/lib",
        "/lib",
        "--symlink",
        "usr/lib64",
        "/lib64",
        "--proc",
        "/proc",
        "--dev",
        "/dev",
        "--tmpfs",
        "/tmp",
        "--bind",
        dir,
        "/data",
        "--chdir",
        "/data",
        "--ro-bind",
        env!("CARGO_BIN_EXE_iostrata"),
        "/tmp/iostrata",
        "--cap-drop",
        "ALL",
    ];
    let trace = [
        "/tmp/iostrata",
        "trace",
        "--no-measure",
        "--json",
        "result.json",
    ];
    let dd = ["--", "dd", "if=/dev/zero", "of=x", "bs=4k", "count=20"];
    let words = [by, &sandbox, more, &trace, options, &dd].concat();
    Command::new(words[0]).args(&words[1..]).output().unwrap()
}

#[test]
fn a_program_in_a_sandbox_is_traced_by_stops() {
    let without_sys = (&[][..], "the kernel gives no type information");
    let with_sys = (
        &["--ro-bind", "/sys", "/sys"][..],
        "eBPF is not permitted to this user",
    );
    for (by, (more, why)) in [
        (&[][..], without_sys),
        (&NOBODY, without_sys),
        (&NOBODY, with_sys),
    ] {
        let dir = tempfile::tempdir_in("/var/tmp").unwrap();
        let open = std::os::unix::fs::PermissionsExt::from_mode(0o777);
        fs::set_permissions(dir.path(), open).unwrap();
        let output = sandboxed(dir.path(), by, more, &[]);
        assert!(output.status.success(), "{by:?}: {output:?}");
        let text = fs::read(dir.path().join("result.json")).unwrap();
        let result: TraceResult = serde_json::from_slice(&text).unwrap();
        let writes = &file(&result, "x").writes;
        assert_eq!((writes.count, writes.bytes), (20, 20 * 4096));
        assert_eq!(result.environment.backend, Backend::Ptrace);
        let told = result
            .missing
            .iter()
            .any(|gap| words::reason(&gap.why).to_string().contains(why));
        assert!(told, "{:?}", result.missing);
        let refused = sandboxed(dir.path(), by, more, &["--backend", "ebpf"]);
        assert_eq!(refused.status.code(), Some(125), "{refused:?}");
    }
}
