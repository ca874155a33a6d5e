/* many-tiny-files-near-miss DIR: 2,000 times openat, write of 100 bytes, close, of a new file
 * of one of 4 directories: 500 in each.
 */
#include "place.h"

int main(int argc, char **argv)
{
	char record[100] = "record\n", name[32];

	enter(argc, argv);
	for (int i = 0; i < 2000; i++) {
		snprintf(name, sizeof name, "spool%d", i / 500);
		must(i % 500 || !mkdir(name, 0755), name);
		snprintf(name, sizeof name, "spool%d/%d", i / 500, i % 500);
		int fd = open_file(name, O_WRONLY | O_CREAT);

		must(write(fd, record, sizeof record) == sizeof record, name);
		close(fd);
	}
	return 0;
}
