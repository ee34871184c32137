//! Whether this machine has tiles, and the system lets this process use them.
#![allow(unsafe_code, reason = "asks the processor and the system")]

use std::sync::OnceLock;

/// Whether there are tiles for bf16, and this process may use them. Linux gives them to processes that ask, as they make the
/// memory larger in which it keeps the registers of a thread.
pub(in super::super) fn is_permitted() -> bool {
    static ANSWER: OnceLock<bool> = OnceLock::new();
    *ANSWER.get_or_init(|| cfg!(not(miri)) && has_tiles() && asks_the_system())
}

/// Whether the processor has tiles and products of them in bf16.
#[allow(unused_unsafe, reason = "what asks the processor is unsafe in older releases of Rust")]
fn has_tiles() -> bool {
    use std::arch::x86_64::{__cpuid, __cpuid_count};
    const TILES: u32 = 1 << 24;
    const BF16: u32 = 1 << 22;
    if !is_x86_feature_detected!("avx512bf16") {
        return false;
    }
    // SAFETY: processors with AVX-512 can be asked.
    let features = unsafe { if __cpuid(0).eax < 7 { 0 } else { __cpuid_count(7, 0).edx } };
    features & (TILES | BF16) == TILES | BF16
}

#[cfg(target_os = "linux")]
fn asks_the_system() -> bool {
    use std::arch::asm;
    const ARCH_PRCTL: usize = 158;
    const REQUEST_PERMISSION: usize = 0x1023;
    const TILE_DATA: usize = 18;
    let answer: isize;
    // SAFETY: the call takes two numbers, and changes nothing but what this process is permitted to do.
    unsafe {
        asm!(
            "syscall",
            inlateout("rax") ARCH_PRCTL => answer,
            in("rdi") REQUEST_PERMISSION,
            in("rsi") TILE_DATA,
            out("rcx") _,
            out("r11") _,
            options(nostack),
        );
    }
    answer == 0
}

#[cfg(not(target_os = "linux"))]
fn asks_the_system() -> bool {
    false
}
