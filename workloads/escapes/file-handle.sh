# A file outside by its handle, past all mounts (open_by_handle_at, the "shocker" of 2014).
# unshare --mount --propagation private --pid --fork --mount-proc
exec python3 "$IOSTRATA_ESCAPES/handle.py" "$IOSTRATA_OUTSIDE"
