# Memory by process_vm_readv.
# unshare --mount --propagation private --pid --fork --mount-proc
exec python3 "$IOSTRATA_ESCAPES/reach.py" process_vm_readv 1 0 0 0 0 0
