//! Damaged texts of `/proc`: each is read to its end.

use std::fs;

use super::{descriptors, identity, log, lower, usage};
use crate::mutation::{changed, inputs, limited, steps};

#[test]
fn texts_of_processes_that_were_changed() {
    let stat = fs::read("/proc/self/stat").unwrap();
    let texts: [&[u8]; 6] = [
        &stat,
        b"7 (a) R 1) S 1 7 7 0 -1 4194304 21 2 3 4 50 6 7 8 20 0 1 0 900\n",
        b"Name:\tx\nTgid:\t12\nPPid:\t1\nTracerPid:\t0\nNoNewPrivs:\t1\n",
        b"rchar: 1\nwchar: 2\nsyscr: 3\nsyscw: 4\nread_bytes: 5\nwrite_bytes: 6\ncancelled_write_bytes: 7\n",
        b"pos:\t1234\nflags:\t0100002\nmnt_id:\t30\nino:\t4711\n",
        b"7f0000001000-7f0000003000 rw-s 00002000 fe:00 4711  /srv/a b\n",
    ];
    limited(
        "ptrace::texts::texts_of_processes_that_were_changed",
        |watch| {
            inputs(|random| {
                let text = texts[random.below(texts.len())];
                let input = changed(text, &steps(random));
                watch.input(|| read(&input));
            });
        },
    );
}

fn read(input: &[u8]) {
    usage::parse_stat(input);
    for name in ["Tgid:", "PPid:", "TracerPid:"] {
        usage::number::<u32>(input, name.as_bytes());
    }
    lower::parse_accounts(input);
    descriptors::parse_position(input);
    let text = String::from_utf8_lossy(input);
    log::landing::parse(&text);
    for line in text.lines() {
        identity::shared(line);
    }
}
