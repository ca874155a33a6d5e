/* State shared by the programs. Sizes marked "resized" are set by the loader. */
#pragma once
#include "wire.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>
#include "read.h"

/* A global function, which the verifier checks once, and not at each call on each path to it:
 * otherwise a program with many paths takes seconds to load. */
#define APART __noinline

/* KEYS: memory passed to a global function by address is plain memory to the verifier. Before
 * Linux 6.2 neither the key of a map nor a value for it may be in such memory
 * (map_key_value_types, kernel/bpf/verifier.c). So such functions copy keys to the stack, which
 * has 512 bytes for the whole call chain, and use the values below. */
static const volatile struct call_value NO_CALLS = {};

/* The meaning of each system call, by number (CALL_* bits). */
const volatile __u32 CALLS[SYSCALLS] = {};

/* Which of its arguments are paths, by number (PATH_*). */
const volatile __u8 PATHS[SYSCALLS] = {};

/* Its other arguments in memory, by number (EXTRA_*). */
const volatile __u16 EXTRAS[SYSCALLS] = {};

/* Whether names, tasks and the history are wanted. */
#ifdef TOP
#define HISTORY 0
#else
const volatile __u32 HISTORY = 0;
#endif

/* Whether the payload of writes is wanted. An object without it has no code for it, so that the
 * verifier need not remove such code at each start of a trace. */
#ifdef WITHOUT_LOG
#define RECORD 0
#define EVERY_SITE 0
#else
const volatile __u32 RECORD = 0;
/* Whether each call that changes a file or a name, or syncs one, has its stack taken. */
const volatile __u32 EVERY_SITE = 0;
#endif

/* Bytes in the ring above which processes are stopped, so that no event is lost. */
const volatile __u64 HIGH_WATER = 0;

/* A run of equal calls is summed here and merged into `calls` when another call takes its slot: a
 * loop of writes costs no hash lookup. Until then the end of the last transfer is known. */
#ifdef TOP
#define SLOTS 1 /* nothing is summed in it: top.h */
#else
#define SLOTS 8
#endif
#define HOMES 16
ASSERT_MASK(SLOTS);
ASSERT_MASK(HOMES);
struct call_slot {
	struct call_key key;
	struct call_value value;
	__u64 end; /* of the last transfer, */
	__u64 has_end; /* if there was one */
	__u64 used;    /* the task's number of calls then */
	__u8 buckets[FEW]; /* of the last calls, by index: buckets of value.histogram, */
	__u8 sizes[FEW];   /* and of value.sizes, SIZE_BUCKETS for none */
};

/* The task's activity in the pages of one inode. */
struct cache_sum {
	struct cache_key key;
	struct cache_value value;
};

/* Consecutive writes to one file. */
struct run {
	struct file_key file;
	__u64 started_ns;
	__u64 ended_ns;
	__u64 count; /* 0: none under way */
	__u64 bytes;
	__u64 from;
	__u64 to;
	__u64 end;
	__u64 sequential;
	__u64 size; /* of the file before the first, or NOT_KNOWN */
	__u32 nr;
	__u32 flags; /* RUN_* */
};

/* Reports to the outside that were not sent yet. */
struct reports {
	__u64 started_ns;
	__u64 ended_ns;
	__u64 count; /* 0: none */
	__u64 sent_ns;
	__u64 heard_ns; /* as in struct report_event; */
	__u64 asked_ns; /* ... the next one's, if it goes to a socket */
	__u32 nr;
	__u32 news; /* the task has changed something since the last one was sent */
};

/* Inodes affected by one name change: two directories and two files, twice on overlayfs. */
#define TOUCHED 8

/* Owner of a place whose task memory was reused. */
#define NO_TASK 1

