//! Files that are replaced or changed, such as settings and documents.

use crate::table::{Case, Verdict::Unsafe};

pub(crate) const CASES: &[Case] = &[
    Case {
        name: "json.dump over a configuration",
        prepare: r#"echo '{"v": 1, "old": "settings"}' > cfg.json"#,
        run: r#"py -c '
import json
json.dump({"v": 2, "new": "settings"}, open("cfg.json", "w"))
print("saved")'"#,
        verdict: Unsafe {
            rule: "overwritten-in-place",
            file: "cfg.json",
        },
        because: "open(2) with O_TRUNC removes the old contents at once, the new ones are only in memory. \
                  A crash after the next journal commit leaves zeros on ext4 and an empty file on xfs.",
    },
    Case {
        name: "read, change and write back a configuration",
        prepare: r#"echo '{"v": 1, "old": "settings"}' > cfg.json"#,
        run: r#"py -c '
import json
o = json.load(open("cfg.json"))
o["v"] += 1
with open("cfg.json", "w") as f: json.dump(o, f)'"#,
        verdict: Unsafe {
            rule: "truncate-then-write",
            file: "cfg.json",
        },
        because: "The only copy of the settings is cut off before the new one is durable, whether or not \
                  anybody is told that they are saved.",
    },
    Case {
        name: "json to a temporary file and os.replace without a sync",
        prepare: r#"echo '{"v": 1}' > cfg.json"#,
        run: r#"py -c '
import json, os
with open("cfg.tmp", "w") as f: json.dump({"v": 2}, f)
os.replace("cfg.tmp", "cfg.json")'"#,
        verdict: Unsafe {
            rule: "rename-without-fsync",
            file: "cfg.json",
        },
        because: "rename(2) is atomic and orders no data. A journal commit caused by anybody's fsync right \
                  after it leaves zeros of the new length on ext4 (auto_da_alloc waits for nothing), and an \
                  empty file on xfs.",
    },
    Case {
        name: "os.replace and only then a sync",
        prepare: "echo old > state",
        run: r#"py -c '
import os
f = open("state.tmp", "w"); f.write("new" * 3000); f.flush()
os.replace("state.tmp", "state")
os.fsync(f.fileno())'"#,
        verdict: Unsafe {
            rule: "rename-without-fsync",
            file: "state",
        },
        because: "Between rename and fsync the name leads to contents that are not on disk: a crash there \
                  leaves neither the old nor the new ones (ext4: zeros, xfs: empty).",
    },
    Case {
        name: "json replaced after a sync of the file alone",
        prepare: r#"echo '{"v": 1}' > cfg.json"#,
        run: r#"py -c '
import json, os
with open("cfg.tmp", "w") as f:
    json.dump({"v": 2}, f); f.flush(); os.fsync(f.fileno())
os.replace("cfg.tmp", "cfg.json")
print("saved")'"#,
        verdict: Unsafe {
            rule: "directory-not-synced",
            file: "cfg.json",
        },
        because: "fsync(2) does not make directory entries durable. After a crash the old settings are back \
                  on all three file systems, though the user was told that the new ones are saved.",
    },
    Case {
        name: "sed -i",
        prepare: "seq 2000 > app.conf",
        run: "sed -i s/1999/changed/ app.conf",
        verdict: Unsafe {
            rule: "rename-without-fsync",
            file: "app.conf",
        },
        because: "sed writes a temporary file and renames it over the original without a sync: as json with \
                  os.replace.",
    },
    Case {
        name: "perl -i",
        prepare: "seq 2000 > app.conf",
        run: "perl -i -pe s/1999/changed/ app.conf",
        verdict: Unsafe {
            rule: "rename-without-fsync",
            file: "app.conf",
        },
        because: "perl does what sed -i does (perlrun, -i).",
    },
    Case {
        name: "ed",
        prepare: "seq 2000 > notes",
        run: r"printf '1999s/1999/changed/\nw\nq\n' | ed -s notes",
        verdict: Unsafe {
            rule: "truncate-then-write",
            file: "notes",
        },
        because: "ed opens the file with O_TRUNC and writes it from memory, without a copy and without a sync.",
    },
    Case {
        name: "sort -o onto its input",
        prepare: "seq 3000 -1 1 > words",
        run: "sort -o words words",
        verdict: Unsafe {
            rule: "truncate-then-write",
            file: "words",
        },
        because: "sort has read all of it when it cuts the file off; the sorted lines exist in the page cache \
                  alone until write-back.",
    },
    Case {
        name: "a shell writes over a configuration",
        prepare: "echo colour=red > app.conf",
        run: "printf 'colour=%s\\n' blue > app.conf",
        verdict: Unsafe {
            rule: "overwritten-in-place",
            file: "app.conf",
        },
        because: "`>` is O_TRUNC (sh(1)): an empty file on xfs, or zeros on ext4, are all that is left of the \
                  old and the new settings.",
    },
    Case {
        name: "patch",
        prepare: "seq 2000 > code; printf '1c1\\n< 1\\n---\\n> one\\n' > change.diff",
        run: "patch -s code change.diff",
        verdict: Unsafe {
            rule: "rename-without-fsync",
            file: "code",
        },
        because: "patch writes a temporary file and renames it over the original without a sync.",
    },
    Case {
        name: "a shell renames what it wrote",
        prepare: "echo 1 > serial",
        run: "echo 2 > serial.new; mv serial.new serial",
        verdict: Unsafe {
            rule: "rename-without-fsync",
            file: "serial",
        },
        because: "mv(1) is rename(2); that another process wrote the file changes nothing.",
    },
    Case {
        name: "overwritten in place",
        prepare: "seq 20000 > table",
        run: r#"py -c '
f = open("table", "r+b")
for at in range(0, 100000, 5000):
    f.seek(at); f.write(b"changed"); f.flush()'"#,
        verdict: Unsafe {
            rule: "overwritten-in-place",
            file: "table",
        },
        because: "Blocks are written back in any order: after a crash any subset of the 4 KiB blocks is new \
                  on ext4 and xfs, and nothing else has the old ones.",
    },
    Case {
        name: "unlink, then rename",
        prepare: "echo old > state",
        run: r#"py -c '
import os
with open("state.new", "w") as f: f.write("new" * 3000)
os.unlink("state")
os.rename("state.new", "state")'"#,
        verdict: Unsafe {
            rule: "unlink-before-durable",
            file: "state",
        },
        because: "A crash between the two calls leaves no file of that name, one after them an empty one: \
                  with the old name gone not even auto_da_alloc starts to write.",
    },
    Case {
        name: "rename with RENAME_EXCHANGE",
        prepare: "echo old > state",
        run: r#"py -c '
import ctypes
with open("state.new", "w") as f: f.write("new" * 3000)
libc = ctypes.CDLL(None)
assert libc.renameat2(-100, b"state.new", -100, b"state", 2) == 0'
rm state.new"#,
        verdict: Unsafe {
            rule: "rename-without-fsync",
            file: "state",
        },
        because: "renameat2(2) orders no data either, and the old contents are removed next.",
    },
    Case {
        name: "useradd",
        prepare: r"mkdir etc; cp /etc/login.defs etc/
echo 'root:x:0:0::/root:/bin/sh' > etc/passwd; echo 'root:*:1::::::' > etc/shadow
echo 'root:x:0:' > etc/group; echo 'root:*::' > etc/gshadow",
        run: "useradd --prefix $PWD -M -s /bin/sh bob",
        verdict: Unsafe {
            rule: "directory-not-synced",
            file: "etc/passwd",
        },
        because: "The shadow suite syncs passwd+, renames it to passwd, and does not sync the directory: after \
                  a crash on btrfs, or before the next commit on ext4 and xfs, some of the four files are \
                  the old ones.",
    },
];
