/* The history: what changes files, in order.
 *
 * Writes are not sent one by one: consecutive writes to one file form a run, sent before the
 * thread's next file or step.
 */
#pragma once
#include "touched.h"
#include "durable.h"

struct step_record {
	struct step_event event;
	char text[2 * TEXT + EXTRA_BYTES];
};

struct {
	__uint(type, MAP_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct step_record);
} step_scratch SEC(".maps");

/* `id` is the process and thread that wrote. */
APART int end_run(struct run *run, __u64 id)
{
	struct run_event *event;

	if (!run || !run->count)
		return 0;
	event = bpf_ringbuf_reserve(&events, sizeof *event, 0);
	if (!event) {
		lose(LOSS_HISTORY);
	} else {
		event->kind = EVENT_RUN;
		event->nr = run->nr;
		event->process = id >> 32;
		event->thread = id;
		event->started_ns = run->started_ns;
		event->ended_ns = run->ended_ns;
		event->file = run->file;
		event->count = run->count;
		event->bytes = run->bytes;
		event->from = run->from;
		event->to = run->to;
		event->sequential = run->sequential;
		event->size = run->size;
		event->flags = run->flags;
		event->error = 0;
		bpf_ringbuf_submit(event, BPF_RB_NO_WAKEUP);
	}
	run->count = 0;
	return 0;
}

/* Others may cut the file between two writes of the task. */
static __always_inline void look_at_size(struct task_state *state)
{
	struct file *file = (struct file *)state->open_file;
	struct run *run = &state->run;
	__u64 from, size;

	state->size = NOT_KNOWN;
	if (!file)
		return;
	from = state->argument[3];
	if (!(state->call & CALL_OFFSET) || from == ~0ULL)
		from = READ(file, f_pos);
	if (run->count && from == run->end && is_same_file(&run->file, &state->file))
		return;
	size = READ(file, f_inode, i_size);
	barrier_var(size);
	state->size = size;
}

static __always_inline void extend_run(struct task_state *state, __u64 offset, __u64 bytes,
				       __u64 now)
{
	struct run *run = &state->run;
	__u32 flags = manner_of(state);

	if (run->count && (run->nr != state->nr || run->flags != flags ||
			   !is_same_file(&run->file, &state->file)))
		end_run(run, current_numbers());
	/* Others have cut the file. */
	if (run->count && state->size < run->to)
		end_run(run, current_numbers());
	if (!run->count) {
		run->nr = state->nr;
		run->flags = flags;
		run->file = state->file;
		run->started_ns = state->entered_ns;
		run->bytes = 0;
		run->from = offset;
		run->to = 0;
		run->sequential = 0;
		run->size = state->size;
	} else {
		run->sequential += offset == run->end;
	}
	run->count++;
	run->bytes += bytes;
	run->ended_ns = now;
	run->end = offset + bytes;
	if (offset < run->from)
		run->from = offset;
	if (run->end > run->to)
		run->to = run->end;
}

/* A write whose place another thread has hidden, by moving the position of the open file before it
 * was read: a run of its own, without a place. */
static __always_inline void add_unplaced(struct task_state *state, __u64 bytes, __u64 now)
{
	struct run *run = &state->run;

	end_run(run, current_numbers());
	extend_run(state, 0, bytes, now);
	run->to = 0;
	end_run(run, current_numbers());
}

/* Whether the task's root is that of all mounts, which is so unless it has called chroot(2). */
static __always_inline bool is_whole_root(struct path *root)
{
	struct vfsmount *seen = READ(root, mnt);
	struct mount *mount = (void *)seen - bpf_core_field_offset(struct mount, mnt);

	return READ(root, dentry) == READ(seen, mnt_root) && READ(mount, mnt_parent) == mount;
}

