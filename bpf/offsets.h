/* Which files have bytes at offsets. */
#pragma once
#include "maps.h"

/* include/uapi/linux/magic.h: file systems whose files the kernel generates. A write to one of
 * them stores nothing, and may leave the position of the open file unchanged. */
static __always_inline bool is_answer(__u64 magic)
{
	switch (magic) {
	case 0x9fa0:     /* proc */
	case 0x62656572: /* sysfs */
	case 0x64626720: /* debugfs */
	case 0x74726163: /* tracefs */
	case 0x73636673: /* securityfs */
	case 0x0027e0eb: /* cgroup */
	case 0x63677270: /* cgroup2 */
	case 0x62656570: /* configfs */
	case 0xf97cff8c: /* selinuxfs */
	case 0x43415d53: /* smackfs */
	case 0xde5e81e4: /* efivarfs */
	case 0x42494e4d: /* binfmt_misc */
	case 0x65735543: /* fusectl */
		return 1;
	}
	return 0;
}

/* The mode of a file. A file outside all file systems that a program can reach (anonymous inodes,
 * memfd, pidfd) is not a regular file, whatever its inode says. */
static __always_inline __u32 named_mode(struct inode *inode)
{
	__u32 mode = READ(inode, i_mode);

	if ((mode & S_IFMT) == S_IFREG && (READ(inode, i_sb, s_flags) & SB_NOUSER))
		mode &= ~S_IFMT;
	return mode;
}

/* The same for a file in this file system; without its type also where a regular file has no
 * bytes. */
static __always_inline __u32 mode_in(struct super_block *superblock, __u64 magic,
				     struct inode *inode)
{
	__u32 mode = READ(inode, i_mode);

	if ((mode & S_IFMT) == S_IFREG &&
	    ((READ(superblock, s_flags) & SB_NOUSER) || is_answer(magic)))
		mode &= ~S_IFMT;
	return mode;
}

static __always_inline __u32 mode_of(struct inode *inode)
{
	struct super_block *superblock = READ(inode, i_sb);

	return mode_in(superblock, READ(superblock, s_magic), inode);
}
