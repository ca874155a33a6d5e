/* io_uring operations that change names, open files or set attributes. Their paths are sent at
 * submission, since they are freed at completion, and their targets are derived from the inodes
 * whose change time they set, as for system calls (touched.h). A worker thread executes them, and
 * only these: io_uring/fs.c and io_uring/xattr.c set REQ_F_FORCE_ASYNC. The worker identifies its
 * request. */
#pragma once
#include "history.h"
#include "operations.h"
#include "ring_types.h"

struct touched_list {
	__u64 count;
	__u64 inode[TOUCHED];
};

static const volatile struct touched_list NONE_TOUCHED = {};

/* By request, while it is under way. */
struct {
	__uint(type, MAP_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 65536);
	__type(key, __u64);
	__type(value, struct touched_list);
} ring_touched SEC(".maps");

/* The request that an io_uring worker executes (io_worker_handle_work, io_uring/io-wq.c). */
static __always_inline __u64 carried_out(void)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct io_worker *worker;
	__u64 work;

	if (!(task->flags & PF_IO_WORKER) || !bpf_core_type_exists(struct io_worker))
		return 0;
	worker = WALK(task, worker_private);
	work = (__u64)BPF_CORE_READ(worker, cur_work);
	return work ? work - bpf_core_field_offset(struct io_kiocb, work) : 0;
}

/* Sends an inode of the list: read from there it is a number, as global functions require. */
APART int send_listed(struct touched_list *list, __u32 at, __u32 flags, __u64 request)
{
	if (!list || at >= TOUCHED)
		return 0;
	return send_touched(list->inode[at], flags, request);
}

/* Not APART: tracepoints pass inodes as pointers, while global functions take only numbers. */
static __always_inline int touch_of_worker(__u64 inode)
{
	__u64 request = carried_out();
	struct touched_list *list;

	if (!request)
		return 0;
	list = bpf_map_lookup_elem(&ring_touched, &request);
	if (!list)
		return 0;
	for (__u32 i = 0; i < TOUCHED; i++) {
		if (i >= list->count) {
			list->inode[i] = inode;
			list->count = i + 1;
			return send_listed(list, i, 0, request);
		}
		if (list->inode[i] == inode)
			return 0;
	}
	lose(LOSS_HISTORY);
	return 0;
}

/* The arguments in a request's own memory. */
struct arguments {
	__u64 path[2]; /* struct filename, 0 for none */
	__u32 fd[2];
	__u64 second;  /* text in kernel memory other than a path */
	__u64 extra;   /* ... other data, */
	__u64 bytes;   /* ... and its length */
	__u64 argument[3]; /* of the call with that name, from the third on */
};

/* Since Linux 7.0 a path is read when the operation begins, and has another type (struct
 * delayed_filename): then it is not sent. */
#define HAS_PATH(type, field)                                                            \
	(bpf_core_type_exists(struct type) && bpf_core_field_exists(((struct type *)0)->field))

