# Quotas of the disk.
# unshare --mount --propagation private --pid --fork --mount-proc
exec python3 "$IOSTRATA_ESCAPES/reach.py" quotactl 0 0 0 0
