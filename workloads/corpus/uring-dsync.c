/* uring-dsync DIR: makes DIR/orders.log, syncs DIR, and appends 20 records of 6 bytes through an
 * io_uring with RWF_DSYNC; each is acknowledged on standard output when it is complete. */
#include "../rules/ring.h"
#include <sys/uio.h>

int main(int argc, char **argv)
{
	enter(argc, argv);
	int fd = open_file("orders.log", O_WRONLY | O_CREAT);
	int directory = open_file(".", O_RDONLY | O_DIRECTORY);
	struct ring ring = make_ring();

	must(!fsync(directory), "fsync");
	for (int i = 0; i < 20; i++) {
		unsigned slot = *ring.submit_tail & *ring.submit_mask;

		ring.entries[slot] = (struct io_uring_sqe){
			.opcode = IORING_OP_WRITE,
			.fd = fd,
			.addr = (unsigned long)"order\n",
			.len = 6,
			.off = 6L * i,
			.rw_flags = RWF_DSYNC,
		};
		ring.submit_slots[slot] = slot;
		__atomic_store_n(ring.submit_tail, *ring.submit_tail + 1, __ATOMIC_RELEASE);
		must(syscall(SYS_io_uring_enter, ring.fd, 1, 1, IORING_ENTER_GETEVENTS, 0, 0) == 1,
		     "io_uring_enter");
		__atomic_store_n(ring.complete_head,
				 __atomic_load_n(ring.complete_tail, __ATOMIC_ACQUIRE),
				 __ATOMIC_RELEASE);
		must(write(1, "accepted\n", 9) == 9, "write");
	}
	return 0;
}
