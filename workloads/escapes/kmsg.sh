# The kernel log, opened for writing.
# unshare --mount --propagation private --pid --fork --mount-proc
exec 3>>/dev/kmsg
