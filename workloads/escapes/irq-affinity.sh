# Interrupts of the machine: opened, not written.
# unshare --mount --propagation private --pid --fork --mount-proc
exec 3>>/proc/irq/default_smp_affinity
