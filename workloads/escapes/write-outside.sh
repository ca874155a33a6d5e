# A file outside, without any trick.
# unshare --mount --propagation private --pid --fork --mount-proc
: >>"$IOSTRATA_OUTSIDE"
