/* many-tiny-files DIR: 2,000 times openat, write of 100 bytes, close, of a new file of `spool`. */
#include "place.h"

int main(int argc, char **argv)
{
	char record[100] = "record\n", name[32];

	enter(argc, argv);
	must(!mkdir("spool", 0755), "spool");
	for (int i = 0; i < 2000; i++) {
		snprintf(name, sizeof name, "spool/%d", i);
		int fd = open_file(name, O_WRONLY | O_CREAT);

		must(write(fd, record, sizeof record) == sizeof record, name);
		close(fd);
	}
	return 0;
}
