/* lost-events-near-miss DIR: 1 pipe2, 60,000 times write of 1 byte and read of 1 byte. */
#include "place.h"

int main(int argc, char **argv)
{
	int ends[2];
	char byte = 0;

	enter(argc, argv);
	must(!pipe(ends), "pipe");
	for (int i = 0; i < 60000; i++)
		must(write(ends[1], &byte, 1) == 1 && read(ends[0], &byte, 1) == 1, "pipe");
	return 0;
}
