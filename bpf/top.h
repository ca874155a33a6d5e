/* The whole machine, interval by interval: what each process did with each file.
 *
 * Compiled with TOP, in objects of their own. The programs are those of a trace; what differs is that
 * every task belongs to it from its first call on, and that nothing is summed in the state of a task:
 * a program that makes one and the same call for hours would never hand it over.
 *
 * Every entry names the interval in which it was made. When that is over (config.phase) the loader
 * waits until no program is under way that has seen the one before, and takes its entries out. */
#pragma once
#ifdef TOP
#include "durable.h"
#include "moments.h"
#include "names.h"
#include "numbers.h"
#include "touched.h"

APART int resolve_source(struct task_state *state);

static const volatile struct share_value NO_SHARE = {};

/* Made in advance: what is taken out every second is put in again in the next. */
struct {
	__uint(type, MAP_HASH);
	__uint(max_entries, 32768); /* resized */
	__type(key, struct share_key);
	__type(value, struct share_value);
} shares SEC(".maps");

/* What processes did without a file, and with those that found no room: however many files there are,
 * there is room for processes. */
struct {
	__uint(type, MAP_HASH);
	__uint(max_entries, 8192);
	__type(key, struct share_key);
	__type(value, struct share_value);
} rests SEC(".maps");

struct {
	__uint(type, MAP_HASH);
	__uint(max_entries, 8192);
	__type(key, struct actor_key);
	__type(value, struct actor_value);
} actors SEC(".maps");

/* Whether a name is being put together on this CPU: requests are also issued in interrupts. */
struct {
	__uint(type, MAP_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u32);
} naming SEC(".maps");

static __always_inline __u32 interval(void)
{
	struct config *c = configuration();

	return c ? c->phase : 0;
}

/* Whether the name has yet to be reported in this interval. */
static __noinline int is_due(const struct file_key *key)
{
	struct file_key own;
	__u8 now = interval(), *last;

	if (!key)
		return 0;
	own = *key; /* on the stack: see KEYS in maps.h */
	last = bpf_map_lookup_elem(&named, &own);
	if (last && *last == now)
		return 0;
	bpf_map_update_elem(&named, &own, &now, BPF_ANY);
	return 1;
}

APART int name_due(struct file_key *key, __u64 dentry, __u64 mount)
{
	__u32 zero = 0, *busy = bpf_map_lookup_elem(&naming, &zero);

	if (!key || !dentry || !busy || *busy)
		return 0;
	*busy = 1;
	if (is_due(key))
		send_path(key, dentry, mount, 0);
	*busy = 0;
	return 0;
}

APART int name_opened(struct file_key *key, __u64 address)
{
	struct file *file = (struct file *)address;
	__u64 dentry, mount;

	if (!key)
		return 0;
	dentry = (__u64)BPF_CORE_READ(file, f_path.dentry);
	mount = (__u64)BPF_CORE_READ(file, f_path.mnt);
	return name_due(key, dentry, mount);
}

/* Of pages nobody has opened the file in this interval. */
APART int name_inode(struct file_key *key, __u64 inode)
{
	if (!key)
		return 0;
	return name_due(key, (__u64)first_name((struct inode *)inode), mount_of(inode));
}

/* In whatever context a request is issued: nobody's mounts. */
static __always_inline void name_requested(struct file_key *key, __u64 inode)
{
	name_due(key, (__u64)first_name((struct inode *)inode), 0);
}

static __always_inline void look_at_actor(struct actor_value *actor)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct task_struct *leader = READ(task, group_leader);

	actor->cgroup = bpf_get_current_cgroup_id();
	actor->parent = parent_of(task);
	bpf_probe_read_kernel(actor->name, sizeof actor->name, leader->comm);
}

/* Who the current task is, once in an interval. */
APART int note_actor(__u32 process)
{
	struct actor_key key = { .process = process, .interval = interval() };
	struct actor_value actor = {};

	if (bpf_map_lookup_elem(&actors, &key))
		return 0;
	look_at_actor(&actor);
	bpf_map_update_elem(&actors, &key, &actor, BPF_NOEXIST);
	return 0;
}

/* It has become another program. Before, it may also have been moved to its cgroup. */
APART int note_actor_again(__u32 process)
{
	struct actor_key key = { .process = process, .interval = interval() };
	struct actor_value *actor = bpf_map_lookup_elem(&actors, &key);

	if (actor)
		look_at_actor(actor);
	return 0;
}

static __noinline struct share_value *rest_of(struct share_key *key)
{
	struct share_value *rest;

	key->file = (struct file_key){};
	rest = bpf_map_lookup_elem(&rests, key);
	if (rest)
		return rest;
	note_actor(key->process);
	bpf_map_update_elem(&rests, key, (void *)&NO_SHARE, BPF_NOEXIST);
	rest = bpf_map_lookup_elem(&rests, key);
	if (!rest)
		lose(LOSS_TASKS);
	return rest;
}

static __noinline struct share_value *new_share(struct share_key *key)
{
	note_actor(key->process);
	bpf_map_update_elem(&shares, key, (void *)&NO_SHARE, BPF_NOEXIST);
	return bpf_map_lookup_elem(&shares, key);
}

