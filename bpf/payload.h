/* The operation log's payload: the written bytes, in order, without losses.
 *
 * User memory is read when the call returns: the kernel has just read it, so it is resident even
 * if it came from a cold mapping, and it holds the written bytes unless another thread changed it
 * meanwhile. Payload that cannot be read here, would fill the ring, or has no buffer in user
 * memory, is sent as an address; the process is then stopped until the reader has fetched it.
 */
#pragma once
#include "reads.h"

/* One read stays below FILLED, and is at most STRIDE long. */
#define FILLED 0x4000
ASSERT_MASK(FILLED);
#define STRIDE (PAYLOAD_BYTES - FILLED)

#define SMALL 512

struct gather {
	__u64 buffer;  /* the rest of the current buffer starts here */
	__u64 left;    /* ... and has this length */
	__u64 vector;  /* the next struct iovec */
	__u64 vectors; /* number of the remaining ones */
	__u64 wanted;  /* bytes of payload still to be taken */
	__u64 filled;  /* bytes in the scratch */
	__u64 at;      /* bytes sent */
	__u32 late;    /* send addresses only */
	__u32 stop;    /* an address was sent */
};

struct payload_record {
	struct gather gather; /* not on the stack, where the verifier cannot follow a table */
	struct payload_event event;
	char bytes[PAYLOAD_BYTES];
};

/* One for each CPU: programs on system-call tracepoints are not preempted
 * (include/trace/bpf_probe.h). */
struct {
	__uint(type, MAP_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct payload_record);
} payload_scratch SEC(".maps");

/* The number of stops of each process. The reader continues it only after it has seen as many
 * stops. */
struct {
	__uint(type, MAP_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 65536);
	__type(key, __u32);
	__type(value, __u64);
} stops SEC(".maps");

/* Whether stopping is over: no reader is left to continue stopped processes. */
struct {
	__uint(type, MAP_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u32);
} no_stops SEC(".maps");

static __always_inline struct payload_record *payload_record(void)
{
	__u32 zero = 0;

	return bpf_map_lookup_elem(&payload_scratch, &zero);
}

/* Sends a part: its `bytes` follow the event, or its location does. */
APART int send_part(struct payload_record *record, __u32 form, __u64 address, __u64 part)
{
	__u64 behind = form == PAYLOAD_HERE ? part : 0;

	if (!record)
		return 0;
	record->event.form = form;
	record->event.address = address;
	record->event.at = record->gather.at;
	record->event.part = part;
	record->gather.at += part;
	record->gather.filled = 0;
	if (behind > PAYLOAD_BYTES)
		return 0;
	if (bpf_ringbuf_output(&events, &record->event,
			       sizeof record->event + AT_MOST(PAYLOAD_BYTES, behind),
			       BPF_RB_NO_WAKEUP))
		lose(LOSS_PAYLOAD);
	return 0;
}

static __always_inline void take(struct gather *gather, __u64 bytes)
{
	gather->buffer += bytes;
	gather->left -= bytes;
	gather->wanted -= bytes;
}

/* A part that the reader must fetch, after the bytes copied before it. */
APART int send_late(struct payload_record *record, __u32 form, __u64 bytes)
{
	if (!record)
		return 0;
	if (record->gather.filled)
		send_part(record, PAYLOAD_HERE, 0, record->gather.filled);
	send_part(record, form, record->gather.buffer, bytes);
	record->gather.stop = 1;
	take(&record->gather, bytes);
	return 0;
}

APART int next_vector(struct payload_record *record)
{
	struct gather *gather;
	__u64 vector[2] = {};

	if (!record)
		return 0;
	gather = &record->gather;
	if (!gather->vectors ||
	    bpf_probe_read_user(vector, sizeof vector, (void *)gather->vector)) {
		gather->left = gather->wanted;
		return send_late(record, PAYLOAD_UNKNOWN, gather->wanted);
	}
	gather->buffer = vector[0];
	gather->left = vector[1];
	gather->vector += sizeof vector;
	gather->vectors--;
	return 0;
}

