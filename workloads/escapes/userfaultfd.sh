# Page faults that wait for the program (used in CVE-2016-6187 and others).
# unshare --mount --propagation private --pid --fork --mount-proc
exec python3 "$IOSTRATA_ESCAPES/reach.py" userfaultfd 0
