//! The cards that tests run on: the first of each backend. That of `wgpu` may be a program on the processor.

use std::sync::OnceLock;

use paddle_kernels::Cpu;
use paddle_kernels::gpu::CardError;

/// The backends whose cards have to be there, by their names: tests without them fail. Elsewhere they do nothing.
const REQUIRED: &str = "PADDLE_REQUIRE_CARD";

/// The first card of a backend; none if there is none.
pub(crate) fn first<B>(
    cell: &'static OnceLock<Option<B>>,
    backend: &str,
    new: fn(usize, Cpu) -> Result<B, CardError>,
) -> Option<&'static B> {
    let card = cell.get_or_init(|| match new(0, Cpu::with_threads(1).unwrap()) {
        Ok(card) => Some(card),
        Err(error) if std::env::var(REQUIRED).is_ok_and(|required| required.contains(backend)) => {
            panic!("{error}")
        }
        Err(error) => {
            eprintln!("*** SKIPPED: {error} ***");
            None
        }
    });
    card.as_ref()
}

/// The first card of `wgpu`.
#[cfg(feature = "wgpu")]
pub(crate) fn wgpu() -> Option<&'static paddle_kernels::gpu::wgpu::Wgpu> {
    static CARD: OnceLock<Option<paddle_kernels::gpu::wgpu::Wgpu>> = OnceLock::new();
    first(&CARD, "wgpu", paddle_kernels::gpu::wgpu::Wgpu::new)
}

/// The first card of `cuda`.
#[cfg(feature = "cuda")]
pub(crate) fn cuda() -> Option<&'static paddle_kernels::gpu::cuda::Cuda> {
    static CARD: OnceLock<Option<paddle_kernels::gpu::cuda::Cuda>> = OnceLock::new();
    first(&CARD, "cuda", paddle_kernels::gpu::cuda::Cuda::new)
}
