//! The device that a program runs on, chosen when it starts.

use std::fmt;

use paddle_kernels::Cpu;
#[cfg(any(feature = "cuda", feature = "wgpu"))]
pub use paddle_kernels::device::Device;
#[cfg(any(feature = "cuda", feature = "wgpu"))]
use paddle_kernels::gpu::{Card, CardError};

use crate::error::Error;
use crate::parameters::shared_cpu;

/// A device that is chosen when a program runs: the CPU, as nothing else is built in.
#[cfg(not(any(feature = "cuda", feature = "wgpu")))]
pub type Device = Cpu;

/// Names the device.
pub(crate) const VARIABLE: &str = "PADDLE_DEVICE";

/// The device that the variable `PADDLE_DEVICE` names; the CPU if it is not set. Its names are those of [`device_of`].
///
/// ```
/// use paddle::{Parameters, device, network};
///
/// let net = network!(|x: Tensor<f32, _, 2>| fc(x, 1));
/// let parameters = Parameters::create_on(device()?, &net, 0)?;
/// # Ok::<(), paddle::Error>(())
/// ```
///
/// # Errors
/// Those of [`device_of`].
pub fn device() -> Result<Device, Error> {
    of_environment(shared_cpu()?)
}

/// The device that the variable names, with this CPU.
pub(crate) fn of_environment(cpu: Cpu) -> Result<Device, Error> {
    match std::env::var_os(VARIABLE) {
        None => Ok(of_cpu(cpu)),
        Some(name) => named(&name.to_string_lossy(), cpu),
    }
}

/// The device of this name: `cpu`; `cuda`, `cuda:1`, … for a card of NVIDIA's by its number; `wgpu`, `wgpu:1`, … for any card; or `best`,
/// which is the first card of NVIDIA's, otherwise the first of `wgpu` that is no program on the processor, otherwise the CPU. Cards
/// need the features `cuda` and `wgpu`.
///
/// # Errors
/// [`Error::Device`] if there is no such device, with those that there are; [`Error::Cpu`] if no threads can be started.
pub fn device_of(name: &str) -> Result<Device, Error> {
    named(name, shared_cpu()?)
}

/// The device of this name. What cards leave to the CPU is computed by this one.
pub(crate) fn named(name: &str, cpu: Cpu) -> Result<Device, Error> {
    let unknown = || DeviceError::Name { name: name.to_string() };
    let (backend, number) = name.split_once(':').unwrap_or((name, "0"));
    let number: usize = number.parse().map_err(|_| unknown())?;
    match (backend, number) {
        ("cpu", 0) => Ok(of_cpu(cpu)),
        ("best", 0) => Ok(best(cpu)),
        ("cuda", number) => cuda(number, cpu),
        ("wgpu", number) => wgpu(number, cpu),
        _ => Err(unknown().into()),
    }
}

#[cfg(any(feature = "cuda", feature = "wgpu"))]
fn of_cpu(cpu: Cpu) -> Device {
    Device::Cpu(cpu)
}

#[cfg(not(any(feature = "cuda", feature = "wgpu")))]
fn of_cpu(cpu: Cpu) -> Device {
    cpu
}

/// Whether values of the device are in the memory of the process.
#[cfg(feature = "cluster")]
pub(crate) fn is_cpu(device: &Device) -> bool {
    #[cfg(any(feature = "cuda", feature = "wgpu"))]
    return matches!(device, Device::Cpu(_));
    #[cfg(not(any(feature = "cuda", feature = "wgpu")))]
    return matches!(device, Cpu { .. });
}

#[cfg(feature = "cuda")]
fn cuda(number: usize, cpu: Cpu) -> Result<Device, Error> {
    let card = paddle_kernels::gpu::cuda::Cuda::new(number, cpu).map_err(DeviceError::Card)?;
    Ok(Device::Cuda(card))
}

#[cfg(not(feature = "cuda"))]
fn cuda(_: usize, _: Cpu) -> Result<Device, Error> {
    Err(DeviceError::NotBuilt { backend: "cuda" }.into())
}

#[cfg(feature = "wgpu")]
fn wgpu(number: usize, cpu: Cpu) -> Result<Device, Error> {
    let card = paddle_kernels::gpu::wgpu::Wgpu::new(number, cpu).map_err(DeviceError::Card)?;
    Ok(Device::Wgpu(card))
}

#[cfg(not(feature = "wgpu"))]
fn wgpu(_: usize, _: Cpu) -> Result<Device, Error> {
    Err(DeviceError::NotBuilt { backend: "wgpu" }.into())
}

/// The cards of this machine that the program is built for. A card may be in it twice, under the names that each backend has for it.
#[cfg(any(feature = "cuda", feature = "wgpu"))]
pub fn cards() -> Vec<Card> {
    let mut cards = Vec::new();
    #[cfg(feature = "cuda")]
    cards.extend(paddle_kernels::gpu::cuda::cards());
    #[cfg(feature = "wgpu")]
    cards.extend(paddle_kernels::gpu::wgpu::cards());
    cards
}

/// The first card that is one and can be used, or the CPU.
#[cfg(any(feature = "cuda", feature = "wgpu"))]
fn best(cpu: Cpu) -> Device {
    let real = cards().into_iter().filter(|card| card.is_real);
    let mut usable = real.filter_map(|card| match card.backend {
        "cuda" => cuda(card.number, cpu.clone()).ok(),
        _ => wgpu(card.number, cpu.clone()).ok(),
    });
    usable.next().unwrap_or_else(|| of_cpu(cpu.clone()))
}

#[cfg(not(any(feature = "cuda", feature = "wgpu")))]
fn best(cpu: Cpu) -> Device {
    cpu
}

/// Why a device cannot be had.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DeviceError {
    /// It is no name of a device.
    Name {
        /// The name.
        name: String,
    },
    /// Cards of this backend are not built into this program.
    NotBuilt {
        /// The backend, which is the feature too.
        backend: &'static str,
    },
    /// The card is not there, or is refused.
    #[cfg(any(feature = "cuda", feature = "wgpu"))]
    Card(CardError),
}

impl fmt::Display for DeviceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            DeviceError::Name { name } => {
                write!(f, "`{name}` is no device; devices are `cpu`, `cuda:0`, `wgpu:0`, … and `best`")
            }
            DeviceError::NotBuilt { backend } => {
                write!(
                    f,
                    "cards of `{backend}` are not built into this program; build it with the feature `{backend}`"
                )
            }
            #[cfg(any(feature = "cuda", feature = "wgpu"))]
            DeviceError::Card(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for DeviceError {}
