# Hashes of passwords.
# unshare --mount --propagation private --pid --fork --mount-proc
cut -d : -f 2 /etc/shadow | grep -q '[^*!]'
