/* The inodes affected by a name change. The path that a program passed may lead through symbolic
 * links, a chroot, or directories that have been moved since: only the kernel knows which
 * directory it meant. It sets the change time of every inode whose names change, while the names
 * are still the old ones, and has tracepoints there since Linux 6.13 (fs/inode.c,
 * inode_set_ctime_current). */
#pragma once
#include "names.h"
#include "numbers.h"

struct touched_record {
	struct touched_event event;
	char name[LONGEST_NAME];
};

struct {
	__uint(type, MAP_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct touched_record);
} touched_scratch SEC(".maps");

/* Mounts of one file system to search. */
#define MOUNTS 32

struct search {
	__u64 mount;
	__u64 space;
	__u64 found;
};

/* In the list that a file system kept of its mounts before Linux 6.17. */
static __always_inline __u64 listed_mount(__u64 superblock, __u64 space)
{
	struct mount *mount;
	__u64 list, at = 0;

	if (!HAS(struct super_block___before_6_17, s_mounts) || !HAS(struct mount, mnt_instance))
		return 0;
	list = ADDRESS_OF(struct super_block___before_6_17, superblock, s_mounts);
	/* The first field of a list is the next pointer. */
	bpf_probe_read_kernel(&at, sizeof at, (void *)list);
	for (int i = 0; i < MOUNTS && at && at != list; i++) {
		mount = (void *)at - bpf_core_field_offset(struct mount, mnt_instance);
		if ((__u64)BPF_CORE_READ(mount, mnt_ns) == space)
			return (__u64)mount + bpf_core_field_offset(struct mount, mnt);
		bpf_probe_read_kernel(&at, sizeof at, (void *)at);
	}
	return 0;
}

static long next_mount(__u32 index, struct search *search)
{
	struct mount *mount = (struct mount *)search->mount;

	if (!mount)
		return 1;
	if ((__u64)BPF_CORE_READ(mount, mnt_ns) == search->space) {
		search->found = (__u64)mount + bpf_core_field_offset(struct mount, mnt);
		return 1;
	}
	search->mount = (__u64)BPF_CORE_READ(mount, mnt_next_for_sb);
	return 0;
}

/* The mount through which the task sees the file system: that of its working directory, otherwise
 * the first in its namespace; 0 if unknown. A number, as global functions require. */
APART __u64 mount_of(__u64 address)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct inode *inode = (struct inode *)address;
	struct super_block *superblock = BPF_CORE_READ(inode, i_sb);
	struct vfsmount *own = BPF_CORE_READ(task, fs, pwd.mnt);
	struct mnt_namespace *space;
	struct search search = {};

	if (BPF_CORE_READ(own, mnt_sb) == superblock)
		return (__u64)own;
	space = BPF_CORE_READ(task, nsproxy, mnt_ns);
	if (!HAS(struct mount, mnt_next_for_sb))
		return listed_mount((__u64)superblock, (__u64)space);
	search.mount = (__u64)BPF_CORE_READ(superblock, s_mounts);
	search.space = (__u64)space;
	bpf_loop(MOUNTS, next_mount, &search, 0);
	return search.found;
}

/* Its first name; a directory has only one. */
static __always_inline struct dentry *first_name(struct inode *inode)
{
	__u64 first = (__u64)BPF_CORE_READ(inode, i_dentry.first);

	if (!first)
		return 0;
	return (struct dentry *)(first - bpf_core_field_offset(struct dentry, d_u.d_alias));
}

APART int add_name(struct touched_record *record, __u64 address)
{
	struct inode *directory, *inode = (struct inode *)address;
	struct dentry *dentry = first_name(inode);
	long bytes;

	if (!record || !dentry)
		return 0;
	directory = READ(dentry, d_parent, d_inode);
	if (!directory)
		return 0;
	identify(directory, &record->event.parent);
	bytes = bpf_probe_read_kernel_str(record->name, LONGEST_NAME, READ(dentry, d_name.name));
	if (bytes <= 0 || bytes > LONGEST_NAME)
		return 0;
	record->event.bytes = bytes;
	record->event.flags |= TOUCHED_NAMED;
	if (READ(dentry, d_hash.pprev))
		record->event.flags |= TOUCHED_HASHED;
	return 0;
}

