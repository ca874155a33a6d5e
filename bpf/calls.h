/* System calls: thread, file, duration, blocked time. */
#pragma once
#include "alone.h"
#include "lives.h"
#include "moments.h"
#include "sites.h"
#include "payload.h"
#include "told.h"
#include "top.h"

struct two_values {
	struct call_value *to;
	const struct call_value *from;
};

/* In both histograms, of which that of times is the longer one. */
static long add_bucket(__u32 at, struct two_values *of)
{
	__u64 of_time = at, of_size = at;

	/* Two numbers, so that each is compared before it is used. */
	barrier_var(of_time);
	barrier_var(of_size);
	if (of_time < HISTOGRAM_BUCKETS)
		of->to->histogram[of_time] += of->from->histogram[of_time];
	if (of_size < SIZE_BUCKETS)
		of->to->sizes[of_size] += of->from->sizes[of_size];
	return 0;
}

/* Apart: the sum goes to one of two tables. */
APART int add_value(struct call_value *to, const struct call_value *from)
{
	struct two_values of = { .to = to, .from = from };

	if (!to || !from)
		return 0;
	if (!to->count || from->first_ns < to->first_ns)
		to->first_ns = from->first_ns;
	if (to->last_ns < from->last_ns)
		to->last_ns = from->last_ns;
	to->count += from->count;
	to->errors += from->errors;
	to->returned += from->returned;
	to->time_ns += from->time_ns;
	to->blocked_ns += from->blocked_ns;
	to->alone_ns += from->alone_ns;
	to->pairs += from->pairs;
	to->sequential += from->sequential;
	to->backward += from->backward;
	to->empty += from->empty;
	if (to->furthest < from->furthest)
		to->furthest = from->furthest;
	bpf_loop(HISTOGRAM_BUCKETS, add_bucket, &of, 0);
	return 0;
}

/* A program that goes from file to file makes few calls on each. Sending such a sum costs far less
 * than a new entry of `calls`, most of which is for memory. */
static __always_inline bool hand_over(const struct call_slot *slot)
{
	struct few_event *event;

	if (slot->value.count > FEW || !has_room())
		return 0;
	event = bpf_ringbuf_reserve(&events, sizeof *event, 0);
	if (!event)
		return 0;
	event->kind = EVENT_FEW;
	event->nr = slot->key.nr;
	event->file = slot->key.file;
	event->returned = slot->value.returned;
	event->time_ns = slot->value.time_ns;
	event->blocked_ns = slot->value.blocked_ns;
	event->alone_ns = slot->value.alone_ns;
	event->furthest = slot->value.furthest;
	event->first_ns = slot->value.first_ns;
	event->last_ns = slot->value.last_ns;
	event->count = slot->value.count;
	event->errors = slot->value.errors;
	event->pairs = slot->value.pairs;
	event->sequential = slot->value.sequential;
	event->backward = slot->value.backward;
	event->empty = slot->value.empty;
	__builtin_memcpy(event->buckets, slot->buckets, sizeof event->buckets);
	__builtin_memcpy(event->sizes, slot->sizes, sizeof event->sizes);
	bpf_ringbuf_submit(event, BPF_RB_NO_WAKEUP);
	return 1;
}

static __always_inline void add_to_calls(struct call_slot *slot)
{
	struct call_key key = slot->key;
	struct call_value *to;

	key.cpu = bpf_get_smp_processor_id();
	to = bpf_map_lookup_elem(&calls, &key);
	if (!to)
		to = new_calls(&key);
	if (!to) {
		__u32 nr = key.nr;
		__u32 what = LOSS_CALLS;
		__u64 *lost = bpf_map_lookup_elem(&losses, &what);

		if (lost)
			*lost += slot->value.count;
		to = bpf_map_lookup_elem(&other_calls, &nr);
	}
	if (to)
		add_value(to, &slot->value);
}

APART int merge_slot(struct call_slot *slot)
{
	if (!slot || !slot->value.count)
		return 0;
	if (!hand_over(slot))
		add_to_calls(slot);
	__builtin_memset(&slot->value, 0, sizeof slot->value);
	return 0;
}

/* The file of a descriptor. Read again at each call: the memory of a struct file is freed as soon
 * as another thread closes the descriptor, and the next open may get the same memory. */
static __always_inline void resolve(struct task_state *state, struct task_struct *task, __u32 fd)
{
	struct file *file = file_of(task, fd);

	if (!file)
		return;
	state->open_file = (__u64)file;
	state->mode = identify_file(file, &state->file);
}

