//! Programs that store to shared mappings, and files that are left out.

use serde_json::{Value, json};

use super::{Case, has, kinds};
use crate::place::run;
use crate::sharing::built;

/// What a Python program does with a mapping `m` of `f`, and what it says then. The file is as long as the mapping.
fn program(does: &str) -> String {
    let lines = [
        "import ctypes, mmap, os",
        "f = open(\"f\", \"r+b\")",
        "m = mmap.mmap(f.fileno(), 8192)",
        "m[:] = b\"n\" * 8192",
        does,
        "os.write(1, b\"saved\\n\")",
    ];
    format!("exec /usr/bin/python3 -c '{}'", lines.join("\n"))
}

/// A file of two pages is what was saved.
const CHECK: &str = "! grep -q saved $IOSTRATA_STDOUT || [ $(head -c 9 f) = nnnnnnnnn ] && [ $(tail -c 9 f) = nnnnnnnnn ] || \
                     ! grep -q saved $IOSTRATA_STDOUT || { echo lost; exit 1; }";

fn crash(does: &str, code: i32) -> Value {
    let case = Case::new("f", &"o".repeat(8192));
    let result = case.crash(&["--check", CHECK], &program(does), code);
    case.place.assert_nothing_left();
    result
}

#[test]
fn syncs_make_stores_durable() {
    for does in [
        "m.flush()",
        "m.flush(); m.close()",
        "os.fsync(f.fileno())",
        "os.fdatasync(f.fileno())",
        "m.close(); os.fsync(f.fileno())",
        "ctypes.CDLL(None).syncfs(f.fileno())",
        "os.sync()",
        // A child has the same mapping at the same address.
        "child = os.fork()\nif not child:\n m.flush()\n os._exit(0)\nos.waitpid(child, 0)",
        "child = os.fork()\nif not child:\n os.fsync(f.fileno())\n os._exit(0)\nos.waitpid(child, 0)",
        // Another mapping at the address of one that is gone.
        "m.close(); g = open(\"g\", \"w+b\"); g.truncate(8192); n = mmap.mmap(g.fileno(), 8192); n[0] = 1; n.flush()\nos.fsync(f.fileno())",
    ] {
        let result = crash(does, 3);
        assert_eq!(kinds(&result), [], "{does}");
        assert_eq!(result["verdict"], "incomplete");
        let gap = result["modes"][0]["incomplete_because"][0].clone();
        let named = gap["what"].as_str().unwrap();
        let has = |text| named.contains(text);
        let is_named = has("stores through shared mappings") && has("f, bytes 0 to 8192");
        assert!(is_named, "{does}: {gap}");
    }
}

#[test]
fn what_no_sync_covers_is_lost() {
    for does in [
        "pass",
        "m.close()",
        // MS_ASYNC
        "b = (ctypes.c_char * 8192).from_buffer(m); ctypes.CDLL(None).msync(ctypes.c_void_p(ctypes.addressof(b)), 8192, 1)",
        // The second page alone.
        "m.flush(4096, 4096)",
        // Another file.
        "g = open(\"g\", \"w+b\"); os.fsync(g.fileno())",
        "m.flush(); m[:] = b\"o\" * 8192; m.flush(); m[:] = b\"n\" * 8192",
    ] {
        let result = crash(does, 1);
        assert!(
            has(&result, "lost-after-ack", "lost", "ext4"),
            "{does}: {:?}",
            kinds(&result)
        );
        let lost = &result["findings"][0]["culprit"];
        assert_eq!(
            (&lost["syscall"], &lost["path"]),
            (&json!("store"), &json!("f")),
            "{does}"
        );
    }
}

/// A change of one byte is a change of one page: the other one is as it was, whatever a crash leaves.
#[test]
fn only_pages_that_changed_are_in_doubt() {
    let case = Case::new("f", &"o".repeat(1 << 20));
    let does = "import mmap\nf = open(\"f\", \"r+b\")\nm = mmap.mmap(f.fileno(), 0)\nm[500000] = 110\nm.flush()";
    let script = format!("exec /usr/bin/python3 -c '{does}'");
    let check = "[ $(tr -d o < f | wc -c) -le 1 ] || { echo more; exit 1; }";
    let result = case.crash(&["--check", check, "--model", "posix"], &script, 3);
    assert_eq!(kinds(&result), []);
    assert_eq!(
        result["modes"][0]["states"]["distinct"], 1,
        "but for how it was"
    );
}

