//! Comparisons of backends: single and fused operators, the movement of rows, programs. Gradients are compared with
//! differences.
//!
//! All tests are generic over `Backend`. A new backend is one module in `on_every_backend`.

mod attention;
#[cfg(any(feature = "cuda", feature = "wgpu"))]
#[path = "../support/card.rs"]
mod card;
mod contractions;
#[path = "../support/device.rs"]
mod device;
mod draw;
mod epilogues;
mod executor;
mod fallback;
mod fed;
mod fused;
mod generated;
mod gradients;
mod host;
mod hostile;
mod images;
mod inaccurate;
mod indices_out_of_range;
#[path = "../support/lacking.rs"]
mod lacking;
mod large;
mod layouts;
mod lengths;
mod loops;
mod machines;
mod memory;
mod nested;
#[cfg(feature = "cuda")]
mod nvrtc;
#[cfg(feature = "wgpu")]
mod operators_on_cards;
mod precision;
mod programs;
#[path = "../support/queued.rs"]
mod queued;
mod random;
mod reference;
mod rows;
mod run;
mod samples;
mod shards;
mod table;
mod terms;
mod together;
mod tolerance;
mod views;
mod written_out;

/// Makes a test of each function, for each backend on the processor.
macro_rules! on_every_processor {
    ($($check:ident),* $(,)?) => {
        mod single {
            $(#[test]
            fn $check() {
                super::$check(&paddle_kernels::reference::Reference::single());
            })*
        }

        mod double {
            $(#[test]
            fn $check() {
                super::$check(&paddle_kernels::reference::Reference::double());
            })*
        }

        mod cpu {
            $(#[test]
            fn $check() {
                super::$check(&paddle_kernels::Cpu::with_threads(3).unwrap());
            })*
        }

        mod queued {
            $(#[test]
            fn $check() {
                super::$check(&crate::queued::Queued(paddle_kernels::Cpu::with_threads(2).unwrap()));
            })*
        }

    };
}
pub(crate) use on_every_processor;

/// Makes a test of each function, for each backend: on cards, too, where there are some.
macro_rules! on_every_backend {
    ($($check:ident),* $(,)?) => {
        crate::on_every_processor!($($check),*);

        #[cfg(feature = "wgpu")]
        mod card_by_wgpu {
            $(#[test]
            fn $check() {
                if let Some(card) = crate::card::of("wgpu") {
                    super::$check(card);
                }
            })*
        }

        #[cfg(feature = "cuda")]
        mod card_by_cuda {
            $(#[test]
            fn $check() {
                if let Some(card) = crate::card::of("cuda") {
                    super::$check(card);
                }
            })*
        }
    };
}
pub(crate) use on_every_backend;

/// The same for what runs programs, also on a device that has images in another layout, and on one that lacks operators, which the CPU
/// runs.
macro_rules! on_every_device {
    ($($check:ident),* $(,)?) => {
        crate::on_every_backend!($($check),*);

        mod channels_last {
            $(#[test]
            fn $check() {
                super::$check(&paddle_kernels::reference::Reference::single().channels_last());
            })*
        }

        mod lacking {
            $(#[test]
            fn $check() {
                let fallback = paddle_kernels::Cpu::with_threads(2).unwrap();
                let device = crate::queued::Queued(fallback.clone());
                super::$check(&crate::lacking::Lacking { device, fallback });
            })*
        }
    };
}
pub(crate) use on_every_device;