/* The directory that a path starts from, named if it is new. `start` is the path's first byte. */
APART int begin_of(__u64 fd, __u32 which, __u32 start)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct fs_struct *fs = BPF_CORE_READ(task, fs); /* a number for the verifier */
	struct step_record *record;
	struct file_key key = {};
	struct path *at = 0;
	struct inode *inode;
	__u32 zero = 0;

	record = bpf_map_lookup_elem(&step_scratch, &zero);
	if (!record)
		return 0;
	if (start == '/') {
		at = (void *)fs + bpf_core_field_offset(struct fs_struct, root);
		if (is_whole_root(at))
			return 0;
	} else if ((__s32)fd == AT_FDCWD) {
		at = (void *)fs + bpf_core_field_offset(struct fs_struct, pwd);
	} else {
		struct file *file = number_of_file(fd);

		if (!file)
			return 0;
		at = (void *)file + bpf_core_field_offset(struct file, f_path);
	}
	inode = READ(at, dentry, d_inode);
	if (!inode)
		return 0;
	identify(inode, &key);
	record->event.base[which ? 1 : 0] = key;
	if (is_new(&key, NAMED))
		name_path((__u64)at, &key);
	return 0;
}

/* A path as the program passed it. Read after the call: the kernel has just read it, so its page
 * is resident. Returns the bytes with the NUL. */
static __always_inline __u32 copy_path(struct step_record *record, __u32 at, __u64 address)
{
	long bytes = bpf_probe_read_user_str(record->text + (at & (TEXT - 1)), TEXT,
					     (void *)address);

	return bytes > 0 ? bytes : 0;
}

static __always_inline int copy_paths(struct task_state *state, __u32 style)
{
	struct step_record *record;
	__u64 fd[2] = {AT_FDCWD, AT_FDCWD}, address[2] = {};
	__u32 zero = 0, first;
	char start = 0;

	record = bpf_map_lookup_elem(&step_scratch, &zero);
	if (!record || !state)
		return 0;
	switch (style) {
	case PATH_FIRST:
		address[0] = state->argument[0];
		break;
	case PATH_AT:
		fd[0] = state->argument[0];
		address[0] = state->argument[1];
		break;
	case PATH_TWO:
		address[0] = state->argument[0];
		address[1] = state->argument[1];
		break;
	case PATH_TWO_AT:
		fd[0] = state->argument[0];
		address[0] = state->argument[1];
		fd[1] = state->argument[2];
		address[1] = state->argument[3];
		break;
	case PATH_SECOND:
		address[0] = state->argument[1];
		address[1] = state->argument[0]; /* the target of the link */
		break;
	case PATH_THIRD_AT:
		fd[0] = state->argument[1];
		address[0] = state->argument[2];
		address[1] = state->argument[0];
		break;
	case PATH_AND_NAME:
		address[0] = state->argument[0];
		address[1] = state->argument[1];
		break;
	case PATH_ONLY_NAME:
		address[1] = state->argument[1];
		break;
	default:
		return 0;
	}
	first = copy_path(record, 0, address[0]);
	record->event.bytes[0] = first;
	bpf_probe_read_kernel(&start, 1, record->text);
	if (first)
		begin_of(fd[0], 0, start);
	if (!address[1] || first >= TEXT) /* no room: only a hostile program has such paths */
		return 0;
	record->event.bytes[1] = copy_path(record, first, address[1]);
	bpf_probe_read_kernel(&start, 1, record->text + (first & (TEXT - 1)));
	if (record->event.bytes[1])
		begin_of(fd[1], 1, start);
	return 0;
}

/* Other arguments in memory, after the paths. The kernel has just read them. */
APART int copy_extra(struct task_state *state, __u32 at)
{
	struct step_record *record;
	__u32 zero = 0, what, which, bytes;
	__u64 address;

	record = bpf_map_lookup_elem(&step_scratch, &zero);
	if (!record || !state || state->nr >= SYSCALLS || at >= 2 * TEXT)
		return 0;
	what = EXTRAS[state->nr];
	which = (what & 0xff) - 1;
	bytes = what >> 8;
	if (bytes & EXTRA_LENGTH) {
		bytes &= EXTRA_LENGTH - 1;
		if (bytes >= 5)
			return 0;
		bytes = state->argument[bytes] > EXTRA_BYTES ? 0 : state->argument[bytes];
	}
	if (which >= 5 || !bytes || bytes > EXTRA_BYTES)
		return 0;
	address = state->argument[which];
	if (bpf_probe_read_user(record->text + at, bytes, (void *)address)) {
		/* If the text may be shorter, the next page may be unmapped. */
		bytes = 4;
		if (bpf_probe_read_user(record->text + at, bytes, (void *)address))
			return 0;
	}
	record->event.extra = bytes;
	return 0;
}

