/* Threads and processes, which do some of the operations themselves. */
#include <sched.h>

struct helper {
	pthread_t thread;
	uint64_t seed;
};

static void *helps(void *helper)
{
	seed = ((struct helper *)helper)->seed;
	some_operations(4 + below(6), 0);
	return 0;
}

static void race_threads(void)
{
	struct helper helpers[3];
	int count = 1 + below(3);

	for (int i = 0; i < count; i++) {
		helpers[i].seed = seed + 77 + i;
		pthread_create(&helpers[i].thread, 0, helps, &helpers[i]);
	}
	some_operations(5, 0);
	for (int i = 0; i < count; i++)
		pthread_join(helpers[i].thread, 0);
}

/* As a log that is rotated: another thread closes the file, opens the next one, which gets the
 * same descriptor and maybe the same memory, and ends. */
static void *reopens(void *slot)
{
	struct slot *rotated = slot;
	struct place place = some_place();
	int before, fd;

	alone();
	before = rotated->fd;
	if (rotated->kind == STORED) {
		close(before);
		rotated->kind = NOTHING;
		fd = openat(place.directory, place.path, O_CREAT | O_RDWR | O_APPEND, 0644);
		if (fd >= 0)
			keep_in(rotated, fd);
	}
	unlock();
	return 0;
}

struct rotation {
	struct slot *slot;
	uint64_t seed;
};

static void *rotates(void *rotation)
{
	seed = ((struct rotation *)rotation)->seed;
	return reopens(((struct rotation *)rotation)->slot);
}

static void reopen_in_thread(void)
{
	struct slot *slot = slot_of(STORED);

	for (int i = 0; slot && i < 4; i++) {
		struct rotation rotation = { slot, seed + 5 * i + 1 };
		pthread_t thread;

		together();
		if (slot->kind == STORED) {
			write(slot->fd, buffer, below(100));
			write(slot->fd, buffer, below(100));
		}
		unlock();
		pthread_create(&thread, 0, rotates, &rotation);
		pthread_join(thread, 0);
	}
}

static void end_of(pid_t child)
{
	int status;

	/* A child that crashed is this program's own fault and must not go unseen. */
	if (child > 0 && (waitpid(child, &status, 0) != child || status))
		abort();
}

/* A fork with the lock taken, which the child waits for. Returns 0 in the child. */
static pid_t split(void)
{
	struct slot *copy;
	pid_t child;

	alone();
	copy = copied_slots();
	child = fork();
	if (!child) {
		slots = copy;
		seed += 1000;
		return 0;
	}
	munmap(copy, SLOTS * sizeof *slots);
	unlock();
	return child;
}

static void fork_child(void)
{
	pid_t child = split();

	if (!child) {
		some_operations(6, one_in(3));
		_exit(0);
	}
	some_operations(4, 0);
	end_of(child);
}

/* A process that shares the table of descriptors, and closes and opens in it. */
static void fork_sharing_descriptors(void)
{
	pid_t child;

	alone();
	child = syscall(SYS_clone, CLONE_FILES | SIGCHLD, 0, 0, 0, 0);
	if (!child) {
		seed += 2000;
		some_operations(8, 0);
		_exit(0);
	}
	unlock();
	some_operations(5, 0);
	end_of(child);
}

static void fork_into_root(void)
{
	char path[600];
	pid_t child;

	snprintf(path, sizeof path, "%s/%s", root, one_in(2) ? "d" : "");
	child = split();
	if (!child) {
		alone();
		if (!chroot(path)) {
			root[0] = 0;
			if (one_in(2))
				chdir("/");
		}
		unlock();
		some_operations(10, 0);
		_exit(0);
	}
	end_of(child);
}
