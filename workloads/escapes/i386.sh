# A user namespace by the 32-bit number of unshare, from a program of 64 bits.
# unshare --mount --propagation private --pid --fork --mount-proc
exec "$IOSTRATA_ESCAPES/int80"
