//! A file that is emptied by being opened, if only to be read.

use std::fs;

use serde_json::Value;

use crate::place::{Place, is_root, run, with_path};

/// `O_TRUNC` empties whatever the access mode is; Linux asks for permission to write (open(2)).
const EMPTIES: &str = "use Fcntl; \
    sysopen(my $file, 'old', O_RDONLY | O_TRUNC) or die; \
    sysopen(my $kept, 'kept', O_RDONLY) or die;";

fn histories(backend: &str) -> [Value; 2] {
    let place = Place::new();
    for name in ["old", "kept"] {
        fs::write(place.dir().join(name), "contents").unwrap();
    }
    let trace = place.iostrata(&format!("trace --no-measure --backend {backend}"));
    let mut trace = with_path(trace, "--json", place.path("trace.json"));
    trace.args(["--", "/usr/bin/perl", "-e", EMPTIES]);
    run(trace).expect(0);
    let text = fs::read_to_string(place.path("trace.json")).unwrap();
    let result: Value = serde_json::from_str(&text).unwrap();
    ["/old", "/kept"].map(|name| {
        let mut files = result["files"].as_array().unwrap().iter();
        let is_it = |file: &&Value| file["path"].as_str().unwrap().ends_with(name);
        files.find(is_it).unwrap()["history"].clone()
    })
}

#[track_caller]
fn is_emptied_by_a_read_only_open(backend: &str) {
    let [old, kept] = histories(backend);
    assert_eq!(old["emptied"]["count"], 1, "{old}");
    assert!(kept.is_null(), "{kept}");
}

#[test]
fn an_open_to_read_that_empties_is_in_the_history_by_ptrace() {
    is_emptied_by_a_read_only_open("ptrace");
}

#[test]
fn an_open_to_read_that_empties_is_in_the_history_by_ebpf() {
    if is_root("the kernel side needs root") {
        is_emptied_by_a_read_only_open("ebpf");
    }
}
