//! The card that tests run on: the first one, which may be a program on the processor.

use std::sync::OnceLock;

use paddle_kernels::Cpu;
use paddle_kernels::gpu::wgpu::Wgpu;

/// Where it is set, tests without a card fail; elsewhere they do nothing.
const REQUIRED: &str = "PADDLE_REQUIRE_CARD";

/// The card; none if there is none.
pub(crate) fn card() -> Option<&'static Wgpu> {
    static CARD: OnceLock<Option<Wgpu>> = OnceLock::new();
    let card = CARD.get_or_init(|| match Wgpu::new(0, Cpu::with_threads(1).unwrap()) {
        Ok(card) => Some(card),
        Err(error) if std::env::var_os(REQUIRED).is_some() => panic!("{error}"),
        Err(error) => {
            eprintln!("*** SKIPPED: {error} ***");
            None
        }
    });
    card.as_ref()
}
