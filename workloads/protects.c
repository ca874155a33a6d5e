/* protects DIR: four threads that change the map of memory at once, each 20,000 times: two allow and
 * forbid stores to memory of their own by mprotect, two map and unmap memory. The file "read" in
 * DIR is mapped shared to be read, and "written" to be written to.
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#define TIMES 20000
#define BYTES 65536

static void check(int right, const char *what)
{
	if (!right) {
		perror(what);
		exit(1);
	}
}

static void share(const char *name, int flags, int protection)
{
	int fd = open(name, flags, 0644);

	check(fd >= 0, name);
	check(mmap(0, 4096, protection, MAP_SHARED, fd, 0) != MAP_FAILED && !close(fd), name);
}

static void *protect(void *unused)
{
	char *own = mmap(0, BYTES, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	for (int i = 0; i < TIMES; i++)
		check(!mprotect(own, BYTES, i % 2 ? PROT_READ : PROT_READ | PROT_WRITE), "mprotect");
	return unused;
}

static void *map(void *unused)
{
	for (int i = 0; i < TIMES; i++) {
		char *own = mmap(0, BYTES, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		check(own != MAP_FAILED && !munmap(own, BYTES), "munmap");
	}
	return unused;
}

int main(int argc, char **argv)
{
	pthread_t threads[4];

	if (argc != 2)
		return 2;
	check(!chdir(argv[1]), argv[1]);
	share("read", O_RDONLY, PROT_READ);
	share("written", O_RDWR, PROT_READ | PROT_WRITE);
	for (int i = 0; i < 4; i++)
		check(!pthread_create(&threads[i], 0, i % 2 ? map : protect, 0), "pthread_create");
	for (int i = 0; i < 4; i++)
		pthread_join(threads[i], 0);
	return 0;
}
