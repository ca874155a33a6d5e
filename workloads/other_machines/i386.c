/* A 32-bit program, for `cc -m32 -nostdlib`: no 32-bit library is needed. It makes the file y, writes
 * five bytes to it, syncs it and ends. */
#include "int80.h"

#define CREATED_FOR_WRITING 0101

static const char name[] = "y", text[] = "hello";

void _start(void)
{
	int file = call(OPEN, (long)name, CREATED_FOR_WRITING, 0644);
	int is_written = call(WRITE, file, (long)text, 5) == 5 && call(FSYNC, file, 0, 0) == 0;

	call(EXIT, !is_written, 0, 0);
	__builtin_unreachable();
}