struct task_state {
	__u64 owner;        /* the task that has this place in `places`, 0 for none, or NO_TASK */
	__u64 entered_ns;   /* 0 outside a call */
	__u64 blocked_ns;   /* in the current call */
	__u64 switched_ns;  /* when it left the CPU blocked, else 0 */
	__s64 alone_ns;     /* of the current call, see alone.h */
	__u64 argument[5];
	__s64 result;       /* of the call that ends */
	__u32 told_by;      /* TOLD_BY_* of a call with CALL_TOLD */
	__u32 purpose;      /* of the call that ends */
	struct file_key last_named;
	struct file_key file; /* of the current call */
	__u64 open_file;      /* its struct file */
	__u32 mode;           /* ... the mode of its inode, S_IFMT and permissions, */
	__u32 file_mode;      /* ... and its FMODE_* and O_* */
	__u32 file_flags;
	__u32 touched_count;  /* inodes in touched[] */
	__u64 lowest;         /* in recordings: the earliest offset of the write, */
	__u64 looked_ns;      /* ... when that was read, 0 where no other thread can move it, */
	__u32 appends;        /* ... and whether it goes to the end of the file */
	__u32 call_flags;     /* RWF_*, 0 where the call has none */
	__u64 size;           /* of the file before the write, or NOT_KNOWN where this goes on with a run */
	__u64 touched[TOUCHED]; /* inodes whose change time the call has set */
	struct file_key source; /* the file that the current call reads from */
	__u64 source_file;
	__u32 source_mode;
	__u32 read_begun;     /* in recordings of reads: whether the position is known */
	__u64 read_begins;    /* ... at which the read began; */
	__u64 read_lowest;    /* the earliest offset of the read, */
	__u64 read_looked_ns; /* ... and when that was read, 0 where no other thread can move it */
	__u32 nr;
	__u32 call;           /* CALL_* bits of nr */
	__u64 looked_up_to;   /* pages below are counted for this call */
	__u64 looked_up_in;   /* ... of this mapping */
	__u64 read_in;        /* inode whose pages read-ahead or a fault brings in, 0 for none */
	__u64 awaited_in;     /* inode whose pages the call waits for, 0 for none: */
	__u64 awaited_from;   /* the first */
	__u64 awaited_to;     /* ... and the one after the last */
	__u64 faulted_in;     /* inode of the last fault on file contents */
	__u64 faulted_page;   /* ... and its page */
	__u64 on_cpu_base_ns;
	__u64 run_queue_ns;   /* CLOCK_MONOTONIC less the clock of its run queue, 0 for not known */
	__u64 minor_base;
	__u64 major_base;
	__u64 accounted_base; /* see accounting.h, */
	__u64 accounted_before; /* ... and before the call */
	__u64 started_ns;
	__u64 born;           /* the task's start_time, 0 until all is set, and after a program */
	__u64 numbers;        /* ... has sent it; its process and thread */
	__u64 calls;
	__u64 time_ns;
	__u64 blocked_sum_ns;
	__u64 read_bytes;
	__u64 written_bytes;
	__u64 site_spent_ns; /* in calls on files since the last stack sample */
	__u64 site_due_ns;   /* when the next one is due; 0: not drawn yet */
	__u64 sites;
	__u64 site_program; /* of the memory map that the reader has read */
	__u32 parent;
	__u32 run_queue_cpu;  /* whose run queue that is */
	struct cache_sum cache[2]; /* of source files, and of files that are written to */
	struct run run;
	struct reports reports;
	__u64 moment_ends_ns;
	__u32 moment; /* the moment of moment_sums */
	__u32 moves;  /* see alone.h */
	__u32 sleeps_long; /* ... and did in its last sleep */
	__u32 found_to_map; /* a fault has found pages to map */
	struct moment_sum moment_sums[PURPOSES];
#ifdef TOP /* commits.h */
	__u64 handle_of; /* the inode of the handle that is to start, 0 for none */
	__u64 handled;   /* ... of the last one, */
	__u32 handle_in; /* ... its transaction, */
	__u32 handle_on; /* ... of the journal of this file system, */
	__u32 handled_interval; /* ... and when that was */
	__u32 converts; /* CONVERTS_* */
	__u32 converts_in; /* ... the transaction, */
	__u32 converts_on; /* ... of the journal of this file system */
	__u32 is_synchronous; /* the current call is a write that is durable when it returns */
	__u32 sync_is_data;
	__u32 sync_committed; /* the last committed transaction when the sync began, 0 for none */
#endif
	__u8 home[HOMES]; /* the last slot of calls with these bits */
	struct call_slot slot[SLOTS];
};

/* The state of a task lies at the index given by its canary, unless another task has that index. A
 * lookup in an array is a few inlined instructions (array_map_gen_lookup, kernel/bpf/arraymap.c);
 * the helper for task storage costs ten times as much, twice per system call. The last place stays
 * blank. */
#ifdef TOP
#define PLACES 2048
#else
#define PLACES 512
#endif
ASSERT_MASK(PLACES);
struct {
	__uint(type, MAP_ARRAY);
	__uint(max_entries, PLACES + 1);
	__type(key, __u32);
	__type(value, struct task_state);
} places SEC(".maps");

/* For tasks whose place is taken. */
struct {
	__uint(type, MAP_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct task_state);
} tasks SEC(".maps");

struct {
	__uint(type, MAP_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 131072); /* resized */
	__type(key, struct call_key);
	__type(value, struct call_value);
} calls SEC(".maps");

