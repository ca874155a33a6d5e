/* failed-lookups-near-miss DIR: 5,000 access, each of another name, of which none is there. */
#include "place.h"

int main(int argc, char **argv)
{
	char name[32];

	enter(argc, argv);
	for (int i = 0; i < 5000; i++) {
		snprintf(name, sizeof name, "settings%d", i);
		must(access(name, R_OK) < 0, name);
	}
	return 0;
}
