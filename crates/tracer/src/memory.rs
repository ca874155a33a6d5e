//! How this process's memory is allocated.
#![allow(
    unsafe_code,
    reason = "parameters of the allocator are set by a function of C"
)]

/// Has all threads allocate from one arena, so that what one of them frees another can use.
///
/// glibc gives each thread an arena of its own and keeps what is freed in it: what the reader of the
/// event ring had used would stay resident while the result is made. To be called before the first
/// thread is started.
pub fn share() {
    #[cfg(target_env = "gnu")]
    // SAFETY: mallopt(3) only sets a parameter of the allocator.
    unsafe {
        libc::mallopt(libc::M_ARENA_MAX, 1);
    }
}

/// Gives back what is free: a process that is started has as much resident as this one, until it
/// becomes its program, and the kernel counts that for the program.
pub fn give_back() {
    #[cfg(target_env = "gnu")]
    // SAFETY: malloc_trim(3) only returns pages that nobody uses.
    unsafe {
        libc::malloc_trim(0);
    }
}
