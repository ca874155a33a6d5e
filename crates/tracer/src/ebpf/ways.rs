//! How each event is obtained on which kernel: the list of ways, best first.
//!
//! A tracepoint is nearly a stable interface; a nearby function may be renamed or inlined, and
//! locked-down kernels let no program attach to one. So iostrata uses the first way that the kernel
//! accepts completely. `since` names the Linux release that introduced a way, with the file in its
//! tree.

use std::collections::HashSet;

use super::types::TRACEPOINT;
use iostrata_core::gap::Stratum;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Hook {
    /// A tracepoint with typed arguments.
    Tracepoint,
    /// A tracepoint found by its name, also in a module; its arguments are untyped.
    Raw,
    /// The entry of a function (fentry).
    Entry,
    /// The return of a function (fexit), with its arguments.
    Exit,
}

impl Probe {
    /// The kernel's type for it.
    fn described_by(&self) -> String {
        match self.hook {
            Hook::Tracepoint | Hook::Raw => format!("{TRACEPOINT}{}", self.on),
            Hook::Entry | Hook::Exit => self.on.to_owned(),
        }
    }

    /// The usual notation: `tp_btf/sys_enter`.
    pub(super) fn name(&self) -> String {
        let hook = match self.hook {
            Hook::Tracepoint => "tp_btf",
            Hook::Raw => "raw_tp",
            Hook::Entry => "fentry",
            Hook::Exit => "fexit",
        };
        format!("{hook}/{}", self.on)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Probe {
    pub(super) program: &'static str,
    pub(super) hook: Hook,
    pub(super) on: &'static str,
}

/// Programs that together observe an event.
#[derive(Debug, Clone, Copy)]
pub(super) struct Way {
    pub(super) probes: &'static [Probe],
    /// The release that introduced it, and the file in its tree.
    #[cfg_attr(
        not(test),
        expect(dead_code, reason = "for readers, and the test of the page")
    )]
    pub(super) since: &'static str,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Event {
    pub(super) stratum: Stratum,
    pub(super) ways: &'static [Way],
}

/// Ways: since when, and the programs with their hooks.
macro_rules! ways {
    ($($since:literal: $($hook:ident($program:literal, $on:literal)),+;)+) => {
        &[$(Way {
            probes: &[$(Probe { program: $program, hook: Hook::$hook, on: $on }),+],
            since: $since,
        }),+]
    };
}

/// Events with their ways.
macro_rules! events {
    ($($stratum:ident { $($ways:tt)+ })+) => {
        [$(Event { stratum: Stratum::$stratum, ways: ways! { $($ways)+ } }),+]
    };
}

