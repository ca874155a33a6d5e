/* System calls: who, on which file, how long, how long blocked. */
#pragma once
#include "maps.h"

static __always_inline __u32 log2_ns(__u64 ns)
{
	__u32 bucket = 0;

	if (ns >> 32) { bucket += 32; ns >>= 32; }
	if (ns >> 16) { bucket += 16; ns >>= 16; }
	if (ns >> 8) { bucket += 8; ns >>= 8; }
	if (ns >> 4) { bucket += 4; ns >>= 4; }
	if (ns >> 2) { bucket += 2; ns >>= 2; }
	if (ns >> 1) bucket += 1;
	return bucket < HISTOGRAM_BUCKETS ? bucket : HISTOGRAM_BUCKETS - 1;
}

static __always_inline void add_value(struct call_value *to, const struct call_value *from)
{
	to->count += from->count;
	to->errors += from->errors;
	to->returned += from->returned;
	to->time_ns += from->time_ns;
	to->blocked_ns += from->blocked_ns;
	for (int i = 0; i < HISTOGRAM_BUCKETS; i++)
		to->histogram[i] += from->histogram[i];
}

static __noinline int merge_slot(struct call_slot *slot)
{
	struct call_value *to;

	if (!slot || !slot->value.count)
		return 0;
	slot->key.cpu = bpf_get_smp_processor_id();
	to = bpf_map_lookup_elem(&calls, &slot->key);
	if (to) {
		add_value(to, &slot->value);
	} else if (bpf_map_update_elem(&calls, &slot->key, &slot->value, BPF_NOEXIST)) {
		__u32 nr = slot->key.nr;
		__u32 what = LOSS_CALLS;
		__u64 *lost = bpf_map_lookup_elem(&losses, &what);

		if (lost)
			*lost += slot->value.count;
		to = bpf_map_lookup_elem(&other_calls, &nr);
		if (to)
			add_value(to, &slot->value);
	}
	__builtin_memset(&slot->value, 0, sizeof slot->value);
	return 0;
}

static __always_inline struct file *file_of(struct task_struct *task, __u32 fd)
{
	struct fdtable *table = task->files->fdt;
	struct file *file = 0;

	if (fd < table->max_fds)
		bpf_probe_read_kernel(&file, sizeof file, (void *)table->fd + 8ULL * fd);
	return file;
}

/* Resolves a descriptor to the inode's life. The last struct file is remembered only
 * while this task alone uses the table: then nobody else can close it behind our back
 * and have its address reused. */
static __always_inline void resolve(struct task_state *state, struct task_struct *task, __u32 fd)
{
	struct file *file = file_of(task, fd);

	if (!file)
		return;
	if ((__u64)file != state->file_pointer) {
		identify(BPF_CORE_READ(file, f_inode), &state->last_file);
		state->file_pointer = task->files->count.counter == 1 ? (__u64)file : 0;
	}
	state->file = state->last_file;
}

SEC("tp_btf/sys_enter")
int BPF_PROG(call_entered, struct pt_regs *regs, long nr)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct task_state *state = bpf_task_storage_get(&tasks, task, 0, 0);
	__u32 call = 0;

	if (!state)
		return 0;
	if (task->thread_info.status & TS_COMPAT) {
		lose(LOSS_COMPAT);
		state->entered_ns = 0;
		return 0;
	}
	if (nr >= 0 && nr < SYSCALLS)
		call = CALLS[nr];
	state->nr = nr;
	state->call = call;
	state->blocked_ns = 0;
	state->looked_up_in = 0;
	state->file.inode = 0;
	state->file.device = 0;
	state->file.generation = 0;
	state->argument[0] = regs->di;
	state->argument[1] = regs->si;
	state->argument[2] = regs->dx;
	if (call & CALL_FD_FIRST)
		resolve(state, task, regs->di);
	else if (call & CALL_FD_THIRD)
		resolve(state, task, regs->dx);
	else if (call & CALL_FD_FIFTH)
		resolve(state, task, regs->r8);
	if (call & CALL_CLOSES)
		state->file_pointer = 0;
	state->entered_ns = bpf_ktime_get_ns();
	return 0;
}

