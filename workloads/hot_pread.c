/* hot_pread PATH OPERATIONS
 *
 * Reads OPERATIONS blocks of 4 KiB of PATH with pread, each at a random offset (xorshift;
 * the number of whole blocks has to be a power of two), and prints the nanoseconds that the
 * loop took, elapsed and of CPU. The clocks are read before the first and after the last.
 * I/O on PATH: 1 openat, 1 lseek, OPERATIONS pread64 of 4096 bytes, 1 close.
 */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static uint64_t now_ns(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return now.tv_sec * 1000000000ull + now.tv_nsec;
}

int main(int argc, char **argv)
{
	static char block[4096] __attribute__((aligned(4096)));
	uint64_t random = 88172645463325252ull, blocks, begun, cpu;
	long operations;
	int fd;

	if (argc < 3) {
		fprintf(stderr, "hot_pread PATH OPERATIONS\n");
		return 2;
	}
	operations = atol(argv[2]);
	fd = open(argv[1], O_RDONLY);
	if (fd < 0)
		return 1;
	blocks = lseek(fd, 0, SEEK_END) / sizeof block;
	if (!blocks || blocks & (blocks - 1))
		return 1;
	block[0] = 1;
	begun = now_ns(CLOCK_MONOTONIC);
	cpu = now_ns(CLOCK_THREAD_CPUTIME_ID);
	for (long i = 0; i < operations; i++) {
		random ^= random << 13;
		random ^= random >> 7;
		random ^= random << 17;
		if (pread(fd, block, sizeof block, (random & (blocks - 1)) * sizeof block) !=
		    sizeof block)
			return 1;
	}
	cpu = now_ns(CLOCK_THREAD_CPUTIME_ID) - cpu;
	begun = now_ns(CLOCK_MONOTONIC) - begun;
	printf("%llu %llu\n", (unsigned long long)begun, (unsigned long long)cpu);
	return close(fd) ? 1 : 0;
}
