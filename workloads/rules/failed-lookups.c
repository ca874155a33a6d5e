/* failed-lookups DIR: 100,000 access of `settings`, which does not exist. */
#include "place.h"

int main(int argc, char **argv)
{
	enter(argc, argv);
	for (int i = 0; i < 100000; i++)
		must(access("settings", R_OK) < 0, "settings");
	return 0;
}
