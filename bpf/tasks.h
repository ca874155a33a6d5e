/* The tree: who belongs to it, and what a task has used when it leaves. */
#pragma once
#include "joins.h"
#include "calls.h"
#include "page_cache.h"

static __always_inline struct totals *sums(void)
{
	__u32 zero = 0;

	return bpf_map_lookup_elem(&totals, &zero);
}

/* The task's time on CPUs since it was first seen. The scheduler brings its sum up to date at ticks and
 * switches only (update_curr, kernel/sched/fair.c), so a task that is on a CPU has run since exec_start,
 * too: all its life, if that is short. The clocks of run queues differ by the time that a hypervisor stole from their
 * CPUs (update_rq_clock_task, kernel/sched/core.c): of a task that has moved unseen, the time since a tick is left out. */
static __always_inline __u64 on_cpu_ns(struct task_state *state, struct task_struct *task)
{
	__u64 sum = task->se.sum_exec_runtime - state->on_cpu_base_ns;
	__u64 now = bpf_ktime_get_ns();
	__s64 more;

	if (!state->run_queue_ns)
		return sum;
	if (bpf_core_field_exists(task->on_cpu) ? !task->on_cpu :
						   task != bpf_get_current_task_btf())
		return sum;
	if (bpf_core_field_exists(task->thread_info.cpu) && task->thread_info.cpu != state->run_queue_cpu)
		return sum;
	more = now - state->run_queue_ns - task->se.exec_start;
	if (more <= 0 || sum + more > now - state->started_ns)
		return sum;
	return sum + more;
}

/* What one thread did, when it ends or the observation does. The task is 0 where it is gone. */
static __noinline int send_task(struct task_state *state, struct task_struct *task, __u64 ended_ns,
				__u64 on_cpu_ns)
{
	struct task_event event = {};

	if (!state)
		return 0;
	event.kind = EVENT_TASK;
	event.thread = state->numbers;
	event.process = state->numbers >> 32;
	event.parent = state->parent;
	event.started_ns = state->started_ns;
	event.ended_ns = ended_ns;
	event.calls = state->calls;
	event.time_ns = state->time_ns;
	event.blocked_ns = state->blocked_sum_ns;
	event.read_bytes = state->read_bytes;
	event.written_bytes = state->written_bytes;
	if (!task) {
		event.on_cpu_ns = NOT_KNOWN;
	} else {
		event.on_cpu_ns = on_cpu_ns;
		event.minor_faults = task->min_flt - state->minor_base;
		event.major_faults = task->maj_flt - state->major_base;
		bpf_probe_read_kernel(event.name, sizeof event.name, task->comm);
	}
	if (bpf_ringbuf_output(&events, &event, sizeof event, BPF_RB_NO_WAKEUP))
		lose(LOSS_HISTORY);
	return 0;
}

/* Once for a task: the first caller wins. The task is 0 where it is gone. Returns whether it was done
 * here. */
static __always_inline bool settle(struct task_state *state, __u64 owner, struct task_struct *task,
				   __u64 ended_ns)
{
	struct totals *sum = sums();
	__u64 ran_ns;

	if (!take_over(state, owner))
		return 0;
	end_moving(state);
	change_alive(-1);
	ran_ns = task ? on_cpu_ns(state, task) : 0;
	if (HISTORY) {
		end_run(&state->run, state->numbers);
		end_reports(state, state->numbers);
		send_task(state, task, ended_ns, ran_ns);
	}

	for (int i = 0; i < SLOTS; i++)
		merge_slot(&state->slot[i]);
	for (int i = 0; i < 2; i++)
		merge_cache(&state->cache[i]);
	if (HISTORY)
		merge_moment(state);
	if (!sum)
		return 1;
	if (HISTORY && task && is_accounted(task))
		sum->accounted_bytes += accounted(task) - state->accounted_base;
	else
		sum->unaccounted++;
	if (task) {
		sum->on_cpu_ns += ran_ns;
		sum->minor_faults += task->min_flt - state->minor_base;
		sum->major_faults += task->maj_flt - state->major_base;
	}
	sum->tasks++;
	return 1;
}

