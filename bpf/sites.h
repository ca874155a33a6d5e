/* Call sites: from time to time a copy of the program's stack.
 *
 * A stack is taken each time a thread has spent a fixed time in calls on files. So the cost is a
 * share of that time, whatever the program does, and a call is sampled in proportion to its time.
 * The stack is unwound in user space, where the unwind tables of the program are readable: most
 * programs have no frame pointers. */
#pragma once
#include "numbers.h"

/* Taking a stack costs one or two microseconds, so this is about one per cent. */
#define SITE_FIRST_NS 200000ULL

/* After this many samples of a thread the interval doubles, up to 2^7 of the first: a run of hours
 * costs as much as a run of seconds. */
#define SITES_PER_STEP 64
#define SITE_STEPS 7

struct site_record {
	struct site_event event;
	char stack[STACK + PAGE_SIZE];
};

struct {
	__uint(type, MAP_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct site_record);
} site_scratch SEC(".maps");

/* Page by page: a page that is not resident, or unmapped, ends it. */
static __always_inline __u32 copy_stack(struct site_record *record, __u64 sp)
{
	__u32 bytes = 0;

	for (int i = 0; i <= STACK / PAGE_SIZE; i++) {
		__u32 piece = PAGE_SIZE - ((sp + bytes) & (PAGE_SIZE - 1));

		if (bytes >= STACK)
			break;
		if (bpf_probe_read_user(record->stack + (bytes & (STACK - 1)),
					piece & (2 * PAGE_SIZE - 1), (void *)(sp + bytes)))
			break;
		bytes += piece;
	}
	return bytes < STACK ? bytes : STACK;
}

/* The program of a task. If each stack counts, other executable mappings are another one: their memory map has to be
 * read again. Pages of these are counted in exec_vm (include/linux/mm_types.h). */
static __always_inline __u64 program_of(struct task_struct *task)
{
	__u64 execs = READ(task, self_exec_id);
	struct mm_struct *mm;

	if (!EVERY_SITE)
		return execs;
	mm = READ(task, mm);
	return (execs + 1) << 32 | (mm ? READ(mm, exec_vm) & 0xffffffff : 0);
}

APART int send_site(struct task_state *state, __u64 now)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct pt_regs *regs = (struct pt_regs *)bpf_task_pt_regs(task);
	struct site_record *record;
	__u32 zero = 0;
	__u64 bytes;

	record = bpf_map_lookup_elem(&site_scratch, &zero);
	if (!record || !state)
		return 0;
	record->event.kind = EVENT_SITE;
	record->event.nr = state->nr;
	record->event.process = process_of(task);
	record->event.parent = parent_of(task);
	record->event.execs = program_of(task);
	record->event.file = state->file;
	record->event.spent_ns = state->site_spent_ns;
	record->event.ip = READ(regs, ip);
	record->event.sp = READ(regs, sp);
	record->event.bp = READ(regs, bp);
	record->event.ended_ns = now;
	record->event.thread = READ(task, pid);
	bytes = copy_stack(record, record->event.sp);
	record->event.bytes = bytes;
	if (bytes > STACK)
		return 0;
	/* Without room the time counts towards the next sample: nothing counted is lost. */
	if (!bpf_ringbuf_output(&events, record, sizeof record->event + AT_MOST(STACK, bytes),
				 BPF_RB_NO_WAKEUP))
		state->site_spent_ns = 0;
	return 0;
}

/* Calls that changed or synced something. */
static __always_inline bool is_wanted_always(struct task_state *state)
{
	return EVERY_SITE && (state->call & (CALL_STEP | CALL_WRITES));
}

static __always_inline void take_site(struct task_state *state, __u64 took_ns, __u64 now)
{
	__u64 steps;

	state->site_spent_ns += took_ns;
	/* The first interval is random, so that many short processes get their share. */
	if (!state->site_due_ns)
		state->site_due_ns = 1 + bpf_get_prandom_u32() % SITE_FIRST_NS;
	if (!is_wanted_always(state) && state->site_spent_ns < state->site_due_ns)
		return;
	/* A stack can wait and a step cannot: most of the ring is reserved for events that would
	 * be lost without room. */
	if (bpf_ringbuf_query(&events, BPF_RB_AVAIL_DATA) > HIGH_WATER / 4)
		return;
	steps = ++state->sites / SITES_PER_STEP;
	state->site_due_ns = SITE_FIRST_NS << (steps < SITE_STEPS ? steps : SITE_STEPS);
	send_site(state, now);
}