/// The list. Programs are attached in this order, and the programs at the entry of calls come last.
pub(super) const EVENTS: [Event; 24] = events! {
    // What is submitted is seen to end.
    Device { "6.1 or before": Tracepoint("bio_ended", "block_bio_complete"); }
    Device { "6.1 or before": Tracepoint("queued", "block_bio_queue"); }
    Device { "6.1 or before": Tracepoint("issued", "block_rq_issue"); }
    Device {
        "6.1 or before":
            Tracepoint("completed", "block_rq_complete"),
            Tracepoint("completed_amid", "block_rq_complete");
    }
    // Pages that a read looks up.
    PageCache {
        "6.12, include/trace/events/filemap.h": Tracepoint("looked_up", "mm_filemap_get_pages");
        "6.3, mm/filemap.c: the length is an argument": Exit("looked_up_at_exit", "filemap_get_pages");
        "5.12, mm/filemap.c: the length is that of the iterator":
            Exit("looked_up_by_iterator", "filemap_get_pages");
    }
    // Pages that a read waits for.
    PageCache {
        "6.18, include/trace/events/readahead.h": Tracepoint("missed", "page_cache_sync_ra");
        "5.13, mm/readahead.c: read-ahead's state lies in the control":
            Entry("missed_at_entry", "page_cache_sync_ra");
    }
    // Pages that are read ahead of any wait.
    PageCache {
        "6.18, include/trace/events/readahead.h": Tracepoint("fetched_ahead", "page_cache_async_ra");
        "5.17, mm/readahead.c: the folio is an argument":
            Entry("fetched_ahead_at_entry", "page_cache_async_ra");
    }
    // A fault that looks up a page.
    PageCache {
        "6.12, include/trace/events/filemap.h": Tracepoint("faulted", "mm_filemap_fault");
        "6.1 or before, mm/filemap.c": Entry("faulted_at_entry", "filemap_fault");
    }
    // Resident pages mapped around a fault.
    PageCache {
        "6.12, include/trace/events/filemap.h": Tracepoint("mapped", "mm_filemap_map_pages");
        "6.6, mm/filemap.c":
            Exit("found_to_map", "next_uptodate_folio"), Exit("mapped_at_exit", "filemap_map_pages");
        "6.1 or before, mm/filemap.c":
            Exit("found_to_map_before", "next_uptodate_page"), Exit("mapped_at_exit", "filemap_map_pages");
    }
    PageCache { "6.1 or before": Tracepoint("filled", "mm_filemap_add_to_page_cache"); }
    PageCache { "6.1 or before": Tracepoint("dirtied", "writeback_dirty_folio"); }
    Blocked { "6.1 or before": Tracepoint("switched", "sched_switch"); }
    Blocked { "6.1 or before": Tracepoint("woken", "sched_wakeup"); }
    // A task marked since its fork is also seen to end.
    Tasks { "6.1 or before": Tracepoint("exited", "sched_process_exit"); }
    // Who joins by becoming another program is known before that is named, ...
    Joins { "6.1 or before": Tracepoint("became", "sched_process_exec"); }
    Tasks { "6.1 or before": Tracepoint("executed", "sched_process_exec"); }
    // ... and who is of the tree anyway does not join.
    Tasks { "6.1 or before": Tracepoint("forked", "sched_process_fork"); }
    Joins { "6.1 or before": Tracepoint("forked_into", "sched_process_fork"); }
    Joins { "6.1 or before": Tracepoint("moved_into", "cgroup_attach_task"); }
    // The kernel refuses the first where the event has but three arguments, and would take the
    // second where it has four, to read the wrong one.
    Ring {
        "5.19, include/trace/events/io_uring.h; until 6.12":
            Tracepoint("ring_completed_old", "io_uring_complete");
        "6.13, include/trace/events/io_uring.h": Tracepoint("ring_completed", "io_uring_complete");
    }
    Ring {
        "6.4, include/trace/events/io_uring.h": Tracepoint("ring_submitted", "io_uring_submit_req");
        "6.0, include/trace/events/io_uring.h: its first argument is the request":
            Tracepoint("ring_submitted", "io_uring_submit_sqe");
    }
    // Inodes whose change time is set: those whose names change. One program serves three
    // attachment points, since the kernel takes as long to verify it each time.
    Names {
        "6.13, include/trace/events/timestamp.h":
            Raw("touched", "inode_set_ctime_to_ts"),
            Raw("touched", "ctime_ns_xchg"),
            Raw("touched", "ctime_xchg_skip");
        "5.12, fs/namei.c, fs/dcache.c, fs/attr.c, fs/xattr.c":
            Entry("touched_by_rename", "vfs_rename"),
            Entry("touched_by_unlink", "vfs_unlink"),
            Entry("touched_by_rmdir", "vfs_rmdir"),
            Entry("touched_by_link", "vfs_link"),
            Exit("touched_by_change", "notify_change"),
            Exit("touched_by_setxattr", "vfs_setxattr"),
            Exit("touched_by_removexattr", "vfs_removexattr"),
            Entry("touched_by_name", "d_instantiate"),
            Entry("touched_by_new_name", "d_instantiate_new");
    }
    Syscalls { "6.1 or before": Tracepoint("call_left", "sys_exit"); }
    Syscalls { "6.1 or before": Tracepoint("call_entered", "sys_enter"); }
};

/// Programs that observe every change and every sync of one type of file system.
#[derive(Debug, Clone, Copy)]
pub(super) struct Changes {
    pub(super) filesystem: &'static str,
    pub(super) ways: &'static [Way],
}

