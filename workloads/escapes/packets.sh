# Raw packets (AF_PACKET, CVE-2016-8655 and CVE-2020-14386).
# unshare --mount --propagation private --pid --fork --mount-proc
exec python3 -c 'import socket; socket.socket(socket.AF_PACKET, socket.SOCK_RAW)' 
