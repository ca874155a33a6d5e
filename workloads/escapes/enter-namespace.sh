# The namespaces of another process (nsenter).
# unshare --mount --propagation private --pid --fork --mount-proc
exec nsenter --target 1 --mount --pid true
