# A file system of its own (/dev/fuse).
# unshare --mount --propagation private --pid --fork --mount-proc
exec 3<>/dev/fuse
