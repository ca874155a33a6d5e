# Command lines of the machine.
# unshare --mount --propagation private
[ -e "/proc/$IOSTRATA_PROCESS/cmdline" ]
