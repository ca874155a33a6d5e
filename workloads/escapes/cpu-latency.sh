# Power states of all processors: opened, not written.
# unshare --mount --propagation private --pid --fork --mount-proc
exec 3>>/dev/cpu_dma_latency
