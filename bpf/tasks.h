/* The tree: who belongs to it, and what a task has used when it leaves. */
#pragma once
#include "calls.h"
#include "page_cache.h"

static __always_inline struct totals *sums(void)
{
	__u32 zero = 0;

	return bpf_map_lookup_elem(&totals, &zero);
}

static __always_inline void settle(struct task_state *state, struct task_struct *task)
{
	struct totals *sum = sums();

	for (int i = 0; i < SLOTS; i++)
		merge_slot(&state->slot[i]);
	merge_cache(state);
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
	if (!bpf_task_storage_get(&tasks, parent, 0, 0))
		return 0;
	if (!bpf_task_storage_get(&tasks, child, 0, BPF_LOCAL_STORAGE_GET_F_CREATE))
		lose(LOSS_TASKS);
	return 0;
}

SEC("tp_btf/sched_process_exec")
int BPF_PROG(executed, struct task_struct *task)
{
	struct task_state *state = bpf_task_storage_get(&tasks, task, 0, 0);

	/* close-on-exec has changed the table. */
	if (state)
		state->file_pointer = 0;
	return 0;
}

SEC("tp_btf/sched_process_exit")
int BPF_PROG(exited, struct task_struct *task)
{
	struct task_state *state = bpf_task_storage_get(&tasks, task, 0, 0);

	if (state) {
		settle(state, task);
		bpf_task_storage_delete(&tasks, task);
	}
	return 0;
}

/* Run once by the loader: every thread of the root starts to be observed. */
SEC("iter/task")
int adopt(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;
	struct config *c = configuration();
	struct task_state *state;

	if (!task || !c || task->tgid != (int)c->root)
		return 0;
	state = bpf_task_storage_get(&tasks, task, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (!state) {
		lose(LOSS_TASKS);
		return 0;
	}
	state->on_cpu_base_ns = task->se.sum_exec_runtime;
	state->minor_base = task->min_flt;
	state->major_base = task->maj_flt;
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
	state = bpf_task_storage_get(&tasks, task, 0, 0);
	if (!state)
		return 0;
	settle(state, task);
	bpf_task_storage_delete(&tasks, task);
	return 0;
}
