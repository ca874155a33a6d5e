/* A 32-bit program, for `cc -m32 -nostdlib`: no 32-bit library is needed. It makes the file y, writes
 * five bytes to it, syncs it and ends (arch/x86/entry/syscalls/syscall_32.tbl). */
#define EXIT 1
#define WRITE 4
#define OPEN 5
#define FSYNC 118
#define CREATED_FOR_WRITING 0101

static const char name[] = "y", text[] = "hello";

static int call(int number, int first, int second, int third)
{
	int result;

	asm volatile("int $0x80"
		     : "=a"(result)
		     : "a"(number), "b"(first), "c"(second), "d"(third)
		     : "memory");
	return result;
}

void _start(void)
{
	int file = call(OPEN, (int)name, CREATED_FOR_WRITING, 0644);
	int is_written = call(WRITE, file, (int)text, 5) == 5 && call(FSYNC, file, 0, 0) == 0;

	call(EXIT, !is_written, 0, 0);
	__builtin_unreachable();
}
