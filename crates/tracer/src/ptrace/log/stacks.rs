//! Where the recorded calls come from.

use std::collections::HashMap;
use std::fs;

use iostrata_core::op::{Call, FileId};
use iostrata_core::trace::SiteRow;

use super::super::usage::number;
use super::super::{memory, request};
use crate::ebpf::wire::STACK;
use crate::sites::{Registers, Sample, Sites};

/// Executable memory of libraries (`proc_pid_status(5)`).
fn libraries_kib(process: u32) -> u64 {
    let status = fs::read(format!("/proc/{process}/status")).unwrap_or_default();
    number(&status, b"VmLib:").unwrap_or(0)
}

/// The stacks of all calls of the log.
#[derive(Debug, Default)]
pub(super) struct Stacks {
    sites: Sites,
    /// How many programs each process has executed: the last one's memory map is of no use.
    executed: HashMap<u32, u64>,
}

impl Stacks {
    pub(super) fn executed(&mut self, process: u32) {
        *self.executed.entry(process).or_default() += 1;
    }

    /// Takes the stack of a thread that has stopped at the end of a call.
    pub(super) fn take(&mut self, call: Call, file: Option<FileId>) {
        let Some([ip, sp, bp]) = request::registers(call.thread) else {
            return;
        };
        let mut stack = Vec::new();
        memory::append(call.thread, sp, &mut stack, STACK);
        self.sites.add(&Sample {
            call: call.name,
            file: file.unwrap_or(FileId::NONE),
            ended: Some((call.thread, call.ended_ns)),
            process: call.process,
            parent: call.process,
            execs: self.program_of(call.process),
            spent_ns: call.ended_ns.saturating_sub(call.started_ns),
            registers: Registers {
                ip,
                sp,
                bp,
                stack: &stack,
            },
        });
        self.sites.settle();
    }

    /// Other executable mappings are another one: their memory map has to be read again.
    fn program_of(&self, process: u32) -> u64 {
        let executed = self.executed.get(&process).copied().unwrap_or(0);
        executed << 32 | libraries_kib(process)
    }

    pub(super) fn finish(self) -> Vec<SiteRow> {
        self.sites.finish()
    }
}
