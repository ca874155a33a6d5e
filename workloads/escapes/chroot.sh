# Another root (chroot, then out of it by ..).
# unshare --mount --propagation private --pid --fork --mount-proc
exec chroot / true
