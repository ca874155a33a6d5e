/* end-of-file-polling DIR: makes `log` of 1 MiB with 1 write, and asks 200,000 times with read
 * for what is behind its end.
 */
#include "place.h"

int main(int argc, char **argv)
{
	enter(argc, argv);
	int fd = make_file("log", MIB);
	char line[80];

	for (int i = 0; i < 200000; i++)
		must(read(fd, line, sizeof line) == 0, "log");
	return close(fd);
}
