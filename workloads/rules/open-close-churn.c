/* open-close-churn DIR: 20,000 times openat of `log`, write of 20 bytes, close. */
#include "place.h"

int main(int argc, char **argv)
{
	char line[20] = "something happened\n";

	enter(argc, argv);
	for (int i = 0; i < 20000; i++) {
		int fd = open_file("log", O_WRONLY | O_CREAT | O_APPEND);

		must(write(fd, line, sizeof line) == sizeof line, "log");
		close(fd);
	}
	return 0;
}
