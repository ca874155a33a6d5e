# The root made writable again, and a file outside written (remount of a read-only bind).
# unshare --mount --propagation private --pid --fork --mount-proc
mount -o remount,rw,bind "$(findmnt -n -o TARGET -T "$IOSTRATA_OUTSIDE")" && : >>"$IOSTRATA_OUTSIDE"
