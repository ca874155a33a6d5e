/* directory-reread DIR: makes `spool` with 100 empty files, and lists it 2,000 times: openat,
 * getdents64 until it gives nothing, close.
 */
#include "place.h"
#include <dirent.h>

int main(int argc, char **argv)
{
	char name[32];

	enter(argc, argv);
	must(!mkdir("spool", 0755), "spool");
	for (int i = 0; i < 100; i++) {
		snprintf(name, sizeof name, "spool/%d", i);
		close(open_file(name, O_WRONLY | O_CREAT));
	}
	for (int i = 0; i < 2000; i++) {
		DIR *spool = opendir("spool");

		must(!!spool, "spool");
		while (readdir(spool))
			;
		closedir(spool);
	}
	return 0;
}
