//! Programs that lose nothing that anybody counts on.

use crate::table::{Case, Verdict::Safe};

pub(crate) const CASES: &[Case] = &[
    Case {
        name: "json replaced with both syncs",
        prepare: r#"echo '{"v": 1}' > cfg.json"#,
        run: r#"py -c '
import json, os
with open("cfg.tmp", "w") as f:
    json.dump({"v": 2}, f); f.flush(); os.fsync(f.fileno())
os.replace("cfg.tmp", "cfg.json")
os.fsync(os.open(".", os.O_RDONLY))
print("saved")'"#,
        verdict: Safe,
        because: "fsync of the file, rename, fsync of the directory: old or new at every moment, and new \
                  once it is said.",
    },
    Case {
        name: "gzip --synchronous",
        prepare: "seq 20000 > data.txt",
        run: "gzip --synchronous data.txt",
        verdict: Safe,
        because: "gzip syncs data.txt.gz and its directory before it removes data.txt.",
    },
    Case {
        name: "sqlite3 with synchronous=EXTRA",
        prepare: "sqlite3 t.db 'create table t(a); insert into t values(1)'",
        run: "sqlite3 t.db 'pragma synchronous=extra; update t set a = 2; select a from t;'",
        verdict: Safe,
        because: "Journal, database and the directory after the removal of the journal are all synced.",
    },
    Case {
        name: "sqlite3 in WAL mode",
        prepare: "sqlite3 t.db 'pragma journal_mode=wal; create table t(a); insert into t values(1)' >/dev/null",
        run: "sqlite3 t.db 'pragma synchronous=full; update t set a = 2; select a from t;'",
        verdict: Safe,
        because: "The log is synced at each commit; the -shm file is made anew after a crash \
                  (sqlite.org/wal.html).",
    },
    Case {
        name: "an ordinary copy",
        prepare: "seq 20000 > data",
        run: "cp data copy; cp data copy",
        verdict: Safe,
        because: "The original is still there; who loses the copy copies once more.",
    },
    Case {
        name: "compiling and linking",
        prepare: "echo 'int main(void) { return 0; }' > a.c",
        run: "cc -c a.c && cc -o a a.o && ar rc liba.a a.o && cc -c a.c && cc -o a a.o && ar rc liba.a a.o",
        verdict: Safe,
        because: "Products are made again from a.c, which is not affected.",
    },
    Case {
        name: "tar c and tar x",
        prepare: "mkdir d; seq 20000 > d/a; seq 100 > d/b",
        run: "tar cf d.tar d; mkdir out; tar xf d.tar -C out",
        verdict: Safe,
        because: "Archive and files are copies of what is still there.",
    },
    Case {
        name: "a log that is synced before it is acknowledged",
        prepare: "",
        run: r#"py -u -c '
import os
f = open("orders.log", "a")
os.fsync(os.open(".", os.O_RDONLY))
for i in range(20):
    f.write("order %d\n" % i); f.flush(); os.fdatasync(f.fileno())
    print("accepted", i)'"#,
        verdict: Safe,
        because: "fdatasync makes the record and the length that leads to it durable before it is accepted.",
    },
    Case {
        name: "a log opened with O_DSYNC",
        prepare: "",
        run: r#"py -u -c '
import os
fd = os.open("orders.log", os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_DSYNC)
os.fsync(os.open(".", os.O_RDONLY))
for i in range(20):
    os.write(fd, b"order\n"); print("accepted", i)'"#,
        verdict: Safe,
        because: "With O_DSYNC each write returns when it is durable (open(2)).",
    },
    Case {
        name: "a log written with RWF_DSYNC",
        prepare: "",
        run: r#"py -u -c '
import os
fd = os.open("orders.log", os.O_WRONLY | os.O_CREAT)
os.fsync(os.open(".", os.O_RDONLY))
for i in range(20):
    os.pwritev(fd, [b"order\n"], 6 * i, os.RWF_DSYNC); print("accepted", i)'"#,
        verdict: Safe,
        because: "RWF_DSYNC is O_DSYNC for one write (pwritev2(2)).",
    },
    Case {
        name: "a log written with RWF_DSYNC through io_uring",
        prepare: "",
        run: "$WORKLOADS/uring-dsync .",
        verdict: Safe,
        because: "The flags of an io_uring write are those of pwritev2 (io_uring_enter(2), rw_flags).",
    },
    Case {
        name: "LMDB",
        prepare: "",
        run: r#"py -u -c '
import lmdb
env = lmdb.open("db")
for i in range(5):
    with env.begin(write=True) as t: t.put(b"k%d" % i, b"v")
    print("stored", i)'"#,
        verdict: Safe,
        because: "LMDB syncs its pages and then writes its root through a descriptor with O_DSYNC; lock.mdb \
                  is set up anew by whoever opens it first.",
    },
    Case {
        name: "LevelDB with sync",
        prepare: "",
        run: r#"py -u -c '
import plyvel
db = plyvel.DB("db", create_if_missing=True)
for i in range(10):
    db.put(b"k%d" % i, b"v", sync=True); print("stored", i)'"#,
        verdict: Safe,
        because: "Log and manifest are synced. CURRENT is renamed without a sync of the directory: on ext4 and \
                  xfs the journal that the next sync of the log writes has the rename in it. LOG is for \
                  people.",
    },
    Case {
        name: "initdb",
        prepare: "chmod 777 .",
        run: "setpriv --reuid=nobody --clear-groups $(ls -d /usr/lib/postgresql/*/bin | tail -n 1)/initdb -D db --no-instructions >/dev/null",
        verdict: Safe,
        because: "initdb writes thousands of files and syncs them and all directories at its end; until then \
                  there is no cluster that could be lost.",
    },
    Case {
        name: "python compiles",
        prepare: "echo 'x = 1' > m.py",
        run: "py -m compileall -q m.py",
        verdict: Safe,
        because: "A .pyc is made anew from m.py when it is missing or damaged.",
    },
    Case {
        name: "process id, lock and temporary files",
        prepare: "",
        run: r#"py -c '
import fcntl, os, tempfile
os.mkdir("run")
with open("run/daemon.pid", "w") as f: f.write(str(os.getpid()))
lock = open("run/daemon.lock", "w"); fcntl.flock(lock, fcntl.LOCK_EX); lock.write("held"); lock.flush()
with tempfile.TemporaryFile(dir=".") as f: f.write(b"x" * 9000)
print("started")'"#,
        verdict: Safe,
        because: "After a crash there is no such process, and the temporary file was meant to be gone.",
    },
    Case {
        name: "a cache",
        prepare: "",
        run: r#"py -c '
import os
os.makedirs(".cache/app")
with open(".cache/app/index.tmp", "w") as f: f.write("x" * 9000)
os.rename(".cache/app/index.tmp", ".cache/app/index")
print("ready")'"#,
        verdict: Safe,
        because: "What is in a cache is fetched or computed again (XDG base directory specification, \
                  `non-essential`).",
    },
    Case {
        name: "a tree unpacked and then synced whole",
        prepare: "mkdir d; seq 20000 > d/a; tar cf d.tar d; rm -r d",
        run: "tar xf d.tar && sync -f d && rm d.tar",
        verdict: Safe,
        because: "syncfs(2) makes files and names durable before the archive goes.",
    },
    Case {
        name: "stores to a mapping, msync, rename",
        prepare: "echo old > index",
        run: r#"py -c '
import mmap, os
f = open("index.new", "w+b"); f.truncate(8192)
m = mmap.mmap(f.fileno(), 8192)
m[:] = b"x" * 8192
m.flush(); os.fsync(f.fileno())
os.rename("index.new", "index")
os.fsync(os.open(".", os.O_RDONLY))'"#,
        verdict: Safe,
        because: "msync(2) with MS_SYNC and fsync make the stores and the length durable before the rename.",
    },
    Case {
        name: "redis with appendfsync always",
        prepare: "",
        run: r"redis-server --port 0 --unixsocket $PWD/s --dir $PWD --appendonly yes --appendfsync always --save '' --daemonize no >/dev/null &
pid=$!
until redis-cli -s s ping >/dev/null 2>&1; do sleep 0.05; done
redis-cli -s s set k v >/dev/null; redis-cli -s s set k w >/dev/null
kill -9 $pid; wait $pid || true",
        verdict: Safe,
        because: "redis.conf: the append-only file is synced before the answers of each turn are sent.",
    },
    Case {
        name: "tar says what it unpacks",
        prepare: "mkdir d; for i in 1 2 3; do seq 1000 > d/$i; done; tar cf d.tar d; rm -r d",
        run: "tar xvf d.tar",
        verdict: Safe,
        because: "The names on standard output promise nothing: the archive is still there.",
    },
];
