//! How this process allocates memory: parameters of mimalloc, the allocator of the program.
#![allow(unsafe_code, reason = "the allocator is a library of C")]

use std::ffi::c_int;

use libmimalloc_sys::{mi_collect, mi_option_set};

/// `mi_option_purge_delay` of include/mimalloc.h, for which the crate has no name.
const PURGE_DELAY: c_int = 15;

/// Has freed memory returned to the kernel at once, not after a second: what is freed while a result
/// is built is too much to stay resident. Call this before the first thread is started.
pub fn return_at_once() {
    // SAFETY: the option exists, and no other thread reads or sets it meanwhile.
    unsafe { mi_option_set(PURGE_DELAY, 0) };
}

/// Returns free memory to the kernel: a new child has as much resident memory as this process until
/// it executes its program, and the kernel charges the program for it.
pub fn give_back() {
    // SAFETY: it returns unused pages of this thread's heap and of those whose threads have ended.
    unsafe { mi_collect(true) };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_option_is_that_of_the_delay() {
        // No other option is 1,000 at first.
        // SAFETY: options are set by this test alone.
        let before = unsafe { libmimalloc_sys::mi_option_get(PURGE_DELAY) };
        return_at_once();
        // SAFETY: as above.
        let after = unsafe { libmimalloc_sys::mi_option_get(PURGE_DELAY) };
        assert_eq!((before, after), (1_000, 0));
    }
}
