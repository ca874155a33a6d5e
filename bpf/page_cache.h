/* Page cache: pages that reads look up, wait for and bring in; pages that writes dirty. */
#pragma once
#include "calls.h"

static __always_inline struct cache_value *cache_entry(const struct cache_key *of)
{
	struct cache_key key = *of;
	struct cache_value *value;

	key.cpu = bpf_get_smp_processor_id();
	value = bpf_map_lookup_elem(&cache, &key);
	if (!value) {
		struct cache_value zero = {};

		bpf_map_update_elem(&cache, &key, &zero, BPF_NOEXIST);
		value = bpf_map_lookup_elem(&cache, &key);
		if (!value)
			lose(LOSS_CACHE);
	}
	return value;
}

static __always_inline bool hand_over_cache(const struct cache_sum *sum)
{
	struct cache_event *event;

	if (!has_room())
		return 0;
	event = bpf_ringbuf_reserve(&events, sizeof *event, 0);
	if (!event)
		return 0;
	event->kind = EVENT_CACHE;
	event->metadata = sum->key.metadata;
	event->file = sum->key.file;
	event->value = sum->value;
	bpf_ringbuf_submit(event, BPF_RB_NO_WAKEUP);
	return 1;
}

APART int merge_cache(struct cache_sum *sum)
{
	struct cache_value *to;

	if (!sum || !(sum->value.lookups_pages | sum->value.missed_pages |
		      sum->value.filled_pages | sum->value.dirtied_bytes))
		return 0;
	to = hand_over_cache(sum) ? 0 : cache_entry(&sum->key);
	if (to) {
		to->lookups_pages += sum->value.lookups_pages;
		to->missed_pages += sum->value.missed_pages;
		to->filled_pages += sum->value.filled_pages;
		to->dirtied_bytes += sum->value.dirtied_bytes;
	}
	__builtin_memset(&sum->value, 0, sizeof sum->value);
	return 0;
}

/* Pages of a block device, or of btrfs trees, which belong to an inode without a mode. */
static __always_inline bool is_metadata(struct inode *inode, __u64 number)
{
	return (READ(inode, i_mode) & S_IFMT) == S_IFBLK ||
	       (number == BTRFS_TREES_INODE &&
		READ(inode, i_sb, s_magic) == BTRFS_SUPER_MAGIC);
}

/* The task's running sum for this inode; merged when the inode changes. A program that copies
 * alternates between its source and its destination. */
#ifdef TOP
static __always_inline struct cache_value *cache_of(struct task_state *state, struct inode *inode)
{
	struct share_value *share = 0;
	struct file_key file = {};

	identify(inode, &file);
	if (!is_metadata(inode, file.inode))
		share = share_of(state, &file, 0, number(inode), LOSS_CACHE);
	return share ? &share->cache : &state->cache[0].value; /* where nobody looks */
}
#else
static __always_inline struct cache_value *cache_of(struct task_state *state, struct inode *inode)
{
	bool writes = state->entered_ns && (state->call & CALL_WRITES);
	struct cache_sum *sum = &state->cache[writes];
	struct cache_key *key = &sum->key;
	struct file_key file = {};

	identify(inode, &file);
	if (!is_same_file(&key->file, &file)) {
		merge_cache(sum);
		key->file = file;
		key->metadata = is_metadata(inode, file.inode);
	}
	return &sum->value;
}
#endif

/* A read of 1 MiB from a 1 KiB file requests 256 pages, one of which exists. */
static __always_inline __u64 last_page(struct inode *inode)
{
	long long size = READ(inode, i_size);

	return size > 0 ? (size - 1) >> PAGE_SHIFT : 0;
}

/* The first uncounted page of a call's range. A reading call takes one page after the other, but
 * not every batch is announced: a batch whose last folio is still being read is returned without
 * it, and without the event (filemap_get_pages, mm/filemap.c). So the pages since the last event,
 * or since the start position of the call, were looked up as well. */
static __always_inline __u64 not_counted(struct task_state *state, struct address_space *mapping,
					 struct inode *inode, __u64 index)
{
	__u64 begin;

	if (state->looked_up_in == (__u64)mapping) {
		if ((state->call & CALL_READS) || index < state->looked_up_to)
			return state->looked_up_to;
		return index;
	}
	if (state->looked_up_in || !state->entered_ns || !(state->call & CALL_READS) ||
	    (state->call & CALL_WRITES) || !(state->call & (CALL_OFFSET | CALL_POSITION)) ||
	    state->file.inode != READ(inode, i_ino))
		return index;
	begin = offset_of(state, 0) >> PAGE_SHIFT;
	return begin < index ? begin : index;
}

/* Comes once per batch: after a batch shorter than the request, again with the rest of the same
 * range. Only pages above the highest one counted in this call are new. */
