"""Makes a wheel of so many modules, without the network."""

import sys
import zipfile

files = {f"small/m{number}.py": f"value = {number}\n" for number in range(int(sys.argv[1]))}
info = "small-1.0.dist-info"
files[f"{info}/METADATA"] = "Metadata-Version: 2.1\nName: small\nVersion: 1.0\n"
files[f"{info}/WHEEL"] = "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
files[f"{info}/RECORD"] = "".join(f"{name},,\n" for name in [*files, f"{info}/RECORD"])
with zipfile.ZipFile("small-1.0-py3-none-any.whl", "w") as wheel:
    for name, text in files.items():
        wheel.writestr(name, text)
