/* end-of-file-polling-near-miss DIR: makes `config` with 1 write of 80 bytes, and then 40,000
 * times: openat, read of 80 bytes, read of 0 bytes, close. Half of the reads find nothing.
 */
#include "place.h"

int main(int argc, char **argv)
{
	char line[80] = "key = value\n";

	enter(argc, argv);
	int fd = open_file("config", O_WRONLY | O_CREAT | O_TRUNC);

	must(write(fd, line, sizeof line) == sizeof line, "config");
	close(fd);
	for (int i = 0; i < 40000; i++) {
		fd = open_file("config", O_RDONLY);
		must(read(fd, line, sizeof line) == sizeof line, "config");
		must(read(fd, line, sizeof line) == 0, "config");
		close(fd);
	}
	return 0;
}