/* For calls that create a descriptor. */
APART int resolve_made(struct task_state *state, __u32 fd)
{
	if (!state)
		return 0;
	resolve(state, bpf_get_current_task_btf(), fd);
	if (HISTORY)
		look_at_file(state);
	return 0;
}

/* The file that the call reads from, when it is counted for the file that it writes to. */
APART int resolve_source(struct task_state *state)
{
	struct file *file;
	__u32 fd;

	if (!state)
		return 0;
	fd = state->argument[state->call & CALL_SOURCE_FIRST ? 0 : 1];
	file = file_of(bpf_get_current_task_btf(), fd);
	if (!file)
		return 0;
	state->source_mode = identify_file(file, &state->source);
	state->source_file = (__u64)file;
	return 0;
}

APART int name_file(__u64 open_file, struct file_key *key)
{
	if (!key || !open_file || !is_new(key, NAMED))
		return 0;
	return name_path(open_file + bpf_core_field_offset(struct file, f_path), key);
}

/* Several calls use a file in turn: the file named last needs no lookup. */
static __always_inline void name_once(struct task_state *state, __u64 open_file,
				      struct file_key *key)
{
	if (is_same_file(&state->last_named, key))
		return;
	state->last_named = *key;
	name_file(open_file, key);
}

static __always_inline void prepare_history(struct task_state *state, struct pt_regs *regs)
{
	state->touched_count = 0;
	state->call_flags = state->call & CALL_FLAGS ? regs->r9 : 0;
	state->source.inode = 0;
	state->source.device = 0;
	state->source_file = 0;
	if (state->call & (CALL_SOURCE_FIRST | CALL_SOURCE_SECOND))
		resolve_source(state);
	if (state->call & CALL_STEP)
		look_at_file(state);
	if (RECORD && (state->call & CALL_WRITES))
		prepare_write(state);
	if (state->call & CALL_WRITES)
		look_at_size(state);
	if (READS)
		prepare_read(state, regs->r9);
	/* Now: the call may change its length, or close it. Others are named with their first sum. */
	if (state->open_file && (state->call & (CALL_WRITES | CALL_STEP | CALL_CLOSES)))
		name_once(state, state->open_file, &state->file);
}

SEC("tp_btf/sys_enter")
int BPF_PROG(call_entered, struct pt_regs *regs, long nr)
{
	struct task_struct *task = bpf_get_current_task_btf();
#ifdef TOP
	struct task_state *state = is_on_files(nr) ? met(task) : 0;
#else
	struct task_state *state = state_of(task);
#endif
	__u32 call = 0, which;

	if (!state)
		return 0;
	if ((task->thread_info.status & TS_COMPAT) || (nr >= 0 && (nr & X32_BIT))) {
		lose(LOSS_COMPAT);
		state->entered_ns = 0;
		return 0;
	}
	/* There is none, or it was taken away: a tracer has changed its number. */
	if (nr < 0 || nr >= SYSCALLS) {
		state->entered_ns = 0;
		return 0;
	}
	call = CALLS[nr];
	state->nr = nr;
	state->call = call;
	state->blocked_ns = 0;
	state->looked_up_in = 0;
	state->read_in = 0;
	state->awaited_in = 0;
	state->faulted_in = 0;
	state->file.inode = 0;
	state->file.device = 0;
	state->file.generation = 0;
	state->mode = 0;
	state->open_file = 0;
	state->argument[0] = regs->di;
	state->argument[1] = regs->si;
	state->argument[2] = regs->dx;
	state->argument[3] = regs->r10;
	state->argument[4] = regs->r8;
	if (HISTORY && (call & CALL_TOLD)) {
		told_at_entry(state);
		call = state->call;
	}
	if (call & (CALL_FD_FIRST | CALL_FD_THIRD | CALL_FD_FIFTH)) {
		which = call & CALL_FD_FIRST ? 0 : call & CALL_FD_THIRD ? 2 : 4;
		resolve(state, task, state->argument[which]);
	}
	if (HISTORY)
		prepare_history(state, regs);
#ifdef TOP
	if (!is_kept(state, regs->r9))
		return 0;
#endif
	state->entered_ns = bpf_ktime_get_ns();
	if (HISTORY)
		state->alone_ns = -moved_ns(ONE_MOVES, state->entered_ns);
	return 0;
}

