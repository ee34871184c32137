//! Arrays into which the iterations of a loop write while nobody knows how many there will be. Each iteration writes the place behind those
//! that are written, as Python's lists are appended to; it reads the last one, which is state of the loop.

use std::collections::{BTreeMap, BTreeSet};

use super::arrays::{Array, ArrayName};
use super::iteration_bound::{Below, parts_of, sum};
use crate::convert::draft::Draft;
use crate::convert::from_wire::{ConvertError, Fault, Reading, one};
use crate::program::{Dim, VarId};

/// The arrays of a loop that is being read.
#[derive(Clone)]
pub(in crate::convert::from_wire) struct ArrayLoop<'a> {
    arrays: BTreeMap<ArrayName<'a>, InLoop>,
    /// The number of the iteration, in the body.
    iteration: Option<VarId>,
    /// The numbers among the state, as the body has them, and what they are before the loop.
    numbers: BTreeMap<VarId, i64>,
    /// Those of them that have to grow by one in each iteration.
    counters: BTreeSet<VarId>,
}

#[derive(Clone)]
struct InLoop {
    /// The values that are written before the loop.
    before: Vec<VarId>,
    /// The value in the last place when an iteration begins, in the body.
    last: Option<VarId>,
    /// What the iteration writes.
    written: Option<VarId>,
    /// Whether something behind the loop reads the array.
    is_collected: bool,
}

/// Both operands of a truth value that says no more than that one number is less than another.
fn less_than(draft: &Draft, value: VarId) -> Option<[VarId; 2]> {
    match &parts_of(draft, value)[..] {
        [Some(Below { less, limit, or_equal: false })] => Some([*less, *limit]),
        _ => None,
    }
}

