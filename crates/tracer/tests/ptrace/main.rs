//! The ptrace back end against programs whose I/O is known to the unit.

mod agreement;
mod calls;
mod death;
mod ground;
#[path = "../../../core/tests/install/mod.rs"]
mod install;
mod record;
mod tree;
mod unprivileged;
#[path = "../../../core/tests/wait/mod.rs"]
mod wait;
mod witness;
