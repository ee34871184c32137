//! The device that a program runs on, chosen when it starts.

use std::fmt;

use paddle_kernels::Cpu;
#[cfg(feature = "wgpu")]
pub use paddle_kernels::device::Device;
#[cfg(feature = "wgpu")]
use paddle_kernels::gpu::wgpu::{Wgpu, cards};

use crate::error::Error;
use crate::parameters::shared_cpu;

/// A device that is chosen when a program runs: the CPU, as nothing else is built in.
#[cfg(not(feature = "wgpu"))]
pub type Device = Cpu;

/// Names the device.
const VARIABLE: &str = "PADDLE_DEVICE";

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
    match std::env::var_os(VARIABLE) {
        None => device_of("cpu"),
        Some(name) => device_of(&name.to_string_lossy()),
    }
}

/// The device of this name: `cpu`; `wgpu`, `wgpu:1`, … for a card by its number; or `best`, which is the first card, or the CPU where
/// there is none. Cards need the feature `wgpu`.
///
/// # Errors
/// [`Error::Device`] if there is no such device, with those that there are; [`Error::Cpu`] if no threads can be started.
pub fn device_of(name: &str) -> Result<Device, Error> {
    let cpu = shared_cpu()?;
    match name.split_once(':').unwrap_or((name, "0")) {
        ("cpu", "0") => Ok(of_cpu(cpu)),
        ("best", "0") => Ok(best(cpu)),
        ("wgpu", number) => match number.parse() {
            Ok(number) => card(number, cpu),
            Err(_) => Err(DeviceError::Name { name: name.to_string() }.into()),
        },
        _ => Err(DeviceError::Name { name: name.to_string() }.into()),
    }
}

#[cfg(feature = "wgpu")]
fn of_cpu(cpu: Cpu) -> Device {
    Device::Cpu(cpu)
}

#[cfg(not(feature = "wgpu"))]
fn of_cpu(cpu: Cpu) -> Device {
    cpu
}

#[cfg(feature = "wgpu")]
fn card(number: usize, cpu: Cpu) -> Result<Device, Error> {
    let card = Wgpu::new(number, cpu).map_err(DeviceError::Card)?;
    Ok(Device::Wgpu(card))
}

#[cfg(not(feature = "wgpu"))]
fn card(_: usize, _: Cpu) -> Result<Device, Error> {
    Err(DeviceError::NotBuilt.into())
}

/// The first card that is one, or the CPU.
#[cfg(feature = "wgpu")]
fn best(cpu: Cpu) -> Device {
    let card = cards().into_iter().find(|card| card.is_real);
    let card = card.and_then(|card| Wgpu::new(card.number, cpu.clone()).ok());
    card.map_or_else(|| of_cpu(cpu), Device::Wgpu)
}

#[cfg(not(feature = "wgpu"))]
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
    /// Cards are not built into this program.
    NotBuilt,
    /// The card is not there, or is refused.
    #[cfg(feature = "wgpu")]
    Card(paddle_kernels::gpu::wgpu::WgpuError),
}

impl fmt::Display for DeviceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            DeviceError::Name { name } => {
                write!(f, "`{name}` is no device; devices are `cpu`, `wgpu:0`, `wgpu:1`, … and `best`")
            }
            DeviceError::NotBuilt => {
                f.write_str("cards are not built into this program; build it with the feature `wgpu`")
            }
            #[cfg(feature = "wgpu")]
            DeviceError::Card(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for DeviceError {}
