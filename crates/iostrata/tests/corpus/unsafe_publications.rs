//! New data under a name that others look for, by other calls than rename of one file.

use crate::table::{Case, Verdict::Unsafe};

pub(crate) const CASES: &[Case] = &[
    Case {
        name: "published with link",
        prepare: "",
        run: r#"py -c '
import os
f = open("tmp", "w"); f.write("message\n"); f.flush(); os.fsync(f.fileno())
os.link("tmp", "message"); os.unlink("tmp")
print("queued")'"#,
        verdict: Unsafe {
            rule: "directory-not-synced",
            file: "message",
        },
        because: "The contents are durable, the name is not: link(2) changes the directory, and nothing was \
                  synced after it. The message that was queued can be gone.",
    },
    Case {
        name: "published with link before its contents are durable",
        prepare: "",
        run: r#"py -c '
import os
f = open("tmp", "w"); f.write("message\n"); f.close()
os.link("tmp", "message"); os.unlink("tmp")'"#,
        verdict: Unsafe {
            rule: "rename-without-fsync",
            file: "message",
        },
        because: "link(2) orders no data: the message can be there and empty (ext4, xfs, btrfs).",
    },
    Case {
        name: "published with O_TMPFILE and linkat",
        prepare: "",
        run: r#"py -c '
import os
fd = os.open(".", os.O_TMPFILE | os.O_WRONLY, 0o644)
os.write(fd, b"report\n" * 1000)
os.link("/proc/self/fd/%d" % fd, "report", src_dir_fd=fd, follow_symlinks=True)'"#,
        verdict: Unsafe {
            rule: "rename-without-fsync",
            file: "report",
        },
        because: "open(2) shows how O_TMPFILE and linkat make a file appear at once; its contents are only \
                  as durable as a sync before it makes them: here an empty file can appear.",
    },
    Case {
        name: "published with mkdir",
        prepare: "",
        run: r#"py -c '
import os
os.mkdir("job-1.done")
print("job 1 done")'"#,
        verdict: Unsafe {
            rule: "directory-not-synced",
            file: "job-1.done",
        },
        because: "mkdir(2) is lost in a crash unless the directory it is in was synced (fsync(2)): the mark \
                  that the job is done is gone though it was announced.",
    },
    Case {
        name: "a directory renamed with unsynced files in it",
        prepare: "",
        run: r#"py -c '
import os
os.mkdir("release.new")
for n in "a", "b":
    with open("release.new/" + n, "w") as f: f.write(n * 5000)
os.rename("release.new", "release")'"#,
        verdict: Unsafe {
            rule: "rename-without-fsync",
            file: "release/a",
        },
        because: "rename(2) of the directory is in the journal, the data of the files in it is not: the \
                  release appears with empty files (ext4, xfs, btrfs).",
    },
    Case {
        name: "stores to a mapping, then rename",
        prepare: "echo old > index",
        run: r#"py -c '
import mmap, os
f = open("index.new", "w+b"); f.truncate(8192)
m = mmap.mmap(f.fileno(), 8192)
m[:] = b"x" * 8192
m.close(); f.close()
os.rename("index.new", "index")'"#,
        verdict: Unsafe {
            rule: "rename-without-fsync",
            file: "index",
        },
        because: "Stores reach the disk by msync(2), fsync(2) or write-back alone: the new index can be \
                  holes, and the old one is gone.",
    },
    Case {
        name: "a marker file made after data that is not durable",
        prepare: "",
        run: r#"py -c '
import os
with open("part", "w") as f: f.write("x" * 9000)
os.rename("part", "result")
fd = os.open("DONE", os.O_CREAT | os.O_WRONLY); os.fsync(fd)'"#,
        verdict: Unsafe {
            rule: "rename-without-fsync",
            file: "result",
        },
        because: "fsync of DONE commits the journal with the rename of `result`, whose contents are not part \
                  of it: DONE says that an empty result is complete (ext4, xfs).",
    },
];