static long gather_some(__u32 index, void *unused)
{
	struct payload_record *record = payload_record();
	struct gather *gather;
	__u64 bytes, at;

	if (!record)
		return 1;
	gather = &record->gather;
	if (!gather->left) {
		next_vector(record);
		return !gather->wanted;
	}
	bytes = gather->left < gather->wanted ? gather->left : gather->wanted;
	if (gather->late) {
		send_late(record, PAYLOAD_IN_MEMORY, bytes);
		return !gather->wanted;
	}
	at = gather->filled & (FILLED - 1);
	if (bytes > STRIDE)
		bytes = STRIDE;
	if (bpf_probe_read_user(record->bytes + at, bytes, (void *)gather->buffer)) {
		send_late(record, PAYLOAD_IN_MEMORY, bytes);
		return !gather->wanted;
	}
	gather->filled += bytes;
	take(gather, bytes);
	if (gather->filled >= FILLED || !gather->wanted)
		send_part(record, PAYLOAD_HERE, 0, gather->filled);
	return !gather->wanted;
}

/* Values that later determine the offset of the write: other threads may move the position of the
 * open file, or the end of the file, before the call and during it. */
static __always_inline void prepare_write(struct task_state *state)
{
	struct file *file = (struct file *)state->open_file;

	if (!file)
		return;
	state->file_flags = READ(file, f_flags);
	state->appends = !!(manner(state->file_flags, state->call_flags) & RUN_APPENDS);
	state->looked_ns = is_own(file) && !(state->call & CALL_OFFSET) ? 0 : bpf_ktime_get_ns();
	state->lowest = state->appends ? READ(file, f_inode, i_size) : READ(file, f_pos);
}

/* The position has moved past what was written. */
static __always_inline __u64 from_position(struct payload_record *record,
					   struct task_state *state, struct file *file,
					   __s64 moved)
{
	__u64 position = READ(file, f_pos);

	if (state->looked_ns || !is_own(file)) {
		record->event.landing = LANDED_POSITION;
		record->event.seen_ns = bpf_ktime_get_ns();
	}
	return position - moved;
}

static __always_inline __u64 payload_offset(struct payload_record *record,
					    struct task_state *state, __s64 moved)
{
	struct file *file = (struct file *)state->open_file;
	__u64 position = 0;

	record->event.landing = LANDED_AT;
	if (is_moved(state)) {
		if (state->call & CALL_OFFSET) /* ioctl(FICLONERANGE) */
			return state->argument[3];
		/* copy_file_range(2), splice(2): the kernel has advanced *off_out. */
		if ((state->call & CALL_FD_THIRD) && state->argument[3] &&
		    !bpf_probe_read_user(&position, sizeof position, (void *)state->argument[3]))
			return position - moved;
		return from_position(record, state, file, moved);
	}
	if (!(state->call & CALL_OFFSET) || state->argument[3] == ~0ULL)
		return from_position(record, state, file, moved);
	/* pwrite(2), BUGS: with O_APPEND the offset is ignored. */
	if (!state->appends)
		return state->argument[3];
	position = READ(file, f_inode, i_size);
	record->event.landing = LANDED_END;
	record->event.seen_ns = bpf_ktime_get_ns();
	return position - moved;
}

/* Most writes of programs with frequent writes: one read, one event. */
static __always_inline bool send_small(struct payload_record *record, __u64 address, __u64 bytes)
{
	if (bytes > SMALL || bpf_probe_read_user(record->bytes, bytes, (void *)address))
		return 0;
	record->event.form = PAYLOAD_HERE;
	record->event.address = 0;
	record->event.at = 0;
	record->event.part = bytes;
	if (bpf_ringbuf_output(&events, &record->event,
			       sizeof record->event + AT_MOST(SMALL, bytes),
			       BPF_RB_NO_WAKEUP))
		lose(LOSS_PAYLOAD);
	return 1;
}