/* A new entry, 0 if there is no room. An interrupt refills the memory for large entries after each
 * allocation (irq_work_raise, kernel/bpf/memalloc.c), so a second attempt may succeed. The key is
 * on the stack. */
static __always_inline struct call_value *new_calls(struct call_key *key)
{
	for (int i = 0; i < 16; i++) {
		if (bpf_map_update_elem(&calls, key, (void *)&NO_CALLS, BPF_NOEXIST) !=
		    -12 /* ENOMEM */)
			break;
	}
	return bpf_map_lookup_elem(&calls, key);
}

/* Calls whose file found no room in `calls`, by number. */
struct {
	__uint(type, MAP_PERCPU_ARRAY);
	__uint(max_entries, NUMBERS);
	__type(key, __u32);
	__type(value, struct call_value);
} other_calls SEC(".maps");

/* Files whose name was sent. Preallocated, since a program may open thousands of files: allocating
 * an entry is expensive at that moment. */
struct {
#ifdef TOP
	__uint(type, MAP_LRU_HASH); /* a name reported twice does no harm */
#else
	__uint(type, MAP_HASH);
#endif
	__uint(max_entries, 131072); /* resized */
	__type(key, struct file_key);
	__type(value, __u8);
} named SEC(".maps");

/* Live tasks of the tree. */
struct {
	__uint(type, MAP_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u64);
} alive SEC(".maps");

struct {
	__uint(type, MAP_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 65536); /* resized */
	__type(key, struct cache_key);
	__type(value, struct cache_value);
} cache SEC(".maps");

struct {
	__uint(type, MAP_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 65536); /* resized */
	__type(key, struct block_key);
	__type(value, struct block_value);
} block SEC(".maps");

struct in_flight {
	struct block_key key;
	__u64 issued_ns;
	__u64 sector;
	__u64 bytes;
	__u64 file_offset;
	__u64 bio;
	__u64 started_ns; /* request.start_time_ns: when it was made, not issued */
	__u32 forced_unit_access;
	__u32 has_own; /* one of its bios is in `submitted` */
};

struct {
	__uint(type, MAP_HASH);
	__uint(max_entries, 4096); /* resized */
	__type(key, __u64);
	__type(value, struct in_flight);
} in_flight SEC(".maps");

/* Bios submitted by a task of the tree, until they end, and its process. An LRU table would drop
 * entries silently. */
struct {
	__uint(type, MAP_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 65536); /* resized */
	__type(key, __u64);
	__type(value, __u32);
} submitted SEC(".maps");

struct {
	__uint(type, MAP_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct totals);
} totals SEC(".maps");

/* One per CPU: a plain shared counter loses increments under SMP. */
struct {
	__uint(type, MAP_PERCPU_ARRAY);
	__uint(max_entries, LOSSES);
	__type(key, __u32);
	__type(value, __u64);
} losses SEC(".maps");

struct {
	__uint(type, MAP_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct config);
} config SEC(".maps");

struct {
	__uint(type, MAP_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct observer);
} observers SEC(".maps");

struct {
	__uint(type, MAP_RINGBUF);
	__uint(max_entries, 1 << 22); /* resized */
} events SEC(".maps");

static __always_inline void lose(__u32 what)
{
	__u64 *count = bpf_map_lookup_elem(&losses, &what);

	if (count)
		*count += 1;
}

/* Whether sums may use the ring: events that would be lost without room come first. */
static __always_inline bool has_room(void)
{
	return HISTORY && bpf_ringbuf_query(&events, BPF_RB_AVAIL_DATA) < HIGH_WATER / 2;
}

static __always_inline void change_alive(__s64 by)
{
	__u32 zero = 0;
	__u64 *count = bpf_map_lookup_elem(&alive, &zero);

	if (count)
		__sync_fetch_and_add(count, by);
}

static __always_inline struct config *configuration(void)
{
	__u32 zero = 0;

	return bpf_map_lookup_elem(&config, &zero);
}

/* The canary is random except for its last byte, and a task keeps it (dup_task_struct,
 * kernel/fork.c). Not the task's id, which changes: a thread that executes a program takes the id
 * of the first thread (de_thread, fs/exec.c). */
static __always_inline __u32 place_of(struct task_struct *task)
{
	if (!bpf_core_field_exists(task->stack_canary))
		return 0;
	return task->stack_canary >> 8 & (PLACES - 1);
}

