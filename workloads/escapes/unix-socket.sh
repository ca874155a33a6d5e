# A service of the machine by a socket in /tmp that everybody may use.
# unshare --mount --propagation private --pid --fork --mount-proc
exec python3 -c 'import os, socket; socket.socket(socket.AF_UNIX).connect(os.environ["IOSTRATA_SOCKET"])' 
