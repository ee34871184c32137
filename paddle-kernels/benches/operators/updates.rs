//! Updates of a million parameters; and of a table of a million rows, of which a batch looks up a few thousand: of the rows
//! alone, and with the gradient of all of it.

use paddle_core::ops::{
    Adagrad, Adam, AdamW, LookupTable, LookupTableGrad, Momentum, Sample, Sgd, Update, UpdateRows,
};
use paddle_core::program::DType;

use crate::Case;

const PARAMETERS: i64 = 1 << 20;
const TABLE: [i64; 2] = [1 << 20, 64];
const IDS: usize = 4096;

pub(crate) fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    let with_states = |sample: Sample, update: &Update, dims: &[i64]| {
        let states = update.states().iter();
        let sample = states.fold(sample, |sample, _| sample.dense(dims).within(1.0, 2.0));
        let powers = update.powers().into_iter();
        powers.fold(sample, |sample, _| sample.dense(&[1]).within(0.1, 0.9))
    };
    let dense = |update: Update, dims: &[i64]| {
        let sample = Sample::of(update).dense(dims).dense(dims).dense(&[]).within(0.001, 0.002);
        with_states(sample, &update, dims)
    };
    let updates: [Update; 5] = [
        Sgd {}.into(),
        Momentum::default().into(),
        Adagrad::default().into(),
        Adam::default().into(),
        AdamW::default().into(),
    ];
    for update in updates {
        let name = Sample::of(update).op.name();
        cases.push(Case::traffic(format!("{name} {PARAMETERS}"), dense(update, &[PARAMETERS])));
    }
    let [entries, size] = TABLE;
    let lazy = Adam { lazy_mode: true, ..Adam::default() };
    for update in [Sgd {}.into(), Adagrad::default().into(), lazy.into()] {
        let rows = Sample::of(UpdateRows { update, padding_idx: -1 }).dense(&TABLE).rows(IDS, &[size]);
        let rows = rows.dense(&[]).within(0.001, 0.002).rows(IDS, &[]).dtype(DType::I64);
        let rows = with_states(rows.within(0.0, entries as f64), &update, &TABLE);
        cases.push(Case::time(format!("{} {entries}x{size}, {IDS} ids", rows.op.name()), rows));
        let name = format!("… of the whole table: {}", Sample::of(update).op.name());
        cases.push(Case::time(name, dense(update, &TABLE)));
    }
    let grad = Sample::of(LookupTableGrad(LookupTable { padding_idx: -1 })).rows(IDS, &[]).dtype(DType::I64);
    let grad = grad.within(0.0, entries as f64).dense(&TABLE).rows(IDS, &[size]);
    cases.push(Case::time("… its gradient".into(), grad));
    cases
}
