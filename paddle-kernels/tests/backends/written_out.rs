//! Operators that others compute in their place, for programs of those who lack them.

use paddle_core::ops::{Op, Program, Sample};
use paddle_core::passes::compose::write_out;
use paddle_kernels::reference::Reference;

use crate::draw::Draw;
use crate::fed::Fed;
use crate::gradients::Run;
use crate::programs::assert_close;
use crate::samples::own_samples;

/// The program of a sample, which gives what is not intermediate.
fn program(sample: &Sample) -> Program {
    let mut program = sample.program().unwrap();
    let operator = &program.block(Program::GLOBAL).ops[0];
    let schema = sample.op.schema();
    let outputs = operator.outputs.iter().enumerate();
    let outputs: Vec<_> =
        outputs.filter(|&(k, _)| !schema.output(k).is_intermediate).map(|(_, &output)| output).collect();
    program.set_outputs(&outputs).unwrap();
    program
}

fn feeds(sample: &Sample, draw: &mut Draw) -> Vec<Fed> {
    let fed = |input| {
        let values = draw.input(input);
        let dims = input.dims.iter().map(|&dim| dim as usize);
        let shape = input.rows.into_iter().chain(dims).collect();
        Fed { values, shape, offsets: input.offsets().into_iter().collect() }
    };
    sample.inputs.iter().map(fed).collect()
}

#[test]
fn gives_what_the_operator_gives() {
    let mut draw = Draw::new(17);
    let mut written = std::collections::BTreeMap::<&str, usize>::new();
    for sample in Op::samples().into_iter().chain(own_samples()) {
        let plain = program(&sample);
        let mut others = plain.clone();
        write_out(&mut others, |_| true).unwrap();
        others.verify().unwrap_or_else(|error| panic!("{sample:?}: {error}\n{others}"));
        if others == plain {
            continue;
        }
        let is_left = |operator: &paddle_core::ops::Operator| operator.op == sample.op;
        assert!(!others.blocks().iter().any(|block| block.ops.iter().any(is_left)), "{others}");
        *written.entry(sample.op.name()).or_default() += 1;
        let feeds = feeds(&sample, &mut draw);
        let [expected, found] =
            [&plain, &others].map(|program| Run::new(Reference::double(), program).outputs(&feeds));
        assert_close(&found, &expected, &others);
    }
    assert_eq!(written.keys().copied().collect::<Vec<_>>(), ["crf_decoding", "linear_chain_crf"]);
    assert!(written.values().all(|&count| count > 5), "{written:?}");
}
