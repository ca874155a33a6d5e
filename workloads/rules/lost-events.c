/* lost-events DIR: 100 times a system call made the 32-bit way, whose number means another call
 * (getpid, arch/x86/entry/syscalls/syscall_32.tbl), and a write of 1 byte. */
#include "place.h"

int main(int argc, char **argv)
{
	char byte = 0;
	int file;

	enter(argc, argv);
	file = open("file", O_WRONLY | O_CREAT, 0644);
	must(file >= 0, "file");
	for (int i = 0; i < 100; i++) {
		long number = 20;

		asm volatile("int $0x80" : "+a"(number)::"memory", "r8", "r9", "r10", "r11");
		must(write(file, &byte, 1) == 1, "file");
	}
	return 0;
}
