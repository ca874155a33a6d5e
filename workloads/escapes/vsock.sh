# The host of a virtual machine, which no network namespace holds (AF_VSOCK).
# unshare --mount --propagation private --pid --fork --mount-proc
exec python3 -c 'import socket; socket.socket(socket.AF_VSOCK, socket.SOCK_STREAM)' 
