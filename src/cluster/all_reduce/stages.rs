//! Ranks as stages: each has the part of a network that is on the device of its number, and the parameters that are used there.

use std::collections::BTreeMap;

use paddle_core::passes::stages::StagedTraining;

use super::passing::Passing;

/// What a rank knows of the stages.
pub(super) struct Stages {
    pub(super) way: Passing,
    plans: BTreeMap<u32, Staged>,
    /// The version of which all ranks have all values.
    pub(super) gathered: u64,
}

/// What it knows of the stages of a plan.
struct Staged {
    /// The rank that has each output.
    outputs: Vec<u32>,
    /// So many shards go forward before the first one goes back.
    ahead: u32,
}

impl Stages {
    pub(super) fn new(way: Passing) -> Self {
        Stages { way, plans: BTreeMap::new(), gathered: 0 }
    }

    /// Learns a plan, as this rank.
    pub(super) fn learn(&mut self, plan: u32, training: &StagedTraining, rank: u32) {
        let last = training.stages.len() as u32 - 1;
        // Where values go back and forth, no rank may run ahead: it would wait for one that waits for it.
        let ahead = if training.is_pipeline { last - rank.min(last) } else { 0 };
        self.plans.insert(plan, Staged { outputs: training.outputs.clone(), ahead });
    }

    /// How many shards go forward before the first one goes back.
    pub(super) fn ahead(&self, plan: u32) -> u32 {
        self.plans.get(&plan).map_or(0, |staged| staged.ahead)
    }

    /// The outputs of each shard, from those that each rank has.
    pub(super) fn merge(&self, plan: u32, of_ranks: &[Vec<Vec<f64>>], leaves: usize) -> Vec<Vec<f64>> {
        let Some(Staged { outputs, .. }) = self.plans.get(&plan) else { return Vec::new() };
        (0..leaves)
            .map(|leaf| {
                let mut next = vec![0; of_ranks.len()];
                let own = |&rank: &u32| {
                    let at = next.get_mut(rank as usize)?;
                    *at += 1;
                    of_ranks.get(rank as usize)?.get(leaf)?.get(*at - 1).copied()
                };
                outputs.iter().map(own).map(Option::unwrap_or_default).collect()
            })
            .collect()
    }
}