SEC("tp_btf/sched_process_fork")
int BPF_PROG(forked, struct task_struct *parent, struct task_struct *child)
{
	struct config *c = configuration();
	struct task_state *state;

	part_with_the_last(child);
#ifdef TOP
	return 0;
#endif
	if (state_of(child) || has_ended(c))
		return 0;
	if (is_adopting(c)) {
		if (!state_of(parent) && !is_of_root(parent, c))
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
	begin(state, child);
	begin_moving(state, child);
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
	state->numbers = numbers_of(task); /* a thread takes its process's */
#ifdef TOP
	note_actor_again(state->numbers >> 32);
#endif
	if (known)
		__sync_fetch_and_add(&known->executed, 1);
	/* Its pages are used without a call that opens it. */
	if (HISTORY) {
		program = BPF_CORE_READ(task, mm, exe_file); /* a number for the verifier */
		if (program) {
			identify(READ(program, f_inode), &key);
			name_file((__u64)program, &key);
		}
	}
#ifndef TOP
	/* Credentials and memory are those of the program (begin_new_exec, fs/exec.c). The task goes on, unobserved. */
	if (is_forbidden(number(task), 1) && settle(state, (__u64)task, task, bpf_ktime_get_ns()))
		give_up(state, task);
#endif
	return 0;
}

SEC("tp_btf/sched_process_exit")
int BPF_PROG(exited, struct task_struct *task)
{
	struct config *c = configuration();
	struct task_state *state;

#ifdef TOP
	state = state_of(task);
	if (state)
		give_up(state, task);
	return 0;
#endif
	if (is_adopting(c) && !is_marked_at_its_end(task)) {
		if (leaves_children(task) && is_of_root(task, c))
			lose(LOSS_ORPHANS);
		return 0;
	}
	state = state_of(task);
	if (state && HISTORY)
		leaves(task);
	if (state && settle(state, (__u64)task, task, bpf_ktime_get_ns()))
		give_up(state, task);
	if (state && c && c->wants)
		forget_claim(task);
	return 0;
}

/* Whether the task of a state is no more: its memory is another's, which was born later, or says
 * that it has ended. One that lives may seem born earlier, as of the process whose first thread it
 * has become (de_thread, fs/exec.c). */
static __always_inline bool is_gone(struct task_state *state, __u64 owner)
{
	struct task_struct *task = (void *)owner;

	if (owner == NO_TASK)
		return 1;
	return state->born &&
	       (READ(task, start_time) > state->born || READ(task, exit_state));
}

static long settle_gone(__u32 place, __u64 *gone)
{
	struct task_state *state = bpf_map_lookup_elem(&places, &place);
	__u64 owner = state ? *(volatile __u64 *)&state->owner : 0;

	if (!owner || !is_gone(state, owner))
		return 0;
	if (settle(state, owner, 0, bpf_ktime_get_ns())) {
		state->owner = 0;
		*gone += 1;
	}
	return 0;
}

/* Run by the loader: who lives? The kernel does not run a program that would interrupt itself
 * (__bpf_trace_run, kernel/trace/bpf_trace.c), so an end may have come unseen. exit_state is set
 * after sched_process_exit (exit_notify, kernel/exit.c): a task that has one and a state was
 * missed. At the end of the observation, tasks that still live report their sums, too. */
SEC("iter/task")
int look(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;
	struct observer *known = observer();
	struct config *c = configuration();
	struct task_state *state;
	__u64 gone = 0;

	if (!c || !known)
		return 0;
	if (!task) {
		/* All were met. */
		bpf_loop(PLACES, settle_gone, &gone, 0);
		known->gone += gone;
		return 0;
	}
	state = state_of(task);
	if (!state)
		return 0;
	if (!task->exit_state && !c->ends) {
		known->living++;
		return 0;
	}
	if (!settle(state, (__u64)task, task, task->exit_state ? bpf_ktime_get_ns() : 0))
		return 0;
	known->late += !!task->exit_state;
	give_up(state, task);
	return 0;
}
