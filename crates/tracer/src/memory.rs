//! How this process allocates memory.
#![allow(
    unsafe_code,
    reason = "parameters of the allocator are set by a function of C"
)]

/// Makes all threads allocate from one arena, so that one can reuse what another freed.
///
/// glibc gives each thread its own arena and keeps freed memory in it: memory that the reader of
/// the event ring used would stay resident while the result is built. Call this before the first
/// thread is started.
pub fn share() {
    #[cfg(target_env = "gnu")]
    // SAFETY: mallopt(3) only sets a parameter of the allocator.
    unsafe {
        libc::mallopt(libc::M_ARENA_MAX, 1);
    }
}

/// Returns free memory to the kernel: a new child has as much resident memory as this process until
/// it executes its program, and the kernel charges the program for it.
pub fn give_back() {
    #[cfg(target_env = "gnu")]
    // SAFETY: malloc_trim(3) only returns unused pages.
    unsafe {
        libc::malloc_trim(0);
    }
}
