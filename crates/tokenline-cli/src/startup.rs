//! Whether standard output was closed at the start. The standard library hides it: before `main`, it opens `/dev/null`
//! in place of a closed standard stream.
#![allow(unsafe_code, reason = "nothing safe runs before the standard library does")]

use std::sync::atomic::{AtomicBool, Ordering};

static IS_CLOSED: AtomicBool = AtomicBool::new(false);

/// Whether the program was started with a standard output.
pub(crate) fn has_stdout() -> bool {
    !IS_CLOSED.load(Ordering::Relaxed)
}

// SAFETY: the loader calls the functions in this section before `main`; this one needs nothing that `main` sets up.
#[cfg(unix)]
#[used]
#[cfg_attr(not(target_vendor = "apple"), unsafe(link_section = ".init_array"))]
#[cfg_attr(target_vendor = "apple", unsafe(link_section = "__DATA,__mod_init_func"))]
static AT_START: extern "C" fn() = look;

#[cfg(unix)]
extern "C" fn look() {
    // SAFETY: it only reads the flags of the descriptor, if there is one.
    let flags = unsafe { libc::fcntl(libc::STDOUT_FILENO, libc::F_GETFD) };
    IS_CLOSED.store(flags == -1, Ordering::Relaxed);
}
