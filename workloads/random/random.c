/* Makes file operations at random, the same ones for the same seed.
 *
 * random DIR OTHER FIRST COUNT GO [without-rings|recorded]: for COUNT seeds from FIRST on, makes DIR/SEED and OTHER/SEED,
 * which may lie on another file system, and does there what the seed says. First it opens GO, a
 * FIFO, and so waits for the observer to attach. What is recorded does without that of which an
 * operation log does not have the bytes.
 *
 * The reader of a trace of it learns from notes what that trace does not have. A note is a write
 * to descriptor -1, which fails:
 *
 *   note begin                                 counted is what follows
 *   note is FD MAJOR:MINOR INODE GENERATION    what a new descriptor stands for
 *   note linked MAJOR:MINOR INODE              a file got another name
 *   note uring OPERATION FD RESULT             an io_uring operation has ended
 *   note aio OPERATION FD RESULT               one of libaio has
 *
 * Threads and processes race, but not for names and descriptors: who changes these has the
 * lock for itself, so that a trace which looks at a descriptor when a call begins sees what the
 * kernel will see.
 *
 * A new operation is a function in one of the headers and its line in OPERATIONS.
 */
#define _GNU_SOURCE
#include "ground.h"
#include "data.h"
#include "names.h"
#include "others.h"
#include "queues.h"
#include "people.h"

enum where {
	DATA,	 /* leaves names and descriptors alone; others may do so at the same time */
	ALONE,	 /* changes them */
	PEOPLE,	 /* makes threads or processes, which take the lock themselves */
	RINGS,	 /* as ALONE, unless they are not wanted */
	UNTOLD,	 /* as ALONE, unless all bytes are wanted in an operation log */
};

static const struct operation {
	void (*run)(void);
	int weight;
	enum where where;
} OPERATIONS[] = {
	/* data.h */
	{ write_some, 10, DATA },
	{ read_some, 8, DATA },
	{ write_at, 5, DATA },
	{ read_at, 4, DATA },
	{ write_pieces, 3, DATA },
	{ read_pieces, 3, DATA },
	{ write_flagged, 5, DATA },
	{ read_flagged, 3, DATA },
	{ seek_somewhere, 3, DATA },
	{ resize, 2, DATA },
	{ allocate, 2, DATA },
	{ synchronize, 4, DATA },
	{ copy_range, 3, DATA },
	{ send_file, 3, DATA },
	{ clone_file, 2, DATA },
	{ ask_about, 2, DATA },
	{ store_by_mapping, 4, UNTOLD },
	{ through_a_pipe, 3, ALONE },
	/* names.h */
	{ open_some, 14, ALONE },
	{ open_directory, 3, ALONE },
	{ open_below, 2, ALONE },
	{ close_some, 6, ALONE },
	{ rename_some, 5, ALONE },
	{ rename_directory, 3, ALONE },
	{ link_some, 3, ALONE },
	{ link_symbolically, 2, ALONE },
	{ unlink_some, 4, ALONE },
	{ make_directory, 3, ALONE },
	{ remove_directory, 2, ALONE },
	{ truncate_by_path, 3, ALONE },
	{ open_unnamed, 4, ALONE },
	{ change_directory, 3, ALONE },
	{ ask_about_path, 3, ALONE },
	/* others.h */
	{ duplicate, 5, ALONE },
	{ pass_descriptor, 3, ALONE },
	{ fetch_descriptor, 2, ALONE },
	{ open_memory, 2, ALONE },
	{ open_event, 2, ALONE },
	{ open_process, 1, ALONE },
	{ open_pipe, 1, ALONE },
	{ open_sockets, 1, ALONE },
	/* queues.h */
	{ by_ring, 9, RINGS },
	{ by_aio, 3, UNTOLD },
	/* people.h */
	{ race_threads, 3, PEOPLE },
	{ fork_child, 3, PEOPLE },
	{ fork_sharing_descriptors, 3, PEOPLE },
	{ reopen_in_thread, 4, PEOPLE },
	{ fork_into_root, 3, PEOPLE },
};

static int rings = 1, recorded;

static void one_operation(int people)
{
	const int count = sizeof OPERATIONS / sizeof *OPERATIONS;
	int sum = 0, at, drawn;

	for (at = 0; at < count; at++)
		sum += OPERATIONS[at].weight;
	drawn = below(sum);
	for (at = 0; drawn >= OPERATIONS[at].weight; at++)
		drawn -= OPERATIONS[at].weight;
	if (OPERATIONS[at].where == PEOPLE) {
		if (people)
			OPERATIONS[at].run();
		return;
	}
	if ((OPERATIONS[at].where == RINGS && !rings) ||
	    (OPERATIONS[at].where == UNTOLD && recorded))
		return;
	if (OPERATIONS[at].where == DATA)
		together();
	else
		alone();
	OPERATIONS[at].run();
	unlock();
}

void some_operations(int count, int people)
{
	while (count-- > 0)
		one_operation(people);
}

static void prepare(const char *dir, const char *other, unsigned long number)
{
	char beside[600];

	snprintf(beside, sizeof beside, "%s/%lu", other, number);
	mkdir(beside, 0755);
	snprintf(root, sizeof root, "%s/%lu", dir, number);
	mkdir(root, 0755);
	if (chdir(root))
		exit(2);
	mkdir("d", 0755);
	mkdir("d/e", 0755);
	mkdir("m", 0755);
	symlink("d/e", "s");
	/* Leads out of it in a child that has changed its root, where it leads back in. */
	symlink("/d/e", "d/t");
	symlink(beside, "o");
	seed = number * 0x9e3779b97f4a7c15ULL + 1;
	for (int i = 0; i < 3; i++)
		below(2);
	slots = copied_slots();
}

int main(int count, char **word)
{
	unsigned long first, seeds;
	int go;

	if (count < 6 || count > 7)
		return 2;
	rings = count == 6;
	recorded = count == 7 && !strcmp(word[6], "recorded");
	first = strtoul(word[3], 0, 10);
	seeds = strtoul(word[4], 0, 10);
	signal(SIGPIPE, SIG_IGN);
	make_lock();
	go = open(word[5], O_RDONLY);
	if (go < 0)
		return 2;
	close(go);
	note("begin");
	for (unsigned long number = first; number < first + seeds; number++) {
		pid_t child = fork();

		if (!child) {
			prepare(word[1], word[2], number);
			some_operations(OPERATIONS_EACH, 1);
			_exit(0);
		}
		if (waitpid(child, &go, 0) != child || go)
			return 1;
	}
	return 0;
}
