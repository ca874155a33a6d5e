/* The data shared by the kernel side and the loader, for which crates/tracer/build.rs translates this
 * file: it has definitions, enumerations, structures and assertions alone, and numbers of one kind begin alike.
 */
#pragma once
#include "kernel.h"

#define HISTOGRAM_BUCKETS 40
#define SIZE_BUCKETS 32
#define PIECES 8
#define SYSCALLS 512

/* Numbers of operations counted like system calls: io_uring operations, calls that only their
 * arguments identify (enum told), and, above all of these, the file that a call reads from when it
 * is counted for the file that it writes to. */
#define RING_BASE SYSCALLS
#define RING_OPERATIONS 128
#define TOLD_BASE (RING_BASE + RING_OPERATIONS)
#define TOLDS 32
#define SOURCE_BASE (TOLD_BASE + TOLDS)
#define NUMBERS (2 * SOURCE_BASE)

/* libaio operations are TOLD_BASE + their opcode (IOCB_CMD_*, below AIO_OPERATIONS). */
#define AIO_OPERATIONS 16
enum told {
	TOLD_CLONE = AIO_OPERATIONS, /* ioctl(FICLONE) */
	TOLD_CLONE_RANGE,
	TOLD_DEDUPE,
	TOLD_MPROTECT,      /* of a shared file mapping that becomes writable */
	TOLD_PKEY_MPROTECT,
	TOLD_MREMAP,
	TOLD_REMOVE,        /* madvise(MADV_REMOVE) */
	TOLD_SPACE,         /* ioctl: XFS's forerunners of fallocate */
	TOLD_EXCHANGE,      /* ... contents of two files */
	TOLD_DISCARD,       /* ... blocks of a device */
	TOLD_SUBVOLUME,     /* ... btrfs subvolumes and snapshots */
};

/* The meaning of a system call's first argument, or result. Set by the loader, because numbers
 * differ between architectures. */
#define CALL_FD_FIRST 1     /* argument 0 is the file */
#define CALL_FD_RETURNED 2  /* the result is the file */
#define CALL_FD_THIRD 4     /* argument 2 is the file written to (copy_file_range, splice) */
#define CALL_READS 8        /* fills pages for a reader */
#define CALL_CLOSES 16      /* may change the file of a descriptor */
#define CALL_STREAMED 32    /* one event per call when calls are streamed */
#define CALL_VECTORED 64    /* argument 1 is an iovec array, argument 2 its length */
#define CALL_FD_FIFTH 128   /* argument 4 is the file (mmap) */
#define CALL_WRITES 256     /* a success extends the run of writes */
#define CALL_OFFSET 512     /* argument 3 is the offset in the file */
#define CALL_POSITION 1024  /* starts at the position of the open file */
#define CALL_STEP 2048      /* a success is a step of the history */
#define CALL_SOURCE_FIRST 4096  /* argument 0 is the file read from */
#define CALL_SOURCE_SECOND 8192 /* argument 1 is the file read from */
#define CALL_MOVES 16384    /* returns the bytes it moved */
#define CALL_STOPS 32768    /* in recordings: the reader must look before the program continues */
#define CALL_TOUCHES (1 << 20) /* the inodes whose change time it sets are sent, */
#define CALL_PLACES (1 << 21)  /* ... and their names afterwards */
#define CALL_NODE (1 << 22)    /* the file among them is the call's */
#define CALL_SENDS (1 << 23)   /* sends on a socket */
#define CALL_HEARS (1 << 25)   /* receives from a socket */
#define CALL_ACCEPTS (1 << 26) /* the result is a socket that a peer has connected to */
#define CALL_ADDRESSED (1 << 27) /* argument 4 is the address that it sends to, or 0 */
#define CALL_COMMAND (1 << 24) /* argument 1 is its request: few requests are steps */
#define CALL_TOLD 65536     /* its arguments identify it, or list what it submits (told.h) */
#define CALL_FLAGS 131072   /* argument 5 is RWF_* (preadv2, pwritev2) */

