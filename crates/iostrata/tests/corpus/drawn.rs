//! Programs drawn for the rules about servers, mappings and archivers, and looked at while these were written.

use crate::table::{ANY, Case, Verdict::Safe, Verdict::Unsafe};

/// Sends lines to the socket `s`, and waits for each answer.
macro_rules! client {
    ($count:literal) => {
        concat!(
            "def client():\n    import time\n    c = socket.socket(socket.AF_UNIX)\n    while c.connect_ex('s'): time.sleep(0.01)\n",
            "    for i in range(", $count, "):\n        c.sendall(b'SET %d\\n' % i); assert c.recv(100)\n    c.close()\n",
        )
    };
}

pub(crate) const CASES: &[Case] = &[
    Case {
        name: "a server that syncs after each answer",
        prepare: "",
        run: concat!(
            "py -c \"\nimport os, socket\n",
            client!(5),
            "l = socket.socket(socket.AF_UNIX); l.bind('s'); l.listen()
if os.fork() == 0: client(); os._exit(0)
p, _ = l.accept()
f = os.open('wal', os.O_WRONLY | os.O_CREAT | os.O_APPEND)
while r := p.recv(100):
    os.write(f, r); p.sendall(b'OK'); os.fdatasync(f)
os.wait()\""
        ),
        verdict: Unsafe { rule: "acknowledged-not-synced", file: "/wal" },
        because: "The answer leaves before fdatasync: a crash between them loses a record that the client counts on.",
    },
    Case {
        name: "a server that syncs its log when it ends",
        prepare: "echo old > wal",
        run: concat!(
            "py -c \"\nimport os, socket\n",
            client!(5),
            "l = socket.socket(socket.AF_UNIX); l.bind('s'); l.listen()
if os.fork() == 0: client(); os._exit(0)
p, _ = l.accept()
f = os.open('wal', os.O_WRONLY | os.O_APPEND)
while r := p.recv(100):
    os.write(f, r); p.sendmsg([b'OK'])
os.fsync(f); os.wait()\""
        ),
        verdict: Unsafe { rule: "acknowledged-not-synced", file: "/wal" },
        because: "Every record but the last ones is unsafe from its answer to the end of the server.",
    },
    Case {
        name: "a threaded server over TCP, never synced",
        prepare: "echo old > data.txt",
        run: r#"py -c '
import socket, socketserver, threading
class H(socketserver.StreamRequestHandler):
    def handle(self):
        for line in self.rfile:
            with open("data.txt", "ab") as f: f.write(line)
            self.wfile.write(b"stored\n")
s = socketserver.ThreadingTCPServer(("127.0.0.1", 0), H)
threading.Thread(target=s.serve_forever, daemon=True).start()
c = socket.create_connection(s.server_address)
for i in range(3):
    c.sendall(b"x\n"); c.recv(10)
c.close()'"#,
        verdict: Unsafe { rule: "acknowledged-not-synced", file: "/data.txt" },
        because: "The lines are in the page cache when they are called stored; close(2) writes nothing back.",
    },
    Case {
        name: "node: a server that appends, answers, and syncs at the end",
        prepare: "",
        run: r#"node -e '
const net = require("net"), fs = require("fs");
const fd = fs.openSync("journal", "a");
const server = net.createServer(s => {
  s.on("data", d => { fs.writeSync(fd, d); s.write("OK"); });
  s.on("end", () => { fs.fsyncSync(fd); s.end(); server.close(); });
}).listen("s", () => {
  const c = net.connect("s"); let n = 0;
  c.on("data", () => ++n < 4 ? c.write("more") : c.end());
  c.write("first");
});'"#,
        verdict: Unsafe { rule: "acknowledged-not-synced", file: "/journal" },
        because: "fs.writeSync returns when the page cache has the bytes; three answers came before the sync.",
    },
    Case {
        name: "redis with appendfsync everysec",
        prepare: "",
        run: r"redis-server --port 0 --unixsocket $PWD/s --dir $PWD --appendonly yes --appendfsync everysec --save '' --daemonize no >/dev/null &
pid=$!
until redis-cli -s s ping >/dev/null 2>&1; do sleep 0.05; done
for i in 1 2 3 4; do redis-cli -s s set k $i >/dev/null; done
redis-cli -s s shutdown; wait $pid || true",
        verdict: Unsafe { rule: "acknowledged-not-synced", file: ".incr.aof" },
        because: "redis.conf: with everysec a crash loses up to a second of writes that clients had an OK for.",
    },
    Case {
        name: "a counter in a mapping, answered on a socket",
        prepare: "head -c 8192 /dev/zero > state; sync state",
        run: concat!(
            "py -c \"\nimport mmap, os, socket\n",
            client!(5),
            "l = socket.socket(socket.AF_UNIX); l.bind('s'); l.listen()
if os.fork() == 0: client(); os._exit(0)
p, _ = l.accept()
f = open('state', 'r+b'); m = mmap.mmap(f.fileno(), 0)
while r := p.recv(100):
    m[0] += 1; p.sendall(b'OK')
os.wait()\""
        ),
        verdict: Unsafe { rule: ANY, file: "/state" },
        because: "Stores reach the disk by msync, fsync or write-back alone (msync(2)): counts that were answered are lost.",
    },
    Case {
        name: "LMDB with WRITEMAP and MAPASYNC",
        prepare: "/usr/bin/python3 -c 'import lmdb; lmdb.open(\"db\").close()'; sync db/data.mdb",
        run: r#"py -u -c '
import lmdb
env = lmdb.open("db", writemap=True, map_async=True)
for i in range(5):
    with env.begin(write=True) as t: t.put(b"k%d" % i, b"v")
    print("stored", i)'"#,
        verdict: Unsafe { rule: ANY, file: "/data.mdb" },
        because: "lmdb.h, MDB_MAPASYNC: a system crash can corrupt the database or lose the last transactions.",
    },
    Case {
        name: "LMDB made and filled with WRITEMAP and no sync",
        prepare: "",
        run: r#"py -c '
import lmdb
env = lmdb.open("db", writemap=True, sync=False)
with env.begin(write=True) as t:
    for i in range(500): t.put(b"k%d" % i, b"v" * 100)
print("filled")'"#,
        verdict: Unsafe { rule: ANY, file: "/data.mdb" },
        because: "lmdb.h, MDB_NOSYNC: with a writable map the database can be corrupted by a crash after it said `filled`.",
    },
    Case {
        name: "a table in a mapping, changed in several pages",
        prepare: "head -c 65536 /dev/zero > table; sync table",
        run: r#"py -c '
import mmap
f = open("table", "r+b"); m = mmap.mmap(f.fileno(), 0)
for at in range(0, 65536, 4096): m[at:at + 8] = b"changed!"
m.close()'"#,
        verdict: Unsafe { rule: ANY, file: "/table" },
        because: "munmap starts no write-back; pages go to the disk in any order, so that a crash leaves a mix of old and new ones.",
    },
    Case {
        name: "a mapping synced with MS_ASYNC alone",
        prepare: "head -c 16384 /dev/zero > index; sync index",
        run: r#"py -c '
import ctypes, mmap
f = open("index", "r+b"); m = mmap.mmap(f.fileno(), 0)
m[0:16384] = b"i" * 16384
libc = ctypes.CDLL(None, use_errno=True)
at = ctypes.addressof(ctypes.c_char.from_buffer(m))
assert libc.msync(ctypes.c_void_p(at), ctypes.c_size_t(16384), 1) == 0
print("indexed")'"#,
        verdict: Unsafe { rule: ANY, file: "/index" },
        because: "msync with MS_ASYNC does nothing on Linux (mm/msync.c).",
    },
    Case {
        name: "gdbm, stored and closed in fast mode",
        prepare: "/usr/bin/python3 -c 'import dbm.gnu; d = dbm.gnu.open(\"d.gdbm\", \"n\"); d[\"k\"] = \"1\"; d.sync()'; sync d.gdbm",
        run: r#"py -c '
import dbm.gnu
d = dbm.gnu.open("d.gdbm", "wf")
for i in range(200): d["key %d" % i] = "value " * 20
d.close(); print("stored")'"#,
        verdict: Safe,
        because: "gdbm calls msync with MS_SYNC on its mapping when it is closed (strace), before `stored` is said.",
    },
    Case {
        name: "lz4 --rm",
        prepare: "seq 20000 > data.txt",
        run: "lz4 -q --rm data.txt data.txt.lz4",
        verdict: Unsafe { rule: "unlink-before-durable", file: "data.txt.lz4" },
        because: "As gzip: the only copy is in memory after data.txt is gone.",
    },
    Case {
        name: "git config",
        prepare: "git init -q .",
        run: "git config user.name somebody",
        verdict: Unsafe { rule: "rename-without-fsync", file: ".git/config" },
        because: "config.lock is renamed over config without a sync: the old settings can be gone with the new ones.",
    },
    Case {
        name: "node: fs.writeFileSync over a configuration",
        prepare: "echo '{\"v\": 1}' > cfg.json; sync cfg.json",
        run: r#"node -e '
const fs = require("fs");
const c = JSON.parse(fs.readFileSync("cfg.json")); c.v++;
fs.writeFileSync("cfg.json", JSON.stringify(c));'"#,
        verdict: Unsafe { rule: ANY, file: "/cfg.json" },
        because: "Opened with O_TRUNC: old contents are gone when the truncation is committed, new ones come with write-back.",
    },
    Case {
        name: "mailbox.Maildir",
        prepare: "/usr/bin/python3 -c 'import mailbox; mailbox.Maildir(\"box\", create=True)'",
        run: r#"py -c '
import mailbox
mailbox.Maildir("box").add("Subject: x\n\nhello\n"); print("delivered")'"#,
        verdict: Unsafe { rule: "directory-not-synced", file: "" },
        because: "The message is synced in tmp and then linked or renamed to new; the directory is not synced before `delivered`.",
    },
    Case {
        name: "tee over a configuration",
        prepare: "seq 3000 > app.conf; sync app.conf",
        run: "seq 3001 | tee app.conf > /dev/null",
        verdict: Unsafe { rule: ANY, file: "/app.conf" },
        because: "O_TRUNC and no sync: empty after a crash on xfs, zeros on ext4 without auto_da_alloc.",
    },
    Case {
        name: "an archiver that syncs its output before it removes the input",
        prepare: "seq 20000 > data.txt; echo old > data.txt.z; sync",
        run: r#"py -c '
import os, zlib
text = open("data.txt", "rb").read()
with open("data.txt.z", "wb") as f:
    f.write(zlib.compress(text)); f.flush(); os.fsync(f.fileno())
os.fsync(os.open(".", os.O_RDONLY))
os.unlink("data.txt")'"#,
        verdict: Safe,
        because: "Output and directory are durable before the input goes; what the output replaced is not needed any more.",
    },
    Case {
        name: "an archive that is synced by another program before the input goes",
        prepare: "mkdir d; seq 20000 > d/a; seq 100 > d/b; echo old > d.tar; sync",
        run: "tar cf d.tar d && sync d.tar . && rm -r d",
        verdict: Safe,
        because: "sync(1) calls fsync on the archive and on the directory before rm.",
    },
    Case {
        name: "an archive that grows, synced before the input goes",
        prepare: "seq 20000 > a; seq 100 > b; zip -q all.zip a; rm a; sync",
        run: r#"py -c '
import os, zipfile
with open("all.zip", "r+b") as f:
    with zipfile.ZipFile(f, "a") as z: z.write("b")
    f.flush(); os.fsync(f.fileno())
os.unlink("b")'"#,
        verdict: Safe,
        because: "The new member and the directory of the archive are durable before b goes.",
    },
    Case {
        name: "an archiver that syncs a new name, renames it over the old archive, and then removes the input",
        prepare: "seq 20000 > log.1; seq 5 | gzip > log.gz; sync",
        run: r#"py -c '
import gzip, os
with open("log.gz.new", "wb") as f:
    f.write(open("log.gz", "rb").read() + gzip.compress(open("log.1", "rb").read())); f.flush(); os.fsync(f.fileno())
os.rename("log.gz.new", "log.gz"); os.fsync(os.open(".", os.O_RDONLY))
open("log.1", "w").close()'"#,
        verdict: Safe,
        because: "The log is cut when its contents are durable in the archive: nothing that it held is lost.",
    },
    Case {
        name: "a server that syncs before it answers",
        prepare: "",
        run: concat!(
            "py -c \"\nimport os, socket\n",
            client!(5),
            "l = socket.socket(socket.AF_UNIX); l.bind('s'); l.listen()
if os.fork() == 0: client(); os._exit(0)
p, _ = l.accept()
f = os.open('wal', os.O_WRONLY | os.O_CREAT | os.O_APPEND); os.fsync(os.open('.', os.O_RDONLY))
while r := p.recv(100):
    os.write(f, r); os.fdatasync(f); p.sendall(b'OK')
os.wait()\""
        ),
        verdict: Safe,
        because: "fdatasync makes the record durable before the client hears of it.",
    },
    Case {
        name: "a server whose access log is written after the answer",
        prepare: "echo hello > page; sync",
        run: concat!(
            "py -c \"\nimport os, socket\n",
            client!(8),
            "l = socket.socket(socket.AF_UNIX); l.bind('s'); l.listen()
if os.fork() == 0: client(); os._exit(0)
p, _ = l.accept()
f = os.open('visits', os.O_WRONLY | os.O_CREAT | os.O_APPEND)
while r := p.recv(100):
    p.sendall(open('page', 'rb').read()); os.write(f, b'GET /page\\n')
os.wait()\""
        ),
        verdict: Safe,
        because: "A request reads a page; that it was made is noted after its answer, and promised to nobody.",
    },
    Case {
        name: "wget of three files over one connection",
        prepare: "mkdir www; for i in 1 2 3; do seq ${i}000 > www/$i; done",
        run: "/usr/bin/python3 -c '
import http.server
H = http.server.SimpleHTTPRequestHandler; H.protocol_version = \"HTTP/1.1\"; H.log_message = lambda *a: None
s = http.server.HTTPServer((\"127.0.0.1\", 0), lambda *a: H(*a, directory=\"www\"))
open(\"port\", \"w\").write(str(s.server_port)); s.handle_request()' &
until [ -s port ]; do sleep 0.05; done; p=$(cat port)
wget -q --no-proxy http://127.0.0.1:$p/1 http://127.0.0.1:$p/2 http://127.0.0.1:$p/3; wait",
        verdict: Safe,
        because: "Who loses a download downloads once more; the next request promises nothing about the last file.",
    },
    Case {
        name: "a Python client that stores each answer",
        prepare: "mkdir www; for i in 1 2 3 4; do seq ${i}000 > www/$i; done",
        run: r#"py -c '
import http.client, http.server, threading
H = http.server.SimpleHTTPRequestHandler; H.protocol_version = "HTTP/1.1"; H.log_message = lambda *a: None
s = http.server.HTTPServer(("127.0.0.1", 0), lambda *a: H(*a, directory="www"))
import os
if os.fork() == 0: s.handle_request(); os._exit(0)
c = http.client.HTTPConnection(*s.server_address)
with open("all", "wb") as f:
    for i in 1, 2, 3, 4:
        c.request("GET", "/%d" % i); f.write(c.getresponse().read()); f.flush()
c.close(); os.wait()'"#,
        verdict: Safe,
        because: "A client sends requests: what it stored comes from a server that still has it.",
    },
];
