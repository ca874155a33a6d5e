# Devices that come and go on the machine (NETLINK_KOBJECT_UEVENT).
# unshare --mount --propagation private --pid --fork --mount-proc
exec python3 -c 'import socket; socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 15).bind((0, 1))'
