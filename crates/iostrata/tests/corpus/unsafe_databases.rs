//! Databases, logs and repositories: what was acknowledged is not durable.

use crate::table::{Case, Verdict::Unsafe};

pub(crate) const CASES: &[Case] = &[
    Case {
        name: "a log acknowledged on standard output",
        prepare: "",
        run: r#"py -u -c '
f = open("orders.log", "a")
for i in range(20):
    f.write("order %d\n" % i); f.flush()
    print("accepted", i)'"#,
        verdict: Unsafe {
            rule: "acknowledged-not-synced",
            file: "orders.log",
        },
        because: "write(2) returns when the page cache has the bytes. Orders that were accepted in the last \
                  30 s (dirty_expire_centisecs) are lost in a crash on every file system.",
    },
    Case {
        name: "a log acknowledged once",
        prepare: "echo 'order 0' > orders.log",
        run: r#"py -c '
with open("orders.log", "a") as f: f.write("order 1\n")
print("accepted 1")'"#,
        verdict: Unsafe {
            rule: "acknowledged-not-synced",
            file: "orders.log",
        },
        because: "As above, with one order: what was accepted can be gone.",
    },
    Case {
        name: "a server that answers before its log is durable",
        prepare: "",
        run: r#"py -c '
import os, socket
listener = socket.socket(socket.AF_UNIX); listener.bind("sock"); listener.listen()
if os.fork() == 0:
    client = socket.socket(socket.AF_UNIX); client.connect("sock")
    for i in range(10):
        client.send(b"SET k v\n"); assert client.recv(100) == b"OK\n"
    os._exit(0)
peer, _ = listener.accept()
log = os.open("store.aof", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
while request := peer.recv(100):
    os.write(log, request); peer.send(b"OK\n")
os.wait()'"#,
        verdict: Unsafe {
            rule: "acknowledged-not-synced",
            file: "store.aof",
        },
        because: "The client has its OK while the record is in memory.",
    },
    Case {
        name: "a server that has its replica's receipt, and no sync",
        prepare: "",
        run: r#"py -c '
import os, socket
listener = socket.socket(socket.AF_UNIX); listener.bind("sock"); listener.listen()
replicas = socket.socket(socket.AF_UNIX); replicas.bind("replica"); replicas.listen()
if os.fork() == 0:
    peer, _ = replicas.accept()
    while peer.recv(100): peer.send(b"HAVE\n")
    os._exit(0)
if os.fork() == 0:
    client = socket.socket(socket.AF_UNIX); client.connect("sock")
    for i in range(10):
        client.send(b"SET k v\n"); assert client.recv(100) == b"OK\n"
    os._exit(0)
replica = socket.socket(socket.AF_UNIX); replica.connect("replica")
peer, _ = listener.accept()
log = os.open("store.aof", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
while request := peer.recv(100):
    os.write(log, request); replica.send(request); replica.recv(100); peer.send(b"OK\n")
replica.close(); os.wait(); os.wait()'"#,
        verdict: Unsafe {
            rule: "acknowledged-not-synced",
            file: "store.aof",
        },
        because: "Both have the record in memory when the client has its OK: one power failure of a rack \
                  takes it from both. The replica's receipt is no request of a client.",
    },
    Case {
        name: "redis with appendfsync no",
        prepare: "",
        run: r"redis-server --port 0 --unixsocket $PWD/s --dir $PWD --appendonly yes --appendfsync no --save '' --daemonize no >/dev/null &
pid=$!
until redis-cli -s s ping >/dev/null 2>&1; do sleep 0.05; done
redis-cli -s s set k v >/dev/null; redis-cli -s s set k w >/dev/null
kill -9 $pid; wait $pid || true",
        verdict: Unsafe {
            rule: "acknowledged-not-synced",
            file: ".incr.aof",
        },
        because: "redis.conf: with appendfsync no the append-only file is left to write-back; clients had \
                  their OK.",
    },
    Case {
        name: "sqlite3 with synchronous=OFF",
        prepare: "sqlite3 t.db 'create table t(a); insert into t values(1)'",
        run: "sqlite3 t.db 'pragma synchronous=off; update t set a = 2; select a from t;'",
        verdict: Unsafe {
            rule: "acknowledged-not-synced",
            file: "t.db",
        },
        because: "sqlite.org/pragma.html: the journal is removed and the database overwritten without any \
                  sync; after a crash the database can be damaged, and the answer was given.",
    },
    Case {
        name: "sqlite3 with its default journal",
        prepare: "sqlite3 t.db 'create table t(a); insert into t values(1)'",
        run: "sqlite3 t.db 'update t set a = 2; select a from t;'",
        verdict: Unsafe {
            rule: "directory-not-synced",
            file: "t.db-journal",
        },
        because: "The transaction is committed by removing the journal; with synchronous=FULL the directory \
                  is not synced after it (EXTRA does that). After a crash the journal can be back and undo \
                  a transaction whose result was shown; the database itself stays whole.",
    },
    Case {
        name: "an own journal, removed without a sync of the directory",
        prepare: "seq 5000 > base",
        run: r#"py -c '
import os
def put(name, text, flags):
    fd = os.open(name, flags, 0o644); os.write(fd, text); os.fsync(fd); os.close(fd)
put("base.undo", open("base", "rb").read(100), os.O_WRONLY | os.O_CREAT)
d = os.open(".", os.O_RDONLY); os.fsync(d)
put("base", b"x" * 100, os.O_WRONLY)
os.unlink("base.undo")
print("committed")'"#,
        verdict: Unsafe {
            rule: "directory-not-synced",
            file: "base.undo",
        },
        because: "unlink(2) is a change of the directory like any other: the journal can come back on all \
                  three file systems and undo what was committed.",
    },
    Case {
        name: "shelve",
        prepare: "/usr/bin/python3 -c 'import shelve; shelve.open(\"s\")[\"k\"] = 1'",
        run: r#"py -c '
import shelve
s = shelve.open("s"); s["k"] = 2; print("stored", flush=True); s["l"] = 3; print("stored", flush=True)
import os; os._exit(0)'"#,
        verdict: Unsafe {
            rule: "acknowledged-not-synced",
            file: "s",
        },
        because: "shelve over gdbm without sync(): the records are in memory when they are reported, and a \
                  database that is written back in part cannot be opened.",
    },
    Case {
        name: "dbm.dumb",
        prepare: "/usr/bin/python3 -c 'import dbm.dumb; d = dbm.dumb.open(\"d\", \"c\"); d[\"k\"] = \"1\"; d.close()'",
        run: r#"py -c '
import dbm.dumb
d = dbm.dumb.open("d", "c"); d["l"] = "2" * 600; d.close(); print("stored")'"#,
        verdict: Unsafe {
            rule: "acknowledged-not-synced",
            file: "d.dat",
        },
        because: "The value is appended, the index renamed to d.bak and written anew, all without a sync: \
                  after a crash d.dir can be empty, and with it the whole database.",
    },
    Case {
        name: "LevelDB without sync",
        prepare: "",
        run: r#"py -u -c '
import plyvel
db = plyvel.DB("db", create_if_missing=True)
for i in range(20):
    db.put(b"k%d" % i, b"v"); print("stored", i)'"#,
        verdict: Unsafe {
            rule: "acknowledged-not-synced",
            file: ".log",
        },
        because: "leveldb doc/index.md, `Synchronous Writes`: by default a write returns when the operating \
                  system has it; a crash of the machine loses the last ones.",
    },
    Case {
        name: "LMDB with MDB_NOSYNC",
        prepare: "",
        run: r#"py -u -c '
import lmdb
env = lmdb.open("db", sync=False, metasync=False)
for i in range(5):
    with env.begin(write=True) as t: t.put(b"k%d" % i, b"v")
    print("stored", i)
import os; os._exit(0)'"#,
        verdict: Unsafe {
            rule: "acknowledged-not-synced",
            file: "data.mdb",
        },
        because: "lmdb.h, MDB_NOSYNC: a crash of the system can damage the database or lose the last \
                  transactions.",
    },
    Case {
        name: "git commit",
        prepare: "git init -q .; git config user.name a; git config user.email a@example.org
echo 1 > f; git add f; git commit -qm 1; echo 2 > f; git add f",
        run: "git commit -m 2",
        verdict: Unsafe {
            rule: "rename-without-fsync",
            file: ".git/index",
        },
        because: "git-config(1), core.fsync: by default neither loose objects nor the index nor references \
                  are synced; after a crash .git/refs/heads/master or the commit it names can be empty.",
    },
    Case {
        name: "sqlite3 makes a database with synchronous=OFF",
        prepare: "",
        run: "sqlite3 t.db 'pragma synchronous=off; create table t(a); insert into t values(1);'",
        verdict: Unsafe {
            rule: "overwritten-in-place",
            file: "t.db",
        },
        because: "A journal is written and removed for each transaction, and neither it nor the database is \
                  synced: after a crash the database can be half written, with nothing to repair it.",
    },
];