static __noinline int take_names(struct arguments *to, __u64 request, __u32 opcode)
{
	struct io_rename *rename = (struct io_rename *)request;
	struct io_unlink *unlink = (struct io_unlink *)request;
	struct io_mkdir *mkdir = (struct io_mkdir *)request;
	struct io_link *link = (struct io_link *)request;
	struct io_open *open = (struct io_open *)request;

	if (!to)
		return 0;
	switch (opcode) {
	case IORING_OP_RENAMEAT:
		if (!HAS_PATH(io_rename, oldpath))
			return 0;
		to->fd[0] = BPF_CORE_READ(rename, old_dfd);
		to->fd[1] = BPF_CORE_READ(rename, new_dfd);
		to->path[0] = (__u64)BPF_CORE_READ(rename, oldpath);
		to->path[1] = (__u64)BPF_CORE_READ(rename, newpath);
		to->argument[2] = BPF_CORE_READ(rename, flags);
		return 1;
	case IORING_OP_UNLINKAT:
		if (!HAS_PATH(io_unlink, filename))
			return 0;
		to->fd[0] = BPF_CORE_READ(unlink, dfd);
		to->path[0] = (__u64)BPF_CORE_READ(unlink, filename);
		to->argument[0] = BPF_CORE_READ(unlink, flags);
		return 1;
	case IORING_OP_MKDIRAT:
		if (!HAS_PATH(io_mkdir, filename))
			return 0;
		to->fd[0] = BPF_CORE_READ(mkdir, dfd);
		to->path[0] = (__u64)BPF_CORE_READ(mkdir, filename);
		to->argument[0] = BPF_CORE_READ(mkdir, mode);
		return 1;
	case IORING_OP_SYMLINKAT: /* the name first, then the target of the link */
		if (!HAS_PATH(io_link, oldpath))
			return 0;
		to->fd[0] = BPF_CORE_READ(link, new_dfd);
		to->fd[1] = AT_FDCWD;
		to->path[0] = (__u64)BPF_CORE_READ(link, newpath);
		to->path[1] = (__u64)BPF_CORE_READ(link, oldpath);
		return 1;
	case IORING_OP_LINKAT:
		if (!HAS_PATH(io_link, oldpath))
			return 0;
		to->fd[0] = BPF_CORE_READ(link, old_dfd);
		to->fd[1] = BPF_CORE_READ(link, new_dfd);
		to->path[0] = (__u64)BPF_CORE_READ(link, oldpath);
		to->path[1] = (__u64)BPF_CORE_READ(link, newpath);
		to->argument[2] = BPF_CORE_READ(link, flags);
		return 1;
	case IORING_OP_OPENAT:
	case IORING_OP_OPENAT2:
		if (!HAS_PATH(io_open, filename))
			return 0;
		to->fd[0] = BPF_CORE_READ(open, dfd);
		to->path[0] = (__u64)BPF_CORE_READ(open, filename);
		to->argument[0] = BPF_CORE_READ(open, how.flags);
		return 1;
	}
	return 0;
}

/* setxattr(2) copies name and value at submission (io_uring/xattr.c, __io_setxattr_prep). */
static __noinline int take_attribute(struct arguments *to, __u64 request, __u32 opcode)
{
	struct io_xattr *xattr = (struct io_xattr *)request;

	if (!to || !HAS_PATH(io_xattr, filename))
		return 0;
	if (opcode == IORING_OP_SETXATTR)
		to->path[0] = (__u64)BPF_CORE_READ(xattr, filename);
	to->fd[0] = AT_FDCWD;
	to->second = (__u64)BPF_CORE_READ(xattr, ctx.kname);
	to->extra = (__u64)BPF_CORE_READ(xattr, ctx.kvalue);
	to->bytes = BPF_CORE_READ(xattr, ctx.size);
	to->argument[1] = to->bytes;
	to->argument[2] = BPF_CORE_READ(xattr, ctx.flags);
	return 1;
}

static __always_inline __u32 copy_text(struct step_record *record, __u32 at, __u64 address)
{
	long bytes = bpf_probe_read_kernel_str(record->text + (at & (TEXT - 1)), TEXT,
					       (void *)address);

	return bytes > 0 ? bytes : 0;
}

static __always_inline __u64 text_of(__u64 path)
{
	struct filename *filename = (struct filename *)path;

	return path ? (__u64)BPF_CORE_READ(filename, name) : 0;
}