/* How the arguments identify a call, or what they list, when CALL_TOLD is set. Set by the loader.
 */
#define TOLD_BY_IOCTL 1      /* argument 1 is the request */
#define TOLD_BY_SUBMITTING 2 /* arguments 1 and 2 are control blocks of libaio */
#define TOLD_BY_FETCHING 3   /* argument 3 is filled with results of libaio */
#define TOLD_BY_HOW 4        /* argument 2 is a struct open_how */
#define TOLD_BY_MAPPING 5
#define TOLD_BY_PROTECTING 6
#define TOLD_BY_KEYED_PROTECTING 7
#define TOLD_BY_MOVING 8
#define TOLD_BY_ADVICE 9     /* argument 2 is a MADV_* */
#define TOLD_BY_SYNCING 10   /* arguments 0 and 1 are a range of mappings (msync) */
#define TOLD_BY_NOTHING 11   /* the kernel itself reads files in it (execve) */

/* Which arguments are paths. Set by the loader. */
#define PATH_FIRST 1        /* argument 0, from the working directory */
#define PATH_AT 2           /* argument 1, from the directory in argument 0 */
#define PATH_TWO 3          /* arguments 0 and 1, from the working directory */
#define PATH_TWO_AT 4       /* argument 1 from argument 0, argument 3 from argument 2 */
#define PATH_SECOND 5       /* argument 1, from the working directory (symlink) */
#define PATH_THIRD_AT 6     /* argument 2, from the directory in argument 1 (symlinkat) */
#define PATH_AND_NAME 7     /* argument 0; argument 1 is the name of an attribute */
#define PATH_ONLY_NAME 8    /* none; argument 1 is the name of an attribute */

/* Other arguments in memory, for recordings: the number of the argument with the address, from 1,
 * and in the higher byte the length in bytes, or EXTRA_LENGTH and the argument that has the
 * length. Set by the loader. */
#define EXTRA_LENGTH 0x80
#define EXTRA_BYTES 4096

enum cause {
	CAUSE_READ,
	CAUSE_DATA,
	CAUSE_JOURNAL,
	CAUSE_COMMIT,
	CAUSE_METADATA,
	CAUSE_FLUSH,
	CAUSE_DISCARD,
	CAUSE_UNKNOWN,
	CAUSES,
};

/* The purpose of a call on files; 0 for calls that are not on files. */
enum purpose {
	PURPOSE_READ = 1,
	PURPOSE_WRITE,
	PURPOSE_SYNC,
	PURPOSE_METADATA,
};
#define PURPOSES PURPOSE_METADATA

/* Moments there can be: crates/core/src/trace/timeline. */
#define MOMENTS 36864

enum loss {
	LOSS_CALLS,  /* counted under "other": no room for the file */
	LOSS_CACHE,
	LOSS_BLOCK,
	LOSS_STREAM,
	LOSS_TASKS,
	LOSS_COMPAT, /* 32-bit system calls, whose numbers mean something else */
	LOSS_NAMES,
	LOSS_HISTORY,
	LOSS_PAYLOAD,
	LOSS_MOMENTS, /* requests that are not in the timeline */
	LOSS_ARGUMENTS, /* arguments in memory, or memory operations, that could not be read */
	LOSS_COMPLETIONS, /* operations of io_uring that ended without a completion */
	LOSS_RESULTS, /* operations of libaio whose results were fetched without a call */
	LOSS_ORPHANS, /* processes that ended as the observation began, and had children */
	LOSS_ENDS, /* requests created again in the same memory before their end was seen */
	LOSS_COMMITS, /* who took part in a transaction, or waited for its commit */
	LOSSES,
};

struct file_key {
	__u64 inode;
	__u32 device;
	__u32 generation;
};

/* Every key of a table that grows with the files contains the CPU: each CPU adds to its own entry,
 * without atomics. Per-CPU maps cannot be used: they take new entries from reserves of per-CPU
 * memory that a burst of new files exhausts (mm/percpu.c, pcpu_alloc_noprof with is_atomic), and
 * preallocated they would need too much memory. */
