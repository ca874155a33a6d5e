//! Names of io_uring's operations.

/// By opcode: `enum io_uring_op`, `include/uapi/linux/io_uring.h` (Linux 6.18).
const NAMES: [&str; 65] = [
    "io_uring.nop",
    "io_uring.readv",
    "io_uring.writev",
    "io_uring.fsync",
    "io_uring.read_fixed",
    "io_uring.write_fixed",
    "io_uring.poll_add",
    "io_uring.poll_remove",
    "io_uring.sync_file_range",
    "io_uring.sendmsg",
    "io_uring.recvmsg",
    "io_uring.timeout",
    "io_uring.timeout_remove",
    "io_uring.accept",
    "io_uring.async_cancel",
    "io_uring.link_timeout",
    "io_uring.connect",
    "io_uring.fallocate",
    "io_uring.openat",
    "io_uring.close",
    "io_uring.files_update",
    "io_uring.statx",
    "io_uring.read",
    "io_uring.write",
    "io_uring.fadvise",
    "io_uring.madvise",
    "io_uring.send",
    "io_uring.recv",
    "io_uring.openat2",
    "io_uring.epoll_ctl",
    "io_uring.splice",
    "io_uring.provide_buffers",
    "io_uring.remove_buffers",
    "io_uring.tee",
    "io_uring.shutdown",
    "io_uring.renameat",
    "io_uring.unlinkat",
    "io_uring.mkdirat",
    "io_uring.symlinkat",
    "io_uring.linkat",
    "io_uring.msg_ring",
    "io_uring.fsetxattr",
    "io_uring.setxattr",
    "io_uring.fgetxattr",
    "io_uring.getxattr",
    "io_uring.socket",
    "io_uring.uring_cmd",
    "io_uring.send_zc",
    "io_uring.sendmsg_zc",
    "io_uring.read_multishot",
    "io_uring.waitid",
    "io_uring.futex_wait",
    "io_uring.futex_wake",
    "io_uring.futex_waitv",
    "io_uring.fixed_fd_install",
    "io_uring.ftruncate",
    "io_uring.bind",
    "io_uring.listen",
    "io_uring.recv_zc",
    "io_uring.epoll_wait",
    "io_uring.readv_fixed",
    "io_uring.writev_fixed",
    "io_uring.pipe",
    "io_uring.nop128",
    "io_uring.uring_cmd128",
];

pub(super) fn names() -> impl Iterator<Item = &'static str> {
    NAMES.into_iter()
}

pub(super) fn name(opcode: usize) -> &'static str {
    NAMES.get(opcode).copied().unwrap_or("io_uring.unknown")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_in_the_order_of_the_opcodes() {
        use io_uring::opcode;
        assert_eq!(name(opcode::Write::CODE.into()), "io_uring.write");
        assert_eq!(name(opcode::Fsync::CODE.into()), "io_uring.fsync");
        assert_eq!(name(opcode::RenameAt::CODE.into()), "io_uring.renameat");
        assert_eq!(
            name(opcode::FutexWaitV::CODE.into()),
            "io_uring.futex_waitv"
        );
        assert_eq!(name(opcode::Ftruncate::CODE.into()), "io_uring.ftruncate");
        assert_eq!(name(1_000), "io_uring.unknown");
    }
}
