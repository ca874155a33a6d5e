# A process outside.
# unshare --mount --propagation private
kill -0 "$IOSTRATA_PROCESS"
