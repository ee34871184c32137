//! `accuracy`.

use paddle_core::ops;
use paddle_core::plan::{Extent, KernelError, Unsupported};

use super::Compile;
use crate::cpu::kernel::{Body, Compiled, Machine, Single};
use crate::cpu::operands::Operands;

struct Accuracy {
    k: Extent,
}

impl Compile for ops::Accuracy {
    fn compile(&self, single: &Single<'_>) -> Result<Compiled, Unsupported> {
        let (indices, label) = (single.input(1)?, single.input(2)?);
        let Some(&k) = indices.1.shape.last() else { return single.refuse("of a scalar") };
        let writes = [single.output(0)?, single.output(1)?, single.output(2)?];
        Ok((single.signature([indices, label], writes), Box::new(Accuracy { k })))
    }
}

impl Body for Accuracy {
    fn launch(&self, _: &Machine, operands: Operands<'_>) -> Result<(), KernelError> {
        let k = self.k.get(operands.sizes()).max(1);
        let (reads, writes) = operands.split();
        let (indices, labels) = (reads.get::<i64>(0), reads.get::<i64>(1));
        let (accuracy, correct, total) = writes.three::<f32, i32, i32>();
        let rows = indices.chunks_exact(k).zip(labels);
        let hits = rows.filter(|(indices, label)| indices.contains(label)).count();
        accuracy.fill((hits as f64 / labels.len().max(1) as f64) as f32);
        correct.fill(hits as i32);
        total.fill(labels.len() as i32);
        Ok(())
    }
}
