/* Operations on what is in files. */

static off_t some_offset(void)
{
	return one_in(3) ? below(100000) : below(4096);
}

static void write_some(void)
{
	write(some_data(), buffer, some_size());
}

static void read_some(void)
{
	read(some_data(), buffer, some_size());
}

static void write_at(void)
{
	pwrite(some_data(), buffer, some_size(), some_offset());
}

static void read_at(void)
{
	pread(some_data(), buffer, some_size(), some_offset());
}

struct pieces {
	struct iovec piece[3];
	int count;
};

static struct pieces some_pieces(void)
{
	struct pieces pieces = { .count = 1 + below(3) };

	for (int i = 0; i < pieces.count; i++)
		pieces.piece[i] = (struct iovec){ buffer + i * 1000, below(1000) };
	return pieces;
}

static void write_pieces(void)
{
	struct pieces pieces = some_pieces();

	if (one_in(2))
		writev(some_data(), pieces.piece, pieces.count);
	else
		pwritev(some_data(), pieces.piece, pieces.count, some_offset());
}

static void read_pieces(void)
{
	struct pieces pieces = some_pieces();

	if (one_in(2))
		readv(some_data(), pieces.piece, pieces.count);
	else
		preadv(some_data(), pieces.piece, pieces.count, some_offset());
}

static void write_flagged(void)
{
	static const int FLAGS[] = { 0, RWF_APPEND, RWF_DSYNC, RWF_SYNC, RWF_APPEND | RWF_DSYNC };
	struct pieces pieces = some_pieces();
	off_t at = one_in(2) ? -1 : some_offset();

	pwritev2(some_data(), pieces.piece, pieces.count, at, FLAGS[below(5)]);
}

static void read_flagged(void)
{
	struct pieces pieces = some_pieces();
	off_t at = one_in(2) ? -1 : some_offset();

	preadv2(some_data(), pieces.piece, pieces.count, at, one_in(2) ? RWF_NOWAIT : 0);
}

static void seek_somewhere(void)
{
	lseek(some_data(), some_offset(), one_in(3) ? SEEK_END : SEEK_SET);
}

static void resize(void)
{
	ftruncate(some(STORED), some_offset());
}

static void allocate(void)
{
	static const int MODES[] = { 0, FALLOC_FL_KEEP_SIZE,
				     FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE };

	fallocate(some(STORED), MODES[below(3)], some_offset(), 1 + below(20000));
}

static void synchronize(void)
{
	int fd = one_in(4) ? some(DIRECTORY) : some(STORED);

	switch (below(4)) {
	case 0:
		fdatasync(fd);
		break;
	case 1:
		sync_file_range(fd, 0, 4096, SYNC_FILE_RANGE_WRITE);
		break;
	default:
		fsync(fd);
	}
}

static void copy_range(void)
{
	loff_t from = some_offset(), to = some_offset();

	copy_file_range(some(STORED), one_in(2) ? &from : 0, some(STORED), one_in(2) ? &to : 0,
			some_size(), 0);
}

static void send_file(void)
{
	off_t from = some_offset();

	sendfile(some_data(), some(STORED), one_in(2) ? &from : 0, some_size());
}

static void clone_file(void)
{
	ioctl(some(STORED), FICLONE, some(STORED));
}

static void ask_about(void)
{
	struct stat found;

	switch (below(3)) {
	case 0:
		syscall(SYS_fstat, any(), &found);
		break;
	case 1:
		posix_fadvise(some(STORED), 0, 0, POSIX_FADV_SEQUENTIAL);
		break;
	default:
		fcntl(any(), F_GETFL);
	}
}

/* Alone: a file that is cut off while it is mapped costs its user a signal. */
static void store_by_mapping(void)
{
	int fd = some(STORED), late = one_in(3);
	char *at;

	if (ftruncate(fd, 8192))
		return;
	at = mmap(0, 8192, late ? PROT_READ : PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (at == MAP_FAILED)
		return;
	if (!late || !mprotect(at, 8192, PROT_READ | PROT_WRITE)) {
		at[below(8192)] = 1;
		msync(at, 8192, one_in(2) ? MS_SYNC : MS_ASYNC);
	}
	munmap(at, 8192);
}

static void through_a_pipe(void)
{
	struct iovec piece = { buffer, 100 };
	loff_t to = some_offset();
	int ends[2];

	if (pipe2(ends, O_NONBLOCK | O_CLOEXEC))
		return;
	tell(ends[0]);
	tell(ends[1]);
	splice(some(STORED), 0, ends[1], 0, some_size(), SPLICE_F_NONBLOCK);
	if (one_in(2))
		vmsplice(ends[1], &piece, 1, SPLICE_F_NONBLOCK);
	splice(ends[0], 0, some(STORED), one_in(2) ? &to : 0, LONGEST, SPLICE_F_NONBLOCK);
	close(ends[0]);
	close(ends[1]);
}
