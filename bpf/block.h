/* Block requests: their cause, file, submitter and duration.
 *
 * A request is counted when it is first issued (block_rq_issue): a driver without room returns it
 * and it is issued again (blk_mq_requeue_request), and /sys/block/<disk>/stat counts a standalone
 * flush as a write and as a flush. The cause is read from the bio's completion function and pages,
 * never from the task name: kernel workers issue commit blocks and flushes.
 */
#pragma once
#include "moments.h"
#include "others.h"

#define OPF(name, bit) static const __u32 name = 1u << (bit)
/* include/linux/blk_types.h, enum req_flag_bits */
OPF(OPF_META, 12);
OPF(OPF_SYNC, 11);
OPF(OPF_IDLE, 15);
OPF(OPF_FUA, 17);
OPF(OPF_PREFLUSH, 18);

#define OPF_LOG (OPF_META | OPF_SYNC | OPF_IDLE)

struct reason {
	struct file_key file;
	__u64 inode; /* its address */
	__u64 file_offset;
	__u8 cause;
	__u8 pages;
};

/* The owner of the pages. Returns the inode, or 0 for memory outside the page cache. */
static __always_inline struct inode *owner(struct bio *bio, __u64 *offset)
{
	struct bio_vec *vec = BPF_CORE_READ(bio, bi_io_vec);
	__u32 index = BPF_CORE_READ(bio, bi_iter.bi_idx);
	struct folio *folio;
	__u64 head, mapping, page;

	if (!vec)
		return 0;
	vec = (void *)vec + (__u64)index * bpf_core_type_size(struct bio_vec);
	page = (__u64)BPF_CORE_READ(vec, bv_page);
	if (!page)
		return 0;
	head = BPF_CORE_READ((struct page *)page, compound_head);
	folio = (struct folio *)((head & 1) ? head - 1 : page);
	mapping = (__u64)BPF_CORE_READ(folio, mapping);
	/* The low bits mark anonymous and movable pages (include/linux/page-flags.h). */
	if (!mapping || (mapping & 3))
		return 0;
	*offset = (BPF_CORE_READ(folio, index) << PAGE_SHIFT) +
		  (page - (__u64)folio) / bpf_core_type_size(struct page) * PAGE_SIZE +
		  BPF_CORE_READ(vec, bv_offset) + BPF_CORE_READ(bio, bi_iter.bi_bvec_done);
	return BPF_CORE_READ((struct address_space *)mapping, host);
}

/* Whether the address is the known address of a completion function. */
static __always_inline bool ends_in(struct config *c, __u64 end_io, enum end_io which)
{
	return c->end_io[which] && end_io == c->end_io[which];
}

/* A bio that was split has bio_chain_endio, and its parent in bi_private. */
static __always_inline struct bio *original(struct config *c, struct bio *bio)
{
	for (int i = 0; i < 4; i++) {
		if (!ends_in(c, (__u64)BPF_CORE_READ(bio, bi_end_io), END_IO_CHAIN))
			break;
		bio = BPF_CORE_READ(bio, bi_private);
	}
	return bio;
}

static __always_inline bool is_journal(struct config *c, __u64 end_io, struct bio *bio)
{
	struct buffer_head *buffer;

	if (!ends_in(c, end_io, END_IO_BUFFER_HEAD))
		return 0;
	buffer = BPF_CORE_READ(bio, bi_private);
	end_io = (__u64)BPF_CORE_READ(buffer, b_end_io);
	return ends_in(c, end_io, END_IO_JOURNAL) || ends_in(c, end_io, END_IO_FAST_COMMIT);
}

static __always_inline void reason_is(struct reason *reason, struct inode *inode)
{
	identify(inode, &reason->file);
	reason->inode = number(inode);
}

static __always_inline void direct_file(struct bio *bio, struct reason *reason)
{
	struct iomap_dio *dio = BPF_CORE_READ(bio, bi_private);
	struct inode *inode = BPF_CORE_READ(dio, iocb, ki_filp, f_inode);

	if (inode)
		reason_is(reason, inode);
}

