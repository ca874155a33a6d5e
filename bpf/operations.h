/* Operations that end outside the call that submitted them: those of io_uring and libaio. They are
 * counted like system calls, with their file and time. */
#pragma once
#include "moments.h"
#include "history.h"
#include "reads.h"
#include "offsets.h"

/* A completed operation. `offset` is negative if it is unknown. */
struct ended {
	__u64 entered_ns;
	__u64 now;
	__u32 process;
	__u32 thread;
	__u32 nr;
	__u32 mode;  /* of the file, as mode_of */
	__u32 flags; /* RUN_* */
	__u32 pad;
	struct file_key file;
	__s64 offset;
	__s64 result;
};

APART int count_operation(struct ended *ended)
{
	struct call_key key = {};
	struct call_value *value;
	__u32 purpose, nr;
	__u64 took_ns;

	if (!ended)
		return 0;
	nr = ended->nr < SOURCE_BASE ? ended->nr : ended->nr - SOURCE_BASE;
	purpose = nr < SOURCE_BASE ? PURPOSE_OF[nr] : 0;
	took_ns = ended->now - ended->entered_ns;
	key.file = ended->file;
	key.nr = ended->nr;
	key.cpu = bpf_get_smp_processor_id();
	value = bpf_map_lookup_elem(&calls, &key);
	if (!value)
		value = new_calls(&key);
	if (!value) {
		lose(LOSS_CALLS);
		value = bpf_map_lookup_elem(&other_calls, &key.nr);
		if (!value)
			return 0;
	}
	if (!value->count || ended->entered_ns < value->first_ns)
		value->first_ns = ended->entered_ns;
	if (value->last_ns < ended->now)
		value->last_ns = ended->now;
	value->count++;
	if (ended->result < 0)
		value->errors++;
	else if (purpose == PURPOSE_READ || purpose == PURPOSE_WRITE)
		value->returned += ended->result;
	value->time_ns += took_ns;
	value->alone_ns += took_ns; /* not known: at most */
	value->histogram[bucket_of(took_ns, HISTOGRAM_BUCKETS)]++;
	return 0;
}

/* A read, for the operation log. */
static __always_inline void record_operation(struct ended *ended)
{
	struct payload_event *event;

	if ((ended->mode & S_IFMT) != S_IFREG)
		return;
	event = read_event(PAYLOAD_READ, ended->nr, (__u64)ended->process << 32 | ended->thread,
			   ended->entered_ns, ended->now);
	if (!event)
		return;
	event->file = ended->file;
	event->offset = ended->offset;
	event->bytes = ended->result > 0 ? ended->result : 0;
	event->address = ended->result < 0 ? -ended->result : 0;
	bpf_ringbuf_submit(event, BPF_RB_NO_WAKEUP);
}

/* A write or a sync, for the history. */
APART int send_operation(struct ended *ended)
{
	struct run_event *event;

	if (!ended)
		return 0;
	event = bpf_ringbuf_reserve(&events, sizeof *event, 0);
	if (!event) {
		lose(LOSS_HISTORY);
		return 0;
	}
	event->kind = EVENT_RUN;
	event->nr = ended->nr;
	event->process = ended->process;
	event->thread = ended->thread;
	event->started_ns = ended->entered_ns;
	event->ended_ns = ended->now;
	event->file = ended->file;
	event->count = ended->result >= 0;
	event->bytes = ended->result > 0 ? ended->result : 0;
	event->from = ended->offset;
	event->to = ended->offset + event->bytes;
	event->sequential = 0;
	event->size = NOT_KNOWN;
	event->flags = ended->flags;
	event->error = ended->result < 0 ? -ended->result : 0;
	bpf_ringbuf_submit(event, BPF_RB_NO_WAKEUP);
	return 0;
}
