# The disk itself, by a device node of its own.
# unshare --mount --propagation private --pid --fork --mount-proc
node=$(stat -c '%Hd %Ld' "$IOSTRATA_OUTSIDE") && mknod "$TMPDIR/disk" b $node && head -c 1 "$TMPDIR/disk" >"$TMPDIR/byte" && [ -s "$TMPDIR/byte" ]
