/* stores LETTERS
 * Stores to a shared mapping of `db`, two pages, in the order of the letters of its argument:
 *
 *	a, b	store to the first word of the first, second page
 *	x	store to the second word of the first page
 *	1, 2	msync the first, second page
 *	y, d	fsync, fdatasync
 *	A, B	report this
 *	r	map the file again, through another descriptor
 *	f ... .	a child does what is in between, and is waited for
 */
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define PAGE 4096
#define WORDS (PAGE / sizeof(uint64_t))

static volatile uint64_t *words;
static int db;

static void require(int is_so)
{
	if (!is_so)
		_exit(9);
}

static void map(void)
{
	db = open("db", O_RDWR);
	require(db >= 0);
	words = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, db, 0);
	require(words != MAP_FAILED);
}

static void sync_page(int number)
{
	require(msync((void *)(words + number * WORDS), PAGE, MS_SYNC) == 0);
}

static void report(char name)
{
	char line[2] = { name, '\n' };

	require(write(1, line, 2) == 2);
}

int main(int argc, char **argv)
{
	pid_t child = -1;

	require(argc == 2);
	map();
	for (const char *at = argv[1]; *at; at++) {
		/* The parent comes to what is behind the child's part. */
		if (child > 0 && *at != '.')
			continue;
		switch (*at) {
		case 'a':
			words[0] = 1;
			break;
		case 'b':
			words[WORDS] = 1;
			break;
		case 'x':
			words[1] = 1;
			break;
		case '1':
			sync_page(0);
			break;
		case '2':
			sync_page(1);
			break;
		case 'y':
			require(fsync(db) == 0);
			break;
		case 'd':
			require(fdatasync(db) == 0);
			break;
		case 'r':
			map();
			break;
		case 'f':
			child = fork();
			require(child >= 0);
			break;
		case '.':
			if (child == 0)
				_exit(0);
			require(waitpid(child, NULL, 0) == child);
			child = -1;
			break;
		default:
			report(*at);
		}
	}
	return 0;
}
