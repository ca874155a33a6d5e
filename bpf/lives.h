/* Files that the tree writes to, and what others do with the same pages.
 *
 * A folio is reported as it turns from clean to dirty, and not when more is written to it; a request by its first page,
 * and not by who has written it. Where nobody else has dirtied pages of a file, all of them are the tree's. Else the
 * sums say how many may be (crates/core/src/ledger). */
#pragma once
#include "identity.h"

struct {
	__uint(type, MAP_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 65536); /* resized */
	__type(key, struct file_key);
	__type(value, struct life);
} lives SEC(".maps");

/* Any of the marks for dirty pages, those under write-back and those to be written. They are the highest flags
 * (XA_FLAGS_MARK, include/linux/xarray.h) at a place that differs, and the only ones above those below it. */
#define XA_FLAGS_BELOW_MARKS 6

/* Where the pages of a file are: for one of overlayfs those of its layer (ovl_mmap, fs/overlayfs/file.c). */
static __always_inline struct address_space *pages_of(__u64 address)
{
	struct inode *inode = (struct inode *)address, *upper;

	if (READ(inode, i_sb, s_magic) == OVERLAY_SUPER_MAGIC) {
		upper = upper_inode(address);
		inode = upper ? upper : lower_inode(address);
	}
	return inode ? READ(inode, i_mapping) : 0;
}

/* The tree writes to it: from now on its pages are looked at. */
APART int begin_life(struct file_key *file, __u64 inode, __u32 is_mapped)
{
	struct life life = {}, *known;
	struct address_space *pages;
	struct file_key own;

	if (!file || !file->inode)
		return 0;
	own = *file; /* on the stack: see KEYS in maps.h */
	known = bpf_map_lookup_elem(&lives, &own);
	if (known) {
		if (is_mapped)
			known->is_mapped = 1;
		return 0;
	}
	pages = pages_of(inode);
	if (pages && READ(pages, i_pages.xa_flags) >> XA_FLAGS_BELOW_MARKS)
		life.before_bytes = (__u64)READ(pages, nrpages) << PAGE_SHIFT;
	life.is_mapped = is_mapped;
	if (bpf_map_update_elem(&lives, &own, &life, BPF_NOEXIST) == -7 /* E2BIG: full */)
		lose(LOSS_CACHE);
	return 0;
}

/* It has opened it to write, or writes: what is synchronous is written back before the call ends. */
APART int begin_written_life(struct file_key *file, __u64 open_file)
{
	struct file *opened = (struct file *)open_file;

	if (!file || !open_file || !(READ(opened, f_mode) & FMODE_WRITE))
		return 0;
	return begin_life(file, number(READ(opened, f_inode)), 0);
}

/* Pages of a shared mapping are written to without a call. */
APART int begin_mapped_life(struct task_state *state)
{
	struct file *file;

	if (!state || !state->open_file || !(state->argument[3] & MAP_SHARED))
		return 0;
	file = (struct file *)state->open_file;
	if (READ(file, f_mode) & FMODE_WRITE)
		begin_life(&state->file, number(READ(file, f_inode)), 1);
	return 0;
}

static __always_inline void dirtied_by_others(struct file_key *file, __u64 bytes)
{
	struct life *life = bpf_map_lookup_elem(&lives, file);

	if (life)
		__sync_fetch_and_add(&life->others_bytes, bytes);
}

/* Whether the request may belong to the tree: a task of it reads or writes directly, pages are written back of a file
 * that the tree has written to before, or it has no file. */
static __always_inline bool is_for_tree(const struct block_key *of)
{
	if (of->cause == CAUSE_READ || of->pages == PAGES_DIRECT)
		return of->by_tree == SUBMITTED_BY_RUN;
	if (of->cause == CAUSE_DATA)
		return of->pages == PAGES_WRITTEN;
	return of->by_tree != SUBMITTED_BY_OTHERS;
}
