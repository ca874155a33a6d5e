/* Reads of regular files, for operation logs that record them: offset and number of bytes. Each is
 * a payload event without payload. */
#pragma once
#include "history.h"

/* Whether reads are wanted. */
#ifdef WITHOUT_LOG
#define READS 0
#else
const volatile __u32 READS = 0;
#endif

/* Whether the bytes came from another file and are in no buffer. */
static __always_inline bool is_moved(struct task_state *state)
{
	return state->call & (CALL_SOURCE_FIRST | CALL_SOURCE_SECOND);
}

/* Whether only this task can use the open file: no other descriptor, no other thread. A process
 * that ends releases its descriptors long after its last call. */
static __always_inline bool is_own(struct file *file)
{
	struct task_struct *task = bpf_get_current_task_btf();

	if (WALK(task, files, count.counter) != 1)
		return 0;
	if (bpf_core_field_exists(file->f_ref))
		return READ(file, f_ref.refcnt.counter) == 0;
	return bpf_core_field_exists(file->f_count) && READ(file, f_count.counter) == 1;
}

/* `id` is the process and the thread. */
static __always_inline struct payload_event *read_event(__u32 form, __u32 nr, __u64 id,
							__u64 entered_ns, __u64 left_ns)
{
	struct payload_event *event = bpf_ringbuf_reserve(&events, sizeof *event, 0);

	if (!event) {
		lose(LOSS_PAYLOAD);
		return 0;
	}
	__builtin_memset(event, 0, sizeof *event);
	event->kind = EVENT_PAYLOAD;
	event->form = form;
	event->nr = nr;
	event->landing = LANDED_AT;
	event->process = id >> 32;
	event->thread = id;
	event->entered_ns = entered_ns;
	event->left_ns = left_ns;
	return event;
}

/* At the entry: from here on other threads may move the position of the open file. `sixth` is the
 * last argument of the call. */
static __always_inline void prepare_read(struct task_state *state, __u64 sixth)
{
	struct file *file;

	state->read_begun = 0;
	if (state->call & CALL_FD_FIFTH) { /* mmap: the offset in the file */
		state->read_lowest = sixth;
		return;
	}
	if (!(state->call & CALL_MOVES))
		return;
	file = (struct file *)(is_moved(state) ? state->source_file : state->open_file);
	if (!file)
		return;
	state->read_looked_ns = is_own(file) ? 0 : bpf_ktime_get_ns();
	state->read_lowest = READ(file, f_pos);
}

/* Inside a read that starts at the position of the open file. Threads that share the position wait
 * for the call to end before they move it; it is set then (fdget_pos, fs/file.c; ksys_read,
 * fs/read_write.c). */
static __always_inline void note_position(struct task_state *state)
{
	struct file *file = (struct file *)state->open_file;

	if (state->read_begun || !file || !state->entered_ns || (state->call & CALL_WRITES) ||
	    !(state->call & (CALL_POSITION | CALL_OFFSET)))
		return;
	state->read_begins = READ(file, f_pos);
	state->read_begun = 1;
}

static __always_inline void read_position(struct task_state *state, struct payload_event *event,
					  struct file *file, __s64 moved)
{
	if (!file)
		return;
	event->offset = READ(file, f_pos) - moved;
	if (state->read_looked_ns || !is_own(file))
		event->landing = LANDED_POSITION;
}

/* sendfile(2), copy_file_range(2) and splice(2) may get a pointer to the offset, and have advanced
 * it. */
static __always_inline void source_position(struct task_state *state, struct payload_event *event,
					    __s64 moved)
{
	__u64 given, at = 0;

	given = state->call & CALL_SOURCE_FIRST ? state->argument[1] : state->argument[2];
	if (!given) {
		read_position(state, event, (struct file *)state->source_file, moved);
		return;
	}
	if (bpf_probe_read_user(&at, sizeof at, (void *)given))
		lose(LOSS_ARGUMENTS);
	event->offset = at - moved;
}

