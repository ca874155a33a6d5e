/* Who joins the tree while it is observed: by a fork into a control group, by being moved there, or by
 * becoming a program of a wanted name. Attached only where such are asked for. */
#pragma once
#include "adoption.h"

/* Marks the task, and takes note how it came. Nobody joins while the programs are attached: the first search
 * finds who lives then, and a child of a task that had joined would have no claim when it ends. */
static __always_inline struct task_state *join(struct task_struct *task, __u32 by)
{
	struct joined_key key = {};
	struct joined how = { .by = by };
	struct observer *known = observer();
	struct config *c = configuration();
	struct task_state *state;

	if (has_ended(c) || c->adoption == ADOPTION_PREPARES)
		return 0;
	state = mark(task);
	if (!state)
		return 0;
	key.numbers = state->numbers;
	key.started = task->start_time;
	bpf_probe_read_kernel(how.name, sizeof how.name, task->comm);
	if (bpf_map_update_elem(&joined, &key, &how, BPF_ANY) && known)
		__sync_fetch_and_add(&known->unlisted, 1);
	return state;
}

/* After `forked`, which marks whose parent is of the tree. */
SEC("tp_btf/sched_process_fork")
int BPF_PROG(forked_into, struct task_struct *parent, struct task_struct *child)
{
	struct task_state *state;

	if (!wants(configuration(), WANTS_GROUPS) || state_of(child) || !is_in_group(child))
		return 0;
	state = join(child, JOINED_FORK);
	if (state)
		state->parent = process_of(parent);
	return 0;
}

/* Before `executed`, which names the program. */
SEC("tp_btf/sched_process_exec")
int BPF_PROG(became, struct task_struct *task)
{
	__u32 by;

	if (!wants(configuration(), WANTS_NAMES) || state_of(task) || !process_of(task))
		return 0;
	by = wanted_by_name(task);
	if (by)
		join(task, by);
	return 0;
}

/* Told of the first thread only where all threads of a process are moved (cgroup_attach_task,
 * kernel/cgroup/cgroup.c). The others are looked for by the loader. */
SEC("tp_btf/cgroup_attach_task")
int BPF_PROG(moved_into, struct cgroup *group, const char *path, struct task_struct *task,
	     bool all_threads)
{
	struct observer *known = observer();
	int others;

	if (!wants(configuration(), WANTS_GROUPS) || !known || !is_in_group(task))
		return 0;
	if (!state_of(task) && !(task->flags & PF_EXITING))
		join(task, JOINED_MOVE);
	others = READ(task, signal, nr_threads) - 1;
	if (all_threads && others > 0)
		__sync_fetch_and_add(&known->moved, others);
	return 0;
}
