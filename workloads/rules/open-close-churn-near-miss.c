/* open-close-churn-near-miss DIR: 2,000 times, each with another of 200 files, openat, write
 * of 20 bytes, close: every one is opened 10 times.
 */
#include "place.h"

int main(int argc, char **argv)
{
	char line[20] = "something happened\n", name[32];

	enter(argc, argv);
	for (int i = 0; i < 2000; i++) {
		snprintf(name, sizeof name, "log%d", i % 200);
		int fd = open_file(name, O_WRONLY | O_CREAT | O_APPEND);

		must(write(fd, line, sizeof line) == sizeof line, name);
		close(fd);
	}
	return 0;
}
