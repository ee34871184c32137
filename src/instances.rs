//! Instances of the runtime for the CPU.
//!
//! Parameters, training and inference are generic over the backend, and rustc compiles a generic function in each crate
//! that uses it, unless the function is marked `#[inline(never)]` and there is an instance in the crate that defines it.
//! So the functions behind the public interface are marked, and their instances for the CPU are asked for here: a
//! program of users compiles only the thin functions that know its networks, rows and updaters.

use std::hint::black_box;

use paddle_kernels::cpu::Cpu;

use crate::metrics::Metrics;
use crate::parameters::Parameters;
use crate::trainer::{Call, Steps};
use crate::{checkpoint, infer, trainer};

/// Names the functions whose instances other crates link. It is public so that rustc compiles it; nobody calls it.
#[doc(hidden)]
#[inline(never)]
pub fn instances() {
    black_box(Parameters::<Cpu>::of_models as fn(_, &_, _) -> _);
    black_box(Parameters::<Cpu>::save_to as fn(&_, &_, &_) -> _);
    black_box(Parameters::<Cpu>::load_from as fn(&mut _, &_, _) -> _);
    black_box(Parameters::<Cpu>::save_pdiparams_of as fn(&_, &_, &_) -> _);
    black_box(Parameters::<Cpu>::load_pdiparams_from as fn(&mut _, &_) -> _);
    black_box(Parameters::<Cpu>::upload as fn(&mut _, &_));
    black_box(Parameters::<Cpu>::check_finite as fn(&_) -> _);
    black_box(Steps::<Cpu>::step as fn(&mut _, &_, &_, &mut _, &_, &_) -> _);
    black_box(Steps::<Cpu>::check_record as fn(&_, &_, &_, &_, &_) -> _);
    black_box(Steps::<Cpu>::go_back as fn(&mut _, &_, _, _));
    black_box(Call::<Cpu>::begin as fn(_, _, _, _, _, _) -> _);
    black_box(Call::<Cpu>::step as fn(&mut _, &_, &mut _) -> _);
    black_box(Call::<Cpu>::reached as fn(&mut _, &_, _) -> _);
    black_box(Call::<Cpu>::handle as fn(&mut _, _) -> _);
    black_box(Call::<Cpu>::end as fn(_, _, _) -> _);
    black_box(infer::fetch::<Cpu> as fn(&_, &_, &_, infer::Wanted<'_>, _) -> _);
    black_box(infer::measure::<Cpu> as fn(&_, &_, &_, _, &mut dyn FnMut(usize, f32, &Metrics)) -> _);
    black_box(trainer::training::<Cpu> as fn(_, _, _, _, _) -> _);
    black_box(infer::inference::<Cpu> as fn(_, _, _, _) -> _);
    black_box(checkpoint::write::<Cpu> as fn(&mut _, &_, _) -> _);
    black_box(checkpoint::read::<Cpu> as fn(&_, &mut _, &mut _) -> _);
}