APART int explain(struct config *c, __u64 address, struct reason *reason)
{
	struct bio *first, *bio = (struct bio *)address;
	struct inode *inode;
	__u64 end_io;
	__u32 flags;
	__u16 type;

	if (!c || !bio || !reason)
		return 0;
	flags = BPF_CORE_READ(bio, bi_opf);
	first = original(c, bio);
	end_io = (__u64)BPF_CORE_READ(first, bi_end_io);
	inode = owner(bio, &reason->file_offset);
	type = inode ? BPF_CORE_READ(inode, i_mode) & S_IFMT : 0;
	if (ends_in(c, end_io, END_IO_DIRECT)) {
		reason->cause = CAUSE_DATA;
		reason->pages = PAGES_DIRECT;
		direct_file(first, reason);
	} else if ((flags & OPF_LOG) == OPF_LOG || is_journal(c, end_io, first) ||
		   ends_in(c, end_io, END_IO_XFS_LOG)) {
		/* Only logs write with these flags (fs/jbd2/commit.c JBD2_JOURNAL_REQ_FLAGS,
		 * fs/xfs/xfs_log.c). jbd2's revoke blocks have only the flags, fast commits only
		 * the function. The xfs log is written from memory outside the page cache; each
		 * record commits itself. */
		reason->cause = inode && (flags & (OPF_FUA | OPF_PREFLUSH)) ? CAUSE_COMMIT
									    : CAUSE_JOURNAL;
	} else if (ends_in(c, end_io, END_IO_BTRFS_SUPER)) {
		reason->cause = CAUSE_COMMIT;
	} else if (type == S_IFREG && !(flags & OPF_META)) {
		/* btrfs tree pages belong to an inode whose mode was never set. */
		reason->cause = CAUSE_DATA;
		reason_is(reason, inode);
	} else if (inode || (flags & OPF_META) || ends_in(c, end_io, END_IO_XFS_BUFFER)) {
		/* A block device's pages, or an inode that is not a file (btrfs trees). */
		reason->cause = CAUSE_METADATA;
	} else {
		reason->cause = CAUSE_UNKNOWN;
	}
	return 0;
}

static const volatile struct block_value NO_BLOCKS = {};

static __always_inline struct block_value *block_entry(struct block_key *key)
{
	struct block_value *value;

	key->cpu = bpf_get_smp_processor_id();
	value = bpf_map_lookup_elem(&block, key);
	if (!value) {
		bpf_map_update_elem(&block, key, (void *)&NO_BLOCKS, BPF_NOEXIST);
		value = bpf_map_lookup_elem(&block, key);
		if (!value)
			lose(LOSS_BLOCK);
	}
	return value;
}

static __always_inline void begins(struct block_key *key, __u64 requests, __u64 bytes)
{
	struct block_value *value = block_entry(key);

	if (value) {
		value->count += requests;
		value->bytes += bytes;
	}
}

static __always_inline void ends(struct block_key *key, __u64 time_ns)
{
	struct block_value *value = block_entry(key);

	if (!value)
		return;
	/* Another completion may interrupt this one. */
	if (time_ns)
		__sync_fetch_and_add(&value->time_ns, time_ns);
#ifdef TOP
	__sync_fetch_and_add(&value->ended, 1);
	if (value->longest_ns < time_ns)
		value->longest_ns = time_ns;
#endif
}

#ifdef TOP
/* The process. */
static __always_inline __u32 submitting(struct bio *bio)
{
	return submitting_process();
}

static __always_inline __u8 submitted_by(__u32 process)
{
	return !!process;
}
#else
/* A read or a direct write of a worker: of a control group with a limit, whose bios a worker queues when it is their turn
 * (blk_throtl_dispatch_work_fn, block/blk-throttle.c). Whose it was is not known any more. */
static __always_inline bool is_delayed(struct task_struct *task, struct bio *bio)
{
	struct config *c;

	if (!is_worker(task))
		return 0;
	if ((bio->bi_opf & REQ_OP_MASK) == REQ_OP_READ)
		return 1;
	c = configuration();
	return c && ends_in(c, (__u64)WALK(bio, bi_end_io), END_IO_DIRECT);
}

/* SUBMITTED_BY_*. */
static __always_inline __u32 submitting(struct bio *bio)
{
	struct task_struct *task = bpf_get_current_task_btf();

	if (is_for_run(task))
		return SUBMITTED_BY_RUN;
	if (!HISTORY)
		return 0;
	if (is_delayed(task, bio))
		return SUBMITTED_BY_WORKER;
	/* A flush and nothing else: with one, xfs sends its log, which has what all have changed. */
	if (!(task->flags & PF_KTHREAD) && (bio->bi_opf & OPF_PREFLUSH) &&
	    !bio->bi_iter.bi_size)
		return SUBMITTED_BY_OTHERS;
	return commit_of(task);
}