/* Returns whether the process must be stopped. `used` is the number of bytes in the ring. */
APART int send_payload(struct task_state *state, __s64 result, __u64 now, __u64 used)
{
	struct payload_record *record = payload_record();
	__u64 id = current_numbers();
	struct gather *gather;

	if (!record || !state || result <= 0)
		return 0;
	record->event.kind = EVENT_PAYLOAD;
	record->event.nr = state->nr;
	record->event.process = id >> 32;
	record->event.thread = id;
	record->event.entered_ns = state->entered_ns;
	record->event.left_ns = now;
	record->event.file = state->file;
	record->event.offset = payload_offset(record, state, result);
	record->event.lowest = state->lowest;
	record->event.looked_ns = state->looked_ns ? state->looked_ns : state->entered_ns;
	record->event.flags = state->file_flags;
	record->event.call_flags = state->call_flags;
	/* Another thread has moved the position of the open file meanwhile. */
	if ((state->mode & S_IFMT) == S_IFREG && record->event.landing == LANDED_AT &&
	    (__s64)record->event.offset < 0) {
		lose(LOSS_PAYLOAD);
		return 0;
	}
	record->event.bytes = result;
	record->event.mode = state->mode;
	record->event.open_file = state->open_file;
	record->event.descriptor = state->argument[0];
	if (result <= SMALL && used <= HIGH_WATER &&
	    !(state->call & (CALL_VECTORED | CALL_SOURCE_FIRST | CALL_SOURCE_SECOND)) &&
	    send_small(record, state->argument[1], result))
		return 0;
	gather = &record->gather;
	__builtin_memset(gather, 0, sizeof *gather);
	gather->wanted = result;
	if (is_moved(state)) {
		if (state->call & CALL_FD_THIRD)
			record->event.descriptor = state->argument[2];
		gather->buffer = record->event.offset;
		gather->left = result;
		send_late(record, PAYLOAD_IN_FILE, result);
		return 1;
	}
	gather->late = result > PAYLOAD_AT_ONCE || used + result > HIGH_WATER;
	if (state->call & CALL_VECTORED) {
		gather->vector = state->argument[1];
		gather->vectors = state->argument[2];
	} else {
		gather->buffer = state->argument[1];
		gather->left = state->argument[2];
	}
	bpf_loop(4096, gather_some, &id, 0);
	return gather->stop;
}

/* Stops the process; it sleeps before it is back in user mode. */
APART int stop_process(void)
{
	__u64 id = current_numbers();
	__u32 process = id >> 32, zero = 0, *none;
	struct stop_event *event;
	__u64 one = 1, *count;

	none = bpf_map_lookup_elem(&no_stops, &zero);
	if (none && *none)
		return 0;
	/* A process without an id could not be continued: 0 stands for iostrata itself. */
	if (!process) {
		lose(LOSS_PAYLOAD);
		return 0;
	}
	event = bpf_ringbuf_reserve(&events, sizeof *event, 0);
	/* Nothing would ever continue it. */
	if (!event) {
		lose(LOSS_PAYLOAD);
		return 0;
	}
	count = bpf_map_lookup_elem(&stops, &process);
	if (count)
		__sync_fetch_and_add(count, 1);
	else if (bpf_map_update_elem(&stops, &process, &one, BPF_NOEXIST)) {
		count = bpf_map_lookup_elem(&stops, &process);
		if (count)
			__sync_fetch_and_add(count, 1);
	}
	event->kind = EVENT_STOP;
	event->process = process;
	event->thread = id;
	event->error = -bpf_send_signal(SIGSTOP);
	bpf_ringbuf_submit(event, BPF_RB_NO_WAKEUP);
	return 0;
}

/* The program's output to its user. */
static __always_inline bool is_output(struct task_state *state)
{
	return (state->mode & S_IFMT) != S_IFREG && (state->argument[0] == 1 ||
						     state->argument[0] == 2);
}

static __always_inline bool is_new_program(struct task_state *state)
{
	__u64 program = program_of(bpf_get_current_task_btf());

	if (state->site_program == program)
		return 0;
	state->site_program = program;
	return 1;
}

/* Whether stores may change a file. */
static __always_inline bool has_mappings(void)
{
	__u32 zero = 0;
	__u64 *shared = bpf_map_lookup_elem(&shared_maps, &zero);

	return shared && *shared;
}

static __always_inline void record_call(struct task_state *state, __s64 result, __u64 now)
{
	__u64 used;
	int stop = 0;

	if (READS)
		record_read(state, result, now);
	if (!(state->call & (CALL_WRITES | CALL_STEP | (READS ? CALL_MOVES : 0))))
		return;
	used = bpf_ringbuf_query(&events, BPF_RB_AVAIL_DATA);
	if ((state->call & CALL_WRITES) && result > 0 &&
	    ((state->mode & S_IFMT) == S_IFREG || is_output(state)))
		stop = send_payload(state, result, now, used);
	/* What mappings hold is read at a sync, and before a report. */
	if (has_mappings() &&
	    (((state->call & CALL_STOPS) && result >= 0 && is_step(state, 0, result)) ||
	     ((state->call & CALL_WRITES) && result > 0 && is_output(state))))
		stop = 1;
	/* The memory map that its stacks need goes with the process, and with another program. */
	if (EVERY_SITE && is_new_program(state))
		stop = 1;
	if (stop || used > HIGH_WATER)
		stop_process();
}
