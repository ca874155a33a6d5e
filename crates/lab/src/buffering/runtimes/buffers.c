/* Usage: buffers three|ten|fill|version PATH: small writes through C stdio. */
#include <stdio.h>
#include <string.h>
#ifdef __GLIBC__
#include <gnu/libc-version.h>
#endif

static char record[1024];

int main(int argc, char **argv)
{
	FILE *file;

	if (argc < 3)
		return 2;
	if (!strcmp(argv[1], "version")) {
#ifdef __GLIBC__
		printf("glibc %s\n", gnu_get_libc_version());
#else
		printf("libc of unknown name\n");
#endif
		return 0;
	}
	file = fopen(argv[2], "w");
	if (!file) {
		perror(argv[2]);
		return 1;
	}
	if (!strcmp(argv[1], "three")) {
		fputs("one", file);
		fputs("two", file);
		fputs("three", file);
		fflush(file);
	} else if (!strcmp(argv[1], "ten")) {
		memset(record, 'x', sizeof record);
		for (int i = 0; i < 10; i++)
			fwrite(record, 1, sizeof record, file);
	} else {
		for (int i = 0; i < 300000; i++)
			fputc('x', file);
	}
	return fclose(file) ? 1 : 0;
}
