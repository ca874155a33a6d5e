/* A 64-bit program that makes calls the 32-bit way. Ten syncs, one write of five bytes, and its exit code says
 * whether they were done. */
#include <fcntl.h>
#include "other_machines/int80.h"

static char text[] = "hello";

int main(void)
{
	int file = open("x", O_WRONLY | O_CREAT | O_TRUNC, 0644);

	for (int i = 0; i < 10; i++)
		if (call(FSYNC, file, 0, 0))
			return 1;
	return call(WRITE, file, (long)text, 5) != 5;
}
