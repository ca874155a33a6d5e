/* small-writes DIR: 1 openat of `log`, 200,000 write of 1 byte, 1 close. */
#include "place.h"

int main(int argc, char **argv)
{
	enter(argc, argv);
	int fd = open_file("log", O_WRONLY | O_CREAT | O_TRUNC);

	for (int i = 0; i < 200000; i++)
		must(write(fd, "x", 1) == 1, "log");
	return close(fd);
}
