# Keys of the session outside (keyctl).
# unshare --mount --propagation private --pid --fork --mount-proc
exec python3 "$IOSTRATA_ESCAPES/reach.py" keyctl 0 -3 0
