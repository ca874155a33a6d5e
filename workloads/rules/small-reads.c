/* small-reads DIR: makes `input` of 1 MiB with 1 write, goes back with 1 lseek, and reads
 * 200,000 bytes of it with read of 1 byte.
 */
#include "place.h"

int main(int argc, char **argv)
{
	enter(argc, argv);
	int fd = make_file("input", MIB);
	char byte;

	must(!lseek(fd, 0, SEEK_SET), "input");
	for (int i = 0; i < 200000; i++)
		must(read(fd, &byte, 1) == 1, "input");
	return close(fd);
}
