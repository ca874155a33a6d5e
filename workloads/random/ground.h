/* What all operations stand on: numbers drawn, the lock, notes, open descriptors, paths. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <linux/fs.h>
#include <linux/openat2.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#define OPERATIONS_EACH 70
#define SLOTS 12
#define LONGEST 6000

void some_operations(int count, int people);

/* Every thread draws its own numbers. */
static __thread uint64_t seed;
static __thread char buffer[LONGEST];

static uint32_t below(uint32_t end)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return (seed >> 16) % end;
}

static int one_in(int chances)
{
	return below(chances) == 0;
}

/* Readers and one writer, shared by all threads and processes. Semaphores have no owner, which
 * the lock of the threads' library has: it takes a child of clone(2) for its parent. */
static struct lock {
	sem_t counting;
	sem_t empty;
	int readers;
} *lock;

static __thread int is_alone;

static void make_lock(void)
{
	lock = mmap(0, sizeof *lock, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	sem_init(&lock->counting, 1, 1);
	sem_init(&lock->empty, 1, 1);
}

static void take(sem_t *semaphore)
{
	while (sem_wait(semaphore))
		;
}

static void alone(void)
{
	take(&lock->empty);
	is_alone = 1;
}

static void together(void)
{
	take(&lock->counting);
	if (lock->readers++ == 0)
		take(&lock->empty);
	sem_post(&lock->counting);
	is_alone = 0;
}

static void unlock(void)
{
	if (!is_alone) {
		take(&lock->counting);
		if (--lock->readers == 0)
			sem_post(&lock->empty);
		sem_post(&lock->counting);
		return;
	}
	sem_post(&lock->empty);
}

static void note(const char *format, ...)
{
	char text[256] = "note ";
	va_list values;

	va_start(values, format);
	vsnprintf(text + 5, sizeof text - 5, format, values);
	va_end(values);
	syscall(SYS_write, -1, text, strlen(text));
}

/* What a descriptor can be used for. */
enum kind { NOTHING, STORED, DIRECTORY, STREAM, OTHER };

/* The descriptors in use. Processes that share descriptors share these as well. */
static struct slot {
	int fd;
	enum kind kind;
} *slots;

/* A copy, made before a fork: these change as soon as others have the lock. */
static struct slot *copied_slots(void)
{
	size_t bytes = SLOTS * sizeof *slots;
	struct slot *copy =
		mmap(0, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (slots)
		memcpy(copy, slots, bytes);
	return copy;
}

static struct slot *slot_of(enum kind kind)
{
	uint32_t from = below(SLOTS);

	for (uint32_t i = 0; i < SLOTS; i++) {
		struct slot *slot = &slots[(from + i) % SLOTS];

		if (slot->kind == kind)
			return slot;
	}
	return 0;
}

/* A descriptor of that kind; -1 if there is none, with which the call fails. */
static int some(enum kind kind)
{
	struct slot *slot = slot_of(kind);

	return slot ? slot->fd : -1;
}

static int any(void)
{
	struct slot *slot = &slots[below(SLOTS)];

	return slot->kind ? slot->fd : -1;
}

/* A file for the most part, now and then something else that can be written to or read. */
static int some_data(void)
{
	return one_in(8) ? some(STREAM) : some(STORED);
}

static enum kind kind_of(const struct stat *found)
{
	switch (found->st_mode & S_IFMT) {
	case S_IFREG:
		return STORED;
	case S_IFDIR:
		return DIRECTORY;
	case S_IFIFO:
	case S_IFSOCK:
		return STREAM;
	default:
		return OTHER;
	}
}

/* Says what a new descriptor stands for. */
static enum kind tell(int fd)
{
	struct stat found;
	int generation = 0;

	if (fd < 0 || syscall(SYS_fstat, fd, &found))
		return NOTHING;
	if (S_ISREG(found.st_mode) || S_ISDIR(found.st_mode))
		ioctl(fd, FS_IOC_GETVERSION, &generation);
	note("is %d %u:%u %lu %u", fd, major(found.st_dev), minor(found.st_dev), found.st_ino,
	     generation);
	return kind_of(&found);
}

static void keep_in(struct slot *slot, int fd)
{
	enum kind kind = tell(fd);

	if (kind == NOTHING)
		return;
	if (slot->kind)
		close(slot->fd);
	slot->fd = fd;
	slot->kind = kind;
}

/* Keeps a new descriptor for later operations, in the place of another. */
static void keep(int fd)
{
	keep_in(&slots[below(SLOTS)], fd);
}

/* The directory of this seed; empty for a process whose root it is. */
static char root[512];

static const char *const DIRECTORIES[] = { "",	"", "", "d/", "d/e/", "s/", "s/../", "m/",
					   "n/", "d//./", "d/t/", "s/../../", "o/", "o/" };
static const char *const LEAVES[] = { "a", "b", "c" };

static const char *some_leaf(void)
{
	return LEAVES[below(3)];
}

/* Where a call finds a file: a directory and a path from there. */
struct place {
	int directory;
	char path[600];
};

static struct place some_place(void)
{
	struct place place = { .directory = AT_FDCWD };
	const char *directory = DIRECTORIES[below(sizeof DIRECTORIES / sizeof *DIRECTORIES)];

	switch (below(4)) {
	case 0:
		place.directory = some(DIRECTORY);
		if (place.directory >= 0) {
			snprintf(place.path, sizeof place.path, "%s", some_leaf());
			break;
		}
		place.directory = AT_FDCWD;
		/* fall through */
	case 1:
		snprintf(place.path, sizeof place.path, "%s/%s%s", root, directory, some_leaf());
		break;
	default:
		snprintf(place.path, sizeof place.path, "%s%s", directory, some_leaf());
	}
	return place;
}

static size_t some_size(void)
{
	return one_in(4) ? below(LONGEST) : below(100);
}
