# Rings, whose operations no filter sees (io_uring_setup).
# unshare --mount --propagation private --pid --fork --mount-proc
exec python3 "$IOSTRATA_ESCAPES/reach.py" io_uring_setup 0 0