static __always_inline void stream_call(struct task_state *state, __u64 took_ns, long result)
{
	struct call_event *event = bpf_ringbuf_reserve(&events, sizeof *event, 0);
	__u64 id = bpf_get_current_pid_tgid();

	if (!event) {
		lose(LOSS_STREAM);
		return;
	}
	event->kind = EVENT_CALL;
	event->nr = state->nr;
	event->process = id >> 32;
	event->thread = id;
	event->entered_ns = state->entered_ns;
	event->took_ns = took_ns;
	event->result = result;
	event->file = state->file;
	event->pieces = 1;
	event->pieces_read = 1;
	event->piece_bytes[0] = state->argument[2];
	if (state->call & CALL_VECTORED) {
		/* The kernel has just read the array, so its page is resident. */
		event->pieces = state->argument[2];
		event->pieces_read = 0;
		for (__u32 i = 0; i < PIECES; i++) {
			if (i >= state->argument[2])
				break;
			if (bpf_probe_read_user(&event->piece_bytes[i], 8,
						(void *)(state->argument[1] + 16ULL * i + 8)))
				break;
			event->pieces_read = i + 1;
		}
	}
	bpf_ringbuf_submit(event, BPF_RB_NO_WAKEUP);
}

static __always_inline __u32 slot_of(__u32 nr)
{
	return (nr ^ (nr >> 2)) & (SLOTS - 1);
}

SEC("tp_btf/sys_exit")
int BPF_PROG(call_left, struct pt_regs *regs, long result)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct task_state *state = bpf_task_storage_get(&tasks, task, 0, 0);
	struct call_slot *slot;
	__u64 took_ns;

	if (!state || !state->entered_ns)
		return 0;
	took_ns = bpf_ktime_get_ns() - state->entered_ns;
	if ((state->call & CALL_FD_RETURNED) && result >= 0)
		resolve(state, task, result);
	slot = &state->slot[slot_of(state->nr)];
	if (slot->key.nr != state->nr || slot->key.file.inode != state->file.inode ||
	    slot->key.file.device != state->file.device ||
	    slot->key.file.generation != state->file.generation) {
		merge_slot(slot);
		slot->key.nr = state->nr;
		slot->key.file = state->file;
	}
	slot->value.count++;
	if (result < 0)
		slot->value.errors++;
	else
		slot->value.returned += result;
	slot->value.time_ns += took_ns;
	slot->value.blocked_ns += state->blocked_ns;
	slot->value.histogram[log2_ns(took_ns)]++;
	if (state->call & CALL_STREAMED) {
		struct config *c = configuration();

		if (c && c->stream_calls)
			stream_call(state, took_ns, result);
	}
	state->entered_ns = 0;
	return 0;
}

/* Blocked means: left the CPU in a state other than runnable while inside a call.
 * in_iowait is not used: it is set only for waits on a bio, so an fsync that waits
 * for the journal thread would look like no I/O at all. */
SEC("tp_btf/sched_switch")
int BPF_PROG(switched, bool preempt, struct task_struct *prev, struct task_struct *next,
	     unsigned int prev_state)
{
	struct task_state *state;
	__u64 now = 0;

	if (!preempt && prev_state) {
		state = bpf_task_storage_get(&tasks, prev, 0, 0);
		if (state && state->entered_ns)
			state->switched_ns = now = bpf_ktime_get_ns();
	}
	state = bpf_task_storage_get(&tasks, next, 0, 0);
	if (state && state->switched_ns) {
		if (!now)
			now = bpf_ktime_get_ns();
		/* A call that was under way when the task was adopted is not counted. */
		if (state->entered_ns)
			state->blocked_ns += now - state->switched_ns;
		state->switched_ns = 0;
	}
	return 0;
}
