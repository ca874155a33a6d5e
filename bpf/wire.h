/* What crosses between the kernel and the loader. crates/tracer/src/ebpf/wire.rs has
 * the same structures; both sides assert their sizes.
 */
#pragma once
#include "kernel.h"

#define HISTOGRAM_BUCKETS 40
#define PIECES 8
#define SYSCALLS 512

/* What the first argument, or the result, of a system call says. Set by the loader,
 * because numbers differ between architectures. */
#define CALL_FD_FIRST 1     /* argument 0 is the file */
#define CALL_FD_RETURNED 2  /* the result is the file */
#define CALL_FD_THIRD 4     /* argument 2 is the file written to (copy_file_range, splice) */
#define CALL_READS 8        /* fills pages because somebody reads */
#define CALL_CLOSES 16      /* may change what a descriptor stands for */
#define CALL_STREAMED 32    /* one event per call when calls are streamed */
#define CALL_VECTORED 64    /* argument 1 is an iovec array, argument 2 its length */
#define CALL_FD_FIFTH 128   /* argument 4 is the file (mmap) */

enum cause {
	CAUSE_READ,
	CAUSE_DATA,
	CAUSE_JOURNAL,
	CAUSE_COMMIT,
	CAUSE_METADATA,
	CAUSE_FLUSH,
	CAUSE_DISCARD,
	CAUSE_UNKNOWN,
};

enum loss {
	LOSS_CALLS,  /* counted under "other": no room for the file */
	LOSS_CACHE,
	LOSS_BLOCK,
	LOSS_STREAM,
	LOSS_TASKS,
	LOSS_COMPAT, /* 32-bit system calls, whose numbers mean something else */
	LOSSES,
};

struct file_key {
	__u64 inode;
	__u32 device;
	__u32 generation;
};

/* Every key of a table that grows with the files names the CPU: each CPU adds to its
 * own entry, without atomics. Tables of the kernel's per-CPU kind cannot be used: they
 * take new entries from reserves of per-CPU memory that a burst of new files exhausts
 * (mm/percpu.c, pcpu_alloc_noprof with is_atomic), and made in advance they would need
 * too much memory. */
struct call_key {
	struct file_key file;
	__u32 nr;
	__u32 cpu;
};

struct call_value {
	__u64 count;
	__u64 errors;
	__u64 returned;
	__u64 time_ns;
	__u64 blocked_ns;
	__u32 histogram[HISTOGRAM_BUCKETS];
};

struct cache_key {
	struct file_key file;
	__u32 metadata;
	__u32 cpu;
};

struct cache_value {
	__u64 lookups_pages;
	__u64 missed_pages;
	__u64 filled_pages;
	__u64 dirtied_bytes;
};

struct block_key {
	struct file_key file;
	__u32 disk;
	__u32 cpu;
	__u8 cause;
	__u8 phase;
	__u8 by_tree;
	__u8 pad[5];
};

struct block_value {
	__u64 count;
	__u64 bytes;
	__u64 time_ns;
};

struct totals {
	__u64 on_cpu_ns;
	__u64 minor_faults;
	__u64 major_faults;
	__u64 tasks;
};

/* Completion functions that tell why a bio was made: indices of config.end_io. */
enum end_io {
	END_IO_JOURNAL,      /* jbd2: journal_end_buffer_io_sync */
	END_IO_FAST_COMMIT,  /* ext4_end_buffer_io_sync */
	END_IO_BUFFER_HEAD,  /* end_bio_bh_io_sync: the reason is in the buffer head */
	END_IO_CHAIN,        /* bio_chain_endio: the reason is in the parent */
	END_IO_XFS_LOG,
	END_IO_XFS_BUFFER,
	END_IO_BTRFS_SUPER,
	END_IO_DIRECT,       /* iomap_dio_bio_end_io */
	END_IOS,
};

struct config {
	__u32 root;   /* thread group to adopt */
	__u32 phase;  /* 0 running, 1 after exit */
	__u32 stream_calls;
	__u32 stream_requests;
	__u64 end_io[END_IOS]; /* addresses, 0 where the loader could not learn them */
};

enum event_kind {
	EVENT_CALL = 1,
	EVENT_REQUEST = 2,
};

struct call_event {
	__u32 kind;
	__u32 nr;
	__u32 process;
	__u32 thread;
	__u64 entered_ns;
	__u64 took_ns;
	__s64 result;
	struct file_key file;
	__u32 pieces;      /* buffers handed over; may exceed PIECES */
	__u32 pieces_read; /* how many lengths follow */
	__u64 piece_bytes[PIECES];
};

struct request_event {
	__u32 kind;
	__u32 disk;
	struct file_key file;
	__u64 file_offset;
	__u64 sector;
	__u64 bytes;
	__u64 issued_ns;
	__u64 completed_ns;
	__u8 cause;
	__u8 phase;
	__u8 by_tree;
	__u8 forced_unit_access;
	__u32 pad;
};

#define ASSERT_SIZE(type, bytes) _Static_assert(sizeof(struct type) == (bytes), #type)
ASSERT_SIZE(file_key, 16);
ASSERT_SIZE(call_key, 24);
ASSERT_SIZE(call_value, 200);
ASSERT_SIZE(cache_key, 24);
ASSERT_SIZE(cache_value, 32);
ASSERT_SIZE(block_key, 32);
ASSERT_SIZE(block_value, 24);
ASSERT_SIZE(totals, 32);
ASSERT_SIZE(config, 80);
ASSERT_SIZE(call_event, 128);
ASSERT_SIZE(request_event, 72);