/* `request`: the io_uring operation that touches it, 0 for a call of this thread. */
APART int send_touched(__u64 address, __u32 flags, __u64 request)
{
	struct inode *inode = (struct inode *)address;
	struct touched_record *record;
	__u32 zero = 0, bytes;

	record = bpf_map_lookup_elem(&touched_scratch, &zero);
	if (!record)
		return 0;
	__builtin_memset(&record->event, 0, sizeof record->event);
	record->event.kind = EVENT_TOUCHED;
	record->event.thread = current_numbers();
	record->event.request = request;
	record->event.mode = READ(inode, i_mode);
	record->event.flags = flags;
	record->event.size = READ(inode, i_size);
	record->event.device = READ(inode, i_rdev);
	if (READ(inode, i_sb, s_magic) == OVERLAY_SUPER_MAGIC)
		record->event.flags |= TOUCHED_OVERLAY;
	identify(inode, &record->event.file);
	add_name(record, address);
	if ((record->event.mode & S_IFMT) == S_IFDIR && (record->event.flags & TOUCHED_NAMED) &&
	    is_new(&record->event.file, NAMED_AS_BASE))
		send_path(&record->event.file, (__u64)first_name(inode), mount_of(address), 1);
	bytes = record->event.bytes;
	if (bytes > LONGEST_NAME)
		return 0;
	if (bpf_ringbuf_output(&events, record, sizeof record->event + AT_MOST(LONGEST_NAME, bytes),
			       BPF_RB_NO_WAKEUP))
		lose(LOSS_HISTORY);
	return 0;
}

/* Sends the inode at an index of state->touched: read from there it is a number, as global
 * functions require. */
APART int send_at(struct task_state *state, __u32 at, __u32 flags)
{
	if (!state || at >= TOUCHED)
		return 0;
	return send_touched(state->touched[at], flags, 0);
}

/* Whether overlayfs is working in one of its layers, under other credentials (ovl_override_creds,
 * fs/overlayfs/util.c). */
static __always_inline bool is_below_overlay(struct inode *inode)
{
	struct task_struct *task = bpf_get_current_task_btf();

	return READ(task, cred) != READ(task, real_cred) &&
	       READ(inode, i_sb, s_magic) != OVERLAY_SUPER_MAGIC;
}

/* A file that a call identifies only by path is the call's file. */
APART int take_node(struct task_state *state, __u32 at)
{
	struct dentry *dentry;
	struct inode *inode;
	struct file_key base = {};
	__u64 parent, directory;

	if (!state || at >= TOUCHED || state->file.inode)
		return 0;
	inode = (struct inode *)state->touched[at];
	dentry = first_name(inode);
	if ((READ(inode, i_mode) & S_IFMT) != S_IFREG || !dentry || is_below_overlay(inode))
		return 0;
	state->mode = mode_of(inode);
	identify(inode, &state->file);
	parent = (__u64)BPF_CORE_READ(dentry, d_parent);
	directory = (__u64)BPF_CORE_READ((struct dentry *)parent, d_inode);
	if (!directory || !is_new(&state->file, NAMED))
		return 0;
	identify((struct inode *)directory, &base);
	if (is_new(&base, NAMED_AS_BASE))
		send_path(&base, parent, mount_of(directory), 1);
	send_leaf(&state->file, &base, dentry, inode);
	return 0;
}

static int touch_of_worker(__u64 inode);

static __always_inline int touch(__u64 inode)
{
	struct task_state *state = current_state();

	if (!state)
		return touch_of_worker(inode);
	if (!state->entered_ns || !(state->call & CALL_TOUCHES))
		return 0;
	for (__u32 i = 0; i < TOUCHED; i++) {
		if (i >= state->touched_count) {
			state->touched[i] = inode;
			state->touched_count = i + 1;
			if (state->call & CALL_NODE)
				take_node(state, i);
			return send_at(state, i, 0);
		}
		if (state->touched[i] != inode)
			continue;
		/* It had no name when it was looked up. */
		return state->call & CALL_NODE ? take_node(state, i) : 0;
	}
	lose(LOSS_HISTORY);
	return 0;
}

/* The final names when the call has ended: a created file has its name now. */
APART int send_places(struct task_state *state)
{
	if (!state)
		return 0;
	for (__u32 i = 0; i < TOUCHED; i++) {
		if (i >= state->touched_count)
			break;
		send_at(state, i, TOUCHED_AFTER);
	}
	return 0;
}

/* For all three attachment points for change times: the inode is the first argument of each. */
SEC("raw_tp/inode_set_ctime_to_ts")
int BPF_PROG(touched, struct inode *inode)
{
	return touch((__u64)inode);
}
