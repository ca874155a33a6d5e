# A service of the machine by an abstract socket (CVE-2020-15257).
# unshare --mount --propagation private --pid --fork --mount-proc
exec python3 -c 'import os, socket; socket.socket(socket.AF_UNIX).connect("\0" + os.environ["IOSTRATA_SOCKET"])' 
