# A secret of the environment.
# unshare --mount --propagation private --pid --fork --mount-proc
[ -n "$SECRET" ] || grep -q SECRET /proc/*/environ
