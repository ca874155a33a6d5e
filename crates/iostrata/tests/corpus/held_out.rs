//! Programs drawn with those of `drawn`, and not looked at while rules were written: what they give says what
//! the rules are worth for programs that nobody tried.

use crate::table::{ANY, Case, Verdict::Accused, Verdict::Missed, Verdict::Safe, Verdict::Unsafe};

pub(crate) const CASES: &[Case] = &[
    Case {
        name: "http.server that stores what is posted",
        prepare: "mkdir store",
        run: r#"py -c '
import http.client, http.server, os
class H(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def log_message(self, *a): pass
    def do_POST(self):
        with open("store" + self.path, "wb") as f: f.write(self.rfile.read(int(self.headers["Content-Length"])))
        self.send_response(201); self.send_header("Content-Length", "0"); self.end_headers()
s = http.server.HTTPServer(("127.0.0.1", 0), H)
if os.fork() == 0: s.handle_request(); os._exit(0)
c = http.client.HTTPConnection(*s.server_address)
for i in 1, 2, 3:
    c.request("POST", "/%d" % i, b"order"); assert c.getresponse().read() == b""
c.close(); os.wait()'"#,
        verdict: Unsafe { rule: ANY, file: "/store/1" },
        because: "201 Created is said of a file whose contents and name are in memory.",
    },
    Case {
        name: "redis with appendfsync everysec over TCP, killed",
        prepare: "",
        run: r"redis-server --port 7391 --bind 127.0.0.1 --dir $PWD --appendonly yes --appendfsync everysec --save '' --daemonize no >/dev/null &
pid=$!
until redis-cli -p 7391 ping >/dev/null 2>&1; do sleep 0.05; done
for i in 1 2 3; do redis-cli -p 7391 incr k >/dev/null; done
sleep 2.5; kill -9 $pid; wait $pid || true",
        verdict: Unsafe { rule: "acknowledged-not-synced", file: ".incr.aof" },
        because: "redis.conf, everysec: a second of writes that were answered can be lost, although a later sync came.",
    },
    Case {
        name: "node: http server that appends to a file and answers",
        prepare: "",
        run: r#"node -e '
const http = require("http"), fs = require("fs");
const server = http.createServer((q, r) => q.on("data", d => fs.appendFile("orders", d, () => { r.end("ok"); }))).listen(0, "127.0.0.1", () => {
  const agent = new http.Agent({keepAlive: true}); let left = 3;
  const post = () => http.request({port: server.address().port, agent, method: "POST"}, r => {
    r.resume(); r.on("end", () => { if (--left) post(); else { agent.destroy(); server.close(); } }); }).end("order\n");
  post();
});'"#,
        verdict: Unsafe { rule: "acknowledged-not-synced", file: "/orders" },
        because: "fs.appendFile calls back when write(2) has returned; nothing syncs.",
    },
    Case {
        name: "a datagram server that answers before it syncs",
        prepare: "",
        run: r#"py -c '
import os, socket
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.bind(("127.0.0.1", 0))
if os.fork() == 0:
    c = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    for i in range(4): c.sendto(b"event", s.getsockname()); c.recv(10)
    os._exit(0)
f = os.open("events", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
for i in range(4):
    data, peer = s.recvfrom(100); os.write(f, data); s.sendto(b"got it", peer); os.fsync(f)
os.wait()'"#,
        verdict: Unsafe { rule: "acknowledged-not-synced", file: "/events" },
        because: "As over a connection: the event is in memory when its sender is told that it arrived.",
    },
    Case {
        name: "perl: a server that prints to its log and to the client",
        prepare: "echo begin > ledger",
        run: r#"perl -e '
use IO::Socket::UNIX; use IO::Handle;
my $l = IO::Socket::UNIX->new(Local => "s", Listen => 5);
if (!fork) { my $c = IO::Socket::UNIX->new(Peer => "s"); for (1..4) { $c->print("pay $_\n"); $c->flush; <$c>; } exit }
open my $f, ">>", "ledger"; $f->autoflush; my $p = $l->accept; $p->autoflush;
while (<$p>) { print $f $_; print $p "paid\n"; $f->sync }
wait'"#,
        verdict: Unsafe { rule: "acknowledged-not-synced", file: "/ledger" },
        because: "`paid` is sent before the sync of the ledger: a crash between them forgets a payment.",
    },
    Case {
        name: "a server that syncs from a second thread every tenth of a second",
        prepare: "",
        run: r#"py -c '
import os, socket, threading, time
l = socket.create_server(("127.0.0.1", 0))
if os.fork() == 0:
    c = socket.create_connection(l.getsockname())
    for i in range(6): c.sendall(b"put"); c.recv(10); time.sleep(0.03)
    os._exit(0)
f = os.open("store", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
def flush():
    while True: time.sleep(0.1); os.fdatasync(f)
threading.Thread(target=flush, daemon=True).start()
p, _ = l.accept()
while r := p.recv(100): os.write(f, r); p.sendall(b"ok")
os.fdatasync(f); os.wait()'"#,
        verdict: Unsafe { rule: "acknowledged-not-synced", file: "/store" },
        because: "Up to a tenth of a second of puts that were answered is lost: as redis with everysec.",
    },
    Case {
        name: "postgres with synchronous_commit=off",
        prepare: "chmod 777 .
b=$(ls -d /usr/lib/postgresql/*/bin | tail -n 1)
setpriv --reuid=nobody --clear-groups $b/initdb -D db --no-instructions >/dev/null",
        run: "b=$(ls -d /usr/lib/postgresql/*/bin | tail -n 1)
u='setpriv --reuid=nobody --clear-groups'
$u $b/pg_ctl -s -D db -w -o \"-c listen_addresses= -c unix_socket_directories=$PWD -c synchronous_commit=off -c wal_writer_delay=2s\" -l log start
HOME=$PWD psql -q -h $PWD -U nobody -c 'create table t(a int)' -c 'insert into t values (1)' -c 'insert into t values (2)' postgres
$u $b/pg_ctl -s -D db -w stop",
        verdict: Missed,
        because: "Documentation of synchronous_commit: with off, transactions that were reported as committed can be lost in a crash. The log \
                  is written by the WAL writer, and the answer comes from another process.",
    },
    Case {
        name: "gdbmtool",
        prepare: "gdbmtool -n d.gdbm store old value; sync d.gdbm",
        run: "gdbmtool d.gdbm store key value; echo stored",
        verdict: Safe,
        because: "gdbm calls msync with MS_SYNC on its mapping when it is closed (strace), before `stored` is said.",
    },
    Case {
        name: "java: MappedByteBuffer without force",
        prepare: "cat > M.java <<'E'
import java.nio.channels.*; import java.nio.file.*;
class M { public static void main(String[] a) throws Exception {
  try (var c = FileChannel.open(Path.of(\"ledger\"), StandardOpenOption.READ, StandardOpenOption.WRITE)) {
    var m = c.map(FileChannel.MapMode.READ_WRITE, 0, 32768);
    for (int i = 0; i < 8; i++) m.putLong(i * 4096, i);
    System.out.println(\"booked\"); } } }
E
javac M.java; head -c 32768 /dev/zero > ledger; sync ledger",
        run: "java -Xint -XX:-UsePerfData -Xshare:auto M",
        verdict: Unsafe { rule: ANY, file: "/ledger" },
        because: "Documentation of MappedByteBuffer.force: without it nothing guarantees that changes are written.",
    },
    Case {
        name: "a new mapped file, reported and never synced",
        prepare: "",
        run: r#"py -c '
import mmap
f = open("ring", "w+b"); f.truncate(16384)
m = mmap.mmap(f.fileno(), 16384)
m[0:9] = b"record 1\n"; print("recorded 1", flush=True)
m[9:18] = b"record 2\n"; print("recorded 2", flush=True)
import os; os._exit(0)'"#,
        verdict: Unsafe { rule: ANY, file: "/ring" },
        because: "Records are reported one by one, and are in the page cache alone.",
    },
    Case {
        name: "a mapping that a child fills",
        prepare: "head -c 40960 /dev/zero > shared; sync shared",
        run: r#"py -c '
import mmap, os
f = open("shared", "r+b"); m = mmap.mmap(f.fileno(), 0)
if os.fork() == 0:
    for at in range(0, 40960, 4096): m[at] = 7
    os._exit(0)
os.wait(); print("filled")'"#,
        verdict: Unsafe { rule: ANY, file: "/shared" },
        because: "Ten pages of an existing file are changed by stores, in no order that a crash would keep.",
    },
    Case {
        name: "LMDB with WRITEMAP and NOSYNC, a large transaction",
        prepare: "/usr/bin/python3 -c '
import lmdb
with lmdb.open(\"db\", map_size=1 << 24) as e:
    with e.begin(write=True) as t: t.put(b\"k\", b\"v\")'; sync db/data.mdb",
        run: r#"py -c '
import lmdb
env = lmdb.open("db", map_size=1 << 24, writemap=True, sync=False, metasync=False)
with env.begin(write=True) as t:
    for i in range(2000): t.put(b"key %d" % i, b"x" * 200)
env.close()'"#,
        verdict: Unsafe { rule: ANY, file: "/data.mdb" },
        because: "lmdb.h, MDB_NOSYNC with MDB_WRITEMAP: the root can reach the disk before the pages it names.",
    },
    Case {
        name: "diskcache as a store",
        prepare: "",
        run: r#"py -u -c '
import diskcache
d = diskcache.Index("store")
for i in range(3): d[i] = "value"; print("stored", i)
import os; os._exit(0)'"#,
        verdict: Unsafe { rule: "acknowledged-not-synced", file: "-wal" },
        because: "diskcache opens SQLite with WAL and synchronous=NORMAL, which syncs at checkpoints and not at commits.",
    },
    Case {
        name: "zstd -d --rm",
        prepare: "seq 20000 > data; zstd -q --rm data",
        run: "zstd -q -d --rm data.zst",
        verdict: Unsafe { rule: "unlink-before-durable", file: "/data" },
        because: "The compressed original goes while its contents are in memory.",
    },
    Case {
        name: "vim with nofsync",
        prepare: "seq 2000 > notes; sync notes",
        run: "vim -u NONE -i NONE -es -c 'set nofsync nobackup writebackup backupcopy=no' -c '1s/1/one/' -c 'wq' notes",
        verdict: Unsafe { rule: ANY, file: "/notes" },
        because: "The old file is renamed to notes~, the new one written without a sync, and notes~ removed.",
    },
    Case {
        name: "npm pkg set",
        prepare: "echo '{\"name\": \"a\", \"version\": \"1.0.0\"}' > package.json; sync package.json",
        run: "npm pkg set description=changed --offline --no-update-notifier >/dev/null",
        verdict: Unsafe { rule: ANY, file: "/package.json" },
        because: "package.json is written over with O_TRUNC and not synced.",
    },
    Case {
        name: "pip config set",
        prepare: "mkdir -p .config/pip; printf '[global]\\ntimeout = 5\\n' > .config/pip/pip.conf; sync .config/pip/pip.conf",
        run: "HOME=$PWD /usr/bin/pip3 --disable-pip-version-check config --user set global.retries 3",
        verdict: Unsafe { rule: ANY, file: "pip.conf" },
        because: "The configuration is read, opened with `w` and written again, without a sync.",
    },
    Case {
        name: "git push to a repository beside",
        prepare: "git init -q --bare b; git init -q w; cd w; git config user.name a; git config user.email a@example.org
echo 1 > f; git add f; git commit -qm 1; git push -q ../b HEAD:refs/heads/master; echo 2 > f; git commit -qam 2",
        run: "cd w; git push -q ../b HEAD:refs/heads/master",
        verdict: Unsafe { rule: "rename-without-fsync", file: "b/refs/heads/master" },
        because: "git-config(1), core.fsync: references are not synced before master.lock is renamed over master.",
    },
    Case {
        name: "dd into an image",
        prepare: "head -c 65536 /dev/urandom > image; sync image",
        run: "dd if=/dev/urandom of=image bs=4096 count=4 seek=2 conv=notrunc status=none",
        verdict: Unsafe { rule: "overwritten-in-place", file: "/image" },
        because: "Four blocks are overwritten in place: a crash leaves any mix of old and new ones.",
    },
    Case {
        name: "a log archiver that syncs its archive before it cuts the log",
        prepare: "seq 20000 > app.log; seq 10 > app.log.1; sync",
        run: r#"py -c '
import os
with open("app.log.1", "r+b") as f:
    f.write(open("app.log", "rb").read()); f.flush(); os.fdatasync(f.fileno())
os.truncate("app.log", 0)'"#,
        verdict: Safe,
        because: "What the log held is durable in app.log.1 when it is cut.",
    },
    Case {
        name: "shell: gzip to a file, sync, rm",
        prepare: "seq 20000 > data; echo old | gzip > data.gz; sync",
        run: "gzip -c data > data.gz; sync data.gz .; rm data",
        verdict: Safe,
        because: "sync(1) makes the new archive durable before the only other copy goes.",
    },
    Case {
        name: "vim as it is set up",
        prepare: "seq 2000 > notes; sync notes",
        run: "vim -u NONE -i NONE -es -c '1s/1/one/' -c 'wq' notes",
        verdict: Unsafe {
            rule: ANY,
            file: "/notes",
        },
        because: "notes~ is a copy that is not synced when notes is truncated (strace): between that and the fsync \
                  of notes a crash can leave both empty.",
    },
    Case {
        name: "atomicwrites",
        prepare: "echo old > cfg; sync cfg",
        run: r#"py -c '
from atomicwrites import atomic_write
with atomic_write("cfg", overwrite=True) as f: f.write("new\n")
print("saved")'"#,
        verdict: Safe,
        because: "It syncs the new file, renames it, and syncs the directory.",
    },
    Case {
        name: "node: a server that syncs before it answers, and answers reads",
        prepare: "echo 0 > seen; sync",
        run: r#"node -e '
const net = require("net"), fs = require("fs");
const fd = fs.openSync("journal", "a"); fs.fsyncSync(fs.openSync(".", "r"));
const server = net.createServer(s => {
  s.on("data", d => { if (d[0] == 71) return s.write(fs.readFileSync("seen"));
    fs.write(fd, d, () => fs.fdatasync(fd, () => s.write("OK"))); });
  s.on("end", () => { s.end(); server.close(); });
}).listen("s", () => {
  const c = net.connect("s"); let n = 0;
  c.on("data", () => ++n < 6 ? c.write(n % 2 ? "GET" : "SET") : c.end());
  c.write("SET");
});'"#,
        verdict: Safe,
        because: "Each SET is answered after its fdatasync; a GET changes nothing.",
    },
    Case {
        name: "two clients of a server that syncs once for both",
        prepare: "",
        run: r#"py -c '
import os, selectors, socket
l = socket.create_server(("127.0.0.1", 0))
for n in range(2):
    if os.fork() == 0:
        c = socket.create_connection(l.getsockname())
        for i in range(5): c.sendall(b"put %d %d" % (n, i)); assert c.recv(10) == b"ok"
        os._exit(0)
f = os.open("store", os.O_WRONLY | os.O_CREAT | os.O_APPEND); os.fsync(os.open(".", os.O_RDONLY))
s = selectors.DefaultSelector(); clients = [l.accept()[0] for _ in range(2)]
for c in clients: s.register(c, selectors.EVENT_READ)
while clients:
    waiting = []
    for key, _ in s.select():
        if r := key.fileobj.recv(100): os.write(f, r); waiting.append(key.fileobj)
        else: s.unregister(key.fileobj); clients.remove(key.fileobj)
    os.fdatasync(f)
    for c in waiting: c.sendall(b"ok")
os.wait(); os.wait()'"#,
        verdict: Safe,
        because: "Group commit: each answer comes after the sync of what it is about.",
    },
    Case {
        name: "postgres as it is set up",
        prepare: "chmod 777 .
b=$(ls -d /usr/lib/postgresql/*/bin | tail -n 1)
setpriv --reuid=nobody --clear-groups $b/initdb -D db --no-instructions >/dev/null",
        run: "b=$(ls -d /usr/lib/postgresql/*/bin | tail -n 1)
u='setpriv --reuid=nobody --clear-groups'
$u $b/pg_ctl -s -D db -w -o \"-c listen_addresses= -c unix_socket_directories=$PWD\" -l log start
HOME=$PWD psql -q -h $PWD -U nobody -c 'create table t(a int)' -c 'insert into t values (1)' -c 'select * from t' postgres
$u $b/pg_ctl -s -D db -w stop",
        verdict: Safe,
        because: "The log is synced before a commit is answered, and data files at checkpoints.",
    },
    Case {
        name: "curl of three files over one connection",
        prepare: "mkdir www; for i in 1 2 3; do seq ${i}000 > www/$i; done",
        run: "/usr/bin/python3 -c '
import http.server
H = http.server.SimpleHTTPRequestHandler; H.protocol_version = \"HTTP/1.1\"; H.log_message = lambda *a: None
s = http.server.HTTPServer((\"127.0.0.1\", 0), lambda *a: H(*a, directory=\"www\"))
open(\"port\", \"w\").write(str(s.server_port)); s.handle_request()' &
until [ -s port ]; do sleep 0.05; done; u=http://127.0.0.1:$(cat port)
curl -s --noproxy '*' -O $u/1 -O $u/2 -O $u/3; wait",
        verdict: Safe,
        because: "A download that is lost is downloaded once more.",
    },
    Case {
        name: "git clone from a daemon",
        prepare: "git init -q r; cd r; git config user.name a; git config user.email a@example.org
for i in 1 2 3; do seq $i > $i; git add $i; git commit -qm $i; done; touch .git/git-daemon-export-ok",
        run: "git daemon --reuseaddr --listen=127.0.0.1 --port=9427 --base-path=$PWD --pid-file=pid $PWD &
until [ -s pid ]; do sleep 0.05; done; sleep 0.2
git clone -q git://127.0.0.1:9427/r c; kill $(cat pid); wait || true",
        verdict: Accused,
        because: "The repository is still where it was cloned from.",
    },
    Case {
        name: "apt-get update from a server beside",
        prepare: "mkdir -p www/dists/x/main/binary-all l/partial c/archives/partial e; : > www/dists/x/main/binary-all/Packages; : > e/status
printf 'Suite: x\\nComponents: main\\nArchitectures: all\\nSHA256:\\n %s 0 main/binary-all/Packages\\n' $(sha256sum < /dev/null | cut -c1-64) > www/dists/x/Release",
        run: "/usr/bin/python3 -c '
import http.server
H = http.server.SimpleHTTPRequestHandler; H.log_message = lambda *a: None
s = http.server.HTTPServer((\"127.0.0.1\", 0), lambda *a: H(*a, directory=\"www\"))
open(\"port\", \"w\").write(str(s.server_port)); s.serve_forever()' & pid=$!
until [ -s port ]; do sleep 0.05; done
echo \"deb [trusted=yes arch=all] http://127.0.0.1:$(cat port) x main\" > e/sources.list
apt-get -qq -o Dir::Etc=$PWD/e -o Dir::State=$PWD -o Dir::State::lists=$PWD/l -o Dir::State::status=$PWD/e/status -o Dir::Cache=$PWD/c \\
  -o APT::Sandbox::User=root -o Acquire::http::Proxy=false update; kill $pid; wait || true",
        verdict: Accused,
        because: "Lists of packages are fetched again, and checked by their sums.",
    },
];
