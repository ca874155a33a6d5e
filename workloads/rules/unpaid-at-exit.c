/* unpaid-at-exit DIR: 1 openat of `output`, 128 write of 1 MiB, 1 close. */
#include "place.h"

int main(int argc, char **argv)
{
	enter(argc, argv);
	return close(make_file("output", 128 * MIB));
}
