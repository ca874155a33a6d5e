# Keys of a file system's encryption, which ask for no privilege: with an argument that is none.
# unshare --mount --propagation private --pid --fork --mount-proc
exec python3 -c 'import errno, fcntl, os, sys
try:
    fcntl.ioctl(os.open(os.environ["IOSTRATA_ESCAPES"], os.O_RDONLY), 0xc0506617, 0)
except OSError as error:
    sys.exit(error.errno == errno.EPERM)'