impl<'a> ArrayLoop<'a> {
    /// The arrays of the blocks around into which the body writes. `None` if it is not known what is in them, or if a block within the body
    /// writes into some.
    pub(super) fn of(x: &Reading<'_, 'a>, body: usize) -> Result<Option<ArrayLoop<'a>>, Fault> {
        let blocks = &x.reader.blocks;
        let within = |block: usize| {
            let mut around = std::iter::successors(Some(block), |&block| blocks[block].parent);
            around.any(|block| block == body)
        };
        let mut arrays = BTreeMap::new();
        for (block, held) in blocks.iter().enumerate().filter(|&(block, _)| within(block)) {
            let written = held
                .desc
                .ops
                .iter()
                .filter(|op| !["while", "conditional_block"].contains(&op.r#type.as_str()));
            for name in written.flat_map(|op| &op.outputs).flat_map(|slot| &slot.arguments) {
                if !x.is_array_in(block, name) {
                    continue;
                }
                let array = x.array_seen_from(block, name)?;
                if within(array.0) {
                    continue;
                }
                let before = match x.reader.arrays.get(&array) {
                    None => Some(Vec::new()),
                    Some(Array::Places(places)) => places.iter().copied().collect(),
                    Some(Array::Steps { .. } | Array::Collected { .. } | Array::Growing) => None,
                };
                let Some(before) = before.filter(|_| block == body) else { return Ok(None) };
                let behind = blocks.iter().enumerate().filter(|&(block, _)| !within(block));
                let behind = behind.flat_map(|(_, block)| &block.desc.ops).filter(|op| op.r#type != "while");
                let is_collected = behind
                    .flat_map(|op| &op.inputs)
                    .flat_map(|slot| &slot.arguments)
                    .any(|read| read == name);
                arrays.insert(array, InLoop { before, last: None, written: None, is_collected });
            }
        }
        let (numbers, counters) = (BTreeMap::new(), BTreeSet::new());
        Ok(Some(ArrayLoop { arrays, iteration: None, numbers, counters }))
    }

    pub(super) fn is_any(&self) -> bool {
        !self.arrays.is_empty()
    }

    pub(super) fn collects(&self) -> bool {
        self.arrays.values().any(|array| array.is_collected)
    }

    /// The value in the last place of each array that has one.
    pub(super) fn values_before(&self) -> impl Iterator<Item = VarId> {
        self.arrays.values().filter_map(|array| array.before.last().copied())
    }

    /// The values that an array has before the loop.
    pub(super) fn before(&self, array: ArrayName<'a>) -> Vec<VarId> {
        self.arrays.get(&array).map(|array| array.before.clone()).unwrap_or_default()
    }

    /// With the values that the state has in the body: those of variables, and behind them what the arrays need.
    pub(super) fn begun(
        mut self,
        x: &mut Reading<'_, 'a>,
        initial: &[VarId],
        inside: &[VarId],
        variables: usize,
    ) -> Self {
        x.reader.arrays.extend(self.arrays.keys().map(|&array| (array, Array::Growing)));
        for (&before, &value) in initial.iter().zip(inside).take(variables) {
            if let Some([number]) = x.constant_of(before).as_deref()
                && let Some(number) = number.as_i64().filter(|_| !x.ty(before).dtype.is_float())
            {
                self.numbers.insert(value, number);
            }
        }
        let mut behind = inside[variables..].iter().copied();
        self.iteration = behind.next();
        for array in self.arrays.values_mut().filter(|array| !array.before.is_empty()) {
            array.last = behind.next();
        }
        self
    }

    /// Whether each array was written once, and whether what was taken for a counter is one.
    pub(super) fn hold(&self, x: &Reading<'_, 'a>, inside: &[VarId], results: &[VarId]) -> bool {
        let counts = |counter: &VarId| {
            let result = inside.iter().position(|value| value == counter).and_then(|at| results.get(at));
            let draft = &x.reader.draft;
            result.and_then(|&result| sum(draft, result, |value| value == *counter)) == Some((*counter, 1))
        };
        self.arrays.values().all(|array| array.written.is_some()) && self.counters.iter().all(counts)
    }

    /// The values in the last places behind an iteration.
    pub(super) fn values_behind(&self) -> impl Iterator<Item = VarId> {
        self.arrays.values().filter(|array| array.last.is_some()).filter_map(|array| array.written)
    }

    /// How many iterations there are, if the loop counts from 0 to before a size that a batch has. The condition is `X < Y` before the loop and
    /// behind each iteration.
    pub(super) fn count(
        &mut self,
        x: &Reading<'_, 'a>,
        condition: [VarId; 2],
        (inside, results): (&[VarId], &[VarId]),
    ) -> Option<Dim> {
        let draft = &x.reader.draft;
        let [before, behind] = condition.map(|value| less_than(draft, value));
        let ([first, end], [next, last]) = (before?, behind?);
        let size = |value| {
            draft.known_of(value).and_then(|known| if let [known] = known { known.dim() } else { None })
        };
        let (counter, 1) = sum(draft, next, |value| self.numbers.get(&value) == Some(&0))? else {
            return None;
        };
        let is_first = draft
            .constant_of(first)
            .as_deref()
            .is_some_and(|of| matches!(of, [of] if of.as_i64() == Some(0)));
        let size = size(end).filter(|end| is_first && size(last).as_ref() == Some(end))?;
        self.counters.insert(counter);
        let holds = self.hold(x, inside, results);
        self.counters.remove(&counter);
        holds.then_some(size)
    }

    /// The arrays that something reads behind the loop, and what an iteration writes into each.
    pub(super) fn collected(&self) -> impl Iterator<Item = (ArrayName<'a>, VarId)> {
        let collected = self.arrays.iter().filter(|(_, array)| array.is_collected);
        collected.filter_map(|(&name, array)| Some((name, array.written?)))
    }

    /// The place that a value says, as the number of the iteration and a number.
    fn place(&mut self, draft: &Draft, value: VarId) -> Option<i64> {
        let is_base = |value| Some(value) == self.iteration || self.numbers.contains_key(&value);
        let (base, added) = sum(draft, value, is_base)?;
        if Some(base) == self.iteration {
            return Some(added);
        }
        self.counters.insert(base);
        self.numbers.get(&base)?.checked_add(added)
    }
}

impl<'a> Reading<'_, 'a> {
    /// Whether the innermost loop writes into an array.
    pub(super) fn is_written_in_loop(&self, array: ArrayName<'a>) -> bool {
        self.reader.array_loops.last().is_some_and(|of| of.arrays.contains_key(&array))
    }

    /// The array of the innermost loop, and the place in slot `I`, counted from the number of the iteration.
    fn in_loop(&mut self, array: ArrayName<'a>) -> Result<Option<(&mut InLoop, i64)>, Fault> {
        let value = self.input("I")?;
        let reader = &mut *self.reader;
        let Some(of) = reader.array_loops.last_mut() else { return Ok(None) };
        let Some(place) = of.place(&reader.draft, value) else { return Ok(None) };
        Ok(of.arrays.get_mut(&array).map(|array| (array, place)))
    }

    pub(super) fn write_in_loop(&mut self, array: ArrayName<'a>, x: VarId) -> Result<bool, ConvertError> {
        match self.in_loop(array)? {
            Some((array, place)) if array.written.is_none() && place == array.before.len() as i64 => {
                array.written = Some(x);
                Ok(true)
            }
            _ => self.lacks("it does not write the place behind the last one of its array"),
        }
    }

    pub(super) fn read_in_loop(&mut self, array: ArrayName<'a>) -> Result<bool, ConvertError> {
        let found = self.in_loop(array)?.and_then(|(array, place)| {
            let behind = place - array.before.len() as i64;
            match behind {
                0 => array.written,
                -1 if array.written.is_none() => array.last,
                _ => None,
            }
        });
        match found {
            Some(value) => self.alias("Out", value),
            None => {
                self.lacks("it reads another place than the last one of an array into which its loop writes")
            }
        }
    }

    /// The length of an array into which the innermost loop writes.
    pub(super) fn length_in_loop(&mut self, array: ArrayName<'a>) -> Result<bool, ConvertError> {
        let of = self.reader.array_loops.last();
        let found = of.and_then(|of| Some((of.iteration?, of.arrays.get(&array)?)));
        let Some((iteration, array)) = found else { return Ok(false) };
        let length = array.before.len() + usize::from(array.written.is_some());
        let length = self.at().scaled(iteration, 1.0, length as f64)?;
        let desc = self.desc;
        self.named_value(one(desc.output("Out"), "Out")?, length)
    }
}
