# Loop devices made of files.
# unshare --mount --propagation private --pid --fork --mount-proc
exec 3<>/dev/loop-control
