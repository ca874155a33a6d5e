# The root bound elsewhere, where it is writable.
# unshare --mount --propagation private --pid --fork --mount-proc
mount --bind / "$TMPDIR" && : >>"$TMPDIR$IOSTRATA_OUTSIDE"
