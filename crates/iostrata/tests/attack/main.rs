//! The attack: kills at random moments, limits, namespaces and hostile programs, each trial by its
//! seed. `make test` runs some of each; `make soak` many, and prints the table of
//! `docs/reliability.md`.
//!
//! | variable | is |
//! |---|---|
//! | `IOSTRATA_ATTACK_SEED` | the seed; another one for each run if not given |
//! | `IOSTRATA_ATTACK_KILLS`, `_LIMITS`, `_NAMESPACES`, `_PROGRAMS` | trials of each |
//! | `IOSTRATA_ATTACK_ONLY` | one attack, such as `kill report`, or one trial of it, `kill report/17` |
//! | `IOSTRATA_ATTACK_TABLE` | a file that rows of the table are added to |
#![forbid(unsafe_code)]
#![expect(
    clippy::unwrap_used,
    clippy::print_stderr,
    reason = "test helpers; trials say how they ended"
)]

mod ending;
mod files;
mod ground;
mod hostile;
#[path = "../../../core/tests/install/mod.rs"]
mod install;
mod kills;
mod lab;
mod limits;
mod log;
mod namespaces;
mod programs;
mod seeded;
mod trace;
mod trials;

#[path = "../trace/marked.rs"]
#[expect(dead_code, reason = "shared with the tests of trace")]
mod marked;
#[path = "../it/place.rs"]
#[expect(dead_code, reason = "shared with the tests of the whole program")]
mod place;
#[path = "../../../core/tests/skip/mod.rs"]
mod skip;
#[path = "../trace/traced.rs"]
#[expect(dead_code, reason = "shared with the tests of trace")]
mod traced;
#[path = "../../../core/tests/wait/mod.rs"]
mod wait;
