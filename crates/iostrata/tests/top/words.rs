//! What is refused, before anything is observed.

use crate::watched::iostrata;

#[track_caller]
fn refused(arguments: &[&str], words: &str) {
    let output = iostrata(arguments).output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains(words), "{said}");
    assert_eq!(output.stdout, b"");
}

#[test]
fn what_cannot_be_meant_is_refused() {
    refused(&["--every", "50ms"], "the shortest interval is 100ms");
    refused(&["--once", "--for", "2s"], "cannot be used with");
    refused(
        &["--by", "user"],
        "process, file, directory, cgroup, container, device",
    );
    refused(
        &["--sort", "name"],
        "device, time, calls, read, written, syncs, missed, dirtied",
    );
    refused(&["--top", "0"], "--top");
    refused(&["--for", "10"], "no unit of time");
}
