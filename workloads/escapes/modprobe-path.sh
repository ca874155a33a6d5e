# The program that loads modules, run as root outside: opened, not written.
# unshare --mount --propagation private --pid --fork --mount-proc
exec 3>>/proc/sys/kernel/modprobe
