# The name of the machine.
# unshare --uts --mount --propagation private --pid --fork --mount-proc
hostname escape && [ "$(hostname)" = escape ]
