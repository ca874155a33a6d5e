"""Usage: buffers.py three|ten|fill|version PATH: small writes through open()."""

import platform
import sys

program, path = sys.argv[1:3]
if program == "version":
    print(platform.python_version())
    sys.exit()
with open(path, "wb") as file:
    if program == "three":
        file.write(b"one")
        file.write(b"two")
        file.write(b"three")
        file.flush()
    elif program == "ten":
        for _ in range(10):
            file.write(b"x" * 1024)
    else:
        for _ in range(300000):
            file.write(b"x")
