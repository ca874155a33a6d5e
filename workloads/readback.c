/* readback PATH PAGES ORDER
 *
 * Reads PAGES pages of 4 KiB of PATH with pread: `sequential`, or `random`, which takes
 * every page once in an order without neighbours (a multiplicative permutation; PAGES is
 * a power of two) after telling the kernel not to read ahead.
 * I/O on PATH: 1 openat, PAGES pread64 of 4096 bytes, 1 close (random: 1 fadvise64 more).
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	static char page[4096];
	unsigned long pages, random;
	int fd;

	if (argc < 4) {
		fprintf(stderr, "readback PATH PAGES sequential|random\n");
		return 2;
	}
	pages = atol(argv[2]);
	random = !strcmp(argv[3], "random");
	fd = open(argv[1], O_RDONLY);
	if (fd < 0)
		return 1;
	if (random && posix_fadvise(fd, 0, 0, POSIX_FADV_RANDOM))
		return 1;
	for (unsigned long i = 0; i < pages; i++) {
		/* An odd factor makes i -> i * factor a permutation modulo a power of two. */
		unsigned long at = random ? i * 40503 % pages : i;

		if (pread(fd, page, sizeof page, at * sizeof page) != sizeof page)
			return 1;
	}
	return close(fd) ? 1 : 0;
}
