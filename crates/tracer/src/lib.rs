//! The kernel's side of iostrata: watching other processes, and what sees storage.
//!
//! - [`ebpf`] observes a process tree through BTF tracepoints.
//! - [`kernel`] wraps the system calls that no library wraps.
//!
//! This is the only crate with `unsafe` code; each module that needs it says so.

pub mod ebpf;
pub mod kernel;
pub mod machine;
pub mod permission;
pub mod stack;