static __always_inline int on_lookup(struct address_space *mapping, __u64 index, __u64 last)
{
	struct task_state *state = current_state();
	struct cache_value *sum;
	struct inode *inode;
	__u64 first, end;

	if (!state || !mapping)
		return 0;
	if (READS)
		note_position(state);
	inode = READ(mapping, host);
	if (!inode)
		return 0;
	end = last_page(inode);
	if (last < end)
		end = last;
	end++;
	first = not_counted(state, mapping, inode, index);
	if (first >= end)
		return 0;
	sum = cache_of(state, inode);
	sum->lookups_pages += end - first;
	state->looked_up_in = state->entered_ns ? (__u64)mapping : 0;
	state->looked_up_to = end;
	return 0;
}

SEC("tp_btf/mm_filemap_get_pages")
int BPF_PROG(looked_up, struct address_space *mapping, unsigned long index, unsigned long last)
{
	return on_lookup(mapping, index, last);
}

/* A read waits for synchronous read-ahead: its first page was not resident. `wanted` reaches to
 * the end of the call's range, but some pages after the first may be resident, and read-ahead may
 * bring fewer: the missed pages are known when they are added. */
static __always_inline int on_miss(struct inode *inode, __u64 index, __u64 wanted)
{
	struct task_state *state = current_state();

	if (!state)
		return 0;
	state->read_in = (__u64)inode;
	if (!state->entered_ns)
		return 0;
	/* For a fault it brings one page that the program waits for: is_faulted. */
	if (state->faulted_in == (__u64)inode && state->faulted_page == index)
		return 0;
	state->awaited_in = (__u64)inode;
	state->awaited_from = index;
	state->awaited_to = index + wanted;
	return 0;
}

SEC("tp_btf/page_cache_sync_ra")
int BPF_PROG(missed, struct inode *inode, unsigned long index, struct file_ra_state *ra,
	     unsigned long wanted)
{
	return on_miss(inode, index, wanted);
}

/* From this page on, pages are read before any call waits for them. */
static __always_inline int on_fetch_ahead(struct inode *inode)
{
	struct task_state *state = current_state();

	if (!state)
		return 0;
	state->read_in = (__u64)inode;
	state->awaited_in = 0;
	return 0;
}

SEC("tp_btf/page_cache_async_ra")
int BPF_PROG(fetched_ahead, struct inode *inode)
{
	return on_fetch_ahead(inode);
}

/* A fault on a mapped file looks up one page (filemap_fault, mm/filemap.c). */
static __always_inline int on_fault(struct address_space *mapping, __u64 index)
{
	struct task_state *state = current_state();
	struct inode *inode;

	if (!state || !mapping)
		return 0;
	inode = READ(mapping, host);
	if (!inode)
		return 0;
	cache_of(state, inode)->lookups_pages += 1;
	state->read_in = (__u64)inode;
	state->faulted_in = (__u64)inode;
	state->faulted_page = index;
	if (READS)
		record_touch(inode, index, index);
	return 0;
}

SEC("tp_btf/mm_filemap_fault")
int BPF_PROG(faulted, struct address_space *mapping, unsigned long index)
{
	return on_fault(mapping, index);
}

/* Resident pages around a fault are mapped with it, and cause no further faults
 * (filemap_map_pages, mm/filemap.c). */
static __always_inline int on_map(struct address_space *mapping, __u64 first, __u64 last)
{
	struct task_state *state = current_state();
	struct inode *inode;

	if (!state || !mapping || last < first)
		return 0;
	inode = READ(mapping, host);
	if (!inode)
		return 0;
	cache_of(state, inode)->lookups_pages += last - first + 1;
	if (READS)
		record_touch(inode, first, last);
	return 0;
}

SEC("tp_btf/mm_filemap_map_pages")
int BPF_PROG(mapped, struct address_space *mapping, unsigned long first, unsigned long last)
{
	return on_map(mapping, first, last);
}

/* Whether the folio contains the page of the task's current fault: the page that the program waits
 * for. Calls fault too: those that populate a mapping, or that write what lies in one. */
static __always_inline bool is_faulted(struct task_state *state, struct folio *folio)
{
	__u64 first = READ(folio, index);

	return state->faulted_in &&
	       state->faulted_in == (__u64)READ(folio, mapping, host) &&
	       state->faulted_page >= first &&
	       state->faulted_page < first + (folio_bytes(folio) >> PAGE_SHIFT);
}

/* Pages of the folio that the call waits for. */
static __always_inline __u64 awaited_pages(struct task_state *state, struct folio *folio)
{
	__u64 from = READ(folio, index);
	__u64 to = from + (folio_bytes(folio) >> PAGE_SHIFT);

	if (!state->entered_ns || !state->awaited_in ||
	    state->awaited_in != (__u64)READ(folio, mapping, host))
		return 0;
	if (from < state->awaited_from)
		from = state->awaited_from;
	if (to > state->awaited_to)
		to = state->awaited_to;
	return from < to ? to - from : 0;
}

