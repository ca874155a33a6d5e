/* Which tasks belong to the tree when the observation begins.
 *
 * The programs are attached before the iterator runs, so a task of the tree is met by the
 * iterator, by the fork that creates it, or by both at once on two CPUs; and it may end at any
 * moment. A claim decides: whichever program makes it first marks the task, and a task that ends
 * before it is marked never is. */
#pragma once
#include "accounting.h"
#include "alone.h"
#include "permits.h"
#include "wanted.h"

enum { CLAIM_NONE, CLAIM_TAKEN, CLAIM_MARKED, CLAIM_GONE };

/* Not in task storage, which creates no entry while a preempted task is creating one on the same
 * CPU (bpf_task_storage_trylock, kernel/bpf/bpf_task_storage.c), and an iterator can be preempted.
 */
struct {
	__uint(type, MAP_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 65536);
	__type(key, struct claim_key);
	__type(value, __u64);
} claims SEC(".maps");

/* The claim to a task, 0 if there is no room for it. */
static __always_inline __u64 *claim_to(struct task_struct *task)
{
	struct claim_key key = { .task = (__u64)task, .started = task->start_time };
	__u64 none = CLAIM_NONE, *claim = bpf_map_lookup_elem(&claims, &key);

	if (claim)
		return claim;
	bpf_map_update_elem(&claims, &key, &none, BPF_NOEXIST);
	claim = bpf_map_lookup_elem(&claims, &key);
	if (!claim)
		lose(LOSS_TASKS);
	return claim;
}

