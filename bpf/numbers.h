/* Ids of processes and threads in iostrata's own PID namespace. A task has one in its namespace
 * and in each above (struct pid, include/linux/pid.h). */
#pragma once
#include "maps.h"

/* The loader's namespace. Every task of the tree has an id there: a task can only enter its own
 * namespace or one below (pidns_install, kernel/pid_namespace.c). */
static __always_inline struct observer *observer(void)
{
	__u32 zero = 0;

	return bpf_map_lookup_elem(&observers, &zero);
}

static __always_inline struct upid *number_at(struct pid *pid, __u32 level)
{
	return (void *)pid + bpf_core_field_offset(struct pid, numbers) +
	       level * bpf_core_type_size(struct upid);
}

/* Called by the loader's own thread. */
static __always_inline void know_observer(void)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct observer *known = observer();
	struct pid *pid = READ(task, thread_pid);
	struct upid *number;

	if (!known || !pid)
		return;
	known->process = task->tgid;
	known->level = READ(pid, level);
	number = number_at(pid, known->level);
	known->namespace = (__u64)READ(number, ns);
	known->users = (__u64)READ(task, real_cred, user_ns);
	known->uid = READ(task, real_cred, uid.val);
	known->gid = READ(task, real_cred, gid.val);
}

/* What iostrata does is never the tree's. */
static __always_inline bool is_observer(struct task_struct *task)
{
	struct observer *known = observer();

	return known && (__u32)READ(task, tgid) == known->process;
}

/* The number of a thread, 0 where it has none. */
APART int number_of(__u64 address)
{
	struct task_struct *task = (struct task_struct *)address;
	struct observer *known = observer();
	struct pid *pid = READ(task, thread_pid);
	struct upid *number;

	if (!known || !pid || READ(pid, level) < known->level)
		return 0;
	number = number_at(pid, known->level);
	if ((__u64)READ(number, ns) != known->namespace)
		return 0;
	return READ(number, nr);
}

/* The process in the upper half and the thread in the lower, as in bpf_get_current_pid_tgid. The
 * ids of the first namespace are in the task itself. */
static __always_inline __u64 numbers_of(struct task_struct *task)
{
	struct observer *known = observer();

	if (!known || !known->level)
		return (__u64)(__u32)READ(task, tgid) << 32 | (__u32)READ(task, pid);
	return (__u64)(__u32)number_of(number(READ(task, group_leader))) << 32 |
	       (__u32)number_of(number(task));
}

static __always_inline __u64 current_numbers(void)
{
	return numbers_of(bpf_get_current_task_btf());
}

static __always_inline __u32 process_of(struct task_struct *task)
{
	return numbers_of(task) >> 32;
}

static __always_inline __u32 parent_of(struct task_struct *task)
{
	return process_of(READ(task, real_parent));
}
