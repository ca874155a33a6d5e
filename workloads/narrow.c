/* A 64-bit program that makes calls the 32-bit way: the kernel takes their numbers from another table
 * (arch/x86/entry/syscalls/syscall_32.tbl). Ten syncs, one write of five bytes, and its exit code says
 * whether they were done. */
#include <fcntl.h>

#define FSYNC 118
#define WRITE 4

static char text[] = "hello";

static long call(long number, long first, long second, long third)
{
	long result;

	asm volatile("int $0x80"
		     : "=a"(result)
		     : "a"(number), "b"(first), "c"(second), "d"(third)
		     : "memory");
	return result;
}

int main(void)
{
	int file = open("x", O_WRONLY | O_CREAT | O_TRUNC, 0644);

	for (int i = 0; i < 10; i++)
		if (call(FSYNC, file, 0, 0))
			return 1;
	return call(WRITE, file, (long)text, 5) != 5;
}
