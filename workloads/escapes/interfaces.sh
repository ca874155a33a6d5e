# An interface of its own (CAP_NET_ADMIN, as CVE-2022-25636 and others need).
# unshare --net --mount --propagation private --pid --fork --mount-proc
exec ip link add escape0 type dummy
