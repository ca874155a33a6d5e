/* Makes a user namespace by the number that unshare has for programs of 32 bits. */
#include "../other_machines/int80.h"

#define UNSHARE 310
#define CLONE_NEWUSER 0x10000000

int main(void)
{
	return call(UNSHARE, CLONE_NEWUSER, 0, 0) ? 1 : 0;
}
