/* Events for which older kernels have no tracepoint: programs attached to nearby functions. They
 * derive the tracepoint's values from the arguments, on the same conditions. */
#pragma once
#include "page_cache.h"
#include "ring_names.h"

/* filemap_get_pages (mm/filemap.c): the pages were found, or read. */
static __always_inline int on_get_pages(struct kiocb *iocb, __u64 bytes, __s32 result)
{
	__u64 from, end;

	if (result)
		return 0;
	from = READ(iocb, ki_pos);
	end = (from + bytes + PAGE_SIZE - 1) >> PAGE_SHIFT;
	return on_lookup(READ(iocb, ki_filp, f_mapping), from >> PAGE_SHIFT, end - 1);
}

SEC("fexit/filemap_get_pages")
int BPF_PROG(looked_up_at_exit, struct kiocb *iocb, unsigned long bytes, void *batch,
	     bool up_to_date, int result)
{
	return on_get_pages(iocb, bytes, result);
}

SEC("fexit/filemap_get_pages")
int BPF_PROG(looked_up_by_iterator, struct kiocb *iocb, struct iov_iter *iterator, void *batch,
	     int result)
{
	return on_get_pages(iocb, READ(iterator, count), result);
}

SEC("fentry/page_cache_sync_ra")
int BPF_PROG(missed_at_entry, struct readahead_control *control, unsigned long wanted)
{
	return on_miss(READ(control, mapping, host), READ(control, _index), wanted);
}

/* Nothing is read where there is no read-ahead, or while the page is under write-back: then the
 * mark on the page means that (page_cache_async_ra, mm/readahead.c). */
SEC("fentry/page_cache_async_ra")
int BPF_PROG(fetched_ahead_at_entry, struct readahead_control *control, struct folio *folio)
{
	__u64 flags = 0;

	bpf_probe_read_kernel(&flags, sizeof flags, folio);
	if (!READ(control, ra, ra_pages) ||
	    (flags & (1ULL << bpf_core_enum_value(enum pageflags, PG_writeback))))
		return 0;
	return on_fetch_ahead(READ(control, mapping, host));
}

static __always_inline struct address_space *mapping_of(struct vm_fault *fault)
{
	return READ(fault, vma, vm_file, f_mapping);
}

/* A page beyond the end of the file is not looked up (filemap_fault, mm/filemap.c). */
SEC("fentry/filemap_fault")
int BPF_PROG(faulted_at_entry, struct vm_fault *fault)
{
	struct address_space *mapping = mapping_of(fault);
	__u64 index = READ(fault, pgoff);
	__s64 bytes = READ(mapping, host, i_size);

	if (bytes <= 0 || index > (bytes - 1) >> PAGE_SHIFT)
		return 0;
	return on_fault(mapping, index);
}

static __always_inline int on_found(void *folio)
{
	struct task_state *state = current_state();

	if (state && folio)
		state->found_to_map = 1;
	return 0;
}

/* A folio that can be mapped was found. */
SEC("fexit/next_uptodate_folio")
int BPF_PROG(found_to_map, void *position, void *mapping, unsigned long end, void *folio)
{
	return on_found(folio);
}

SEC("fexit/next_uptodate_page")
int BPF_PROG(found_to_map_before, void *first, void *mapping, void *position, unsigned long end,
	     void *folio)
{
	return on_found(folio);
}

/* Up to the end of the file (filemap_map_pages, mm/filemap.c). */
SEC("fexit/filemap_map_pages")
int BPF_PROG(mapped_at_exit, struct vm_fault *fault, unsigned long first, unsigned long last)
{
	struct task_state *state = current_state();
	struct address_space *mapping;
	__s64 end;

	if (!state || !state->found_to_map)
		return 0;
	state->found_to_map = 0;
	mapping = mapping_of(fault);
	end = (READ(mapping, host, i_size) + (__s64)PAGE_SIZE - 1) >> PAGE_SHIFT;
	if (end <= 0)
		return 0;
	return on_map(mapping, first, last < (__u64)end ? last : end - 1);
}

/* Names: where the kernel has no tracepoint for change times, every name is created, changed and
 * removed, and every attribute set, through these functions (fs/namei.c, fs/dcache.c, fs/attr.c,
 * fs/xattr.c). */
static __always_inline int touch_named(struct dentry *dentry)
{
	__u64 inode = (__u64)READ(dentry, d_inode);

	return inode ? touch(inode) : 0;
}

static __always_inline int touch_removed(__u64 directory, struct dentry *dentry)
{
	touch_named(dentry);
	return touch(directory);
}

static __always_inline int touch_made(struct dentry *dentry, __u64 inode)
{
	touch_named(READ(dentry, d_parent));
	return inode ? touch(inode) : 0;
}

SEC("fentry/vfs_rename")
int BPF_PROG(touched_by_rename, struct renamedata *rename)
{
	touch_named(READ(rename, old_dentry));
	touch_named(READ(rename, new_dentry));
	touch((__u64)READ(rename, old_dir));
	return touch((__u64)READ(rename, new_dir));
}

SEC("fentry/vfs_unlink")
int BPF_PROG(touched_by_unlink, void *users, __u64 directory, struct dentry *dentry)
{
	return touch_removed(directory, dentry);
}

SEC("fentry/vfs_rmdir")
int BPF_PROG(touched_by_rmdir, void *users, __u64 directory, struct dentry *dentry)
{
	return touch_removed(directory, dentry);
}

SEC("fentry/vfs_link")
int BPF_PROG(touched_by_link, struct dentry *dentry, void *users, __u64 directory)
{
	return touch_removed(directory, dentry);
}

SEC("fentry/d_instantiate")
int BPF_PROG(touched_by_name, struct dentry *dentry, __u64 inode)
{
	return touch_made(dentry, inode);
}

SEC("fentry/d_instantiate_new")
int BPF_PROG(touched_by_new_name, struct dentry *dentry, __u64 inode)
{
	return touch_made(dentry, inode);
}

/* At the return of the functions, since overlayfs may first copy the file up in them. */
static __always_inline int touch_changed(struct dentry *dentry, int result)
{
	return result ? 0 : touch_named(dentry);
}

SEC("fexit/notify_change")
int BPF_PROG(touched_by_change, void *users, struct dentry *dentry, void *attributes,
	     void *delegated, int result)
{
	return touch_changed(dentry, result);
}

SEC("fexit/vfs_setxattr")
int BPF_PROG(touched_by_setxattr, void *users, struct dentry *dentry, void *name, void *value,
	     unsigned long bytes, int flags, int result)
{
	return touch_changed(dentry, result);
}

SEC("fexit/vfs_removexattr")
int BPF_PROG(touched_by_removexattr, void *users, struct dentry *dentry, void *name, int result)
{
	return touch_changed(dentry, result);
}
