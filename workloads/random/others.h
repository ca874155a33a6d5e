/* Other ways to a descriptor: duplicates, descriptors passed on, and what is no file. */

static void duplicate(void)
{
	int from = any(), to;

	switch (below(4)) {
	case 0:
		keep(dup(from));
		break;
	case 1:
		keep(fcntl(from, F_DUPFD, 40));
		break;
	case 2:
		keep(fcntl(from, F_DUPFD_CLOEXEC, 3));
		break;
	default: {
		/* Over another one that is open, which it closes. */
		struct slot *over = &slots[below(SLOTS)];

		if (!over->kind || over->fd == from)
			return;
		to = one_in(2) ? dup2(from, over->fd) : dup3(from, over->fd, O_CLOEXEC);
		if (to >= 0)
			over->kind = tell(to);
	}
	}
}

static void pass_descriptor(void)
{
	char control[CMSG_SPACE(sizeof(int))] = {}, byte = 0;
	struct iovec piece = { &byte, 1 };
	struct msghdr message = { .msg_iov = &piece,
				  .msg_iovlen = 1,
				  .msg_control = control,
				  .msg_controllen = sizeof control };
	struct cmsghdr *header = CMSG_FIRSTHDR(&message);
	int ends[2], fd = any();

	if (fd < 0 || socketpair(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK, 0, ends))
		return;
	tell(ends[0]);
	tell(ends[1]);
	header->cmsg_level = SOL_SOCKET;
	header->cmsg_type = SCM_RIGHTS;
	header->cmsg_len = CMSG_LEN(sizeof fd);
	memcpy(CMSG_DATA(header), &fd, sizeof fd);
	if (sendmsg(ends[0], &message, 0) == 1 && recvmsg(ends[1], &message, 0) == 1) {
		header = CMSG_FIRSTHDR(&message);
		memcpy(&fd, CMSG_DATA(header), sizeof fd);
		keep(fd);
	}
	close(ends[0]);
	close(ends[1]);
}

static void fetch_descriptor(void)
{
	int handle = syscall(SYS_pidfd_open, getpid(), 0);

	if (handle < 0)
		return;
	tell(handle);
	keep(syscall(SYS_pidfd_getfd, handle, any(), 0));
	close(handle);
}

static void open_memory(void)
{
	int fd = memfd_create(one_in(2) ? "one" : "two", 0);

	if (fd < 0)
		return;
	tell(fd);
	write(fd, buffer, some_size());
	keep(fd);
}

static void open_event(void)
{
	uint64_t one = 1;
	int fd = eventfd(0, EFD_NONBLOCK);

	if (fd < 0)
		return;
	tell(fd);
	write(fd, &one, sizeof one);
	read(fd, &one, sizeof one);
	keep(fd);
}

static void open_process(void)
{
	keep(syscall(SYS_pidfd_open, getpid(), 0));
}

static void open_pipe(void)
{
	int ends[2];

	if (pipe2(ends, O_NONBLOCK))
		return;
	keep(ends[0]);
	keep(ends[1]);
}

static void open_sockets(void)
{
	int ends[2];

	/* No process gets a signal for a broken pipe: main ignores it. */
	if (socketpair(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK, 0, ends))
		return;
	keep(ends[0]);
	keep(ends[1]);
}
