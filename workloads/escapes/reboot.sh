# A reboot, with magic numbers that do nothing.
# unshare --mount --propagation private --pid --fork --mount-proc
exec python3 "$IOSTRATA_ESCAPES/reach.py" reboot 0 0 0
