//! The devices that the machines of a cluster compute on.

use paddle_kernels::Cpu;

use super::{Cluster, ClusterError};
use crate::Error;
use crate::device::{Device, named, of_environment};

/// Names of devices, which ranks take one after the other. If there are none, `PADDLE_DEVICE` names the device of all.
#[derive(Clone, Default)]
pub(super) struct Devices(Vec<String>);

impl Devices {
    /// The name of the device of a rank, if there is one.
    pub(super) fn name_of(&self, rank: u32) -> Option<&str> {
        let count = self.0.len().max(1);
        self.0.get(rank as usize % count).map(String::as_str)
    }

    /// The device of a rank, with this CPU.
    pub(super) fn of(&self, rank: u32, cpu: Cpu) -> Result<Device, Error> {
        match self.name_of(rank) {
            Some(name) => named(name, cpu),
            None => of_environment(cpu),
        }
    }
}

/// The device of a process that has only its environment.
pub(super) fn of_process() -> Result<Device, ClusterError> {
    let device = Cpu::new().map_err(Error::from).and_then(of_environment);
    device.map_err(|error| ClusterError::Start { message: error.to_string() })
}

impl Cluster {
    /// Names the devices that the cluster computes on, as [`device_of`](crate::device_of) knows them: trainers, and beside them parameter
    /// servers, take one each in the order of their ranks, and begin again behind the last. Ranks that train as equals take them in the same
    /// way. It has to be said before the first step. So with [`threads`](Self::threads), several cards of one machine share each batch:
    ///
    /// ```no_run
    /// use paddle::cluster::Cluster;
    ///
    /// let cluster = Cluster::threads(2).devices(["cuda:0", "cuda:1"]);
    /// ```
    ///
    /// The bits are those of one card of this kind with as many [shards](crate::Options::shards). Without names, and in processes that
    /// [a launcher has started](Self::ranks), it is the device that the variable `PADDLE_DEVICE` names, or the CPU. With threads, a device
    /// that is not there is an error of the first step.
    ///
    /// ```
    /// use paddle::cluster::Cluster;
    /// use paddle::{Adam, Parameters, Trainer, network};
    ///
    /// let net = network!(|x: Tensor<f32, _, 2>, y: Tensor<f32, _, 1>| mean(square(fc(x, 1) - y)));
    /// let rows = [net.row([0.0, 1.0], 3.0), net.row([1.0, 0.0], 2.0)];
    /// let cluster = Cluster::threads(2).devices(["cpu", "gpu"]);
    /// let mut parameters = Parameters::create(&net)?;
    /// let error = Trainer::new(Adam::new(0.1)).on(&cluster).step(&net, &mut parameters, rows).unwrap_err();
    /// assert_eq!(error.to_string(), "`gpu` is no device; devices are `cpu`, `cuda:0`, `wgpu:0`, … and `best`");
    /// # Ok::<(), paddle::Error>(())
    /// ```
    pub fn devices<D: Into<String>>(self, names: impl IntoIterator<Item = D>) -> Self {
        self.inner().devices = Devices(names.into_iter().map(Into::into).collect());
        self
    }
}
