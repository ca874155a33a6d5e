/* What calls of a task have moved by the kernel's own accounting, which the audit holds our sums against. */
#pragma once
#include "numbers.h"

/* vfs_read, vfs_write, their vectored forms, sendfile and copy_file_range add what they return
 * (add_rchar, add_wchar, fs/read_write.c). */
static __always_inline __u64 accounted(struct task_struct *task)
{
	return bpf_core_field_exists(task->ioac.rchar) ? task->ioac.rchar + task->ioac.wchar : 0;
}

/* What the kernel itself reads and writes inside such a call is left out: a program and its interpreter (fs/exec.c),
 * a stream of btrfs (send_buf, fs/btrfs/send.c), a tree of hashes (fs/verity/enable.c). */
static __always_inline void account_aside(struct task_state *state)
{
	state->accounted_before = accounted(bpf_get_current_task_btf());
}

static __always_inline void account_again(struct task_state *state)
{
	state->accounted_base += accounted(bpf_get_current_task_btf()) - state->accounted_before;
}

/* A task that was met in a call: what that moved is in nobody's sums. */
static __always_inline void account_anew(struct task_state *state, struct task_struct *task)
{
	if (!state->calls)
		state->accounted_base = accounted(task);
}

/* SIGQUIT, SIGILL, SIGTRAP, SIGABRT, SIGBUS, SIGFPE, SIGSEGV, SIGXCPU, SIGXFSZ, SIGSYS */
#define DUMP_CORE (0xffU << 3 & ~(1U << 9 | 1U << 10) | 1U << 11 | 1U << 24 | 1U << 25 | 1U << 31)

static __always_inline bool has_process_accounting(struct pid *pid, __u32 level)
{
	struct upid *number = number_at(pid, level);

	return number && READ(number, ns, bacct);
}

/* Not where the kernel may have written for a task that ends: a core dump (dump_emit, fs/coredump.c), or a record of
 * process accounting (do_acct_process, kernel/acct.c; since Linux 6.14 by a worker). */
static __always_inline bool is_accounted(struct task_struct *task)
{
	struct pid *pid = READ(task, thread_pid);

	__u32 signal = READ(task, signal, group_exit_code) & 127;

	if (!bpf_core_field_exists(task->ioac.rchar) || (signal < 32 && DUMP_CORE >> signal & 1))
		return 0;
	if (!pid || !HAS(struct pid_namespace, bacct))
		return 1;
	return !has_process_accounting(pid, 0) && !has_process_accounting(pid, READ(pid, level));
}
