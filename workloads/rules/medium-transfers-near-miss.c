/* medium-transfers-near-miss DIR: 1 openat of `output`, 4096 write of 32,768 bytes, 1 close. */
#include "place.h"

int main(int argc, char **argv)
{
	static char piece[32 * KIB];

	enter(argc, argv);
	int fd = open_file("output", O_WRONLY | O_CREAT | O_TRUNC);

	for (int i = 0; i < 4096; i++)
		must(write(fd, piece, sizeof piece) == sizeof piece, "output");
	return close(fd);
}
