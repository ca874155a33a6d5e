/* Files of overlayfs. Cached and written pages belong to the inode of a layer, and overlay inodes
 * have the numbers of their layers, which may coincide in two layers (ovl_map_ino,
 * fs/overlayfs/inode.c). So a file is identified by the layer that holds it, and after copy-up it
 * keeps the identity from its previous layer: as in stat(2) (ovl_getattr). */
#pragma once
#include "maps.h"

/* include/uapi/linux/magic.h */
#define OVERLAY_SUPER_MAGIC 0x794c7630

static __always_inline bool is_same_file(const struct file_key *one, const struct file_key *other)
{
	return one->inode == other->inode && one->device == other->device &&
	       one->generation == other->generation;
}

/* Copies in upper layers, and their originals. */
struct {
	__uint(type, MAP_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 131072);
	__type(key, struct file_key);
	__type(value, struct file_key);
} copies SEC(".maps");

/* Whether there is one: otherwise no search is made. */
static volatile __u32 copied_up = 0;

static __always_inline struct inode *upper_inode(__u64 overlay)
{
	struct dentry *upper;
	__u64 own;

	if (!HAS(struct ovl_inode, vfs_inode))
		return 0;
	own = overlay - bpf_core_field_offset(struct ovl_inode, vfs_inode);
	upper = (struct dentry *)WORD_OF(struct ovl_inode, own, __upperdentry);
	return upper ? READ(upper, d_inode) : 0;
}

/* For the layers below the uppermost: address of the struct ovl_path, 0 for none. Before Linux 6.5
 * it lies in the inode (fs/overlayfs/ovl_entry.h). */
static __always_inline __u64 lowest_path(__u64 overlay)
{
	__u64 own, entry;

	if (!HAS(struct ovl_inode, vfs_inode))
		return 0;
	own = overlay - bpf_core_field_offset(struct ovl_inode, vfs_inode);
	if (HAS(struct ovl_inode, lowerpath))
		return ADDRESS_OF(struct ovl_inode, own, lowerpath);
	if (!HAS(struct ovl_entry, __lowerstack))
		return 0;
	entry = WORD_OF(struct ovl_inode, own, oe);
	if (!entry || !HALF_OF(struct ovl_entry, entry, __numlower))
		return 0;
	return ADDRESS_OF(struct ovl_entry, entry, __lowerstack);
}

static __always_inline struct inode *lower_inode(__u64 overlay)
{
	__u64 path = lowest_path(overlay);
	struct dentry *lower = path ? (void *)WORD_OF(struct ovl_path, path, dentry) : 0;

	return lower ? READ(lower, d_inode) : 0;
}

/* A file with several names becomes several files when it is copied up (ovl_getattr). */
static __always_inline bool is_origin(struct inode *lower)
{
	return READ(lower, i_nlink) == 1;
}

static __always_inline void remember_copy(struct file_key *copy, struct file_key *original)
{
	struct file_key *known = bpf_map_lookup_elem(&copies, copy);
	struct file_key own;

	if (known && is_same_file(known, original))
		return;
	own = *original;
	if (bpf_map_update_elem(&copies, copy, &own, BPF_ANY))
		lose(LOSS_NAMES);
	copied_up = 1;
}

APART int find_original(struct file_key *key)
{
	struct file_key *original, own;

	if (!key)
		return 0;
	own = *key;
	original = bpf_map_lookup_elem(&copies, &own);
	if (original)
		*key = *original;
	return 0;
}

/* From struct ovl_sb (fs/overlayfs/ovl_entry.h): a pointer, a device number and two flags. */
#define OVERLAY_LAYER_BYTES 16

struct shown {
	__u64 inode;
	__u32 device;
};

/* The numbers that stat(2) shows for a file of an overlay (ovl_map_dev_ino). Its device is the
 * overlay's own if all layers are on one file system, or if free bits of the inode number identify
 * the layer; otherwise a device that stands for the layer. */
APART int take_shown(__u64 address, struct shown *shown)
{
	struct inode *inode = (struct inode *)address;
	struct super_block *superblock = READ(inode, i_sb);
	__u64 overlay = (__u64)READ(superblock, s_fs_info);
	__u64 path = lowest_path(address), layer, number = 0;
	struct inode *lower = lower_inode(address);
	int bits;

	if (!shown)
		return 0;
	shown->device = READ(superblock, s_dev);
	if (!HAS(struct ovl_fs, xino_mode) || !HAS(struct ovl_sb, pseudo_dev) ||
	    (READ(inode, i_mode) & S_IFMT) == S_IFDIR)
		return 0;
	layer = path ? WORD_OF(struct ovl_path, path, layer) : 0;
	if (layer && lower && (!upper_inode(address) || is_origin(lower)))
		number = HALF_OF(struct ovl_layer, layer, fsid);
	bits = HALF_OF(struct ovl_fs, overlay, xino_mode);
	if (bits > 0 && bits < 64 && !(shown->inode >> (64 - bits))) {
		shown->inode |= number << ((64 - bits + 1) & 63);
	} else if (bits) {
		layer = WORD_OF(struct ovl_fs, overlay, fs) +
			number * OVERLAY_LAYER_BYTES;
		shown->device = HALF_OF(struct ovl_sb, layer, pseudo_dev);
	}
	return 0;
}