struct call_key {
	struct file_key file;
	__u32 nr;
	__u32 cpu;
};

struct call_value {
	__u64 count;
	__u64 errors;
	__u64 returned; /* bytes; 0 for calls that return something else */
	__u64 time_ns;
	__u64 blocked_ns;
	__u64 alone_ns;   /* part in which no other task of the tree moved (alone.h) */
	__u64 pairs;      /* transfers with a known predecessor; of these: */
	__u64 sequential; /* start where it ended */
	__u64 backward;   /* start before its end */
	__u64 empty;      /* of 0 bytes */
	__u64 furthest;   /* largest offset plus length */
	__u64 first_ns;   /* begin of the first */
	__u64 last_ns;    /* end of the last */
	__u32 histogram[HISTOGRAM_BUCKETS];
	__u32 sizes[SIZE_BUCKETS];
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

#define PAGES_WRITTEN 1 /* of a file that the tree had written to by then */
#define PAGES_DIRECT 2  /* not from the page cache */

#define SUBMITTED_BY_RUN 1     /* by a task of the tree, or on its behalf alone */
#define SUBMITTED_BY_WORKER 2  /* for nobody knows whom; a commit of several */
#define SUBMITTED_BY_OTHERS 3  /* certainly not on its behalf; with 0 it may be */

struct block_key {
	struct file_key file;
	__u32 disk;
	__u32 cpu;
	__u8 cause;
	__u8 phase;
	__u8 by_tree; /* SUBMITTED_BY_*, 0 for others */
	__u8 pages;   /* PAGES_* of file contents that are written, else 0 */
	__u32 process; /* that submitted it, when the whole machine is watched, else 0 */
};

/* Tasks of the tree that move (alone.h). */
struct moving {
	__u64 word;      /* their number, and when it changed */
	__u64 for_ns[2]; /* for how long nobody has moved, and one */
};

/* What others did with the pages of a file that the tree writes to. */
struct life {
	__u64 before_bytes; /* all pages there, if one was dirty before the tree dirtied any, else 0 */
	__u64 others_bytes; /* that others turned dirty since */
	__u64 is_mapped;    /* the tree has a shared mapping that it may write to */
};

struct block_value {
	__u64 count;
	__u64 bytes;
	__u64 time_ns; /* of those that have ended, */
	__u64 ended;   /* ... how many, */
	__u64 longest_ns;
};

/* When the whole machine is watched: what one process did with one file in one interval. */
struct share_key {
	struct file_key file; /* all zero where the calls name none, or there was no room for it */
	__u32 process;
	__u32 interval;
	__u32 cpu;
	__u32 pad;
};

struct share_sum {
	__u64 count;
	__u64 errors;
	__u64 bytes;
	__u64 time_ns;
	__u64 longest_ns;
};

struct share_value {
	struct share_sum of[PURPOSES];
	struct share_sum synchronous; /* of the writes, those that were durable when they returned */
	struct cache_value cache;
};

/* A process and a file in a transaction of the journal of a file system. */
struct commit_key {
	struct file_key file; /* all zero for a change of the file system as a whole */
	__u32 device; /* of the file system */
	__u32 transaction;
	__u32 process; /* 0: kernel threads */
	__u32 interval;
};

/* Who it was, as of the interval. */
struct actor_key {
	__u32 process;
	__u32 interval;
};

struct actor_value {
	__u64 cgroup; /* of the second version */
	__u32 parent;
	__u32 pad;
	char name[16]; /* of its first thread */
};

/* The use of a device, and by whom. */
enum use {
	USE_TREE_CHANGED,   /* a file system was changed or synced by a task of the tree */
	USE_OTHERS_CHANGED, /* ... by another task */
	USE_OTHERS_WROTE,   /* another task sent a disk requests other than reads */
};

/* Devices on a machine, four times. */
#define USES 4096

struct use_key {
	__u32 device; /* of the file system, or the disk */
	__u32 using; /* enum use */
};

struct totals {
	__u64 on_cpu_ns;
	__u64 minor_faults;
	__u64 major_faults;
	__u64 tasks;
	__u64 accounted_bytes; /* that calls have moved, by the kernel's accounting, */
	__u64 unaccounted;     /* ... and tasks that this lacks, or which others wrote for */
};

/* Completion functions that identify the cause of a bio: indices of config.end_io. */
enum end_io {
	END_IO_JOURNAL,      /* jbd2: journal_end_buffer_io_sync */
	END_IO_FAST_COMMIT,  /* ext4_end_buffer_io_sync */
	END_IO_BUFFER_HEAD,  /* end_bio_bh_io_sync: the reason is in the buffer head */
	END_IO_CHAIN,        /* bio_chain_endio: the reason is in the parent */
	END_IO_XFS_LOG,
	END_IO_XFS_BUFFER,
	END_IO_BTRFS_SUPER,
	END_IO_DIRECT,       /* iomap_dio_bio_end_io */
	END_IO_FLUSHED,      /* mq_flush_data_end_io: of a request that a flush follows */
	END_IOS,
};

/* Calls of one purpose that ended in one moment. */
struct moment_sum {
	__u64 count;
	__u64 bytes;
	__u64 time_ns;
};

struct moment {
	struct moment_sum of[PURPOSES];
};

struct request_moment_key {
	__u32 moment;
	__u32 disk;
};

/* Requests that were issued in one moment, by cause. */
struct request_moment {
	__u64 count[CAUSES];
	__u64 bytes[CAUSES];
};

struct config {
	__u32 root;   /* thread group of the root, by its id for the loader */
	__u32 phase;  /* 0 running, 1 after exit */
	__u32 stream_calls;
	__u32 stream_requests;
	__u64 end_io[END_IOS]; /* addresses, 0 where the loader could not learn them */
	__u64 started_ns;      /* of the run; 0 before it */
	__u32 adoption;        /* enum adoption */
	__u32 ends;            /* what still lives is to hand over its sums, too */
	__u32 wants;           /* WANTS_*: who belongs to the tree besides the root */
	__u32 asks;            /* of each task, whether the user may trace it */
	__u64 capabilities;    /* that the user has without those of iostrata's file */
};

/* Entries of wanted_groups and wanted_names, and of joined. */
#define WANTED 1024
#define JOINED 4096

/* Entries of forbidden. */
#define FORBIDDEN 4096

/* include/linux/user_namespace.h: at most so many lie in one another (create_user_ns). */
#define USER_NAMESPACES 32

enum wants {
	WANTS_ROOTS = 1,  /* processes of wanted_roots, */
	WANTS_GROUPS = 2, /* ... tasks in wanted_groups, */
	WANTS_NAMES = 4,  /* ... and tasks that exec one of wanted_names */
};

/* The last name of a path, with zeros behind it. */
struct wanted_name {
	char name[64];
};

/* How a process joined the tree that nobody of the tree made. */
enum joined_by {
	JOINED_FORK = 1,       /* made in a control group, */
	JOINED_MOVE = 2,       /* ... moved there, */
	JOINED_COMM = 4,       /* ... or became a program whose name is wanted: that of the thread, */
	JOINED_EXECUTABLE = 8, /* ... of the file, */
	JOINED_ARGUMENT = 16,  /* ... or its first argument */
};

struct joined_key {
	__u64 numbers; /* of process and thread */
	__u64 started;
};

struct joined {
	__u32 by; /* enum joined_by */
	__u32 pad;
	char name[16];
};

/* A process that the user may not trace, by joined_key without a thread. */
struct forbidden {
	char name[16];
	__u64 was_observed; /* until it executed the program */
};

/* Progress of the start of a session. */
enum adoption {
	ADOPTION_OVER,
	ADOPTION_PREPARES, /* the programs are not attached */
	ADOPTION_RUNS,     /* they are, and who belongs to the tree is looked for */
	ADOPTION_AGAIN,    /* it is over, and threads that joined with another are looked for */
};

/* A task, whose memory may have belonged to another one before. */
struct claim_key {
	__u64 task;
	__u64 started;
};

/* iostrata itself, and the outcome of the search. */
struct observer {
	__u64 namespace; /* its PID namespace, */
	__u32 level;     /* ... and how many are above that */
	__u32 process;   /* ... and its process, by the first namespace */
	__u64 adopted;   /* tasks that the iterator has found */
	__u64 executed;  /* programs that tasks of the tree became */
	__u64 living;    /* tasks of the tree that looks have met, each time anew, */
	__u64 late;      /* ... those that had ended unseen, and were still there, */
	__u64 gone;      /* ... and those of which only the state was */
	__u64 moved;     /* threads that were moved into a control group with the first of their process */
	__u64 unlisted;  /* tasks that joined, and found no room in the table */
	__u64 raised;    /* processes that were observed, and found no room in forbidden */
	__u64 users;     /* the user namespace of the user who observes, */
	__u32 uid;       /* ... and the ids, */
	__u32 gid;       /* ... by the first namespace */
};

enum event_kind {
	EVENT_CALL = 1,
	EVENT_REQUEST = 2,
	EVENT_NAME = 3,
	EVENT_STEP = 4,
	EVENT_RUN = 5,
	EVENT_TASK = 6,
	EVENT_PAYLOAD = 7,
	EVENT_STOP = 8,
	EVENT_FEW = 9,
	EVENT_CACHE = 10,
	EVENT_TOUCHED = 11,
	EVENT_REPORT = 12,
	EVENT_ASKED = 13, /* a step whose arguments alone are known yet */
	EVENT_SITE = 16,
};

#define TEXT 4096
#define LONGEST_NAME 256 /* NAME_MAX and the NUL */

/* How far up the names reach. */
enum path_end {
	PATH_CUT,            /* not to the end: the path is too long */
	PATH_WHOLE,          /* to the base, or to the root of all mounts */
	PATH_IN_FILE_SYSTEM, /* to the root of the file system, whose own name is the last */
};

/* A file seen for the first time. It is followed by the names from the file up to `base`, a
 * directory that was named before, or where that is zero up to the root of all mounts; each with
 * its NUL, `bytes` in all. */
struct name_event {
	__u32 kind;
	__u32 mode;
	struct file_key file;
	struct file_key base;
	__u64 size;
	__u32 bytes;
	__u16 complete;
	__u8 as_base; /* a directory used only through a file in it */
	__u8 removed; /* no name leads to it any more */
	__u32 superblock; /* its device: that of a btrfs file is its subvolume's */
	__u32 shown_device; /* the device that stat(2) shows */
	__u64 shown_inode;
	char filesystem[16];
};

#define TOUCHED_AFTER 1   /* seen when the call ended, not when it changed the inode */
#define TOUCHED_OVERLAY 2 /* on overlayfs: the inodes of its layers are touched too */
#define TOUCHED_NAMED 4   /* it has a name, which follows: the first of several */
#define TOUCHED_HASHED 8  /* ... that a lookup finds */

/* An inode whose change time a call has set. Calls that change names set that of the directories
 * and of the file (POSIX), so these show the target of a path, whatever links led there. Comes
 * before the call's step. It is followed by the name, with its NUL. */
struct touched_event {
	__u32 kind;
	__u32 thread;
	struct file_key file;
	struct file_key parent; /* the directory of the name */
	__u32 mode;
	__u32 flags;            /* TOUCHED_* */
	__u32 bytes;            /* of the name */
	__u32 device;           /* number of the device node, if it is one */
	__u64 size;
	__u64 request;          /* the io_uring request that touched it; 0 for the thread's call */
};

/* A call that is a step of the history. It is followed by its paths as the program passed them,
 * each with its NUL. */
struct step_event {
	__u32 kind;
	__u32 nr;
	__u32 process;
	__u32 thread;
	__u64 entered_ns;
	__u64 left_ns;
	__s64 result;
	struct file_key file;
	__u64 argument[5];
	__u32 mode;       /* of struct file: FMODE_* */
	__u32 flags;      /* of struct file: O_* */
	struct file_key base[2];
	__u32 bytes[2];   /* of each path, 0 for none */
	__u64 open_file;  /* the struct file */
	__u32 inode_mode; /* mode of its inode */
	__u32 extra;      /* length of the other arguments after the paths */
	__u64 request;    /* of io_uring, whose arguments came at submission; else 0 */
};

/* Consecutive writes of one thread to one file by one call. */
struct run_event {
	__u32 kind;
	__u32 nr;
	__u32 process;
	__u32 thread;
	__u64 started_ns;
	__u64 ended_ns;
	struct file_key file;
	__u64 count;
	__u64 bytes;
	__u64 from;
	__u64 to;
	__u64 sequential;
	__u64 size;  /* of the file before the first write, or NOT_KNOWN */
	__u32 flags; /* RUN_* */
	__s32 error; /* of a run of one: errno when it failed */
};

/* Consecutive reports of one thread to the outside. */
struct report_event {
	__u32 kind;
	__u32 nr;
	__u32 process;
	__u32 thread;
	__u64 started_ns;
	__u64 ended_ns;
	__u64 count;
	__u64 heard_ns; /* the thread's latest receipt from a socket; NOT_KNOWN for standard output */
};

#define RUN_DURABLE 1   /* each write was durable by itself: RWF_DSYNC, RWF_SYNC */
#define RUN_DATA_ONLY 2 /* a sync like fdatasync */
#define RUN_APPENDS 4   /* each write went to the end of the file: O_APPEND, RWF_APPEND */

/* A thread that has ended. */
#define NOT_KNOWN (~0ULL)

struct task_event {
	__u32 kind;
	__u32 thread;
	__u32 process;
	__u32 parent;
	__u64 started_ns;
	__u64 ended_ns; /* 0 while it is running */
	__u64 on_cpu_ns; /* or NOT_KNOWN */
	__u64 minor_faults;
	__u64 major_faults;
	__u64 calls;
	__u64 time_ns;
	__u64 blocked_ns;
	__u64 read_bytes;
	__u64 written_bytes;
	char name[16];
};

/* Most bytes after one payload event. A value of a per-CPU table is at most 32 KiB
 * (PCPU_MIN_UNIT_SIZE, include/linux/percpu.h). */
#define PAYLOAD_BYTES 28672

/* Longer writes are sent as an address: copying them, without preemption, would block the CPU for
 * too long. */
#define PAYLOAD_AT_ONCE (1 << 20)

/* The location of a part of a payload. */
enum payload_form {
	PAYLOAD_HERE,      /* after the event */
	PAYLOAD_IN_MEMORY, /* at `address` of the process, which is stopped */
	PAYLOAD_IN_FILE,   /* in the file, moved there without a buffer of the program */
	PAYLOAD_UNKNOWN,
	PAYLOAD_READ,      /* nowhere: it was read */
	PAYLOAD_MAPPED,    /* ... or mapped: PROT_* in `call_flags`, MAP_* in `flags`, */
	PAYLOAD_TOUCHED,   /* ... and a fault has mapped these pages, */
	PAYLOAD_OPENED,    /* ... or opened to be read */
};

/* How the offset of a write was determined. */
enum landing {
	LANDED_AT,       /* requested, or no other thread could move the position */
	LANDED_POSITION, /* from the position after the call, which other threads share */
	LANDED_END,      /* from the end of the file after the call */
};

/* A part of the bytes that one call wrote. All parts of a call are consecutive in its thread. */
struct payload_event {
	__u32 kind;
	__u32 nr;
	__u32 process;
	__u32 thread;
	__u64 entered_ns;
	__u64 left_ns;
	struct file_key file;
	__u64 offset;     /* in the file, of the whole payload */
	__u64 bytes;      /* of the whole payload */
	__u64 at;         /* of this part, in the payload */
	__u64 part;       /* bytes of this part */
	__u64 address;
	__u32 form;
	__u32 descriptor;
	__u32 mode;       /* of the inode */
	__u32 landing;    /* enum landing */
	__u64 open_file;  /* the struct file, whose position may be shared */
	__u64 lowest;     /* the earliest offset, */
	__u64 looked_ns;  /* ... when this was read, unless it landed at the requested offset, */
	__u64 seen_ns;    /* ... and when the offset was determined */
	__u32 flags;      /* of the struct file: O_* */
	__u32 call_flags; /* RWF_* */
};

/* A process was stopped by the kernel side; the reader continues it. */
struct stop_event {
	__u32 kind;
	__u32 process;
	__u32 thread; /* the thread whose call was the reason */
	__s32 error;  /* errno when it could not be stopped */
};

/* A libaio operation whose result has not been fetched. */
struct submission {
	__u64 entered_ns;
	__u32 process;
	__u32 thread;
	__u32 opcode;
	__u32 mode;
	struct file_key file;
	__s64 offset;
	__u64 bytes;
	__u32 flags; /* RUN_* */
	__u32 pad;
};

struct submission_key {
	__u64 block;
	__u64 process;
};

/* An io_uring operation that has not ended. */
struct operation {
	__u64 entered_ns;
	__u32 process;
	__u32 thread;
	__u32 opcode;
	__u32 flags; /* RUN_*, or what opcode has */
	__u64 at;    /* offset, or the new length */
	__u64 bytes;
	struct file_key closes;
	__u32 closes_mode; /* of the file: FMODE_* */
	__u32 descriptor;  /* the descriptor that it got */
};

#define STACK 16384

/* A call site. It is followed by the stack from `sp` on. */
struct site_event {
	__u32 kind;
	__u32 nr;
	__u32 process;
	__u32 parent;
	__u64 execs; /* programs that the process and its ancestors executed: program_of() */
	struct file_key file;
	__u64 spent_ns; /* in calls on files since this thread's last sample */
	__u64 ip;
	__u64 sp;
	__u64 bp;
	__u64 ended_ns; /* the call */
	__u32 thread;
	__u32 bytes;
};

/* Calls of one thread on one file before it went to another: few, so that each is sent by its
 * buckets. To be added to the sums in `calls`. */
#define FEW 4
struct few_event {
	__u32 kind;
	__u32 nr;
	struct file_key file;
	__u64 returned;
	__u64 time_ns;
	__u64 blocked_ns;
	__u64 alone_ns;
	__u64 furthest;
	__u64 first_ns;
	__u64 last_ns;
	__u8 count;
	__u8 errors;
	__u8 pairs;
	__u8 sequential;
	__u8 backward;
	__u8 empty;
	__u8 pad[2];
	__u8 buckets[FEW]; /* of call_value.histogram */
	__u8 sizes[FEW];   /* of call_value.sizes, SIZE_BUCKETS for none */
};

/* One thread's activity in one file's pages before it went to another. */
struct cache_event {
	__u32 kind;
	__u32 metadata;
	struct file_key file;
	struct cache_value value;
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
	__u32 pieces;      /* buffers submitted; may exceed PIECES */
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

/* A mask limits numbers, for the verifier: another count would lose some silently. */
#define ASSERT_MASK(count) _Static_assert(((count) & ((count) - 1)) == 0, #count)
ASSERT_MASK(CAUSES);
ASSERT_MASK(PURPOSES);
ASSERT_MASK(RING_OPERATIONS);
ASSERT_MASK(AIO_OPERATIONS);
ASSERT_MASK(TEXT);
ASSERT_MASK(STACK);
ASSERT_MASK(FEW);
ASSERT_MASK(SIZE_BUCKETS);
