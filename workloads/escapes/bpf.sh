# Programs in the kernel (bpf).
# unshare --mount --propagation private --pid --fork --mount-proc
exec python3 "$IOSTRATA_ESCAPES/reach.py" bpf 0 0 0