APART int copy_names(struct arguments *from)
{
	struct step_record *record;
	__u32 zero = 0, first = 0, bytes;
	char start = 0;

	record = bpf_map_lookup_elem(&step_scratch, &zero);
	if (!record || !from)
		return 0;
	if (from->path[0]) {
		first = copy_text(record, 0, text_of(from->path[0]));
		record->event.bytes[0] = first;
		bpf_probe_read_kernel(&start, 1, record->text);
		if (first)
			begin_of(from->fd[0], 0, start);
	}
	if (first >= TEXT) /* no room: only a hostile program has such paths */
		return 0;
	if (from->path[1]) {
		record->event.bytes[1] = copy_text(record, first, text_of(from->path[1]));
		bpf_probe_read_kernel(&start, 1, record->text + (first & (TEXT - 1)));
		if (record->event.bytes[1])
			begin_of(from->fd[1], 1, start);
	} else if (from->second) {
		record->event.bytes[1] = copy_text(record, first, from->second);
	}
	bytes = first + record->event.bytes[1];
	if (!from->bytes || from->bytes > EXTRA_BYTES || bytes >= 2 * TEXT)
		return 0;
	if (!bpf_probe_read_kernel(record->text + bytes, from->bytes & (2 * EXTRA_BYTES - 1),
				   (void *)from->extra))
		record->event.extra = from->bytes;
	return 0;
}

/* The arguments of a request being submitted. */
APART int send_asked(__u64 request, __u32 opcode)
{
	struct arguments arguments = {};
	struct step_record *record;
	__u32 zero = 0, bytes;
	int taken;

	if (opcode == IORING_OP_SETXATTR || opcode == IORING_OP_FSETXATTR)
		taken = RECORD && take_attribute(&arguments, request, opcode);
	else
		taken = take_names(&arguments, request, opcode);
	record = bpf_map_lookup_elem(&step_scratch, &zero);
	if (!taken || !record)
		return 0;
	if (bpf_map_update_elem(&ring_touched, &request, (void *)&NONE_TOUCHED, BPF_ANY))
		lose(LOSS_HISTORY);
	__builtin_memset(&record->event, 0, sizeof record->event);
	record->event.kind = EVENT_ASKED;
	record->event.request = request;
	for (int i = 0; i < 3; i++)
		record->event.argument[2 + i] = arguments.argument[i];
	copy_names(&arguments);
	bytes = record->event.bytes[0] + record->event.bytes[1] + record->event.extra;
	bytes = AT_MOST(2 * TEXT + EXTRA_BYTES, bytes);
	if (bpf_ringbuf_output(&events, record, sizeof record->event + bytes, BPF_RB_NO_WAKEUP))
		lose(LOSS_HISTORY);
	return 0;
}

/* The final names when the request has ended. */
APART int send_ring_places(__u64 request)
{
	struct touched_list *list = bpf_map_lookup_elem(&ring_touched, &request);

	if (!list)
		return 0;
	for (__u32 i = 0; i < TOUCHED; i++) {
		if (i >= list->count)
			break;
		send_listed(list, i, TOUCHED_AFTER, request);
	}
	bpf_map_delete_elem(&ring_touched, &request);
	return 0;
}

/* The file in a slot of the ring's own table (io_uring/rsrc.h, io_slot_file): the lowest bits are
 * flags. */
static __always_inline __u64 slot_file(struct io_kiocb *request, __u32 slot)
{
	struct io_ring_ctx *ring = BPF_CORE_READ(request, ctx);
	__u64 nodes, node = 0, file = 0;

	if (bpf_core_field_exists(ring->nr_user_files) && HAS(struct io_file_table, files)) {
		/* Before Linux 6.13 (struct io_fixed_file). */
		if (slot >= BPF_CORE_READ(ring, nr_user_files))
			return 0;
		nodes = (__u64)BPF_CORE_READ(ring, file_table.files);
		bpf_probe_read_kernel(&file, sizeof file, (void *)(nodes + 8ULL * slot));
		return file & ~7ULL;
	}
	if (!bpf_core_type_exists(struct io_rsrc_node) ||
	    !bpf_core_field_exists(ring->file_table.data.nodes) ||
	    slot >= BPF_CORE_READ(ring, file_table.data.nr))
		return 0;
	nodes = (__u64)BPF_CORE_READ(ring, file_table.data.nodes);
	bpf_probe_read_kernel(&node, sizeof node, (void *)(nodes + 8ULL * slot));
	return node ? BPF_CORE_READ((struct io_rsrc_node *)node, file_ptr) & ~7ULL : 0;
}