/// One for each file system. Found by name, since file systems may be modules.
pub(super) const CHANGES: [Changes; 3] = [
    Changes {
        filesystem: "ext4",
        ways: ways! {
            "6.2, include/trace/events/ext4.h":
                Raw("ext4_changed", "ext4_journal_start_inode"),
                Raw("ext4_changed_whole", "ext4_journal_start_sb"),
                Raw("ext4_synced", "ext4_sync_file_enter"),
                Raw("ext4_synced_whole", "ext4_sync_fs"),
                Raw("ext4_converts", "ext4_journal_start_reserved"),
                Raw("ext4_maps", "ext4_ext_map_blocks_enter"),
                Raw("joined_transaction", "jbd2_handle_start"),
                Raw("joined_next_transaction", "jbd2_handle_restart"),
                Raw("commit_started", "jbd2_start_commit"),
                Raw("commit_ended", "jbd2_end_commit");
            "6.1 or before, include/trace/events/ext4.h":
                Raw("ext4_changed_whole", "ext4_journal_start"),
                Raw("ext4_synced", "ext4_sync_file_enter"),
                Raw("ext4_synced_whole", "ext4_sync_fs"),
                Raw("ext4_converts", "ext4_journal_start_reserved"),
                Raw("ext4_maps", "ext4_ext_map_blocks_enter"),
                Raw("joined_transaction", "jbd2_handle_start"),
                Raw("joined_next_transaction", "jbd2_handle_restart"),
                Raw("commit_started", "jbd2_start_commit"),
                Raw("commit_ended", "jbd2_end_commit");
        },
    },
    Changes {
        filesystem: "xfs",
        ways: ways! {
            "6.1 or before, fs/xfs/xfs_trace.h":
                Raw("xfs_changed", "xfs_trans_alloc"),
                Raw("xfs_synced", "xfs_file_fsync"),
                Raw("xfs_synced_whole", "xfs_fs_sync_fs");
        },
    },
    Changes {
        filesystem: "btrfs",
        ways: ways! {
            "6.1 or before, include/trace/events/btrfs.h":
                Raw("btrfs_changed", "btrfs_space_reservation"),
                Raw("btrfs_synced", "btrfs_sync_file"),
                Raw("btrfs_synced_whole", "btrfs_sync_fs");
        },
    },
];

/// Who took part in which transaction of a journal, and which sync waited for its commit; for `top`.
pub(super) const COMMITS: [Changes; 1] = [Changes {
    filesystem: "ext4",
    ways: ways! {
        "6.2, include/trace/events/ext4.h":
            Raw("handle_of_inode", "ext4_journal_start_inode"),
            Raw("handle_of_none", "ext4_journal_start_sb"),
            Raw("handle_of_written", "ext4_journal_start_reserved"),
            Raw("handle_started", "jbd2_handle_start"),
            Raw("written_converted", "ext4_ext_map_blocks_enter"),
            Raw("handle_restarted", "jbd2_handle_restart"),
            Raw("sync_entered", "ext4_sync_file_enter"),
            Raw("sync_left", "ext4_sync_file_exit");
        "6.1 or before, include/trace/events/jbd2.h; handles name no file":
            Raw("handle_of_none", "ext4_journal_start"),
            Raw("handle_of_none", "ext4_journal_start_reserved"),
            Raw("handle_started", "jbd2_handle_start"),
            Raw("handle_restarted", "jbd2_handle_restart"),
            Raw("sync_entered", "ext4_sync_file_enter"),
            Raw("sync_left", "ext4_sync_file_exit");
    },
}];

/// The types of all of these.
pub(super) fn hooks() -> HashSet<Vec<u8>> {
    let of_changes = CHANGES
        .iter()
        .chain(&COMMITS)
        .flat_map(|of_one| of_one.ways);
    let ways = EVENTS.iter().flat_map(|event| event.ways).chain(of_changes);
    let probes = ways.flat_map(|way| way.probes);
    probes
        .map(|probe| probe.described_by().into_bytes())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Attached twice at one place, a program would count everything twice.
    #[test]
    fn a_way_has_each_program_once_at_a_place_and_says_since_when() {
        let of_changes = CHANGES
            .iter()
            .chain(&COMMITS)
            .flat_map(|of_one| of_one.ways);
        for way in EVENTS.iter().flat_map(|event| event.ways).chain(of_changes) {
            let major = way.since.split('.').next().unwrap();
            assert!(major.parse::<u32>().is_ok(), "{}", way.since);
            let probes = way.probes.iter().map(|probe| (probe.program, probe.on));
            let mut probes: Vec<_> = probes.collect();
            probes.sort_unstable();
            probes.dedup();
            assert_eq!(probes.len(), way.probes.len());
        }
    }

    /// Locked-down kernels refuse functions; they have the tracepoints.
    #[test]
    fn tracepoints_come_before_functions() {
        let by_function = |way: &Way| {
            let is_function = |probe: &Probe| matches!(probe.hook, Hook::Entry | Hook::Exit);
            way.probes.iter().any(is_function)
        };
        for event in &EVENTS {
            assert!(event.ways.is_sorted_by_key(by_function));
            assert!(!by_function(&event.ways[0]));
        }
    }
}