/* Of a task that ends: those that join go on to make claims. */
static __always_inline void forget_claim(struct task_struct *task)
{
	struct claim_key key = { .task = (__u64)task, .started = task->start_time };

	bpf_map_delete_elem(&claims, &key);
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

static __always_inline void begin(struct task_state *state, struct task_struct *task)
{
	state->started_ns = bpf_ktime_get_ns();
	state->numbers = numbers_of(task);
	state->born = task->start_time;
}

/* A state of the whole machine has nothing left to be found. */
#ifdef TOP
#define NOBODY 0
#else
#define NOBODY NO_TASK
#endif

/* Task memory is soon reused. If the end of the previous task was not seen, its state must not
 * pass to the new one: it stays without an owner until it is found. */
static __always_inline void part_with_the_last(struct task_struct *task)
{
	__u32 at = place_of(task);
	struct task_state *state = bpf_map_lookup_elem(&places, &at);
	__u64 born = state ? *(volatile __u64 *)&state->born : 0;

	/* An iterator may have met the task before its fork is reported, or is about to note when it was born. */
	if (born && born != task->start_time)
		__sync_val_compare_and_swap(&state->owner, (__u64)task, NOBODY);
}

#ifdef TOP
static __noinline struct task_state *met(struct task_struct *task)
{
	struct task_state *state = state_of(task);

	if (state || !task)
		return state;
	state = new_state(task);
	if (state)
		begin(state, task);
	else
		lose(LOSS_TASKS);
	return state;
}
#endif

/* The program that takes over a state sends it, and is the only one to do so. An end and two scans
 * of all tasks may reach it at once, and a new task, born later, may have its place by then. The
 * owner is 0 for a state in the storage of its task. */
static __always_inline bool take_over(struct task_state *state, __u64 owner)
{
	__u64 born = *(volatile __u64 *)&state->born;
	__u64 now = *(volatile __u64 *)&state->owner;

	return born && (!now || now == owner) &&
	       __sync_val_compare_and_swap(&state->born, born, 0) == born;
}

/* The owner of a state that was taken. */
static __always_inline void give_up(struct task_state *state, struct task_struct *task)
{
	if (state->owner)
		state->owner = 0;
	else
		bpf_task_storage_delete(&tasks, task);
}

/* No program may mark the task any more. Returns whether one has, as far as there is a claim. */
static __always_inline bool is_marked_at_its_end(struct task_struct *task)
{
	__u64 now, *claim = claim_to(task);

	/* A claim goes from nothing to taken to marked, so the third attempt is the last. */
	for (int i = 0; claim && i < 3; i++) {
		now = *claim;
		if (now == CLAIM_MARKED)
			return 1;
		if (__sync_val_compare_and_swap(claim, now, CLAIM_GONE) == now)
			return 0;
	}
	return 1;
}

/* What iostrata has started is a part of iostrata, with its capabilities, until it executes the program. */
static __always_inline bool is_shut_out(struct task_struct *task)
{
	return wants(configuration(), WANTS_ROOTS) && is_forbidden(number(task), 0);
}

/* Marks an unmarked task, unless it has ended. Returns its state then. */
static __always_inline struct task_state *mark(struct task_struct *task)
{
	__u64 *claim = claim_to(task);
	struct task_state *state;

	if (is_shut_out(task))
		return 0;
	if (!claim || __sync_val_compare_and_swap(claim, CLAIM_NONE, CLAIM_TAKEN) != CLAIM_NONE)
		return 0;
	state = new_state(task);
	if (!state) {
		lose(LOSS_TASKS);
		return 0;
	}
	state->on_cpu_base_ns = task->se.sum_exec_runtime;
	state->minor_base = task->min_flt;
	state->major_base = task->maj_flt;
	state->accounted_base = accounted(task);
	state->parent = parent_of(task);
	begin(state, task);
	begin_moving(state, task);
	change_alive(1);
	/* Once more: it may have executed a program before its state was there to be seen. */
	if (__sync_val_compare_and_swap(claim, CLAIM_TAKEN, CLAIM_MARKED) == CLAIM_TAKEN &&
	    !is_shut_out(task))
		return state;
	if (take_over(state, (__u64)task)) {
		end_moving(state);
		change_alive(-1);
		give_up(state, task);
	}
	return 0;
}

struct ancestry {
	__u64 task;
	__u32 root;
	__u16 several; /* roots: those of wanted_roots, too */
	__u16 found;
};

static long climb_family(__u32 index, struct ancestry *line)
{
	struct task_struct *task = (struct task_struct *)line->task;
	__u32 process = process_of(task);

	line->found = process == line->root ||
		      (line->several && bpf_map_lookup_elem(&wanted_roots, &process));
	line->task = (__u64)READ(task, real_parent);
	return line->found || process <= 1 || !line->task;
}

/* Generations to search: more than a machine has processes. */
#define GENERATIONS (1 << 22)

/* Whether the task is of a root process, or of one that it started. */
static __always_inline bool is_of_root(struct task_struct *task, struct config *c)
{
	struct ancestry line = {
		.task = (__u64)task, .root = c->root, .several = wants(c, WANTS_ROOTS),
	};

	if (is_observer(task))
		return 0;
	bpf_loop(GENERATIONS, climb_family, &line, 0);
	return line.found;
}

/* Whether the task belongs to the tree, even if another process created it. */
static __always_inline bool is_wanted(struct task_struct *task, struct config *c)
{
	return is_of_root(task, c) || (wants(c, WANTS_GROUPS) && is_in_group(task));
}

/* Whether the last thread of a process ends that has children: they get another parent, and
 * nothing tells any more that they are of the tree. */
static __always_inline bool leaves_children(struct task_struct *task)
{
	__u64 children = (__u64)task + bpf_core_field_offset(struct task_struct, children);

	return !READ(task, signal, live.counter) && (__u64)READ(task, children.next) != children;
}

/* Whether those that live have passed on what they have counted: nobody would ask a new task for it. */
static __always_inline bool has_ended(struct config *c)
{
	return !c || c->ends;
}

static __always_inline bool is_adopting(struct config *c)
{
	return c && c->adoption == ADOPTION_RUNS;
}

static long vacate(__u32 place, void *unused)
{
	struct task_state *state = bpf_map_lookup_elem(&places, &place);

	if (state) {
		state->born = 0;
		state->owner = 0;
	}
	return 0;
}

/* Run by the loader: once before the programs are attached, then until it finds nobody new; and again
 * where threads joined. */
SEC("iter/task")
int adopt(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;
	struct observer *known = observer();
	struct config *c = configuration();

	if (!c || !known)
		return 0;
	if (c->adoption == ADOPTION_PREPARES && !ctx->meta->seq_num) {
		/* A task created while the last session ended may have ended unseen. */
		bpf_loop(PLACES, vacate, 0, 0);
		forget_movements();
		know_observer();
		known->adopted = 0;
		known->executed = 0;
		known->late = 0;
		known->gone = 0;
		known->moved = 0;
		known->unlisted = 0;
		known->raised = 0;
	}
	if (!task || c->adoption < ADOPTION_RUNS || (task->flags & PF_EXITING) ||
	    !is_wanted(task, c))
		return 0;
	/* A claim identifies a task by its start time, which may change (de_thread, fs/exec.c). */
	if (!state_of(task) && mark(task))
		known->adopted++;
	return 0;
}
