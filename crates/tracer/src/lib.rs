//! The kernel's side of iostrata: observes other processes and inspects storage.
//!
//! - [`ebpf`] observes a process tree through BTF tracepoints.
//! - [`ptrace`] does so without privileges, by stopping it at its calls.
//! - [`program`] starts programs so that they can be observed from their first call on.
//! - [`kernel`] wraps the system calls that no library wraps.
//!
//! This is the only crate with `unsafe` code; each module that needs it says so.

pub mod aftermath;
pub mod attach;
pub mod clock;
mod decode;
pub mod ebpf;
pub mod failure;
mod foreign;
mod handle;
pub mod identity;
pub mod kernel;
pub mod machine;
pub mod memory;
#[cfg(test)]
#[path = "../../core/tests/mutation/mod.rs"]
mod mutation;
pub mod page_cache;
pub mod permission;
pub mod program;
pub mod ptrace;
pub mod record;
pub mod signals;
mod sites;
#[cfg(test)]
#[path = "../../core/tests/skip/mod.rs"]
mod skip;
pub mod stack;
pub mod top;
pub mod waiting;
