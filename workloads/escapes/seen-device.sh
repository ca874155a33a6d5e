# A device node in the directory that iostrata was started in, which a read-only mount does not close.
# unshare --mount --propagation private --pid --fork --mount-proc
exec 3<>"$IOSTRATA_NODE"
