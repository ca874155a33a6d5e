/* rewritten-range DIR: 1 openat of `status`, 100,000 pwrite64 of 100 bytes at 0, 1 close. */
#include "place.h"

int main(int argc, char **argv)
{
	char status[100] = "running\n";

	enter(argc, argv);
	int fd = open_file("status", O_WRONLY | O_CREAT | O_TRUNC);

	for (int i = 0; i < 100000; i++)
		must(pwrite(fd, status, sizeof status, 0) == sizeof status, "status");
	return close(fd);
}
