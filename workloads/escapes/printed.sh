# What was printed as a link, through which the next run of a checker writes outside.
# unshare --mount --propagation private --pid --fork --mount-proc
ln -sf "$IOSTRATA_OUTSIDE" "${IOSTRATA_STDOUT:-$TMPDIR/printed}"