#[test]
fn ignored_files_are_named_and_make_nothing_incomplete() {
    let case = Case::new("f", &"o".repeat(8192));
    let script = program("m.flush()") + "; echo x > log.txt";
    let script = script.replace("exec ", "");
    let options = ["--ignore", "f", "--ignore", "log*"];
    let result = case.crash(&options, &script, 0);
    assert_eq!(result["verdict"], "clean");
    assert_eq!(result["ignored"], json!(["f", "log*"]));
    assert_eq!(result["modes"][0]["incomplete_because"], json!([]));
    let said = run(case.command(&options, &script)).expect(0).stdout;
    assert!(
        said.contains("Left out: files that match f, log*."),
        "{said}"
    );
}

#[test]
fn only_damage_is_looked_for_where_that_is_asked() {
    let case = Case::new("f", "old\n");
    let script = "printf 'new\\n' > t && sync t && mv t f && echo saved";
    let lost = case.crash(&[], script, 1);
    assert!(
        has(&lost, "lost-after-ack", "f is older", "ext4"),
        "{:?}",
        kinds(&lost)
    );
    let result = case.crash(&["--only", "damage"], script, 0);
    assert_eq!(
        (&result["verdict"], &result["only_damage"]),
        (&json!("clean"), &json!(true))
    );
    let torn = case.crash(
        &["--only", "damage"],
        "printf 'new\\n' > f && echo saved",
        1,
    );
    assert!(
        has(&torn, "prefix", "f is empty", "xfs"),
        "{:?}",
        kinds(&torn)
    );
}

/// Begins programs that map by system calls; pages of `f` and `g` are on disk.
const CALLS: &str = r#"
import ctypes, os
c = ctypes.CDLL(None)
V, L, P = ctypes.c_void_p, ctypes.c_long, 4096
c.mmap.restype = c.mremap.restype = V
def mmap(at, n, protection, flags, file): return c.mmap(V(at), L(n), protection, flags, file, L(0))
def store(at): ctypes.memmove(V(at), b"NEW", 3)
def msync(at, n): c.msync(V(at), L(n), 4)
f, g = os.open("f", 2), os.open("g", 66)
os.ftruncate(g, 16384)
os.fsync(g)
"#;

fn called(does: &str, offset: u64, code: i32) -> Value {
    let case = Case::new("f", &"o".repeat(16384));
    let script = format!("exec /usr/bin/python3 -c '{CALLS}{does}\nos.write(1, b\"saved\\n\")'");
    let check = format!(
        "! grep -q saved $IOSTRATA_STDOUT || [ \"$(tail -c +{} f | head -c 3)\" = NEW ] || {{ echo lost; exit 1; }}",
        offset + 1
    );
    case.crash(&["--check", &check], &script, code)
}

/// Whatever was mapped at an address before: what is there now is synced, in whole pages (msync(2)).
#[test]
fn msync_is_of_what_is_mapped_now() {
    let map = "p = mmap(0, 4 * P, 3, 1, f); ";
    for (does, offset) in [
        ("store(p + 100); msync(p, 1)", 100),
        ("store(p); mmap(p + 2 * P, P, 3, 17, g); msync(p, 4 * P)", 0),
        ("store(p); msync(mmap(0, 4 * P, 1, 1, f), P)", 0),
        ("store(p); c.munmap(V(p + P), L(P)); msync(p, P)", 0),
        (
            "store(p + 3 * P); p = c.mremap(V(p), L(4 * P), L(8 * P), 1); msync(p, 4 * P)",
            3 * 4096,
        ),
        (
            "q = c.mremap(V(p), L(4 * P), L(4 * P), 3, V(p + (1 << 30))); store(q); msync(q, P)",
            0,
        ),
        (
            "a = mmap(0, 100, 3, 1, f); store(a + 200); os.fsync(f)",
            200,
        ),
        (
            "a = mmap(0, 4 * P, 1, 1, f); c.mprotect(V(a), L(4 * P), 3); store(a); msync(a, P)",
            0,
        ),
        (
            "a = mmap(0, 8 * P, 0, 34, -1); mmap(a, 4 * P, 3, 17, f); mmap(a + 4 * P, 4 * P, 3, 17, g)\n\
             child = os.fork()\nif not child:\n store(a); store(a + 4 * P); msync(a, 8 * P); os._exit(0)\nos.waitpid(child, 0)",
            0,
        ),
    ] {
        let result = called(&format!("{map}{does}"), offset, 3);
        assert_eq!(kinds(&result), [], "{does}");
    }
}

