/* io_uring: operations counted like system calls, with their file and time. The call
 * that submits them says nothing about them. */
#pragma once
#include "calls.h"

/* include/uapi/linux/io_uring.h, enum io_uring_op */
#define IORING_OP_WRITEV 2
#define IORING_OP_FSYNC 3
#define IORING_OP_WRITE_FIXED 5
#define IORING_OP_WRITE 23

struct operation {
	__u64 entered_ns;
	__u32 process;
	__u32 thread;
	__u32 opcode;
	__u32 pad;
};

struct {
	__uint(type, MAP_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 65536);
	__type(key, __u64);
	__type(value, struct operation);
} operations SEC(".maps");

SEC("tp_btf/io_uring_submit_req")
int BPF_PROG(ring_submitted, struct io_kiocb *request)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct operation operation = {};
	__u64 key = (__u64)request, id = bpf_get_current_pid_tgid();
	struct task_state *state = state_of(task);

	/* A submission thread of the kernel belongs to the process whose ring it serves. */
	if (!state && task->group_leader)
		state = state_of(task->group_leader);
	if (!state || !request)
		return 0;
	state->reports.news = 1;
	operation.entered_ns = bpf_ktime_get_ns();
	operation.process = id >> 32;
	operation.thread = id;
	operation.opcode = READ(request, opcode);
	if (bpf_map_update_elem(&operations, &key, &operation, BPF_ANY))
		lose(LOSS_CALLS);
	return 0;
}

static __always_inline void count_operation(struct operation *operation, struct file_key *file,
					    __s64 result, __u64 took_ns)
{
	struct call_key key = {};
	struct call_value zero = {}, *value;

	key.file = *file;
	key.nr = RING_BASE + (operation->opcode & (RING_OPERATIONS - 1));
	key.cpu = bpf_get_smp_processor_id();
	value = bpf_map_lookup_elem(&calls, &key);
	if (!value) {
		bpf_map_update_elem(&calls, &key, &zero, BPF_NOEXIST);
		value = bpf_map_lookup_elem(&calls, &key);
	}
	if (!value) {
		lose(LOSS_CALLS);
		value = bpf_map_lookup_elem(&other_calls, &key.nr);
		if (!value)
			return;
	}
	value->count++;
	if (result < 0)
		value->errors++;
	else
		value->returned += result;
	value->time_ns += took_ns;
	value->histogram[bucket_of(took_ns, HISTOGRAM_BUCKETS)]++;
}

static __always_inline void ring_history(struct operation *operation, struct io_kiocb *request,
					 struct file_key *file, __s64 result, __u64 now)
{
	struct run_event *event;
	__u32 code = operation->opcode;

	if (code != IORING_OP_WRITE && code != IORING_OP_WRITEV &&
	    code != IORING_OP_WRITE_FIXED && code != IORING_OP_FSYNC)
		return;
	event = bpf_ringbuf_reserve(&events, sizeof *event, 0);
	if (!event) {
		lose(LOSS_HISTORY);
		return;
	}
	event->kind = EVENT_RUN;
	event->nr = RING_BASE + code;
	event->process = operation->process;
	event->thread = operation->thread;
	event->started_ns = operation->entered_ns;
	event->ended_ns = now;
	event->file = *file;
	event->count = result >= 0;
	event->bytes = result > 0 ? result : 0;
	event->from = 0;
	event->to = 0;
	event->sequential = 0;
	event->durable = code != IORING_OP_FSYNC && is_durable_request(request);
	bpf_ringbuf_submit(event, BPF_RB_NO_WAKEUP);
}

static __always_inline int finish(__u64 request, __s64 result)
{
	struct operation *operation = bpf_map_lookup_elem(&operations, &request);
	struct io_kiocb *kiocb = (struct io_kiocb *)request;
	struct file_key key = {};
	struct file *file;
	__u64 now;

	if (!operation)
		return 0;
	now = bpf_ktime_get_ns();
	file = BPF_CORE_READ(kiocb, file); /* a number for the verifier */
	if (file) {
		identify(READ(file, f_inode), &key);
		if (HISTORY)
			name_file((__u64)file, &key);
	}
	count_operation(operation, &key, result, now - operation->entered_ns);
	if (HISTORY) {
		ring_history(operation, kiocb, &key, result, now);
		operation_at(purpose_of(RING_BASE + (operation->opcode & (RING_OPERATIONS - 1)),
					file ? READ(file, f_inode, i_mode) : 0),
			     result, now - operation->entered_ns, now);
	}
	bpf_map_delete_elem(&operations, &request);
	return 0;
}

/* Up to Linux 6.15 the result is the fourth argument of the event; the kernel refuses
 * this program where there are but three. */
SEC("tp_btf/io_uring_complete")
int ring_completed_old(__u64 *context)
{
	return finish(context[1], (__s32)context[3]);
}

SEC("tp_btf/io_uring_complete")
int ring_completed(__u64 *context)
{
	struct io_uring_cqe *entry = (struct io_uring_cqe *)context[2];

	return finish(context[1], READ(entry, res));
}
