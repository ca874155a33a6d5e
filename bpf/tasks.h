/* The tree: who belongs to it, and what a task has used when it leaves. */
#pragma once
#include "adoption.h"
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
	__u64 numbers;

	if (!state || !task)
		return 0;
	numbers = numbers_of(task);
	event.kind = EVENT_TASK;
	event.thread = numbers;
	event.process = numbers >> 32;
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
		end_run(&state->run, numbers_of(task));
		end_reports(state, numbers_of(task));
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

SEC("tp_btf/sched_process_fork")
int BPF_PROG(forked, struct task_struct *parent, struct task_struct *child)
{
	struct config *c = configuration();
	struct task_state *state;

	if (is_adopting(c)) {
		if (!state_of(parent) && !is_of_root(parent, c->root))
			return 0;
		state = mark(child);
		if (state)
			state->parent = process_of(parent);
		return 0;
	}
	if (!state_of(parent))
		return 0;
	state = new_state(child);
	if (!state) {
		lose(LOSS_TASKS);
		return 0;
	}
	state->parent = process_of(parent);
	state->started_ns = bpf_ktime_get_ns();
	change_alive(1);
	return 0;
}

SEC("tp_btf/sched_process_exec")
int BPF_PROG(executed, struct task_struct *task)
{
	struct task_state *state = state_of(task);
	struct observer *known = observer();
	struct file_key key = {};
	struct file *program;

	if (!state)
		return 0;
	if (known)
		__sync_fetch_and_add(&known->executed, 1);
	if (!HISTORY)
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
	struct config *c = configuration();
	struct task_state *state;

	if (is_adopting(c) && !is_marked_at_its_end(task)) {
		if (leaves_children(task) && is_of_root(task, c->root))
			lose(LOSS_ORPHANS);
		return 0;
	}
	state = state_of(task);
	if (state) {
		settle(state, task, bpf_ktime_get_ns());
		give_up(state, task);
	}
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