#[test]
fn msync_of_another_mapping_at_the_address_is_none() {
    let map = "p = mmap(0, 4 * P, 3, 1, f); store(p); ";
    for does in [
        "c.munmap(V(p), L(4 * P)); mmap(p, 4 * P, 3, 18, g); msync(p, P)",
        "c.munmap(V(p), L(4 * P)); mmap(p, 4 * P, 3, 50, -1); msync(p, P)",
        "c.munmap(V(p), L(4 * P)); mmap(p, 4 * P, 1, 17, os.open(\"g\", 0)); msync(p, P)",
        "c.mremap(V(p), L(4 * P), L(4 * P), 3, V(p + (1 << 30))); mmap(p, 4 * P, 3, 50, -1); msync(p, P)",
        // Shared, but no file that is open for writing.
        "msync(mmap(0, 4 * P, 1, 1, os.open(\"f\", 0)), P)",
        "a = mmap(0, 4 * P, 1, 1, f); c.mprotect(V(a), L(4 * P), 3); store(a)",
    ] {
        let result = called(&format!("{map}{does}"), 0, 1);
        assert!(
            has(&result, "lost-after-ack", "lost", "ext4"),
            "{does}: {:?}",
            kinds(&result)
        );
        assert_eq!(
            result["findings"][0]["culprit"]["syscall"], "store",
            "{does}"
        );
    }
}

/// What is on disk of a large file is read before a report, too.
#[test]
fn stores_to_a_large_file_are_named() {
    let does = "h = os.open(\"f\", 2); os.ftruncate(h, 100 << 20); os.pwrite(h, bytes(20 << 20), 16384); os.fsync(h)\n\
                p = mmap(0, 100 << 20, 3, 1, h); store(p)";
    let case = Case::new("f", &"o".repeat(16384));
    let script = format!("exec /usr/bin/python3 -c '{CALLS}{does}\nos.write(1, b\"saved\\n\")'");
    let check = "! grep -q saved $IOSTRATA_STDOUT || [ \"$(head -c 3 f)\" = NEW ] || { echo lost; exit 1; }";
    let options = ["--check", check, "--model", "xfs", "--states", "40"];
    let result = case.crash(&options, &script, 1);
    assert_eq!(
        result["findings"][0]["culprit"]["syscall"], "store",
        "{:#}",
        result["findings"][0]
    );
}

/// In words of the first and the second page of `db`: the second is worth something only with the first, and what was
/// reported is there.
const WORDS: &str = "a=$(od -An -tu1 -N1 db); b=$(od -An -tu1 -j4096 -N1 db); \
                     [ $b -le $a ] || { echo dangling; exit 1; }; \
                     ! grep -q A $IOSTRATA_STDOUT || [ $a = 1 ] || { echo lost; exit 1; }; \
                     ! grep -q B $IOSTRATA_STDOUT || [ $b = 1 ] || { echo lost; exit 1; }";

/// A program that makes `letters` of workloads/stores.c, and stops before and after each call.
fn stores(letters: &str, check: &str, code: i32) -> Value {
    let case = Case::new("db", &"\0".repeat(8192));
    let program = built(&case.place, "stores");
    let script = format!("exec {} {letters}", program.display());
    let options = ["--backend", "ptrace", "--check", check];
    let result = case.crash(&options, &script, code);
    case.place.assert_nothing_left();
    result
}

