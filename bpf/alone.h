/* How many tasks of the tree move: run, wait for a CPU, or sleep for a time that they have set. A call can lengthen the
 * run only while no other task of the tree moves. */
#pragma once
#include "maps.h"

/* What moves is counted in the low bits of one word, so that each change is seen with its time. */
#define MOVING_BITS 16
#define MOVING_MASK ((1ULL << MOVING_BITS) - 1)
#define TICK_BITS 4 /* 16 ns: the time comes around after 52 days */
#define TICKS_MASK (~0ULL >> MOVING_BITS)

struct {
	__uint(type, MAP_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct moving);
} moving SEC(".maps");

static __always_inline struct moving *movements(void)
{
	__u32 zero = 0;

	return bpf_map_lookup_elem(&moving, &zero);
}

static __always_inline void forget_movements(void)
{
	struct moving *all = movements();

	if (all)
		all->word = 0;
}

/* From the last change to now, 0 where another CPU has seen a later one. */
static __always_inline __u64 since_ns(__u64 word, __u64 now)
{
	__u64 ticks = ((now >> TICK_BITS) - (word >> MOVING_BITS)) & TICKS_MASK;

	return ticks > TICKS_MASK / 2 ? 0 : ticks << TICK_BITS;
}

/* For how long nobody has moved, or one alone. */
static __always_inline __u64 moved_ns(__u32 tasks, __u64 now)
{
	struct moving *all = movements();
	__u64 word;

	if (!all)
		return 0;
	word = ANEW(all->word);
	return all->for_ns[tasks] + ((word & MOVING_MASK) == tasks ? since_ns(word, now) : 0);
}

#define NOBODY_MOVES 0
#define ONE_MOVES 1

struct change {
	__u64 now;
	__u32 more;
};

/* 1 unless another CPU has changed it at the same moment. */
static long try_change(__u32 index, struct change *change)
{
	struct moving *all = movements();
	__u64 word, tasks, next, since;

	if (!all)
		return 1;
	word = ANEW(all->word);
	tasks = word & MOVING_MASK;
	next = tasks + (change->more ? 1 : -1);
	if (next > MOVING_MASK)
		return 1;
	/* The time never goes back: what one word has counted would be counted again from the next. */
	since = since_ns(word, change->now);
	next |= since ? (change->now >> TICK_BITS) << MOVING_BITS : word & ~MOVING_MASK;
	if (__sync_val_compare_and_swap(&all->word, word, next) != word)
		return 0;
	if (tasks == NOBODY_MOVES || tasks == ONE_MOVES)
		__sync_fetch_and_add(&all->for_ns[tasks], since);
	return 1;
}

/* More than the CPUs that may change it at the same moment. */
#define ATTEMPTS 64

APART int change_moving(__u32 more, __u64 now)
{
	struct change change = { .now = now, .more = more };

	if (!try_change(0, &change))
		bpf_loop(ATTEMPTS, try_change, &change, 0);
	return 0;
}

/* A task of the tree begins to be observed. */
static __always_inline void begin_moving(struct task_state *state, struct task_struct *task)
{
	bool runs = bpf_core_field_exists(task->on_cpu) ? task->on_cpu :
							  task == bpf_get_current_task_btf();

	/* Its switches and wake-ups are seen already: the first of them, or this, counts it. */
	if (HISTORY && (!task->__state || runs) && !__sync_val_compare_and_swap(&state->moves, 0, 1))
		change_moving(1, bpf_ktime_get_ns());
}

static __always_inline void end_moving(struct task_state *state)
{
	if (HISTORY && __sync_val_compare_and_swap(&state->moves, 1, 0))
		change_moving(0, bpf_ktime_get_ns());
}

#define NR_nanosleep 35
#define NR_clock_nanosleep 230
#define NR_restart_syscall 219
#define TIMER_ABSTIME 1
#define CLOCK_MONOTONIC 1
#define NS_PER_S 1000000000LL

/* The scheduler of Go polls with sleeps of up to 10 ms (sysmon, runtime/proc.go): who sleeps shortly may wait for another. */
#define SHORT_SLEEP_NS 20000000

/* A sleep goes on as restart_syscall after the task was stopped (do_nanosleep, kernel/time/hrtimer.c). Until when one
 * sleeps by a clock other than CLOCK_MONOTONIC is not read here. */
static __always_inline bool sleeps_long(struct task_state *state)
{
	struct { __s64 s, ns; } until = {};
	__u64 at = state->argument[state->nr == NR_nanosleep ? 0 : 2];
	bool is_until = state->nr == NR_clock_nanosleep && (state->argument[1] & TIMER_ABSTIME);

	if (!state->entered_ns)
		return 0;
	if (state->nr == NR_restart_syscall)
		return state->sleeps_long;
	if (state->nr != NR_nanosleep && state->nr != NR_clock_nanosleep)
		return 0;
	bpf_probe_read_user(&until, sizeof until, (void *)at);
	if (is_until && state->argument[0] == CLOCK_MONOTONIC)
		state->sleeps_long = until.s * NS_PER_S + until.ns >=
				     (__s64)state->entered_ns + SHORT_SLEEP_NS;
	else
		state->sleeps_long = is_until || until.s > 0 || until.ns >= SHORT_SLEEP_NS;
	return state->sleeps_long;
}

/* Its call goes on as one moves and nobody else, then as nobody does, and so on. */
static __always_inline void rest(struct task_state *state, __u64 now)
{
	if (!state->moves || sleeps_long(state) ||
	    !__sync_val_compare_and_swap(&state->moves, 1, 0))
		return;
	state->alone_ns += moved_ns(ONE_MOVES, now);
	change_moving(0, now);
	state->alone_ns -= moved_ns(NOBODY_MOVES, now);
}

static __always_inline void rouse(struct task_state *state, __u64 now)
{
	if (__sync_val_compare_and_swap(&state->moves, 0, 1))
		return;
	state->alone_ns += moved_ns(NOBODY_MOVES, now);
	change_moving(1, now);
	state->alone_ns -= moved_ns(ONE_MOVES, now);
}

/* Of the call that ends, not more than it took. */
static __always_inline __u64 alone_ns(struct task_state *state, __u64 took_ns, __u64 now)
{
	__s64 alone = state->alone_ns + moved_ns(ONE_MOVES, now);

	if (alone < 0)
		return 0;
	return alone < took_ns ? alone : took_ns;
}
