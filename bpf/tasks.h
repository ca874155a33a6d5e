/* The tree: who belongs to it, and what a task has used when it leaves. */
#pragma once
#include "calls.h"
#include "page_cache.h"

static __always_inline struct totals *sums(void)
{
	__u32 zero = 0;

	return bpf_map_lookup_elem(&totals, &zero);
}

/* What one thread did, when it ends or the observation does. */
static __noinline int send_task(struct task_state *state, struct task_struct *task, __u64 ended_ns)
{
	struct task_event event = {};

	if (!state || !task)
		return 0;
	event.kind = EVENT_TASK;
	event.thread = task->pid;
	event.process = task->tgid;
	event.parent = state->parent;
	event.started_ns = state->started_ns;
	event.ended_ns = ended_ns;
	event.on_cpu_ns = task->se.sum_exec_runtime - state->on_cpu_base_ns;
	event.minor_faults = task->min_flt - state->minor_base;
	event.major_faults = task->maj_flt - state->major_base;
	event.calls = state->calls;
	event.time_ns = state->time_ns;
	event.blocked_ns = state->blocked_sum_ns;
	event.read_bytes = state->read_bytes;
	event.written_bytes = state->written_bytes;
	bpf_probe_read_kernel(event.name, sizeof event.name, task->comm);
	if (bpf_ringbuf_output(&events, &event, sizeof event, BPF_RB_NO_WAKEUP))
		lose(LOSS_HISTORY);
	return 0;
}

static __always_inline void settle(struct task_state *state, struct task_struct *task,
				   __u64 ended_ns)
{
	struct totals *sum = sums();

	change_alive(-1);
	if (HISTORY) {
		end_run(&state->run);
		end_reports(state);
		send_task(state, task, ended_ns);
	}

	for (int i = 0; i < SLOTS; i++)
		merge_slot(&state->slot[i]);
	for (int i = 0; i < 2; i++)
		merge_cache(&state->cache[i]);
	if (HISTORY)
		merge_moment(state);
	if (!sum)
		return;
	sum->on_cpu_ns += task->se.sum_exec_runtime - state->on_cpu_base_ns;
	sum->minor_faults += task->min_flt - state->minor_base;
	sum->major_faults += task->maj_flt - state->major_base;
	sum->tasks++;
}

/* A blank state for the task, 0 when there is no memory for it. */
static __always_inline struct task_state *new_state(struct task_struct *task)
{
	__u32 at = place_of(task), last = PLACES;
	struct task_state *state = bpf_map_lookup_elem(&places, &at);
	struct task_state *blank = bpf_map_lookup_elem(&places, &last);

	if (state && blank && !__sync_val_compare_and_swap(&state->owner, 0, (__u64)task)) {
		bpf_probe_read_kernel(&state->entered_ns, sizeof *state - sizeof state->owner,
				      &blank->entered_ns);
		return state;
	}
	return bpf_task_storage_get(&tasks, task, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);
}

static __always_inline void give_up(struct task_state *state, struct task_struct *task)
{
	if (state->owner)
		state->owner = 0;
	else
		bpf_task_storage_delete(&tasks, task);
}

SEC("tp_btf/sched_process_fork")
int BPF_PROG(forked, struct task_struct *parent, struct task_struct *child)
{
	struct task_state *state;

	if (!state_of(parent))
		return 0;
	state = new_state(child);
	if (!state) {
		lose(LOSS_TASKS);
		return 0;
	}
	state->parent = parent->tgid;
	state->started_ns = bpf_ktime_get_ns();
	change_alive(1);
	return 0;
}

SEC("tp_btf/sched_process_exec")
int BPF_PROG(executed, struct task_struct *task)
{
	struct task_state *state = state_of(task);
	struct file_key key = {};
	struct file *program;

	if (!state || !HISTORY)
		return 0;
	/* Its pages are used without a call that opens it. */
	program = BPF_CORE_READ(task, mm, exe_file); /* a number for the verifier */
	if (program) {
		identify(READ(program, f_inode), &key);
		name_file((__u64)program, &key);
	}
	return 0;
}

SEC("tp_btf/sched_process_exit")
int BPF_PROG(exited, struct task_struct *task)
{
	struct task_state *state = state_of(task);

	if (state) {
		settle(state, task, bpf_ktime_get_ns());
		give_up(state, task);
	}
	return 0;
}

/* Whether the task is of the root process, or of one that it started. */
static __always_inline bool is_of_root(struct task_struct *task, __u32 root)
{
	struct task_struct *process = task;

	for (int i = 0; i < 64; i++) {
		__u32 id = READ(process, tgid);

		if (id == root)
			return 1;
		if (id <= 1)
			return 0;
		process = READ(process, real_parent);
	}
	return 0;
}

static long vacate(__u32 place, void *unused)
{
	struct task_state *state = bpf_map_lookup_elem(&places, &place);

	if (state)
		state->owner = 0;
	return 0;
}

/* Run once by the loader: every thread of the root, and of what it has started, is
 * observed from now on. */
SEC("iter/task")
int adopt(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;
	struct config *c = configuration();
	struct task_state *state;

	/* One that was made while the last session ended may have died unseen. */
	if (!ctx->meta->seq_num)
		bpf_loop(PLACES, vacate, 0, 0);
	if (!task || !c || !is_of_root(task, c->root))
		return 0;
	state = new_state(task);
	if (!state) {
		lose(LOSS_TASKS);
		return 0;
	}
	state->on_cpu_base_ns = task->se.sum_exec_runtime;
	state->minor_base = task->min_flt;
	state->major_base = task->maj_flt;
	state->parent = READ(task, real_parent, tgid);
	state->started_ns = bpf_ktime_get_ns();
	change_alive(1);
	return 0;
}

/* Run once by the loader at the end: what is still alive hands over its sums. */
SEC("iter/task")
int release(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;
	struct task_state *state;

	if (!task)
		return 0;
	state = state_of(task);
	if (!state)
		return 0;
	settle(state, task, 0);
	give_up(state, task);
	return 0;
}
