//! The table of all calls.

use Counted::{AtFile, ByName};
use Following::{Both, HistoryOnly, Neither, NotNeeded};

use super::{Counted, Effect, Following, Group};
use crate::gap::NotFollowed;

const fn group(
    effect: Effect,
    counted: Counted,
    following: Following,
    calls: &'static str,
) -> Group {
    Group {
        effect,
        counted,
        following,
        calls,
    }
}

/// All groups, ordered by the effect of their calls on files.
pub const GROUPS: &[Group] = &[
    group(
        Effect::Reads,
        AtFile,
        NotNeeded,
        "read readv pread64 preadv preadv2 io_uring.read io_uring.readv io_uring.read_fixed \
         io_uring.readv_fixed io_uring.read_multishot aio.pread aio.preadv",
    ),
    group(
        Effect::Writes,
        AtFile,
        Both,
        "write writev pwrite64 pwritev pwritev2 io_uring.write io_uring.write_fixed",
    ),
    group(
        Effect::Writes,
        AtFile,
        HistoryOnly(NotFollowed::RingBuffers),
        "io_uring.writev io_uring.writev_fixed",
    ),
    group(
        Effect::Writes,
        AtFile,
        HistoryOnly(NotFollowed::AioPayload),
        "aio.pwrite aio.pwritev",
    ),
    group(
        Effect::Copies,
        AtFile,
        Both,
        "sendfile copy_file_range splice ioctl(FICLONE) ioctl(FICLONERANGE)",
    ),
    group(
        Effect::Copies,
        AtFile,
        HistoryOnly(NotFollowed::RingSplice),
        "io_uring.splice",
    ),
    // File contents are unchanged: only their location on the disk is shared.
    group(Effect::Copies, AtFile, NotNeeded, "ioctl(FIDEDUPERANGE)"),
    // From memory to a pipe.
    group(Effect::Copies, AtFile, NotNeeded, "vmsplice"),
    // Between two pipes.
    group(Effect::Copies, ByName, NotNeeded, "tee io_uring.tee"),
    group(
        Effect::Syncs,
        AtFile,
        Both,
        "fsync fdatasync sync_file_range syncfs io_uring.fsync io_uring.sync_file_range \
         aio.fsync aio.fdsync",
    ),
    group(Effect::Syncs, ByName, Both, "sync msync"),
    group(
        Effect::Opens,
        AtFile,
        Both,
        "open openat openat2 creat io_uring.openat io_uring.openat2",
    ),
    group(
        Effect::Opens,
        AtFile,
        HistoryOnly(NotFollowed::ByHandle),
        "open_by_handle_at",
    ),
    group(Effect::Closes, AtFile, Both, "close io_uring.close"),
    group(Effect::Closes, ByName, NotNeeded, "close_range"),
    group(Effect::Maps, AtFile, Both, "mmap"),
    group(
        Effect::Maps,
        AtFile,
        HistoryOnly(NotFollowed::MappedLater),
        "mprotect(shared) pkey_mprotect(shared) mremap(shared)",
    ),
    group(
        Effect::Maps,
        ByName,
        HistoryOnly(NotFollowed::RemappedPages),
        "remap_file_pages",
    ),
    // Memory that contains no file pages, or that cannot be stored to.
    group(
        Effect::Maps,
        ByName,
        NotNeeded,
        "mprotect pkey_mprotect mremap munmap brk",
    ),
    group(
        Effect::Resizes,
        AtFile,
        Both,
        "ftruncate fallocate io_uring.ftruncate io_uring.fallocate",
    ),
    group(Effect::Resizes, AtFile, Both, "truncate"),
    group(
        Effect::Resizes,
        ByName,
        Neither(NotFollowed::PunchedMapping),
        "madvise(MADV_REMOVE)",
    ),
    group(
        Effect::Resizes,
        AtFile,
        Neither(NotFollowed::ExchangedBytes),
        "ioctl(space) ioctl(exchange) ioctl(discard)",
    ),
    group(
        Effect::Names,
        ByName,
        Both,
        "rename renameat renameat2 link linkat symlink symlinkat unlink unlinkat rmdir mkdir \
         mkdirat mknod mknodat io_uring.renameat io_uring.unlinkat io_uring.mkdirat \
         io_uring.symlinkat io_uring.linkat",
    ),
    group(
        Effect::Names,
        AtFile,
        Neither(NotFollowed::Subvolume),
        "ioctl(subvolume)",
    ),
    group(
        Effect::Attributes,
        AtFile,
        NotNeeded,
        "fchmod fchown fsetxattr fremovexattr io_uring.fsetxattr",
    ),
    group(
        Effect::Attributes,
        ByName,
        NotNeeded,
        "chmod fchmodat fchmodat2 chown lchown fchownat utime utimes futimesat utimensat setxattr \
         lsetxattr setxattrat removexattr lremovexattr removexattrat file_setattr \
         io_uring.setxattr",
    ),
    group(
        Effect::Looks,
        AtFile,
        NotNeeded,
        "fstat fstatfs fgetxattr flistxattr getdents getdents64 io_uring.fgetxattr",
    ),
    group(
        Effect::Looks,
        ByName,
        NotNeeded,
        "stat lstat newfstatat statx access faccessat faccessat2 readlink readlinkat statfs \
         getxattr lgetxattr getxattrat listxattr llistxattr listxattrat name_to_handle_at \
         file_getattr io_uring.statx io_uring.getxattr",
    ),
    group(
        Effect::Handles,
        AtFile,
        NotNeeded,
        "lseek fcntl flock ioctl fchdir dup dup2 dup3 readahead fadvise64 cachestat \
         io_uring.fadvise",
    ),
    group(
        Effect::Handles,
        ByName,
        NotNeeded,
        "chdir chroot getcwd umask setns unshare madvise process_madvise mincore mlock mlock2 \
         mlockall munlock munlockall pidfd_getfd pipe pipe2 memfd_create memfd_secret eventfd \
         eventfd2 epoll_create epoll_create1 epoll_ctl epoll_ctl_old inotify_init inotify_init1 \
         inotify_add_watch inotify_rm_watch fanotify_init fanotify_mark signalfd signalfd4 \
         timerfd_create timerfd_gettime timerfd_settime userfaultfd pidfd_open kcmp \
         io_uring.madvise io_uring.files_update io_uring.fixed_fd_install io_uring.pipe \
         io_uring.epoll_ctl",
    ),
    group(
        Effect::Mounts,
        ByName,
        Neither(NotFollowed::RemountedNames),
        "mount umount2 move_mount pivot_root",
    ),
    // Not attached to any path until move_mount, or without effect on names.
    group(
        Effect::Mounts,
        ByName,
        NotNeeded,
        "fsopen fsconfig fsmount fspick open_tree open_tree_attr mount_setattr statmount \
         listmount sysfs ustat",
    ),
    group(
        Effect::Delegates,
        ByName,
        Neither(NotFollowed::KernelWrites),
        "swapon acct io_uring.uring_cmd io_uring.uring_cmd128",
    ),
    group(
        Effect::Delegates,
        ByName,
        NotNeeded,
        "swapoff quotactl quotactl_fd nfsservctl",
    ),
    group(
        Effect::Queues,
        ByName,
        NotNeeded,
        "io_uring_setup io_uring_enter io_uring_register io_setup io_destroy io_submit \
         io_getevents io_pgetevents io_cancel aio.poll aio.noop",
    ),
    group(
        Effect::Waits,
        ByName,
        NotNeeded,
        "accept accept4 clock_nanosleep connect epoll_pwait epoll_pwait2 epoll_wait \
         epoll_wait_old futex futex_wait futex_waitv mq_timedreceive msgrcv nanosleep pause poll \
         ppoll pselect6 recvfrom recvmmsg recvmsg rt_sigsuspend rt_sigtimedwait select semop \
         semtimedop sendmmsg sendmsg sendto vfork wait4 waitid io_uring.accept io_uring.connect \
         io_uring.epoll_wait io_uring.futex_wait io_uring.futex_waitv io_uring.recv \
         io_uring.recv_zc io_uring.recvmsg io_uring.send io_uring.send_zc io_uring.sendmsg \
         io_uring.sendmsg_zc io_uring.waitid io_uring.poll_add io_uring.timeout \
         io_uring.link_timeout",
    ),
    group(
        Effect::Nothing,
        ByName,
        NotNeeded,
        "_sysctl add_key adjtimex afs_syscall alarm arch_prctl bind bpf capget capset \
         clock_adjtime clock_getres clock_gettime clock_settime clone clone3 create_module \
         delete_module execve execveat exit exit_group finit_module fork futex_requeue futex_wake \
         get_kernel_syms get_mempolicy get_robust_list get_thread_area getcpu getegid geteuid \
         getgid getgroups getitimer getpeername getpgid getpgrp getpid getpmsg getppid \
         getpriority getrandom getresgid getresuid getrlimit getrusage getsid getsockname \
         getsockopt gettid gettimeofday getuid init_module ioperm iopl ioprio_get ioprio_set \
         kexec_file_load kexec_load keyctl kill landlock_add_rule landlock_create_ruleset \
         landlock_restrict_self listen lookup_dcookie lsm_get_self_attr lsm_list_modules \
         lsm_set_self_attr map_shadow_stack mbind membarrier migrate_pages modify_ldt move_pages \
         mq_getsetattr mq_notify mq_open mq_timedsend mq_unlink mseal msgctl msgget msgsnd \
         perf_event_open personality pidfd_send_signal pkey_alloc pkey_free prctl prlimit64 \
         process_mrelease process_vm_readv process_vm_writev ptrace putpmsg query_module reboot \
         request_key restart_syscall rseq rt_sigaction rt_sigpending rt_sigprocmask \
         rt_sigqueueinfo rt_sigreturn rt_tgsigqueueinfo sched_get_priority_max \
         sched_get_priority_min sched_getaffinity sched_getattr sched_getparam \
         sched_getscheduler sched_rr_get_interval sched_setaffinity sched_setattr \
         sched_setparam sched_setscheduler sched_yield seccomp security semctl semget \
         set_mempolicy set_mempolicy_home_node set_robust_list set_thread_area set_tid_address \
         setdomainname setfsgid setfsuid setgid setgroups sethostname setitimer setpgid \
         setpriority setregid setresgid setresuid setreuid setrlimit setsid setsockopt \
         settimeofday setuid shmat shmctl shmdt shmget shutdown sigaltstack socket socketpair \
         sysinfo syslog tgkill time timer_create timer_delete timer_getoverrun timer_gettime \
         timer_settime times tkill tuxcall uname uprobe uretprobe uselib vhangup vserver \
         io_uring.nop io_uring.nop128 io_uring.poll_remove io_uring.timeout_remove \
         io_uring.async_cancel io_uring.provide_buffers io_uring.remove_buffers \
         io_uring.shutdown io_uring.msg_ring io_uring.socket io_uring.futex_wake io_uring.bind \
         io_uring.listen",
    ),
];