/* Whether the task's current call writes to the inode: the folios that it adds will be
 * overwritten, not read. */
static __always_inline bool overwrites(struct task_state *state, struct inode *inode)
{
	struct file_key file = {};

	if (!(state->call & CALL_WRITES) || state->file.inode != READ(inode, i_ino))
		return 0;
	identify(inode, &file);
	return is_same_file(&state->file, &file);
}

/* A page is read in a call that reads, and in any other after read-ahead for its file or a fault on
 * it (page_cache_sync_ra, page_cache_async_ra, filemap_fault). Pages that are only written are not. */
SEC("tp_btf/mm_filemap_add_to_page_cache")
int BPF_PROG(filled, struct folio *folio)
{
	struct task_state *state = current_state();
	struct cache_value *sum;
	struct inode *inode;
	__u64 awaited;

	if (!state || !folio)
		return 0;
	inode = READ(folio, mapping, host);
	if (!inode || (state->entered_ns && overwrites(state, inode)))
		return 0;
	if (state->read_in != (__u64)inode && (!state->entered_ns || !(state->call & CALL_READS)))
		return 0;
	awaited = awaited_pages(state, folio);
	sum = cache_of(state, inode);
	sum->filled_pages += folio_bytes(folio) >> PAGE_SHIFT;
	sum->missed_pages += awaited;
	if (is_faulted(state, folio)) {
		sum->missed_pages += 1;
		state->faulted_in = 0;
	}
	return 0;
}

#ifdef TOP
static __always_inline void by_task(struct task_state *state, struct inode *inode, __u64 bytes)
{
	cache_of(state, inode)->dirtied_bytes += bytes;
}
#else
static __always_inline void by_task(struct task_state *state, struct inode *inode, __u64 bytes)
{
	struct cache_value *value = cache_of(state, inode);
	struct cache_sum *sum = (void *)value - __builtin_offsetof(struct cache_sum, value);

	if (HISTORY && !value->dirtied_bytes && !sum->key.metadata)
		begin_life(&sum->key.file, number(inode), 0);
	value->dirtied_bytes += bytes;
}
#endif

/* Write-back dirties again what it cannot write yet (folio_redirty_for_writepage). Workers do so, but not those that
 * write to the file of a loop device (loop_process_work), and the thread that commits a journal of ext4 and writes
 * ordered data before (fs/jbd2/commit.c). */
static __always_inline bool dirties_again(struct task_struct *task, struct inode *inode)
{
	__u64 own, journal;

	if (task->flags & PF_WQ_WORKER)
		return !(task->flags & PF_LOCAL_THROTTLE);
	if (!(task->flags & PF_KTHREAD) || READ(inode, i_sb, s_magic) != EXT4_SUPER_MAGIC)
		return 0;
	if (!HAS(struct ext4_sb_info, s_journal) || !HAS(struct journal_s, j_task))
		return 0;
	own = (__u64)READ(inode, i_sb, s_fs_info);
	journal = own ? WORD_OF(struct ext4_sb_info, own, s_journal) : 0;
	return journal && WORD_OF(struct journal_s, journal, j_task) == number(task);
}

/* A worker of io_uring has no state of its own, and that of its process is in use on another CPU. */
APART int by_another(__u64 address, __u64 bytes)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct inode *inode = (struct inode *)address;
	struct cache_value *value;
	struct cache_key key = {};

	if (dirties_again(task, inode))
		return 0;
	identify(inode, &key.file);
	if (!(task->flags & PF_IO_WORKER) || !is_process_of_tree()) {
		dirtied_by_others(&key.file, bytes);
		return 0;
	}
	key.metadata = is_metadata(inode, key.file.inode);
	if (!key.metadata)
		begin_life(&key.file, address, 0);
	value = cache_entry(&key);
	if (value)
		value->dirtied_bytes += bytes;
	return 0;
}

/* Fires on the change from clean to dirty, in the context of the task that dirtied the page. */
SEC("tp_btf/writeback_dirty_folio")
int BPF_PROG(dirtied, struct folio *folio, struct address_space *mapping)
{
	struct task_state *state = current_state();
	struct inode *inode;

	if (!folio || !mapping)
		return 0;
	inode = WALK(mapping, host);
	if (!inode)
		return 0;
	if (state) {
		/* What the call adds next, it writes. */
		if (state->read_in == number(inode))
			state->read_in = 0;
		by_task(state, inode, folio_bytes(folio));
	} else if (HISTORY)
		by_another(number(inode), folio_bytes(folio));
	return 0;
}
