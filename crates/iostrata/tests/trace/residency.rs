//! What of a program's files is resident at its end.

use std::path::Path;
use std::process::Command;

use iostrata_core::cache::ResidencyMap;
use iostrata_core::trace::TraceResult;

use crate::traced::{file, iostrata, place, trace};
use crate::undisturbed::undisturbed;

/// Resident bytes by another program.
#[track_caller]
fn fincore(path: &Path) -> u64 {
    let mut command = Command::new("fincore");
    command.args(["--bytes", "--noheadings", "--output", "RES"]);
    let output = command.arg(path).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let text = String::from_utf8(output.stdout).unwrap();
    text.trim().parse().unwrap()
}

fn sum(map: &ResidencyMap) -> u64 {
    map.resident_bytes.iter().sum()
}

#[test]
fn is_told_by_both_back_ends_in_maps() {
    undisturbed(|| {
        // The first needs root.
        let needs_root = usize::from(!rustix::process::geteuid().is_root());
        for backend in &["ebpf", "ptrace"][needs_root..] {
            let dir = place();
            let saved = dir.path().join("result.json");
            // 1 MiB in the middle of 8, a file under its last name, one that is empty, and one that
            // is gone: of the last two there is no map.
            let script = "truncate -s 8M holed; \
            dd if=/dev/zero of=holed bs=64k count=16 seek=48 conv=notrunc,fsync status=none; \
            echo x > new; mv new old; : > empty; echo x > gone; rm gone; cat old > /dev/null";
            let options = ["--backend", backend, "--json", saved.to_str().unwrap()];
            let output = iostrata(&options, &["sh", "-c", script])
                .current_dir(dir.path())
                .output()
                .unwrap();
            assert!(output.status.success(), "{output:?}");
            let text = std::fs::read_to_string(&saved).unwrap();
            let result: TraceResult = serde_json::from_str(&text).unwrap();
            let map = file(&result, "holed").residency.clone().unwrap();
            assert_eq!(map.range_bytes, 128 << 10, "{backend}");
            let expected: Vec<u64> = (0..64)
                .map(|range| {
                    if (24..32).contains(&range) {
                        128 << 10
                    } else {
                        0
                    }
                })
                .collect();
            assert_eq!(map.resident_bytes, expected, "{backend}");
            assert_eq!(
                map.dirty_bytes,
                Some(vec![0; 64]),
                "{backend}: it was synced"
            );
            assert_eq!(sum(&map), fincore(&dir.path().join("holed")));
            let renamed = file(&result, "new").residency.clone().unwrap();
            assert_eq!(renamed.resident_bytes, [4096], "{backend}");
            for none in ["empty", "gone"] {
                assert_eq!(file(&result, none).residency, None, "{backend}: {none}");
            }
            assert!(
                result
                    .files
                    .iter()
                    .filter(|file| file.residency.is_some())
                    .count()
                    <= 20
            );
        }
    });
}

/// A write to pages that are dirty already turns none dirty.
#[test]
fn what_was_dirty_before_the_run_wrote_it_is_dirty_at_its_end() {
    if !rustix::process::geteuid().is_root() {
        crate::skip::skip("eBPF needs root");
        return;
    }
    undisturbed(|| {
        const BYTES: u64 = 4 << 20;
        let dir = place();
        std::fs::write(dir.path().join("data"), vec![1; 4 << 20]).unwrap();
        let again =
            "head -c 4M /dev/zero | dd of=data bs=64k iflag=fullblock conv=notrunc status=none";
        let result = trace(dir.path(), &["sh", "-c", again]);
        let data = file(&result, "data");
        assert_eq!(data.evidence.cache.dirtied_bytes, Some(0));
        assert_eq!(data.dirty_at_exit_bytes, Some(BYTES));
        assert_eq!(result.bytes.dirty_at_exit_bytes, Some(BYTES));
    });
}
