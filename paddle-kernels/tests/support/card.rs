//! The cards that tests run on: the first of each backend. That of `wgpu` may be a program on the processor.

use std::sync::OnceLock;

use paddle_kernels::Cpu;
use paddle_kernels::device::Device;
use paddle_kernels::gpu::CardError;

/// Names the backends whose cards have to be there: tests without them fail. Elsewhere they do nothing.
const REQUIRED: &str = "PADDLE_REQUIRE_CARD";

/// The first card of a backend; none if there is none.
pub(crate) fn of(backend: &str) -> Option<&'static Device> {
    static CARDS: [OnceLock<Option<Device>>; 2] = [const { OnceLock::new() }; 2];
    let card = CARDS[usize::from(backend == "cuda")].get_or_init(|| match open(backend) {
        Some(Ok(card)) => Some(card),
        Some(Err(error)) if std::env::var(REQUIRED).is_ok_and(|required| required.contains(backend)) => {
            panic!("{error}")
        }
        Some(Err(error)) => {
            eprintln!("*** SKIPPED: {error} ***");
            None
        }
        None => None,
    });
    card.as_ref()
}

/// The first card of a backend; none if it is not built in.
fn open(backend: &str) -> Option<Result<Device, CardError>> {
    let cpu = || Cpu::with_threads(1).unwrap();
    match backend {
        #[cfg(feature = "wgpu")]
        "wgpu" => Some(paddle_kernels::gpu::wgpu::Wgpu::new(0, cpu()).map(Device::Wgpu)),
        #[cfg(feature = "cuda")]
        "cuda" => Some(paddle_kernels::gpu::cuda::Cuda::new(0, cpu()).map(Device::Cuda)),
        _ => None,
    }
}
