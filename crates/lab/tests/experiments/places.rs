//! Where the tests run experiments, and how their workload processes start.

use std::path::{Path, PathBuf};

use iostrata_core::environment;
use iostrata_lab::engine::Launcher;
use iostrata_lab::target::Target;

/// The example `workload`, which Cargo builds with the tests.
pub(crate) fn workload_program() -> PathBuf {
    let test = std::env::current_exe().unwrap();
    let program = test.ancestors().nth(2).unwrap().join("examples/workload");
    assert!(
        program.exists(),
        "build it first: cargo build -p iostrata-lab --example workload"
    );
    program
}

/// Starts [`workload_program`].
pub(crate) fn launcher() -> Launcher {
    Launcher::program(workload_program(), [""; 0])
}

/// `dir` as a target without known disks.
pub(crate) fn target(name: &str, dir: &Path, filesystem: &str) -> Target {
    Target {
        name: name.to_owned(),
        dir: dir.to_owned(),
        image: false,
        backing_cached: false,
        disks: vec![],
        device_path: None,
        storage: environment::Storage {
            path: dir.display().to_string(),
            filesystem: filesystem.to_owned(),
            mount_options: "rw".to_owned(),
            journal: None,
            devices: vec![],
        },
    }
}