#[test]
fn stores_of_one_word_between_calls_are_known_in_order() {
    for letters in [
        "a1A",
        "ayA",
        "adA",
        "a1Ab2B",
        "a1x1Ab2B",
        // What a child stores, its parent syncs, and the other way round; also through mappings of their own.
        "fa.1Ab2B",
        "afy.A",
        "fra1.Arb2B",
        "frary.A",
    ] {
        let result = stores(letters, WORDS, 0);
        assert_eq!(result["verdict"], "clean", "{letters}");
    }
}

#[test]
fn stores_in_the_wrong_order_and_after_the_last_sync_are_found() {
    for (letters, says) in [
        // Between two calls any order is possible.
        ("ab12A", "dangling"),
        ("b2a1A", "dangling"),
        ("fb2.a1A", "dangling"),
        ("aA1", "lost"),
        ("a1AbB2", "lost"),
        ("a2A", "lost"),
        ("frb.a1AB", "lost"),
    ] {
        let result = stores(letters, WORDS, 1);
        assert!(
            kinds(&result).iter().any(|(_, message, _)| message == says),
            "{letters}: {:?}",
            kinds(&result)
        );
    }
}

/// Nor are they one where both were read once the sync was over: one may have been written back before the other.
#[test]
fn pages_that_a_sync_reads_together_are_no_extent_of_btrfs() {
    let case = Case::new("db", &"\0".repeat(8192));
    let script = format!("exec {} abyA", built(&case.place, "stores").display());
    let options = ["--backend", "ebpf", "--model", "btrfs", "--check", WORDS];
    let result = case.crash(&options, &script, 1);
    assert_eq!(kinds(&result)[0].1, "dangling");
}

/// What was in a page between two stores, nobody saw: that may make a difference or not.
#[test]
fn several_stores_to_a_page_between_two_calls_are_mixed() {
    assert_eq!(stores("ax1A", WORDS, 0)["verdict"], "clean");
    let second =
        "[ $(od -An -tu1 -j8 -N1 db) -le $(od -An -tu1 -N1 db) ] || { echo mixed; exit 1; }";
    let result = stores("ax1A", second, 3);
    assert_eq!(
        (&result["verdict"], kinds(&result).len()),
        (&json!("incomplete"), 0)
    );
    let gaps = result["modes"][0]["incomplete_because"].as_array().unwrap();
    let [gap] = gaps.as_slice() else {
        panic!("{gaps:?}")
    };
    let named = gap["what"].as_str().unwrap();
    assert!(named.ends_with("db, bytes 0 to 9"), "{gap}");
    assert_eq!(stores("a1x1A", second, 0)["verdict"], "clean");
}

/// Whether a word was stored at once or byte by byte is not known; and of more bytes not all combinations are looked at, so
/// nothing is promised where those that were are fine.
#[test]
fn bytes_of_a_page_are_not_taken_for_one_store() {
    for (does, check, verdict) in [
        (
            "m[0:2] = b\"\\x01d\"",
            "[ \"$(od -An -tx1 -N2 f)\" != \" 01 6f\" ]",
            "incomplete",
        ),
        ("m[0:2] = b\"\\x01d\"", "true", "clean"),
        ("m[0:40] = b\"n\" * 40", "true", "incomplete"),
    ] {
        let case = Case::new("f", &"o".repeat(8192));
        let lines = [
            "import mmap",
            "f = open(\"f\", \"r+b\")",
            "m = mmap.mmap(f.fileno(), 8192)",
            does,
            "m.flush()",
        ];
        let script = format!("exec /usr/bin/python3 -c '{}'", lines.join("\n"));
        let code = if verdict == "clean" { 0 } else { 3 };
        let result = case.crash(&["--backend", "ptrace", "--check", check], &script, code);
        assert_eq!(result["verdict"], verdict, "{does}, {check}");
    }
}
