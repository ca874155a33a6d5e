# Ports of the machine (iopl).
# unshare --mount --propagation private --pid --fork --mount-proc
exec python3 "$IOSTRATA_ESCAPES/reach.py" iopl 3