static __always_inline __u8 submitted_by(__u32 submitter)
{
	return submitter;
}
#endif

/* Runs in the submitter's context, which is gone by the time the request is issued. */
SEC("tp_btf/block_bio_queue")
int BPF_PROG(queued, struct bio *bio)
{
	__u64 key = (__u64)bio;
	__u32 submitter = submitting(bio);

	if (!submitter)
		bpf_map_delete_elem(&submitted, &key); /* the address may be reused */
	else if (bpf_map_update_elem(&submitted, &key, &submitter, BPF_ANY))
		lose(LOSS_BLOCK); /* its requests will seem to belong to others */
	if (!submitter || submitter == SUBMITTED_BY_OTHERS)
		note_bio(bio);
	return 0;
}

/* The end of a bio that did not become a request, as with device mapper. The kernel does not trace
 * it for requests (blk_update_request, block/blk-mq.c, clears BIO_TRACE_COMPLETION). If the kernel
 * skips this program, the entry stays until the address is reused. */
SEC("tp_btf/block_bio_complete")
int BPF_PROG(bio_ended, struct request_queue *queue, struct bio *bio)
{
	__u64 key = (__u64)bio;

	if (bpf_map_lookup_elem(&submitted, &key))
		bpf_map_delete_elem(&submitted, &key);
	return 0;
}

static __always_inline int cause_of_operation(__u32 operation, struct block_key *key)
{
	switch (operation) {
	case REQ_OP_FLUSH:
		key->cause = CAUSE_FLUSH;
		return 1;
	case REQ_OP_DISCARD:
	case REQ_OP_SECURE_ERASE:
	case REQ_OP_WRITE_ZEROES:
		key->cause = CAUSE_DISCARD;
		return 1;
	}
	return 0;
}

/* As submitting() has said. */
static __always_inline __u32 submitter(struct config *c, struct bio *bio)
{
	__u64 key = (__u64)original(c, bio);
	__u32 *process = bpf_map_lookup_elem(&submitted, &key);

	return process ? *process : 0;
}

#ifdef TOP
#define flushed_by(request) 0
#else
/* Requests that wait for a flush at one time. */
#define MOST_FLUSHED 64

struct flushed {
	__u64 head;
	__u64 next;
	__u32 is_second;
	__u32 by;
	__u32 has_one;
};

static long flushed_for(__u32 index, struct flushed *queue)
{
	struct config *c = configuration();
	struct request *rq;
	struct bio *bio;
	__u32 by;

	if (!c || !queue->next)
		return 1;
	if (queue->next == queue->head) {
		if (queue->is_second)
			return 1;
		queue->is_second = 1;
		queue->head += bpf_core_type_size(struct list_head);
		queue->next = word_at(queue->head);
		return 0;
	}
	/* Since Linux 6.6 a flush waits in the list of any request (block/blk-flush.c). */
	if (HAS(struct request, flush.list))
		rq = (void *)queue->next - bpf_core_field_offset(struct request, flush.list);
	else
		rq = (void *)queue->next - bpf_core_field_offset(struct request, queuelist);
	/* The first is gone once the data is written (blk_flush_restore_request). */
	bio = BPF_CORE_READ(rq, biotail);
	by = bio ? submitter(c, bio) : 0;
	queue->by = queue->has_one && queue->by != by ? 0 : by;
	queue->has_one = 1;
	queue->next = word_at(queue->next);
	return 0;
}

/* A flush is issued for all that wait in either list: those that it serves, and those for the next (blk_kick_flush,
 * block/blk-flush.c). */
APART int flushed_by(__u64 address)
{
	struct request *rq = (struct request *)address;
	struct flushed queue = {};

	if (!rq)
		return 0;
	queue.head = (__u64)BPF_CORE_READ(rq, mq_hctx, fq);
	if (!queue.head)
		return 0;
	queue.head += bpf_core_field_offset(struct blk_flush_queue, flush_queue);
	queue.next = word_at(queue.head);
	bpf_loop(MOST_FLUSHED, flushed_for, &queue, 0);
	return queue.is_second && queue.next == queue.head ? queue.by : 0;
}
#endif

/* Issued again, as opposed to a new request in the same memory after an unseen completion. */
static __always_inline bool is_same(struct in_flight *flight, struct request *rq)
{
	return flight->started_ns == rq->start_time_ns && flight->sector == rq->__sector &&
	       flight->bio == (__u64)WALK(rq, bio);
}

