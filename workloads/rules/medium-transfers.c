/* medium-transfers DIR: 1 openat of `output`, 32,768 write of 4096 bytes, 1 close. */
#include "place.h"

int main(int argc, char **argv)
{
	static char piece[PAGE];

	enter(argc, argv);
	int fd = open_file("output", O_WRONLY | O_CREAT | O_TRUNC);

	for (int i = 0; i < 32768; i++)
		must(write(fd, piece, PAGE) == PAGE, "output");
	return close(fd);
}
