# The mounts that hide others taken away (MNT_LOCKED, CVE-2014-5206).
# unshare --mount --propagation private --pid --fork --mount-proc
mount -t tmpfs none "$TMPDIR"; umount "$TMPDIR" || umount -l /proc