APART int stream_call(struct task_state *state, __u64 took_ns, __s64 result)
{
	struct call_event *event;
	__u64 id = current_numbers();

	if (!state)
		return 0;
	event = bpf_ringbuf_reserve(&events, sizeof *event, 0);
	if (!event) {
		lose(LOSS_STREAM);
		return 0;
	}
	event->kind = EVENT_CALL;
	event->nr = state->nr;
	event->process = id >> 32;
	event->thread = id;
	event->entered_ns = state->entered_ns;
	event->took_ns = took_ns;
	event->result = result;
	event->file = state->file;
	event->pieces = 1;
	event->pieces_read = 1;
	event->piece_bytes[0] = state->argument[2];
	if (state->call & CALL_VECTORED) {
		/* The kernel has just read the array, so its page is resident. */
		event->pieces = state->argument[2];
		event->pieces_read = 0;
		for (__u32 i = 0; i < PIECES; i++) {
			if (i >= state->argument[2])
				break;
			if (bpf_probe_read_user(&event->piece_bytes[i], 8,
						(void *)(state->argument[1] + 16ULL * i + 8)))
				break;
			event->pieces_read = i + 1;
		}
	}
	bpf_ringbuf_submit(event, BPF_RB_NO_WAKEUP);
	return 0;
}

static __always_inline __u32 home_of(__u32 nr, struct file_key *file)
{
	return (nr ^ (nr >> 4) ^ (__u32)file->inode) & (HOMES - 1);
}

static __always_inline bool is_slot_of(const struct call_slot *slot, __u32 nr,
				       const struct file_key *file)
{
	return slot->key.nr == nr && is_same_file(&slot->key.file, file);
}

/* The call's own slot, or the least recently used one. */
APART int search_slots(struct task_state *state, __u32 nr, struct file_key *file)
{
	__u64 oldest = ~0ULL >> 1;

	if (!state || !file)
		return 0;
	for (__u32 i = 0; i < SLOTS; i++) {
		__s64 older;

		if (is_slot_of(&state->slot[i], nr, file))
			return i;
		/* Without a branch, which the verifier would follow both ways in each round. */
		older = (state->slot[i].used * SLOTS | i) - oldest;
		oldest += older & older >> 63;
		barrier_var(oldest);
	}
	return oldest & (SLOTS - 1);
}

/* The running sum of this call on this file. A few bits of both identify its last slot, so that
 * programs with a few alternating calls need no search. */
static __always_inline struct call_slot *slot_for(struct task_state *state, __u32 nr,
						  struct file_key *file, __u64 open_file)
{
	__u32 home = home_of(nr, file);
	__u32 index = state->home[home] & (SLOTS - 1);
	struct call_slot *slot = &state->slot[index];

	if (!is_slot_of(slot, nr, file)) {
		index = search_slots(state, nr, file) & (SLOTS - 1);
		state->home[home] = index;
		slot = &state->slot[index];
		if (!is_slot_of(slot, nr, file)) {
			merge_slot(slot);
			slot->key.nr = nr;
			slot->key.file = *file;
			slot->has_end = 0;
			if (HISTORY)
				name_once(state, open_file, file);
			if (HISTORY && (state->call & (CALL_WRITES | CALL_FD_RETURNED)) &&
			    (state->mode & S_IFMT) == S_IFREG)
				begin_written_life(file, open_file);
		}
	}
	slot->used = state->calls;
	return slot;
}

static __always_inline void add_call(struct task_state *state, struct call_slot *slot,
				     __s64 result, __u64 took_ns)
{
	__u64 bucket, at = slot->value.count++ & (FEW - 1);

	if (slot->value.count == 1)
		slot->value.first_ns = state->entered_ns;
	slot->value.last_ns = state->entered_ns + took_ns;
	if (result < 0)
		slot->value.errors++;
	else if (state->call & CALL_MOVES)
		slot->value.returned += result;
	slot->value.time_ns += took_ns;
	slot->value.blocked_ns += state->blocked_ns;
	slot->value.alone_ns += state->alone_ns;
	bucket = bucket_of(took_ns, HISTOGRAM_BUCKETS);
	slot->value.histogram[bucket]++;
	slot->buckets[at] = bucket;
	slot->sizes[at] = SIZE_BUCKETS;
}

