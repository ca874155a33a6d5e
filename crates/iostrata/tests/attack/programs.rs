//! Hostile programs, as scripts for `/bin/sh` in a directory of their own.

pub(crate) struct Program {
    /// The end of "a program that ...".
    pub(crate) name: &'static str,
    pub(crate) script: &'static str,
    /// Whether it kills iostrata, as any program of the same user may.
    pub(crate) kills: bool,
}

const fn program(name: &'static str, script: &'static str) -> Program {
    Program {
        name,
        script,
        kills: false,
    }
}

pub(crate) const PROGRAMS: [Program; 39] = [
    program(
        "names files by control characters",
        r#"for c in '\033[2J' '\033]0;x\007' '\n' '\r' '\377\376' '\342\200\256' '<script>alert(1)</script>' '"' '\\' '\302\233'; do
             printf x > "$(printf "a${c}b")"; done; cat ./* > /dev/null"#,
    ),
    program(
        "names its tasks and words by control characters",
        r#"printf '\033[31m\n\033[2J' > /proc/self/comm
           python3 -c 'import os,sys; os.execv("/bin/sh", [b"\x1b[2J\xff", b"-c", b"echo x > y", b"\x1b]0;owned\x07"])'"#,
    ),
    program(
        "has names as long as they may be",
        r#"n=$(printf '%0255d' 0); echo x > "$n"; i=0
           while [ $i -lt 40 ]; do mkdir "$n.d" 2>/dev/null || mkdir "${n%??}.d"; cd "${n%??}.d" || break; i=$((i+1)); done; echo deep > f"#,
    ),
    program("makes many short processes", "i=0; while [ $i -lt 600 ]; do /bin/true & i=$((i+1)); done; wait"),
    program(
        "has many threads",
        r#"python3 -c '
import os,threading
def work(n):
    for i in range(20):
        with open("t%d" % (n % 7), "a") as f: f.write("x")
all=[threading.Thread(target=work,args=(n,)) for n in range(200)]
[t.start() for t in all]; [t.join() for t in all]'"#,
    ),
    program("closes all descriptors", "exec 0<&- 1>&- 2>&- 3>&- 4>&- 5>&- 6>&- 7>&- 8>&- 9>&-; echo x > y"),
    program("asks iostrata to end", "kill -TERM $PPID; sleep 0.2; kill -HUP $PPID; sleep 0.2; echo x > y"),
    program("sends iostrata all signals that it may catch", "trap '' HUP INT QUIT TERM USR1 USR2 ALRM; for s in HUP INT QUIT USR1 USR2 ALRM WINCH CONT URG CHLD PIPE XFSZ; do kill -$s $PPID; done; echo x > y"),
    program("floods iostrata with signals", "trap '' USR1 USR2; i=0; while [ $i -lt 2000 ]; do kill -USR1 $PPID; i=$((i+1)); done; echo x > y"),
    Program {
        kills: true,
        ..program("kills iostrata", "kill -KILL $PPID; sleep 0.1; echo x > y")
    },
    program("ends by a fault", "echo x > y; kill -SEGV $$"),
    program("stops itself", "(sleep 0.3; kill -CONT $$) & kill -STOP $$; echo x > y; wait"),
    program("becomes itself again and again", r#"[ "${N:-0}" -ge 100 ] || { N=$((${N:-0}+1)) exec /bin/sh -c "$(tr '\0' '\n' < /proc/$$/cmdline | sed '1,2d')"; }"#),
    program("works in a directory that is gone", "mkdir d; cd d; rmdir ../d; echo x > y; cd ..; ls d"),
    program(
        "renames the directories above it",
        "mkdir -p a/b/c; cd a/b/c; i=0; while [ $i -lt 100 ]; do mv ../../../a ../../../z; echo $i >> f; mv ../../../z ../../../a; i=$((i+1)); done",
    ),
    program("makes links without end", "ln -s loop loop; cat loop; i=0; ln -s . l0; while [ $i -lt 50 ]; do ln -s l$i l$((i+1)); i=$((i+1)); done; cat l45/l44/l43/f"),
    program(
        "exchanges files for pipes",
        "python3 -c '
import os
for i in range(300):
    fd=os.open(\"f\",os.O_RDWR|os.O_CREAT); os.write(fd,b\"x\"*100); os.unlink(\"f\"); os.mkfifo(\"f\")
    p=os.open(\"f\",os.O_RDWR|os.O_NONBLOCK); os.dup2(p,fd); os.write(fd,b\"y\"); os.close(fd); os.close(p); os.unlink(\"f\")'",
    ),
    program("writes to devices", "echo x > /dev/full; echo x > /dev/null; head -c 100 /dev/urandom > f; head -c 1000000 /dev/zero > /dev/null"),
    program(
        "has huge and impossible files",
        r"truncate -s 1T sparse; truncate -s 9223372036854775807 most; dd if=/dev/zero of=far bs=1 count=1 seek=8E
           printf x | dd of=sparse bs=1 seek=1000000000000 conv=notrunc",
    ),
    program(
        "cannot be looked at",
        r#"python3 -c '
import ctypes,os
ctypes.CDLL(None).prctl(4,0,0,0,0)
for i in range(50):
    with open("f","a") as f: f.write("x")'"#,
    ),
    program("leaves a daemon", "setsid /bin/sh -c 'sleep 0.4; echo late > late' > /dev/null 2>&1 &"),
    program("traces itself", "python3 -c 'import ctypes; print(ctypes.CDLL(None).ptrace(0,0,0,0))'; strace -f -o trace /bin/sh -c 'echo x > y'"),
    program("becomes another user", "chmod 777 . ; setpriv --reuid 54322 --regid 54322 --clear-groups /bin/sh -c 'echo x > y'"),
    program("makes namespaces", "unshare -m -u -i /bin/sh -c 'mount -t tmpfs none /mnt; echo x > /mnt/y'; unshare -p -f /bin/sh -c 'echo x > y'; unshare -U -r /bin/sh -c 'echo x > z'"),
    program("changes its root", "mkdir -p r/dir; cp /bin/busybox r/ 2>/dev/null; python3 -c 'import os; os.chroot(\"r\"); os.chdir(\"/\"); open(\"/dir/x\",\"w\").write(\"x\"); os.mkdir(\"/proc\"); open(\"/proc/self\",\"w\").write(\"lie\")'"),
    program(
        "maps files whose names are no text",
        r#"python3 -c '
import mmap,os
for name in (b"a\xff\x1b[2Jb", b"plain", b"gone"):
    fd=os.open(name,os.O_RDWR|os.O_CREAT); os.ftruncate(fd,65536)
    m=mmap.mmap(fd,65536); m[0:5]=b"abcde"; m.flush(); m[8192:8195]=b"xyz"
    if name==b"gone": os.unlink(name)
    os.close(fd)'"#,
    ),
    program(
        "opens as many files as it may",
        r#"python3 -c '
import os,resource
resource.setrlimit(resource.RLIMIT_NOFILE,(4000,4000))
all=[os.open("f%d"%i,os.O_RDWR|os.O_CREAT) for i in range(3000)]
[os.write(fd,b"x") for fd in all]'"#,
    ),
    program("executes from another thread than the first", r#"python3 -c '
import os,threading
t=threading.Thread(target=lambda: os.execv("/bin/sh",["sh","-c","echo x > y"])); t.start(); t.join()'"#),
    program(
        "writes a map of its symbols that lies",
        r#"python3 -c '
import os,stat
p="/tmp/perf-%d.map" % os.getpid()
os.mkfifo(p)
for i in range(2000):
    fd=os.open("f",os.O_RDWR|os.O_CREAT|os.O_SYNC); os.write(fd,b"x"); os.close(fd)
os.unlink(p)
with open(p,"w") as f:
    f.write("0 ffffffffffffffff \x1b[2J\xff"*1000 + "\n"*1000000)
for i in range(200):
    fd=os.open("f",os.O_RDWR|os.O_CREAT|os.O_SYNC); os.write(fd,b"x"); os.fsync(fd); os.close(fd)
os.unlink(p)'"#,
    ),
    program("has many and long words", "/bin/true $(seq 1 20000) ; LONG=$(head -c 100000 /dev/zero | tr '\\0' x) /bin/sh -c 'echo x > y'"),
    program("leaves children that nobody waits for", "python3 -c '
import os,time
for i in range(100):
    if os.fork()==0: os._exit(0)
time.sleep(0.1)
open(\"y\",\"w\").write(\"x\")'"),
    program("writes beyond its limit", "ulimit -f 1; python3 -c '
import signal
signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
open(\"big\",\"w\").write(\"x\"*100000)'"),
    program("empties iostrata's log", ": > ../log; echo x > y"),
    program("appends to iostrata's log", "echo garbage >> ../log; echo x > y"),
    program("removes iostrata's log", "rm -f ../log; echo x > y"),
    program("takes the place of iostrata's result", "mkdir ../result.json; echo x > y"),
    program("looks for names without end", "python3 -c '
import os
for i in range(30000):
    try: os.stat(\"no-such-name-%d\" % i)
    except OSError: pass'"),
    program("passes descriptors on", r#"python3 -c '
import os,socket,array
a,b=socket.socketpair()
for i in range(100):
    fd=os.open("p%d"%(i%5),os.O_RDWR|os.O_CREAT|os.O_APPEND)
    socket.send_fds(a,[b"x"],[fd]); os.close(fd)
    _,fds,_,_=socket.recv_fds(b,1,1); os.write(fds[0],b"hello"); os.close(fds[0])'"#),
    program("changes times, owners and attributes", r"echo x > y; touch -d @-99999999999 y; touch -d @99999999999 y; chown 4294967294 y; setfattr -n user.$(printf '\033') -v x y; chattr +a y; echo z >> y; chattr -a y; chmod 7777 y; chmod 0 y; cat y"),
];