#include "reports.h"

APART int send_step(struct task_state *state, __u32 style, __s64 result, __u64 now)
{
	struct step_record *record;
	__u64 id = current_numbers(), bytes;
	__u32 zero = 0;

	record = bpf_map_lookup_elem(&step_scratch, &zero);
	if (!record || !state)
		return 0;
	end_run(&state->run, id);
	if (state->call & CALL_PLACES)
		send_places(state);
	end_reports(state, id);
	state->reports.news = 1;
	__builtin_memset(&record->event, 0, sizeof record->event);
	record->event.kind = EVENT_STEP;
	record->event.nr = state->nr;
	record->event.process = id >> 32;
	record->event.thread = id;
	record->event.entered_ns = state->entered_ns;
	record->event.left_ns = now;
	record->event.result = result;
	record->event.file = state->file;
	for (int i = 0; i < 5; i++)
		record->event.argument[i] = state->argument[i];
	record->event.mode = state->file_mode;
	record->event.flags = state->file_flags;
	record->event.open_file = state->open_file;
	record->event.inode_mode = state->mode;
	if (style)
		copy_paths(state, style);
	bytes = (__u64)record->event.bytes[0] + record->event.bytes[1];
	if (bytes > 2 * TEXT)
		bytes = 2 * TEXT;
	if (RECORD && result >= 0)
		copy_extra(state, bytes);
	bytes += record->event.extra;
	bytes = AT_MOST(2 * TEXT + EXTRA_BYTES, bytes);
	if (bpf_ringbuf_output(&events, record, sizeof record->event + bytes, BPF_RB_NO_WAKEUP))
		lose(LOSS_HISTORY);
	return 0;
}

/* From the struct file of the current call, which a close frees. */
static __always_inline void look_at_file(struct task_state *state)
{
	struct file *file = (struct file *)state->open_file;

	state->file_mode = file ? READ(file, f_mode) : 0;
	state->file_flags = file ? READ(file, f_flags) : 0;
}

/* Requests of ioctl(2) and fcntl(2) that change a file, or the behaviour of its open file. */
static __always_inline bool is_changing(__u32 command)
{
	return command == F_SETFL || command == FS_IOC_SETFLAGS || command == FS_IOC_FSSETXATTR;
}

/* Whether an open truncated the file: fs/open.c (do_dentry_open) keeps no O_TRUNC in the flags of
 * the open file. The flags of openat2 replace their address. */
static __always_inline bool empties(struct task_state *state)
{
	__u32 nr = state->nr;
	__u32 style = nr < SYSCALLS ? PATHS[nr] : 0;

	return (state->call & CALL_FD_RETURNED) &&
	       (state->argument[style == PATH_FIRST ? 1 : 2] & O_TRUNC);
}

/* Whether the call that ends is a step; most are not. */
static __always_inline bool is_step(struct task_state *state, __u32 style, __s64 result)
{
	bool regular = (state->mode & S_IFMT) == S_IFREG;

	if (result < 0)
		return style || ((state->call & CALL_STEP) && !(state->call & CALL_COMMAND)) ||
		       ((state->call & CALL_WRITES) && regular);
	if (!(state->call & CALL_STEP))
		return 0;
	if (state->call & CALL_FD_FIFTH) /* mmap */
		return regular && (state->argument[2] & PROT_WRITE) &&
		       (state->argument[3] & MAP_SHARED);
	if (state->call & CALL_COMMAND)
		return is_changing(state->argument[1]);
	if (state->call & (CALL_FD_RETURNED | CALL_CLOSES)) /* an open for reading changes nothing */
		return regular &&
		       ((state->file_mode & (FMODE_WRITE | FMODE_CREATED)) || empties(state));
	return 1;
}
