//! Numbers of processes that are used again.

use std::process::Command;

use crate::contained::{BACKENDS, Contained, PIDS};

#[test]
fn each_use_of_a_number_is_a_process() {
    for backend in BACKENDS {
        let contained = Contained::new();
        let program = contained.path("repeated");
        let source = concat!(env!("CARGO_MANIFEST_DIR"), "/../../workloads/repeated.c");
        let mut compile = Command::new("cc");
        compile.args(["-O1", "-o"]).arg(&program).arg(source);
        assert!(compile.status().unwrap().success());
        let program = [program.to_str().unwrap()];
        let output = contained.run(&[PIDS], &["--backend", backend], &program);
        assert!(output.status.success(), "{backend}: {output:?}");
        let result = contained.result();
        assert_eq!((result.processes, result.threads), (31, 31), "{backend}");
        let rows = iostrata_core::trace::by_process(&result.tasks);
        let mut written: Vec<u64> = rows.iter().map(|row| row.written_bytes).collect();
        written.sort_unstable();
        // The parent writes nothing.
        let expected: Vec<u64> = [0].into_iter().chain(0..30).collect();
        assert_eq!(written, expected, "{backend}");
    }
}
