/* in_turn DIR FILES TURNS: writes a byte to each of some files of DIR, one after the other, so many
 * times. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { MOST = 64 };

int main(int argc, char **argv)
{
	int files = argc == 4 ? atoi(argv[2]) : 0, turns = argc == 4 ? atoi(argv[3]) : 0;
	int fd[MOST];
	char name[4096];

	if (files < 1 || files > MOST)
		return 2;
	for (int file = 0; file < files; file++) {
		snprintf(name, sizeof name, "%s/log.%d", argv[1], file);
		fd[file] = open(name, O_WRONLY | O_CREAT | O_TRUNC, 0644);
		if (fd[file] < 0)
			return 1;
	}
	for (int turn = 0; turn < turns; turn++)
		for (int file = 0; file < files; file++)
			if (write(fd[file], "x", 1) != 1)
				return 1;
	return 0;
}
