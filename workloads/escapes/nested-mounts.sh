# Mounts of its own in a nested user namespace, and a file system there (CVE-2022-0185, CVE-2023-0386).
# unshare --mount --propagation private --pid --fork --mount-proc
exec unshare --user --map-root-user --mount mount -t tmpfs none /mnt
