# Something of its own in place of /etc.
# unshare --mount --propagation private --pid --fork --mount-proc
mount -t tmpfs none /etc
