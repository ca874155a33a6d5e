# Another kernel (kexec_load with flags that do not exist).
# unshare --mount --propagation private --pid --fork --mount-proc
exec python3 "$IOSTRATA_ESCAPES/reach.py" kexec_load 0 0 0 255