/* The start of the transfer; the position of the open file is past it now. */
static __always_inline __u64 offset_of(struct task_state *state, __s64 moved)
{
	struct file *file = (struct file *)state->open_file;
	__u64 end = 0;

	/* copy_file_range and splice got a pointer to the offset, and advanced it. */
	if ((state->call & CALL_FD_THIRD) && state->argument[3]) {
		bpf_probe_read_user(&end, sizeof end, (void *)state->argument[3]);
		return end > moved ? end - moved : 0;
	}
	/* preadv2 and pwritev2 take -1 for the current position. */
	if ((state->call & CALL_OFFSET) && state->argument[3] != ~0ULL) {
		/* pwrite(2), BUGS: with O_APPEND the offset is ignored. */
		if ((state->call & CALL_WRITES) && (manner_of(state) & RUN_APPENDS)) {
			end = READ(file, f_inode, i_size);
			/* Or one load serves this and the position: the verifier wants one type. */
			barrier_var(end);
			return end - moved;
		}
		return state->argument[3];
	}
	return READ(file, f_pos) - moved;
}

static __always_inline void add_shape(struct call_slot *slot, __u64 offset, __u64 bytes)
{
	struct call_value *value = &slot->value;
	__u64 bucket;

	if (slot->has_end) {
		value->pairs++;
		if (offset == slot->end)
			value->sequential++;
		else if (offset < slot->end)
			value->backward++;
	}
	if (bytes) {
		bucket = bucket_of(bytes, SIZE_BUCKETS);
		value->sizes[bucket]++;
		slot->sizes[(value->count - 1) & (FEW - 1)] = bucket;
	} else {
		value->empty++;
	}
	slot->end = offset + bytes;
	slot->has_end = 1;
	if (value->furthest < slot->end)
		value->furthest = slot->end;
}

APART int add_source(struct task_state *state, __s64 result, __u64 took_ns)
{
	struct call_slot *slot;

	if (!state)
		return 0;
	state->read_bytes += result;
	slot = slot_for(state, SOURCE_BASE + state->nr, &state->source, state->source_file);
	add_call(state, slot, result, took_ns);
	return 0;
}

/* Computed when needed: kept on the stack it would exceed the limit of old verifiers. */
static __always_inline __u64 took(struct task_state *state, __u64 now)
{
	return now - state->entered_ns;
}

/* Pages were announced to the end that a read asked for; it may end before, such as where its buffer
 * does, and those after `end`, in bytes, are then announced again by the next. */
static __always_inline void take_back_lookups(struct task_state *state, __u64 end)
{
	struct cache_sum *sum = &state->cache[0];
	__u64 to = (end + PAGE_SIZE - 1) >> PAGE_SHIFT, pages;

	if (!state->looked_up_in || state->looked_up_to <= to ||
	    (state->call & (CALL_READS | CALL_WRITES)) != CALL_READS)
		return;
	pages = state->looked_up_to - to;
	if (is_same_file(&sum->key.file, &state->file) && sum->value.lookups_pages >= pages)
		sum->value.lookups_pages -= pages;
}

static __always_inline void follow(struct task_state *state, struct call_slot *slot, __u64 now)
{
	__s64 result = ANEW(state->result);
	__u32 nr, style;
	__u64 offset;

	if ((state->call & CALL_MOVES) && result >= 0) {
		if (state->call & CALL_WRITES)
			state->written_bytes += result;
		else
			state->read_bytes += result;
	}
	result = ANEW(state->result);
	if (result >= 0 && (ANEW(state->call) & (CALL_OFFSET | CALL_POSITION)) &&
	    (state->mode & S_IFMT) == S_IFREG) {
		offset = offset_of(state, result);
		if ((__s64)offset < 0) {
			if ((state->call & CALL_WRITES) && result)
				add_unplaced(state, result, now);
		} else {
			add_shape(slot, offset, result);
			take_back_lookups(state, offset + result);
			if ((state->call & CALL_WRITES) && result)
				extend_run(state, offset, result, now);
		}
	} else if ((state->mode & S_IFMT) != S_IFREG) {
		listen_to(state, result, now);
	}
	result = ANEW(state->result);
	nr = ANEW(state->nr);
	style = nr < SYSCALLS ? PATHS[nr] : 0;
	if (is_step(state, style, result))
		send_step(state, style, ANEW(state->result), now);
	if (ANEW(state->call) & CALL_FD_FIFTH)
		begin_mapped_life(state);
	if (state->source.inode && ANEW(state->result) >= 0)
		add_source(state, ANEW(state->result), took(state, now));
}

