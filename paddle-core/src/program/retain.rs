//! Programs with a part of their operators.

use std::collections::{BTreeMap, BTreeSet};

use super::{BlockId, Definition, OpInterface, Operator, Program, VarId};

impl<O: OpInterface> Program<O> {
    /// Keeps the operators of the global block that are wanted, with their blocks, and drops the others, with all values
    /// that nothing is left of: parameters that are not used any more, their states and what initialises them, and taps.
    /// Inputs stay.
    ///
    /// What is kept must read nothing that dropped operators write, and the outputs and recorded gradients must be kept.
    pub(crate) fn retain(&mut self, wanted: impl FnMut(&Operator<O>) -> bool) {
        self.blocks[0].ops.retain(wanted);
        let blocks = self.reachable_blocks();
        let vars = self.used_vars(&blocks);
        let block_of: BTreeMap<BlockId, BlockId> = blocks.iter().copied().zip((0..).map(BlockId)).collect();
        let var_of: BTreeMap<VarId, VarId> = vars.iter().copied().zip((0..).map(VarId)).collect();

        let mut at = 0..;
        self.blocks.retain(|_| at.next().is_some_and(|at| block_of.contains_key(&BlockId(at))));
        for block in &mut self.blocks {
            for other in [&mut block.parent, &mut block.forward].into_iter().flatten() {
                *other = block_of[other];
            }
            let operators = block.ops.iter_mut();
            let in_operators =
                operators.flat_map(|operator| operator.inputs.iter_mut().chain(&mut operator.outputs));
            in_operators
                .chain(&mut block.params)
                .chain(&mut block.results)
                .for_each(|var| *var = var_of[var]);
            let owned = block.ops.iter_mut().flat_map(|operator| &mut operator.blocks);
            owned.for_each(|inner| *inner = block_of[inner]);
        }
        self.vars = vars
            .iter()
            .map(|var| {
                let mut var = self.vars[var.0 as usize].clone();
                var.block = block_of[&var.block];
                var
            })
            .collect();
        self.names = self.vars.iter().map(|var| var.name.clone()).zip((0..).map(VarId)).collect();
        self.startup.retain(|operator| operator.outputs.iter().all(|output| var_of.contains_key(output)));
        for output in self.startup.iter_mut().flat_map(|operator| &mut operator.outputs) {
            *output = var_of[output];
        }
        let options = std::mem::take(&mut self.parameter_options).into_iter();
        self.parameter_options =
            options.filter_map(|(var, options)| Some((*var_of.get(&var)?, options))).collect();
        for pair in &mut self.gradients {
            (pair.parameter, pair.gradient) = (var_of[&pair.parameter], var_of[&pair.gradient]);
        }
        self.states.retain(|state| var_of.contains_key(&state.var));
        for state in &mut self.states {
            (state.var, state.parameter) = (var_of[&state.var], var_of[&state.parameter]);
        }
        self.taps.retain(|tap| var_of.contains_key(&tap.var));
        self.taps.iter_mut().for_each(|tap| tap.var = var_of[&tap.var]);
        self.unwritten = self.unwritten.iter().filter_map(|var| var_of.get(var).copied()).collect();
    }

    /// The blocks that operators own, from the global block on, in ascending order.
    fn reachable_blocks(&self) -> BTreeSet<BlockId> {
        let (mut reached, mut pending) = (BTreeSet::new(), vec![BlockId::GLOBAL]);
        while let Some(block) = pending.pop() {
            if reached.insert(block) {
                pending.extend(self.block(block).ops.iter().flat_map(|operator| &operator.blocks));
            }
        }
        reached
    }

    /// The values that something is left of.
    fn used_vars(&self, blocks: &BTreeSet<BlockId>) -> BTreeSet<VarId> {
        let mut used = BTreeSet::new();
        for &block in blocks {
            let block = self.block(block);
            used.extend(block.params.iter().chain(&block.results).copied());
            for operator in &block.ops {
                used.extend(operator.inputs.iter().chain(&operator.outputs).copied());
            }
        }
        used.extend(self.gradients.iter().flat_map(|pair| [pair.parameter, pair.gradient]));
        // The state of a parameter stays as long as the parameter does.
        let kept: Vec<VarId> = self
            .states
            .iter()
            .filter(|state| used.contains(&state.parameter))
            .map(|state| state.var)
            .collect();
        used.extend(kept);
        used.retain(|&var| match self.var(var).definition {
            Definition::State => self.states.iter().any(|state| state.var == var),
            _ => true,
        });
        used
    }
}
