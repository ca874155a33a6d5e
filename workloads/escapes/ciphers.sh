# Ciphers of the kernel (AF_ALG).
# unshare --mount --propagation private --pid --fork --mount-proc
exec python3 -c 'import socket; socket.socket(socket.AF_ALG, socket.SOCK_SEQPACKET)' 
