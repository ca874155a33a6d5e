"""Calls the kernel; fails if it denies the call, whatever the arguments are."""
import ctypes, errno, platform, sys

NUMBERS = {
    "x86_64": dict(bpf=321, clock_settime=227, finit_module=313, io_uring_setup=425, iopl=172, kexec_load=246, keyctl=250,
                   perf_event_open=298, process_vm_readv=310, quotactl=179, reboot=169, swapoff=168, userfaultfd=323),
    "aarch64": dict(bpf=280, clock_settime=112, finit_module=273, io_uring_setup=425, kexec_load=104, keyctl=219, perf_event_open=241,
                    process_vm_readv=270, quotactl=60, reboot=142, swapoff=225, userfaultfd=282),
}
number = NUMBERS[platform.machine()][sys.argv[1]]
arguments = [ctypes.c_long(int(one)) for one in sys.argv[2:]]
libc = ctypes.CDLL(None, use_errno=True)
failed = libc.syscall(ctypes.c_long(number), *arguments) == -1
sys.exit(failed and ctypes.get_errno() in (errno.EPERM, errno.EACCES, errno.ENOSYS))