/* The state of a task of the tree that has a place, 0 for others. */
static __always_inline struct task_state *state_in_place(struct task_struct *task)
{
	__u32 at = place_of(task);
	struct task_state *state = bpf_map_lookup_elem(&places, &at);

	return state && state->owner == (__u64)task ? state : 0;
}

/* The state of a task of the tree whose place is taken. Every call of every task on the machine
 * gets here: unobserved tasks must not pay for a function call. */
static __always_inline struct task_state *state_in_storage(struct task_struct *task)
{
	return WALK(task, bpf_storage) ? bpf_task_storage_get(&tasks, task, 0, 0) : 0;
}

/* The state of a task of the tree, 0 for others. */
static __always_inline struct task_state *state_of(struct task_struct *task)
{
	struct task_state *state;

	if (!task)
		return 0;
	state = state_in_place(task);
	return state ? state : state_in_storage(task);
}

#ifdef TOP
/* Every task belongs to it, from the first time that it is met. */
static struct task_state *met(struct task_struct *task);

static __always_inline struct task_state *current_state(void)
{
	return met(bpf_get_current_task_btf());
}
#else
static __always_inline struct task_state *current_state(void)
{
	return state_of(bpf_get_current_task_btf());
}
#endif

/* Whether the process of the current task belongs to the tree. Its first thread must stay a pointer that
 * the verifier trusts, for which it searches all kernel types (see WALK): here once a program. */
APART int is_process_of_tree(void)
{
	return !!state_of(bpf_get_current_task_btf()->group_leader);
}

/* Whether the current task belongs to the tree, or is an io_uring thread that works for a process of the
 * tree: those are created without an event (create_io_thread, kernel/fork.c). */
static __always_inline bool is_of_tree(struct task_struct *task)
{
	return state_of(task) || ((task->flags & PF_IO_WORKER) && is_process_of_tree());
}

/* Tasks of the tree that have ended but for what they give back: files are closed after the event of an end (exit_files,
 * do_exit, kernel/exit.c). By task, when it was born. */
struct {
	__uint(type, MAP_LRU_HASH);
	__uint(max_entries, 1024);
	__type(key, __u64);
	__type(value, __u64);
} leaving SEC(".maps");

static __always_inline void leaves(struct task_struct *task)
{
	__u64 key = (__u64)task, born = task->start_time;

	bpf_map_update_elem(&leaving, &key, &born, BPF_ANY);
}

/* Whether what the current task does to a disk is done by the tree. */
static __always_inline bool is_for_run(struct task_struct *task)
{
	__u64 key = (__u64)task, *born;

	if (is_of_tree(task))
		return 1;
	if (!(task->flags & PF_EXITING))
		return 0;
	born = bpf_map_lookup_elem(&leaving, &key);
	return born && *born == task->start_time;
}

/* The file of a descriptor, 0 for none. */
static __always_inline struct file *file_of(struct task_struct *task, __u32 fd)
{
	struct fdtable *table = WALK(task, files, fdt);

	if (fd >= table->max_fds)
		return 0;
	return (struct file *)word_at((__u64)table->fd + 8ULL * fd);
}

/* The file of a descriptor of this task, as a number: a function that the verifier checks
 * separately takes no pointer into the kernel. */
static __always_inline struct file *number_of_file(__u32 fd)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct fdtable *table = WALK(task, files, fdt);
	__u64 file = 0;

	if (fd >= table->max_fds ||
	    bpf_probe_read_kernel(&file, sizeof file, (void *)table->fd + 8ULL * fd))
		return 0;
	return (struct file *)file;
}

/* A large folio keeps its order in the low byte of the second page's flags
 * (include/linux/mm.h, folio_order). */
static __always_inline __u64 folio_bytes(struct folio *folio)
{
	__u64 flags = 0;

	/* The flags are the first word of every struct folio; their type has changed. */
	bpf_probe_read_kernel(&flags, sizeof flags, folio);
	if (!(flags & (1ULL << bpf_core_enum_value(enum pageflags, PG_head))))
		return PAGE_SIZE;
	if (bpf_core_field_exists(folio->_folio_order))
		return PAGE_SIZE << READ(folio, _folio_order);
	return PAGE_SIZE << (READ(folio, _flags_1) & 0xff);
}

/* Whether the tree has a file mapping that may become writable later: shared, and open for writing
 * (mprotect(2), EACCES). Only then is the memory map checked: allocators call mprotect too, and
 * many programs map files only for reading. */
#define MAPPED 1         /* one: mremap may move it */
#define MAPPED_TO_READ 2 /* one that is not writable yet: mprotect may change that */

struct {
	__uint(type, MAP_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u64);
} shared_maps SEC(".maps");