APART int send_read(struct task_state *state, __s64 result, __u64 now)
{
	struct payload_event *event;
	__s64 moved = result > 0 ? result : 0;
	struct file *file;

	if (!state)
		return 0;
	event = read_event(PAYLOAD_READ, state->nr, current_numbers(), state->entered_ns, now);
	if (!event)
		return 0;
	event->bytes = moved;
	event->address = result < 0 ? -result : 0;
	event->lowest = state->read_lowest;
	event->call_flags = state->call_flags;
	if (is_moved(state)) {
		event->file = state->source;
		event->open_file = state->source_file;
		event->call_flags = 0;
		source_position(state, event, moved);
	} else {
		event->file = state->file;
		event->open_file = state->open_file;
		if ((state->call & CALL_OFFSET) && state->argument[3] != ~0ULL)
			event->offset = state->argument[3];
		else if (state->read_begun)
			event->offset = state->read_begins;
		else
			read_position(state, event, (struct file *)state->open_file, moved);
	}
	file = (struct file *)event->open_file;
	event->flags = file ? READ(file, f_flags) : 0;
	bpf_ringbuf_submit(event, BPF_RB_NO_WAKEUP);
	return 0;
}

APART int send_mapping(struct task_state *state, __u64 address, __u64 now)
{
	struct payload_event *event;

	if (!state)
		return 0;
	event = read_event(PAYLOAD_MAPPED, state->nr, current_numbers(), state->entered_ns, now);
	if (!event)
		return 0;
	event->file = state->file;
	event->offset = state->read_lowest;
	event->bytes = state->argument[1];
	event->address = address;
	event->flags = state->argument[3];
	event->call_flags = state->argument[2];
	bpf_ringbuf_submit(event, BPF_RB_NO_WAKEUP);
	return 0;
}

/* The memory of a struct file is reused: without this event the next one is mistaken for the last.
 * Opens for writing are steps. */
APART int send_opened(struct task_state *state, __u64 now)
{
	struct payload_event *event;

	if (!state)
		return 0;
	event = read_event(PAYLOAD_OPENED, state->nr, current_numbers(), state->entered_ns, now);
	if (!event)
		return 0;
	event->file = state->file;
	event->open_file = state->open_file;
	event->flags = state->file_flags;
	bpf_ringbuf_submit(event, BPF_RB_NO_WAKEUP);
	return 0;
}

/* What the ending call has read, opened for reading, or mapped readable. */
static __always_inline void record_read(struct task_state *state, __s64 result, __u64 now)
{
	bool regular = (state->mode & S_IFMT) == S_IFREG;

	if (state->call & CALL_FD_FIFTH) {
		if (regular && result >= 0)
			send_mapping(state, result, now);
		return;
	}
	if (state->call & CALL_FD_RETURNED) {
		if (regular && result >= 0 && !is_step(state, 0, result))
			send_opened(state, now);
		return;
	}
	if (!(state->call & CALL_MOVES))
		return;
	if (is_moved(state)) {
		if (!(state->call & CALL_OFFSET) && state->source_file && /* not a clone */
		    (state->source_mode & S_IFMT) == S_IFREG)
			send_read(state, result, now);
	} else if (!(state->call & CALL_WRITES) && regular) {
		send_read(state, result, now);
	}
}

/* Pages of a mapped file that a fault has mapped. */
static __always_inline void record_touch(struct inode *inode, __u64 first, __u64 last)
{
	struct payload_event *event;
	__u64 now;

	if ((mode_of(inode) & S_IFMT) != S_IFREG)
		return;
	now = bpf_ktime_get_ns();
	event = read_event(PAYLOAD_TOUCHED, 0, current_numbers(), now, now);
	if (!event)
		return;
	identify(inode, &event->file);
	event->offset = first << PAGE_SHIFT;
	event->bytes = (last - first + 1) << PAGE_SHIFT;
	bpf_ringbuf_submit(event, BPF_RB_NO_WAKEUP);
}