/* What the current task's process did with the file. The file is named by what it was opened as, or
 * by its inode. `what` is lost where there is no room for the file. */
static __always_inline struct share_value *share_of(struct task_state *state, struct file_key *file,
						    __u64 open_file, __u64 inode, __u32 what)
{
	struct share_key key = {};
	struct share_value *share;

	key.file = *file;
	key.process = state->numbers >> 32;
	key.interval = interval();
	key.cpu = bpf_get_smp_processor_id();
	if (!key.file.inode)
		return rest_of(&key);
	share = bpf_map_lookup_elem(&shares, &key);
	if (share)
		return share;
	share = new_share(&key);
	if (!share) {
		lose(what);
		return rest_of(&key);
	}
	if (open_file)
		name_opened(&key.file, open_file);
	else if (inode)
		name_inode(&key.file, inode);
	return share;
}

static __always_inline bool is_on_files(long nr)
{
	return nr >= 0 && (nr & ~X32_BIT) < SYSCALLS && PURPOSE_OF[nr & (SYSCALLS - 1)];
}

/* Not pipes, sockets, terminals, nor files that the kernel makes up (mode_of). */
static __always_inline bool is_kept_mode(__u32 mode)
{
	return is_stored(mode) || (mode & S_IFMT) == S_IFDIR;
}

/* Of a write: whether it syncs what it writes (iocb_is_dsync, include/linux/fs.h). */
static __always_inline bool is_synchronous(struct task_state *state)
{
	struct file *file = (struct file *)state->open_file;
	struct inode *inode;

	if (manner_of(state) & RUN_DURABLE)
		return 1;
	inode = READ(file, f_inode);
	return (READ(inode, i_flags) & S_SYNC) ||
	       (READ(inode, i_sb, s_flags) & SB_SYNCHRONOUS);
}

/* Whether the call that has begun is to be counted: on what it works is known, unless it opens. */
static __always_inline bool is_kept(struct task_state *state, __u32 flags)
{
	state->source.inode = 0;
	state->source.device = 0;
	state->source_mode = 0;
	state->source_file = 0;
	if (state->call & (CALL_SOURCE_FIRST | CALL_SOURCE_SECOND))
		resolve_source(state);
	if (state->open_file && !is_kept_mode(state->mode) && !is_stored(state->source_mode)) {
		state->entered_ns = 0;
		return 0;
	}
	if (state->open_file && (state->call & CALL_CLOSES)) /* afterwards it is gone */
		share_of(state, &state->file, state->open_file, 0, LOSS_CALLS);
	state->is_synchronous = 0;
	if (state->open_file && (state->call & CALL_WRITES)) {
		state->call_flags = state->call & CALL_FLAGS ? flags : 0;
		state->is_synchronous = is_synchronous(state);
	}
	return 1;
}

static __always_inline void add_to_sum(struct share_sum *sum, __s64 result, __u64 bytes,
				       __u64 took_ns)
{
	sum->count++;
	sum->errors += result < 0;
	sum->bytes += bytes;
	sum->time_ns += took_ns;
	if (sum->longest_ns < took_ns)
		sum->longest_ns = took_ns;
}

static __always_inline void add_to_share(struct share_value *share, __u32 purpose, __s64 result,
					 __u64 bytes, __u64 took_ns)
{
	add_to_sum(&share->of[(purpose - 1) & (PURPOSES - 1)], result, bytes, took_ns);
}

/* The call that ends. */
static __always_inline int add_to_shares(struct task_state *state, __s64 result, __u64 took_ns)
{
	__u64 bytes = result > 0 && (state->call & CALL_MOVES) ? result : 0;
	__u32 purpose = purpose_of(state->nr, state->mode);
	__u64 open_file = state->call & CALL_CLOSES ? 0 : state->open_file;
	struct share_value *share;
	bool is_counted = purpose && (!state->open_file || is_kept_mode(state->mode));

	/* What is looked up in the next call that is not on files is not of this one. */
	state->entered_ns = 0;
	state->looked_up_in = 0;
	state->awaited_in = 0;
	if (is_counted) {
		share = share_of(state, &state->file, open_file, 0, LOSS_CALLS);
		if (share)
			add_to_share(share, purpose, result, bytes, took_ns);
		/* One that writes nothing syncs nothing (generic_write_sync, include/linux/fs.h). */
		if (share && purpose == PURPOSE_WRITE && state->is_synchronous && result > 0)
			add_to_sum(&share->synchronous, result, bytes, took_ns);
	}
	if (result < 0 || !is_stored(state->source_mode))
		return 0;
	share = share_of(state, &state->source, state->source_file, 0, LOSS_CALLS);
	if (!share)
		return 0;
	if (is_counted) /* as one call, on what it writes to */
		share->of[PURPOSE_READ - 1].bytes += bytes;
	else
		add_to_share(share, PURPOSE_READ, result, bytes, took_ns);
	return 0;
}

/* 0 for kernel threads, which work for others. */
static __always_inline __u32 submitting_process(void)
{
	struct task_struct *task = bpf_get_current_task_btf();
	__u32 process;

	if (task->flags & PF_KTHREAD)
		return 0;
	process = process_of(task);
	note_actor(process);
	return process;
}
#endif