/* More bios than any request has. */
#define MOST_BIOS 4096

/* What a bio of the request is for: its file, and who submitted it. */
APART int take_bio(struct block_key *key, struct reason *reason, __u64 address, __u32 reads)
{
	struct bio *bio = (struct bio *)address;
	struct config *c = configuration();
	struct file_key file;
	__u32 process;

	if (!c || !key || !reason)
		return 0;
	process = submitter(c, bio);
	explain(c, address, reason);
	file = reason->file; /* on the stack: see KEYS in maps.h */
	key->by_tree = submitted_by(process);
	key->file = reason->file;
	key->cause = reads ? CAUSE_READ : reason->cause;
	key->pages = 0;
	if (key->cause == CAUSE_DATA)
		key->pages = reason->pages;
	if (HISTORY && key->cause == CAUSE_DATA && !reason->pages && bpf_map_lookup_elem(&lives, &file))
		key->pages = PAGES_WRITTEN;
#ifdef TOP
	key->process = reason->inode ? process : 0;
	if (reason->inode)
		name_requested(&file, reason->inode);
#endif
	return 0;
}

/* Bios of several files that lie next to each other on the disk are one request (blk_attempt_bio_merge). It is counted
 * for the first, and the bytes of each for its own. Meanwhile flight->bio is the next bio, and flight->bytes what is left
 * to the first: the stack has no room for more. */
static long split(__u32 index, struct in_flight *flight)
{
	struct config *c = configuration();
	struct bio *bio = (struct bio *)flight->bio;
	struct block_key key = flight->key;
	struct reason reason = {};
	__u64 bytes;

	if (!bio || !c)
		return 1;
	flight->bio = (__u64)BPF_CORE_READ(bio, bi_next);
	bytes = BPF_CORE_READ(bio, bi_iter.bi_size);
	take_bio(&key, &reason, (__u64)bio, key.cause == CAUSE_READ);
	flight->has_own |= key.by_tree;
	if (is_same_file(&key.file, &flight->key.file) && key.by_tree == flight->key.by_tree &&
	    key.cause == flight->key.cause && key.pages == flight->key.pages)
		return 0;
	flight->bytes -= bytes;
	begins(&key, 0, bytes);
	if (HISTORY)
		request_at(c, &key, 0, bytes, flight->issued_ns);
	return 0;
}

/* include/uapi/linux/major.h */
#define LOOP_MAJOR 7

/* Loop devices that got requests, by number, and which attachment of the number that was; 0 for several. */
struct {
	__uint(type, MAP_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 1024);
	__type(key, __u32);
	__type(value, __u64);
} attachments SEC(".maps");

static __always_inline void note_attachment(struct gendisk *disk, __u32 number)
{
	__u64 *known, now = READ(disk, diskseq);

	known = bpf_map_lookup_elem(&attachments, &number);
	if (!known)
		bpf_map_update_elem(&attachments, &number, &now, BPF_NOEXIST);
	else if (*known != now)
		*known = 0;
}

SEC("tp_btf/block_rq_issue")
int BPF_PROG(issued, struct request *rq)
{
	struct in_flight flight = {}, *before;
	struct reason reason = {};
	struct config *c = configuration();
	struct gendisk *disk = WALK(rq, q, disk);
	__u32 operation = rq->cmd_flags & REQ_OP_MASK;
	__u64 key = (__u64)rq;
	struct bio *bio = BPF_CORE_READ(rq, bio); /* a number, as explain() requires */

	/* Requests issued before the run begins do not belong to the run. */
	if (!c || !c->started_ns || !disk || operation >= REQ_OP_FIRST_PASSTHROUGH)
		return 0;
	before = bpf_map_lookup_elem(&in_flight, &key);
	if (before && is_same(before, rq)) {
		before->issued_ns = bpf_ktime_get_ns();
		return 0;
	}
	if (before)
		lose(LOSS_ENDS);
	flight.key.disk = (__u32)disk->major << 20 | (__u32)disk->first_minor;
	flight.key.phase = c->phase;
	flight.bio = (__u64)bio;
	flight.started_ns = rq->start_time_ns;
	flight.sector = rq->__sector;
	flight.bytes = rq->__data_len;
	flight.issued_ns = bpf_ktime_get_ns();
	if (cause_of_operation(operation, &flight.key)) {
		flight.key.by_tree = bio ? submitted_by(submitter(c, bio)) :
					   flushed_by(number(rq));
		flight.has_own = flight.key.by_tree;
	} else {
		if (!bio)
			return 0;
		take_bio(&flight.key, &reason, (__u64)bio, operation == REQ_OP_READ);
		flight.file_offset = reason.file_offset;
		flight.forced_unit_access = !!(rq->cmd_flags & OPF_FUA);
		flight.has_own = flight.key.by_tree;
		flight.bio = (__u64)BPF_CORE_READ(bio, bi_next);
		if (flight.bio)
			bpf_loop(MOST_BIOS, split, &flight, 0);
		flight.bio = (__u64)bio;
	}
	begins(&flight.key, 1, flight.bytes);
	if (HISTORY)
		request_at(c, &flight.key, 1, flight.bytes, flight.issued_ns);
	flight.bytes = rq->__data_len;
	if (disk->major == LOOP_MAJOR)
		note_attachment(disk, flight.key.disk);
	if (bpf_map_update_elem(&in_flight, &key, &flight, BPF_ANY))
		lose(LOSS_BLOCK);
	return 0;
}

