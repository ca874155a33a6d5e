/* Names: the path of every file, once, at its first use. */
#pragma once
#include "identity.h"

/* The verifier knows no values in a map. On the stack it would follow each length of a path by
 * itself. */
struct walk {
	struct dentry *dentry;
	struct dentry *root;
	struct mount *mount;
	__u32 bytes;
	__u32 complete;
};

struct name_record {
	struct walk walk;
	struct name_event event;
	char text[TEXT + LONGEST_NAME];
};

/* One for each CPU: programs on system-call tracepoints are not preempted
 * (include/trace/bpf_probe.h). */
struct {
	__uint(type, MAP_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct name_record);
} name_scratch SEC(".maps");

/* One component up: at the root of a mount, to its mount point. */
static long climb(__u32 index, void *unused)
{
	struct name_record *record;
	struct dentry *dentry, *parent;
	struct mount *mount, *below;
	struct walk *walk;
	__u32 zero = 0, at;
	long bytes;

	record = bpf_map_lookup_elem(&name_scratch, &zero);
	if (!record)
		return 1;
	walk = &record->walk;
	/* Separate from `walk`, which the kernel does not know: no access to it may be relocated.
	 */
	dentry = walk->dentry;
	mount = walk->mount;
	if (dentry == walk->root) {
		below = READ(mount, mnt_parent);
		if (below == mount) {
			walk->complete = PATH_WHOLE;
			return 1;
		}
		walk->dentry = READ(mount, mnt_mountpoint);
		walk->mount = below;
		walk->root = READ(below, mnt.mnt_root);
		return 0;
	}
	if (walk->bytes >= TEXT)
		return 1;
	at = walk->bytes & (TEXT - 1);
	bytes = bpf_probe_read_kernel_str(record->text + at, LONGEST_NAME,
					  READ(dentry, d_name.name));
	if (bytes <= 0)
		return 1;
	walk->bytes += bytes;
	parent = READ(dentry, d_parent);
	if (parent == dentry) {
		walk->complete = PATH_IN_FILE_SYSTEM;
		return 1;
	}
	walk->dentry = parent;
	return 0;
}

static __always_inline void fill_name(struct name_event *event, struct file_key *key,
				      struct inode *inode)
{
	struct shown shown = { .inode = key->inode, .device = key->device };

	if (READ(inode, i_sb, s_magic) == OVERLAY_SUPER_MAGIC)
		take_shown(number(inode), &shown);
	event->shown_device = shown.device;
	event->shown_inode = shown.inode;
	event->kind = EVENT_NAME;
	event->mode = named_mode(inode);
	event->file = *key;
	event->size = READ(inode, i_size);
	event->removed = !READ(inode, i_nlink);
	event->superblock = READ(inode, i_sb, s_dev);
	bpf_probe_read_kernel_str(event->filesystem, sizeof event->filesystem,
				  READ(inode, i_sb, s_type, name));
}

/* All names up to the root of all mounts; without a mount, to that of the file system. */
APART int send_path(struct file_key *key, __u64 of_dentry, __u64 of_mount, __u32 as_base)
{
	struct dentry *dentry = (struct dentry *)of_dentry;
	struct vfsmount *mount = (struct vfsmount *)of_mount;
	struct name_record *record;
	__u32 zero = 0;
	__u64 bytes;

	record = bpf_map_lookup_elem(&name_scratch, &zero);
	if (!record || !key)
		return 0;
	record->walk = (struct walk){ .dentry = dentry };
	if (mount) {
		record->walk.root = READ(mount, mnt_root);
		record->walk.mount = (void *)mount - bpf_core_field_offset(struct mount, mnt);
	}
	bpf_loop(512, climb, 0, 0);
	fill_name(&record->event, key, READ(dentry, d_inode));
	record->event.removed &= !READ(dentry, d_hash.pprev);
	record->event.base = (struct file_key){};
	record->event.complete = record->walk.complete;
	record->event.as_base = as_base;
	bytes = AT_MOST(TEXT + LONGEST_NAME, record->walk.bytes);
	record->event.bytes = bytes;
	if (bpf_ringbuf_output(&events, &record->event, sizeof record->event + bytes,
			       BPF_RB_NO_WAKEUP))
		lose(LOSS_NAMES);
	return 0;
}

/* The name in a directory whose name was sent. */
static __noinline int send_leaf(struct file_key *key, struct file_key *base,
				struct dentry *dentry, struct inode *inode)
{
	struct name_record *record;
	__u32 zero = 0;
	long bytes;

	record = bpf_map_lookup_elem(&name_scratch, &zero);
	if (!record || !key || !base)
		return 0;
	bytes = bpf_probe_read_kernel_str(record->text, LONGEST_NAME,
					  READ(dentry, d_name.name));
	if (bytes <= 0 || bytes > LONGEST_NAME)
		return 0;
	record->event.base = *base;
	record->event.complete = PATH_WHOLE;
	record->event.as_base = 0;
	record->event.bytes = bytes;
	fill_name(&record->event, key, inode);
	record->event.removed &= !READ(dentry, d_hash.pprev);
	if (bpf_ringbuf_output(&events, &record->event,
			       sizeof record->event + AT_MOST(LONGEST_NAME, record->event.bytes),
			       BPF_RB_NO_WAKEUP))
		lose(LOSS_NAMES);
	return 0;
}

/* A directory may be named for the files in it, before it is used itself. */
#define NAMED_AS_BASE 1
#define NAMED 2

/* Whether to name it now; at most once for each file and reason. */
static __noinline int is_new(const struct file_key *key, __u8 reason)
{
	struct file_key own;
	__u8 *known;

	if (!key)
		return 0;
	own = *key; /* on the stack: see KEYS in maps.h */
	if (!own.inode && !own.device)
		return 0;
	known = bpf_map_lookup_elem(&named, &own);
	if (known) {
		if (*known >= reason)
			return 0;
		*known = reason;
		return 1;
	}
	switch (bpf_map_update_elem(&named, &own, &reason, BPF_NOEXIST)) {
	case -17: /* EEXIST: another CPU was quicker */
		return 0;
	case -7: /* E2BIG: full */
		lose(LOSS_NAMES);
	}
	return 1;
}

/* The files of a directory share its path, which is walked and sent once. */
APART int name_path(__u64 path, struct file_key *key)
{
	struct path *at = (struct path *)path;
	struct dentry *dentry, *parent;
	struct vfsmount *mount;
	struct inode *inode, *directory;
	struct file_key base = {};

	if (!key)
		return 0;
	/* Numbers for the verifier, as global functions require. */
	dentry = BPF_CORE_READ(at, dentry);
	mount = BPF_CORE_READ(at, mnt);
	inode = READ(dentry, d_inode);
	if (!inode)
		return 0;
	parent = BPF_CORE_READ(dentry, d_parent);
	directory = READ(parent, d_inode);
	if (parent == dentry || dentry == READ(mount, mnt_root) || !directory)
		return send_path(key, (__u64)dentry, (__u64)mount, 0);
	identify(directory, &base);
	if (is_new(&base, NAMED_AS_BASE))
		send_path(&base, (__u64)parent, (__u64)mount, 1);
	return send_leaf(key, &base, dentry, inode);
}
