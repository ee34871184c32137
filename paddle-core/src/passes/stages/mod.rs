//! `stages`: cuts a training step into programs for devices, each of which has a part of the network.
//!
//! [`ToDevice`](crate::ops::ToDevice) says where a network is cut. Each device has the operators that follow from what was brought to it,
//! and the parameters that they use. `place` makes every step from one device to another an operator, before the gradient is appended; so the
//! gradient goes the same way back. `cut` takes the part of one device: what comes from elsewhere is received, what goes elsewhere is sent.
//!
//! A device runs its program twice for a shard of a batch. The first run ends where all values were passed on. The second has the gradient of
//! what follows, goes forward again, and then backward: so nothing but what was received is kept in between (Huang et al., *GPipe*, 2019).
//! It is one plan, and numbers that are drawn depend on the step and the row, so both runs compute the same bits.

mod balance;
mod cut;
mod place;

use std::collections::BTreeMap;

pub use self::balance::balanced;
use self::cut::cut;
use self::place::Devices;
pub(super) use self::place::place;
use super::distribute::{Placement, receive, send, trained, update_of};
use super::optimize::{Settings, UpdateRule};
use super::pipeline::{Pass, PassError, Pipeline, gradients_of_shards};
use super::shard::Sharding;
use crate::ops::{GradientError, Program};
use crate::program::RowsId;

/// The programs of a training step in stages.
#[derive(Clone, Debug)]
pub struct StagedTraining {
    /// The programs of each device.
    pub stages: Vec<Stage>,
    /// The device that has each output of the network.
    pub outputs: Vec<u32>,
    /// Whether all values go from lower devices to higher ones, before the gradient comes back.
    pub is_pipeline: bool,
    /// Whether the updates of devices share something about their gradients.
    pub shares: bool,
    /// The further inputs of a shard, and what its outputs add up to.
    pub sharding: Sharding,
}

/// The programs of a device.
#[derive(Clone, Debug)]
pub struct Stage {
    /// Goes forward and back, and adds up gradients. Its inputs are those of
    /// [`DistributedTraining::trainer`](super::distribute::DistributedTraining::trainer).
    pub compute: Program,
    /// Whether it sends something before it goes back.
    pub passes_on: bool,
    /// Updates the parameters of the device.
    pub update: Program,
}

impl StagedTraining {
    /// From a network to its training step in stages, see [`ShardedTraining`](super::ShardedTraining). `placement` has each parameter, as a
    /// whole, on the device that [`homes`] says.
    ///
    /// Errors like `ShardedTraining`, and if a value cannot go from one device to another.
    pub fn new(
        network: &Program,
        batch: Option<RowsId>,
        settings: &Settings,
        is_frozen: &dyn Fn(&str) -> bool,
        rule: &UpdateRule<'_>,
        placement: &Placement,
    ) -> Result<Self, PassError> {
        let (program, sharding) = gradients_of_shards(network, batch, is_frozen)?;
        let devices = Devices::of(&program);
        devices.check(&program)?;
        let count = placement.servers().get();
        if devices.count() > count {
            let message =
                format!("the network is on {} devices, and there are {count} ranks", devices.count());
            return Err(GradientError { place: None, message }.into());
        }
        for parameter in program.parameters() {
            let (name, used) = (&program.var(parameter).name, devices.of_var(parameter));
            let held = placement.of(name).map(|piece| piece.server).next();
            if let (Some(used), Some(held)) = (used, held)
                && used != held
            {
                let message = format!(
                    "`{name}` is on device {held}, and this network uses it on device {used} first; networks that share parameters are cut alike"
                );
                return Err(GradientError { place: None, message }.into());
            }
        }
        let trained = trained(&program);
        let mut stages = Vec::new();
        for device in 0..count {
            let (mut compute, passes_on) = cut(&program, &devices, device)?;
            Pipeline::new([
                Pass::new("accumulate", |program| Ok(send(program, placement)?)),
                Pass::new("receive", |program| Ok(receive(program, placement).map(drop)?)),
            ])
            .run(&mut compute)?;
            let update = update_of(device, &trained, placement, settings, rule)?;
            stages.push(Stage { compute, passes_on, update });
        }
        let outputs = program.outputs().iter().map(|&output| devices.of_var(output).unwrap_or(0)).collect();
        let shares = super::distribute::shares(stages.iter().map(|stage| &stage.update));
        Ok(StagedTraining { stages, outputs, is_pipeline: devices.is_pipeline(&program), shares, sharding })
    }
}

/// The device of each parameter of a network, which is [cut](balanced) into parts for so many devices if it is not yet: that of the first
/// operator that uses it.
pub fn homes(network: &Program, devices: u32) -> Result<BTreeMap<String, u32>, PassError> {
    let mut program = balanced(network, devices)?;
    Pipeline::new([Pass::new("place", |program| Ok(place(program)?))]).run(&mut program)?;
    let devices = Devices::of(&program);
    let home = |parameter| {
        let name = program.var(parameter).name.clone();
        (name, devices.of_var(parameter).unwrap_or(0))
    };
    Ok(program.parameters().map(home).collect())
}
