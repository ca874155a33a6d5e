/* Operations on names, and what opens and closes files. */

static int some_flags(void)
{
	static const int ACCESS[] = { O_RDWR, O_RDWR, O_WRONLY, O_RDONLY };
	int flags = ACCESS[below(4)];

	if (!one_in(5))
		flags |= O_CREAT;
	if (one_in(4))
		flags |= O_TRUNC;
	if (one_in(4))
		flags |= O_APPEND;
	if (one_in(10))
		flags |= O_EXCL;
	if (one_in(12))
		flags |= O_DSYNC;
	return flags;
}

static int open_at(struct place place, int flags)
{
	struct open_how how = { .flags = flags, .mode = flags & O_CREAT ? 0644 : 0 };

	switch (below(6)) {
	case 0:
		if (one_in(3))
			how.resolve = RESOLVE_NO_SYMLINKS;
		return syscall(SYS_openat2, place.directory, place.path, &how, sizeof how);
	case 1:
		if (place.directory == AT_FDCWD)
			return syscall(SYS_open, place.path, flags, 0644);
		/* fall through */
	case 2:
		if (place.directory == AT_FDCWD && one_in(3))
			return syscall(SYS_creat, place.path, 0644);
		/* fall through */
	default:
		return openat(place.directory, place.path, flags, 0644);
	}
}

static void open_some(void)
{
	keep(open_at(some_place(), some_flags()));
}

static void open_directory(void)
{
	static const char *const WHICH[] = { ".", "d", "s", "d/e/..", "m", "s/.." };

	keep(open(WHICH[below(6)], O_RDONLY | O_DIRECTORY));
}

/* What lies in the lower layer of an overlay; elsewhere there is none. */
static void open_below(void)
{
	keep(open(one_in(2) ? "below" : "d/below", one_in(2) ? O_RDONLY : O_RDWR | O_APPEND));
}

static void close_some(void)
{
	struct slot *slot = &slots[below(SLOTS)];

	if (!slot->kind)
		return;
	if (one_in(5))
		close_range(slot->fd, slot->fd, 0);
	else
		close(slot->fd);
	slot->kind = NOTHING;
}

static void rename_some(void)
{
	struct place from = some_place(), to = some_place();

	switch (below(4)) {
	case 0:
		syscall(SYS_renameat2, from.directory, from.path, to.directory, to.path,
			RENAME_EXCHANGE);
		break;
	case 1:
		syscall(SYS_renameat2, from.directory, from.path, to.directory, to.path,
			one_in(2) ? RENAME_NOREPLACE : 0);
		break;
	case 2:
		if (from.directory == AT_FDCWD && to.directory == AT_FDCWD) {
			syscall(SYS_rename, from.path, to.path);
			break;
		}
		/* fall through */
	default:
		renameat(from.directory, from.path, to.directory, to.path);
	}
}

/* One of two names for the directory m, beside others and below d. */
static void some_directory_path(char *path, size_t bytes)
{
	static const char *const WHICH[] = { "m", "n", "d/m", "s/../n" };

	snprintf(path, bytes, "%s/%s", root, WHICH[below(4)]);
}

static void rename_directory(void)
{
	char from[600], to[600];

	some_directory_path(from, sizeof from);
	some_directory_path(to, sizeof to);
	rename(from, to);
}

static void make_directory(void)
{
	char path[600];

	some_directory_path(path, sizeof path);
	mkdir(path, 0755);
}

static void remove_directory(void)
{
	char path[600];

	some_directory_path(path, sizeof path);
	if (one_in(2))
		rmdir(path);
	else
		unlinkat(AT_FDCWD, path, AT_REMOVEDIR);
}

static void tell_linked(struct place at)
{
	struct stat found;

	if (!fstatat(at.directory, at.path, &found, AT_SYMLINK_NOFOLLOW))
		note("linked %u:%u %lu", major(found.st_dev), minor(found.st_dev), found.st_ino);
}

static void link_some(void)
{
	struct place from = some_place(), to = some_place();

	if (!linkat(from.directory, from.path, to.directory, to.path, 0))
		tell_linked(to);
}

static void link_symbolically(void)
{
	struct place to = some_place();

	symlinkat(some_leaf(), to.directory, to.path);
}

static void unlink_some(void)
{
	struct place place = some_place();

	if (place.directory == AT_FDCWD && one_in(2))
		syscall(SYS_unlink, place.path);
	else
		unlinkat(place.directory, place.path, 0);
}

static void truncate_by_path(void)
{
	struct place place = some_place();

	truncate(place.path, below(10000));
}

/* A file without a name, which it may get. */
static void open_unnamed(void)
{
	struct place place = some_place();
	int fd = open(one_in(2) ? "." : "d", O_TMPFILE | O_RDWR, 0644);
	char path[64];

	if (fd < 0)
		return;
	tell(fd);
	write(fd, buffer, some_size());
	if (one_in(2)) {
		snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
		if (one_in(2))
			linkat(AT_FDCWD, path, place.directory, place.path, AT_SYMLINK_FOLLOW);
		else
			linkat(fd, "", place.directory, place.path, AT_EMPTY_PATH);
		keep(openat(place.directory, place.path, O_RDONLY | O_NOFOLLOW));
	}
	keep(fd);
}

static void change_directory(void)
{
	char path[600];

	if (one_in(4)) {
		fchdir(some(DIRECTORY));
	} else {
		snprintf(path, sizeof path, "%s/%s", root, one_in(3) ? "s" : "");
		chdir(path);
	}
}

static void ask_about_path(void)
{
	struct place place = some_place();
	struct stat found;

	switch (below(3)) {
	case 0:
		fstatat(place.directory, place.path, &found, AT_SYMLINK_NOFOLLOW);
		break;
	case 1:
		faccessat(place.directory, place.path, R_OK, 0);
		break;
	default:
		fchmodat(place.directory, place.path, 0644, 0);
	}
}
