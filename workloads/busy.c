/* Two processes that write, rename and copy at once, for tests that end those who watch them.
 *
 * busy DIR WRITES: makes DIR/begun; then each of two children writes so many records of 300
 * bytes to DIR/f0 or DIR/f1, renames a file of its own at every 10th of them and copies the
 * file at every 100th; DIR/done comes last, when no call has failed.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static int make(const char *name)
{
	int file = open(name, O_RDWR | O_CREAT | O_TRUNC, 0600);

	if (file < 0)
		exit(3);
	return file;
}

static int work(int child, int writes)
{
	char name[2][8], record[300];
	int file, copy, names = 0;

	snprintf(name[0], sizeof name[0], "f%d", child);
	file = make(name[0]);
	snprintf(name[0], sizeof name[0], "c%d", child);
	copy = make(name[0]);
	snprintf(name[0], sizeof name[0], "a%d", child);
	snprintf(name[1], sizeof name[1], "b%d", child);
	close(make(name[0]));
	memset(record, 'a' + child, sizeof record);
	for (int i = 0; i < writes; i++) {
		loff_t from = 0, to = 0;

		if (pwrite(file, record, sizeof record, i * (off_t)sizeof record) !=
		    sizeof record)
			return 3;
		if (i % 10 == 9 && rename(name[names], name[1 - names]))
			return 3;
		names ^= i % 10 == 9;
		if (i % 100 == 99 && copy_file_range(file, &from, copy, &to, 300, 0) != 300)
			return 3;
	}
	return 0;
}

int main(int argc, char **argv)
{
	int status, failed = 0;

	if (argc != 3 || chdir(argv[1]))
		return 2;
	close(make("begun"));
	for (int child = 0; child < 2; child++)
		if (!fork())
			_exit(work(child, atoi(argv[2])));
	for (int child = 0; child < 2; child++)
		failed |= wait(&status) < 0 || status;
	if (failed)
		return 3;
	close(make("done"));
	return 0;
}
