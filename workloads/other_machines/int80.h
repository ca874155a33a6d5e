/* Calls the 32-bit way, whatever the program is: the kernel takes their numbers from another table
 * (arch/x86/entry/syscalls/syscall_32.tbl). */
#define EXIT 1
#define WRITE 4
#define OPEN 5
#define FSYNC 118

static long call(long number, long first, long second, long third)
{
	long result;

	asm volatile("int $0x80"
		     : "=a"(result)
		     : "a"(number), "b"(first), "c"(second), "d"(third)
		     : "memory");
	return result;
}
