/* Which file an inode stands for: the life of one inode in one file system. */
#pragma once
#include "offsets.h"

/* include/uapi/linux/magic.h */
#define OVERLAY_SUPER_MAGIC 0x794c7630
#define ANON_INODE_SUPER_MAGIC 0x09041934

static __always_inline bool is_same_file(const struct file_key *one, const struct file_key *other)
{
	return one->inode == other->inode && one->device == other->device &&
	       one->generation == other->generation;
}

/* The inode of the layer that holds an overlay file's contents: what is cached and written belongs
 * to it, and numbers of overlay inodes are those of the layers, which may be alike in two of them
 * (ovl_map_ino, fs/overlayfs/inode.c). */
static __always_inline struct inode *layer_inode(__u64 overlay)
{
	__u64 own = overlay - bpf_core_field_offset(struct ovl_inode, vfs_inode);
	struct ovl_inode *inode = (struct ovl_inode *)own;
	struct dentry *layer;
	struct ovl_entry *entry;
	struct ovl_path *lowest;

	if (!bpf_core_field_exists(inode->oe))
		return 0;
	layer = READ(inode, __upperdentry);
	if (!layer) {
		entry = READ(inode, oe);
		lowest = (void *)entry + bpf_core_field_offset(struct ovl_entry, __lowerstack);
		layer = entry ? READ(lowest, dentry) : 0;
	}
	return layer ? READ(layer, d_inode) : 0;
}

/* The device that stat(2) shows: each btrfs subvolume has one of its own, and inode numbers are
 * those of the subvolume (btrfs_getattr, fs/btrfs/inode.c). */
static __always_inline __u32 subvolume_device(__u64 inode)
{
	__u64 address = inode - bpf_core_field_offset(struct btrfs_inode, vfs_inode);
	struct btrfs_inode *own = (struct btrfs_inode *)address;

	if (!bpf_core_field_exists(own->root))
		return 0;
	return READ(own, root, anon_dev);
}

static __always_inline void take_numbers(struct inode *inode, struct file_key *key)
{
	key->inode = READ(inode, i_ino);
	key->generation = READ(inode, i_generation);
	key->device = READ(inode, i_sb, s_dev);
}

/* File systems on which the numbers of an inode are not enough. Not APART: tracepoints hand inodes
 * over as pointers, where global functions take numbers only. */
static __noinline int identify_deeper(__u64 address, struct file_key *key)
{
	struct inode *layer, *inode = (struct inode *)address;
	__u32 subvolume;

	if (!key)
		return 0;
	/* A directory of several layers is none of them, and has a number of its own. */
	if (READ(inode, i_sb, s_magic) == OVERLAY_SUPER_MAGIC) {
		layer = (READ(inode, i_mode) & S_IFMT) == S_IFDIR ? 0 : layer_inode(address);
		if (!layer)
			return 0;
		take_numbers(layer, key);
		inode = layer;
	}
	if (READ(inode, i_sb, s_magic) == BTRFS_SUPER_MAGIC) {
		subvolume = subvolume_device((__u64)inode);
		if (subvolume)
			key->device = subvolume;
	}
	return 0;
}

static __always_inline void identify(struct inode *inode, struct file_key *key)
{
	__u64 magic = READ(inode, i_sb, s_magic);

	take_numbers(inode, key);
	if (magic == BTRFS_SUPER_MAGIC || magic == OVERLAY_SUPER_MAGIC)
		identify_deeper((__u64)inode, key);
}

/* Eventfd, epoll, timers and their like share one inode (fs/anon_inodes.c): what they are says the
 * name. */
static __noinline int identify_anonymous(__u64 open_file, struct file_key *key)
{
	struct file *file = (struct file *)open_file;
	__u64 name[2] = {};

	if (!key)
		return 0;
	bpf_probe_read_kernel_str(name, sizeof name, READ(file, f_path.dentry, d_name.name));
	key->generation = name[0] ^ name[0] >> 32 ^ name[1] ^ name[1] >> 32;
	return 0;
}

/* The file that an open file stands for; returns its mode. */
static __always_inline __u32 identify_file(struct file *file, struct file_key *key)
{
	struct inode *inode = READ(file, f_inode);

	identify(inode, key);
	if (READ(inode, i_sb, s_magic) == ANON_INODE_SUPER_MAGIC)
		identify_anonymous((__u64)file, key);
	return mode_of(inode);
}
