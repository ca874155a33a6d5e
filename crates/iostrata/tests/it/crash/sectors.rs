//! Pages that are torn inside, by devices whose sectors are smaller.

use serde_json::Value;

use super::{Case, kinds};
use crate::place::run;

/// A page of one letter, or its copy in the journal: what a recovery puts in the place of a torn page.
const CHECK: &str =
    "is_whole() { [ $(wc -c < $1) = 4096 ] && [ $(fold -w 1 $1 | sort -u | wc -l) = 1 ]; }
    is_whole page || is_whole journal || { echo page is torn; exit 1; }";

/// A page of letters, of the letter that `$1` gives.
const LETTERS: &str = "letters() { head -c 4096 /dev/zero | tr '\\0' $1; }";

fn explored(journal: &str, sector: &str, code: i32) -> Value {
    let case = Case::new("page", &"a".repeat(4096));
    let write = "letters b | dd of=page bs=4096 iflag=fullblock conv=notrunc,fsync";
    let script = format!("{LETTERS}; {journal} {write}");
    let options = [
        "--sector",
        sector,
        "--check",
        CHECK,
        "--init",
        "touch journal",
    ];
    let result = case.crash(&options, &script, code);
    case.place.assert_nothing_left();
    result
}

#[test]
fn a_page_in_place_without_a_copy_of_it_is_torn_at_sectors() {
    assert_eq!(explored("", "4096", 0)["verdict"], "clean");
    let result = explored("", "512", 1);
    let models = ["posix", "ext4", "xfs"].map(str::to_owned).to_vec();
    let torn = ("atomicity".to_owned(), "page is torn".to_owned(), models);
    assert_eq!(kinds(&result), [torn]);
    assert_eq!(result["findings"][0]["torn_at_bytes"], 512);
    assert_eq!(result["settings"]["sector_bytes"], 512);
}

#[test]
fn a_copy_of_the_page_helps_that_is_synced_first() {
    let copy = "letters b | dd of=journal bs=4096 iflag=fullblock conv=notrunc,fsync;";
    for sector in ["512", "4096"] {
        assert_eq!(explored(copy, sector, 0)["verdict"], "clean", "{sector}");
    }
    let unsynced = copy.replace(",fsync", "");
    assert_eq!(explored(&unsynced, "4096", 0)["verdict"], "clean");
    assert_eq!(explored(&unsynced, "512", 1)["verdict"], "failing");
}

#[test]
fn it_says_at_which_sector_a_page_is_torn() {
    let case = Case::new("page", &"a".repeat(4096));
    let script =
        format!("{LETTERS}; letters b | dd of=page bs=4096 iflag=fullblock conv=notrunc,fsync");
    let said = |sector, code| {
        let options = ["--sector", sector, "--check", CHECK];
        run(case.command(&options, &script)).expect(code).stdout
    };
    let failing = said("512", 1);
    let text = "torn inside a page (at a 512-byte sector)";
    assert!(failing.contains(text), "{failing}");
    assert!(!said("4096", 0).contains("sector"));
}

#[test]
fn block_mode_has_no_sectors_and_others_do_not_exist() {
    let case = Case::new("f", "old");
    let refused = |options: &[&str]| run(case.command(options, "true")).expect(2).stderr;
    let block = refused(&["--mode", "block", "--sector", "512"]);
    assert!(
        block.contains("--sector 512 needs --mode syscall"),
        "{block}"
    );
    let other = refused(&["--sector", "1024"]);
    assert!(other.contains("512 or 4096"), "{other}");
}
