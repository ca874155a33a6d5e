/* directory-reread-near-miss DIR: makes `spool` with 5,000 empty files, and lists it 5 times:
 * openat, getdents64 until it gives nothing, close.
 */
#include "place.h"
#include <dirent.h>

int main(int argc, char **argv)
{
	char name[32];

	enter(argc, argv);
	must(!mkdir("spool", 0755), "spool");
	for (int i = 0; i < 5000; i++) {
		snprintf(name, sizeof name, "spool/%d", i);
		close(open_file(name, O_WRONLY | O_CREAT));
	}
	for (int i = 0; i < 5; i++) {
		DIR *spool = opendir("spool");

		must(!!spool, "spool");
		while (readdir(spool))
			;
		closedir(spool);
	}
	return 0;
}
