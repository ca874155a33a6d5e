/* The file of an inode: one life of one inode in one file system. */
#pragma once
#include "offsets.h"
#include "overlay.h"

/* include/uapi/linux/magic.h */
#define ANON_INODE_SUPER_MAGIC 0x09041934

/* The device that stat(2) shows: each btrfs subvolume has its own, with its own inode numbers
 * (btrfs_getattr, fs/btrfs/inode.c). */
static __always_inline __u32 subvolume_device(__u64 inode)
{
	__u64 own, root;

	if (!HAS(struct btrfs_inode, vfs_inode))
		return 0;
	own = inode - bpf_core_field_offset(struct btrfs_inode, vfs_inode);
	root = WORD_OF(struct btrfs_inode, own, root);
	return root ? HALF_OF(struct btrfs_root, root, anon_dev) : 0;
}

/* Returns the kind of file system (s_magic). */
static __always_inline __u64 take_numbers(struct super_block *superblock, struct inode *inode,
					  struct file_key *key)
{
	key->inode = READ(inode, i_ino);
	key->generation = READ(inode, i_generation);
	key->device = READ(superblock, s_dev);
	return READ(superblock, s_magic);
}

static __always_inline int take_whole(__u64 address, struct file_key *key)
{
	struct inode *inode = (struct inode *)address;
	__u32 subvolume;

	if (!key || take_numbers(READ(inode, i_sb), inode, key) != BTRFS_SUPER_MAGIC)
		return 0;
	subvolume = subvolume_device(address);
	if (subvolume)
		key->device = subvolume;
	return 0;
}

/* File systems on which the inode number does not identify a file. */
APART int identify_deeper(__u64 address, struct file_key *key)
{
	struct inode *inode = (struct inode *)address, *upper, *lower;
	struct file_key copy = {};
	__u64 copied = 0;

	if (!key)
		return 0;
	if (READ(inode, i_sb, s_magic) == OVERLAY_SUPER_MAGIC) {
		/* A merged directory belongs to no single layer, and has its own number. */
		if ((READ(inode, i_mode) & S_IFMT) == S_IFDIR)
			return 0;
		upper = upper_inode(address);
		lower = lower_inode(address);
		if (upper && lower && is_origin(lower))
			copied = number(upper);
		address = number(upper && !copied ? upper : lower);
		if (!address)
			return 0;
	}
	take_whole(address, key);
	if (copied) {
		take_whole(copied, &copy);
		remember_copy(&copy, key);
	}
	return 0;
}

/* Returns the kind of file system (s_magic). */
static __always_inline __u64 identify_in(struct super_block *superblock, struct inode *inode,
					 struct file_key *key)
{
	__u64 magic = take_numbers(superblock, inode, key);

	if (magic == BTRFS_SUPER_MAGIC || magic == OVERLAY_SUPER_MAGIC)
		identify_deeper(number(inode), key);
	if (copied_up && magic != OVERLAY_SUPER_MAGIC)
		find_original(key);
	return magic;
}

static __always_inline __u64 identify(struct inode *inode, struct file_key *key)
{
	return identify_in(READ(inode, i_sb), inode, key);
}

/* Eventfd, epoll, timers and the like share one inode (fs/anon_inodes.c): only the name
 * distinguishes them. */
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

/* The file of an open file description; returns its mode. */
static __always_inline __u32 identify_file(struct file *file, struct file_key *key)
{
	struct inode *inode = READ(file, f_inode);
	struct super_block *superblock = READ(inode, i_sb);
	__u64 magic = identify_in(superblock, inode, key);

	if (magic == ANON_INODE_SUPER_MAGIC)
		identify_anonymous((__u64)file, key);
	return mode_in(superblock, magic, inode);
}
