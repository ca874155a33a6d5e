/* Files of overlayfs. What is cached and written belongs to the inode of a layer, and numbers of
 * overlay inodes are those of the layers, which may be alike in two of them (ovl_map_ino,
 * fs/overlayfs/inode.c). So a file is that of the layer which holds it, and one that is copied to the
 * upper layer remains that of the layer which held it before: as in stat(2) (ovl_getattr). */
#pragma once
#include "maps.h"

/* include/uapi/linux/magic.h */
#define OVERLAY_SUPER_MAGIC 0x794c7630

static __always_inline bool is_same_file(const struct file_key *one, const struct file_key *other)
{
	return one->inode == other->inode && one->device == other->device &&
	       one->generation == other->generation;
}

/* Copies in upper layers, and what they are copies of. */
struct {
	__uint(type, MAP_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 131072);
	__type(key, struct file_key);
	__type(value, struct file_key);
} copies SEC(".maps");

/* Whether there is one: else nothing is looked for. */
static volatile __u32 copied_up = 0;

static __always_inline struct ovl_inode *overlay_inode(__u64 inode)
{
	return (struct ovl_inode *)(inode - bpf_core_field_offset(struct ovl_inode, vfs_inode));
}

static __always_inline struct inode *upper_inode(__u64 overlay)
{
	struct ovl_inode *inode = overlay_inode(overlay);
	struct dentry *upper;

	if (!bpf_core_field_exists(inode->oe))
		return 0;
	upper = READ(inode, __upperdentry);
	return upper ? READ(upper, d_inode) : 0;
}

static __always_inline struct ovl_path *lowest_path(__u64 overlay)
{
	struct ovl_inode *inode = overlay_inode(overlay);
	struct ovl_entry *entry;

	if (!bpf_core_field_exists(inode->oe))
		return 0;
	entry = READ(inode, oe);
	if (!entry || !READ(entry, __numlower))
		return 0;
	return (void *)entry + bpf_core_field_offset(struct ovl_entry, __lowerstack);
}

static __always_inline struct inode *lower_inode(__u64 overlay)
{
	struct ovl_path *path = lowest_path(overlay);
	struct dentry *lower = path ? READ(path, dentry) : 0;

	return lower ? READ(lower, d_inode) : 0;
}

/* A file of several names becomes several when it is copied up (ovl_getattr). */
static __always_inline bool is_origin(struct inode *lower)
{
	return READ(lower, i_nlink) == 1;
}

static __always_inline void remember_copy(struct file_key *copy, struct file_key *original)
{
	struct file_key *known = bpf_map_lookup_elem(&copies, copy);

	if (known && is_same_file(known, original))
		return;
	if (bpf_map_update_elem(&copies, copy, original, BPF_ANY))
		lose(LOSS_NAMES);
	copied_up = 1;
}

static __noinline int find_original(struct file_key *key)
{
	struct file_key *original;

	if (!key)
		return 0;
	original = bpf_map_lookup_elem(&copies, key);
	if (original)
		*key = *original;
	return 0;
}

struct shown {
	__u64 inode;
	__u32 device;
};

/* The numbers that stat(2) shows for a file of an overlay (ovl_map_dev_ino). Its device is the
 * overlay's own where all layers are of one file system, or where free bits of the number say which
 * layer it is; else one that stands for the layer. */
static __noinline int take_shown(__u64 address, struct shown *shown)
{
	struct inode *inode = (struct inode *)address;
	struct super_block *superblock = READ(inode, i_sb);
	struct ovl_fs *overlay = READ(superblock, s_fs_info);
	struct ovl_path *path = lowest_path(address);
	struct inode *lower = lower_inode(address);
	struct ovl_sb *layer;
	__u64 of_layer, number = 0;
	int bits;

	if (!shown)
		return 0;
	shown->device = READ(superblock, s_dev);
	if (!bpf_core_field_exists(overlay->xino_mode) ||
	    (READ(inode, i_mode) & S_IFMT) == S_IFDIR)
		return 0;
	if (path && lower && (!upper_inode(address) || is_origin(lower)))
		number = READ(path, layer, fsid);
	bits = READ(overlay, xino_mode);
	if (bits > 0 && bits < 64 && !(shown->inode >> (64 - bits))) {
		shown->inode |= number << ((64 - bits + 1) & 63);
	} else if (bits) {
		of_layer = (__u64)BPF_CORE_READ(overlay, fs) + number * bpf_core_type_size(struct ovl_sb);
		layer = (struct ovl_sb *)of_layer;
		shown->device = READ(layer, pseudo_dev);
	}
	return 0;
}
