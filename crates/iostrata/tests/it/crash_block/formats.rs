//! Databases that no checker was given for.

use serde_json::Value;

use super::{Case, assert_only_lost};
use crate::place::is_root;

#[test]
fn a_database_is_checked_by_its_own_program() {
    if !is_root("block mode") {
        return;
    }
    let case = Case::new("settings", "old");
    let crash = |setting: &str, code| {
        let script = format!(
            "sqlite3 t.db \"pragma synchronous={setting}; update t set v = 'new'; select 'committed'\""
        );
        let init = "sqlite3 t.db \"create table t(v); insert into t values ('old')\"";
        let result = case.crash(("ext4", "none"), &["--init", init], &script, code);
        assert_eq!(result["check"], Value::Null);
        for mode in result["modes"].as_array().unwrap() {
            assert_eq!(mode["formats"][0]["file"], "t.db");
            assert_eq!(mode["formats"][0]["checked"], true, "{mode:#}");
        }
        result
    };
    // The commit is the removal of the journal, which only EXTRA syncs.
    let full = crash("FULL", 1);
    assert_only_lost(&full, "unlink");
    let message = &full["findings"][0]["message"];
    assert_eq!(
        message,
        "t.db is older than it was when the program reported it"
    );
    crash("EXTRA", 0);
    case.place.assert_kernel_is_clean();
}
