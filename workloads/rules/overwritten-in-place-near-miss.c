/* overwritten-in-place-near-miss DIR prepare: makes `table` of 40,000 bytes and syncs it.
 * overwritten-in-place-near-miss DIR: makes `journal`, 1 write of 800 bytes, 1 fsync of it and of the
 * directory; opens `table`, 8 writes of 100 bytes, 5,000 bytes apart; 1 close, no sync: the journal
 * stays.
 */
#include "place.h"

int main(int argc, char **argv)
{
	static char piece[40000];

	enter(argc, argv);
	if (argc > 2) {
		int old = open_file("table", O_WRONLY | O_CREAT | O_TRUNC);

		must(write(old, piece, sizeof piece) == sizeof piece, "table");
		return fsync(old);
	}
	int journal = open_file("journal", O_WRONLY | O_CREAT);
	int directory = open_file(".", O_RDONLY | O_DIRECTORY);

	must(write(journal, piece, 800) == 800 && !fsync(journal), "journal");
	must(!fsync(directory), "the directory");
	int fd = open_file("table", O_WRONLY);

	for (int i = 0; i < 8; i++)
		must(pwrite(fd, piece, 100, 5000L * i) == 100, "table");
	return close(fd);
}