/* The sums of a call that ends, with state->result. */
static __always_inline int leave_inline(struct task_state *state)
{
	struct call_slot *slot;
	__s64 result;
	__u64 now;

	if (!state)
		return 0;
	now = bpf_ktime_get_ns();
	result = ANEW(state->result);
	if ((state->call & CALL_FD_RETURNED) && result >= 0)
		resolve_made(state, result);
#ifdef TOP
	return add_to_shares(state, result, now - state->entered_ns);
#endif
	if (HISTORY)
		state->alone_ns = alone_ns(state, took(state, now), now);
	slot = slot_for(state, state->nr, &state->file, state->open_file);
	add_call(state, slot, ANEW(state->result), took(state, now));
	state->calls++;
	if (state->file.inode) {
		state->time_ns += took(state, now);
		state->blocked_sum_ns += state->blocked_ns;
	}
	if (HISTORY) {
		if (state->file.inode || is_wanted_always(state))
			take_site(state, took(state, now), now);
		follow(state, slot, now);
		add_to_moment(state, took(state, now), now);
	}
	if (RECORD)
		record_call(state, ANEW(state->result), now);
	if (state->call & CALL_STREAMED) {
		struct config *c = configuration();

		if (c && c->stream_calls)
			stream_call(state, took(state, now), ANEW(state->result));
	}
	state->entered_ns = 0;
	return 0;
}

APART int leave(struct task_state *state)
{
	return leave_inline(state);
}

/* Its number and class are known once its arguments identify it. */
static __always_inline void take_result(struct task_state *state, __s64 result)
{
	state->result = result;
	if (HISTORY && (state->call & CALL_TOLD))
		told_at_exit(state);
}

/* Nearly all tasks have a place, and need no function call: one takes as long as thirty
 * instructions where returns are guarded. The verifier checks the function for the others
 * separately. */
SEC("tp_btf/sys_exit")
int BPF_PROG(call_left, struct pt_regs *regs, long result)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct task_state *state = state_in_place(task);

	if (state) {
		if (!state->entered_ns) {
			account_anew(state, task);
			return 0;
		}
		take_result(state, result);
		return leave_inline(state);
	}
	state = state_in_storage(task);
	if (!state)
		return 0;
	if (!state->entered_ns) {
		account_anew(state, task);
		return 0;
	}
	take_result(state, result);
	return leave(state);
}

/* Blocked means: the thread left the CPU in a state other than runnable while inside a call.
 * in_iowait is not used: it is set only for waits on a bio, so an fsync that waits for the journal
 * thread would seem to do no I/O. */
SEC("tp_btf/sched_switch")
int BPF_PROG(switched, bool preempt, struct task_struct *prev, struct task_struct *next,
	     unsigned int prev_state)
{
	struct task_state *state;
	__u64 now = 0;

	if (!preempt && prev_state) {
		state = state_of(prev);
		if (state && (HISTORY || state->entered_ns))
			now = bpf_ktime_get_ns();
		if (state && state->entered_ns)
			state->switched_ns = now;
		if (state && HISTORY)
			rest(state, now);
	}
	state = state_of(next);
	if (!state)
		return 0;
	if (!now && (HISTORY || state->switched_ns))
		now = bpf_ktime_get_ns();
	/* set_next_entity has just set exec_start (kernel/sched/fair.c): to now, or to when an idle CPU
	 * was told to wake up (rq_clock_skip_update), which the scheduler counts as time of the task. */
	if (HISTORY) {
		state->run_queue_ns = now - next->se.exec_start;
		state->run_queue_cpu = bpf_get_smp_processor_id();
		rouse(state, now); /* where nobody saw it wake up */
	}
	if (state->switched_ns) {
		/* A call that was under way when the task was attached is not counted. */
		if (state->entered_ns)
			state->blocked_ns += now - state->switched_ns;
		state->switched_ns = 0;
	}
	return 0;
}

#ifndef TOP
/* It is after the task has left its CPU, and before it gets one again (try_to_wake_up, kernel/sched/core.c). */
SEC("tp_btf/sched_wakeup")
int BPF_PROG(woken, struct task_struct *task)
{
	struct task_state *state = state_of(task);

	if (HISTORY && state && !state->moves)
		rouse(state, bpf_ktime_get_ns());
	return 0;
}
#endif