static __always_inline void stream_request(struct in_flight *flight, __u64 now)
{
	struct request_event *event = bpf_ringbuf_reserve(&events, sizeof *event, 0);

	if (!event) {
		lose(LOSS_STREAM);
		return;
	}
	event->kind = EVENT_REQUEST;
	event->disk = flight->key.disk;
	event->file = flight->key.file;
	event->file_offset = flight->file_offset;
	event->sector = flight->sector;
	event->bytes = flight->bytes;
	event->issued_ns = flight->issued_ns;
	event->completed_ns = now;
	event->cause = flight->key.cause;
	event->phase = flight->key.phase;
	event->by_tree = flight->key.by_tree;
	event->forced_unit_access = flight->forced_unit_access;
	event->pad = 0;
	bpf_ringbuf_submit(event, BPF_RB_NO_WAKEUP);
}

/* Bios of a request end with it; the last part of a split bio also ends the bio that it was split
 * from, which has one remaining part then (bio_remaining_done, block/bio.c). */
static long forget(__u32 index, __u64 *next)
{
	struct config *c = configuration();
	struct bio *bio = (struct bio *)*next, *whole;
	__u64 key;

	if (!c || !bio)
		return 1;
	whole = original(c, bio);
	key = (__u64)whole;
	if (BPF_CORE_READ(whole, __bi_remaining.counter) <= 1)
		bpf_map_delete_elem(&submitted, &key);
	*next = (__u64)BPF_CORE_READ(bio, bi_next);
	return 0;
}

static __always_inline int on_completion(struct request *rq, __u8 error)
{
	__u64 key = (__u64)rq;
	struct in_flight *flight = bpf_map_lookup_elem(&in_flight, &key);
	struct config *c = configuration();
	__u64 now, bio;

	if (!c)
		return 0;
	/* A flush is not issued itself: one request serves all that wait (block/blk-flush.c). What waits for one after its
	 * data is written ends once more. */
	if ((!flight || flight->has_own) &&
	    !ends_in(c, (__u64)BPF_CORE_READ(rq, end_io), END_IO_FLUSHED)) {
		bio = (__u64)BPF_CORE_READ(rq, bio);
		bpf_loop(MOST_BIOS, forget, &bio, 0);
	}
	if (!flight)
		return 0;
	now = bpf_ktime_get_ns();
#ifdef TOP
	flight->key.phase = c->phase; /* it ends in this interval */
#endif
	ends(&flight->key, now - flight->issued_ns);
	if (c->stream_requests && !error)
		stream_request(flight, now);
	bpf_map_delete_elem(&in_flight, &key);
	return 0;
}

SEC("tp_btf/block_rq_complete")
int BPF_PROG(completed, struct request *rq, __u8 error)
{
	return on_completion(rq, error);
}

/* A loop device ends requests in a thread, and the interrupt of the underlying disk may end others
 * in the middle of that. The kernel skips a program that is already running on that CPU
 * (__bpf_trace_run, kernel/trace/bpf_trace.c), but runs this one; entries that the first has seen
 * are gone from the table. */
SEC("tp_btf/block_rq_complete")
int BPF_PROG(completed_amid, struct request *rq, __u8 error)
{
	return on_completion(rq, error);
}
