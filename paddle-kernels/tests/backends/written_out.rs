//! Operators that others compute in their place, for programs of those who lack them.

use paddle_core::ops::{NonMaxSuppression, Op, Program, Sample};
use paddle_core::passes::compose::write_out;
use paddle_kernels::reference::Reference;

use crate::draw::Draw;
use crate::fed::Fed;
use crate::gradients::Run;
use crate::host::Host;
use crate::programs::assert_close;
use crate::samples::own_samples;

/// The operators that are written out, and the least number of samples of each.
const WRITTEN: [(&str, usize); 4] =
    [("crf_decoding", 6), ("decayed_scores", 5), ("linear_chain_crf", 6), ("non_max_suppression", 7)];

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
    assert!(written.keys().copied().eq(WRITTEN.map(|(name, _)| name)), "{written:?}");
    assert!(written.values().zip(WRITTEN).all(|(&count, (_, least))| count >= least), "{written:?}");
}

/// Boxes that are lines and points overlap nothing, also where they are the same.
#[test]
fn boxes_without_area_are_beside_all_others() {
    let mut draw = Draw::new(18);
    for (normalized, shortest) in [(true, 0), (false, -1)] {
        let op = NonMaxSuppression {
            score_threshold: 0.1,
            overlap_threshold: 0.3,
            eta: 1.0,
            candidates: -1,
            most: -1,
            normalized,
            empty_overlap: false,
        };
        let sample = Sample::of(op).rows(3, &[40, 4]).rows(3, &[2, 40]).within(0.0, 1.0);
        let mut feeds = feeds(&sample, &mut draw);
        let mut coordinates = Vec::new();
        for _ in 0..3 * 40 {
            let near = [draw.below(4), draw.below(4)].map(|near| near as i32);
            let far = near.map(|near| near + shortest + draw.below(3) as i32);
            coordinates.extend([near, far].as_flattened().iter().map(|&place| place as f32));
        }
        feeds[0].values = Host::F32(coordinates);
        let plain = program(&sample);
        let mut others = plain.clone();
        write_out(&mut others, |_| true).unwrap();
        let overlapping = Sample { op: NonMaxSuppression { empty_overlap: true, ..op }.into(), ..sample };
        let overlapping = program(&overlapping);
        let [expected, found, other] = [&plain, &others, &overlapping]
            .map(|program| Run::new(Reference::double(), program).outputs(&feeds));
        assert_close(&found, &expected, &others);
        // Otherwise the area of a line, which is a pixel wide, is not 0.
        assert_eq!(other != expected, normalized, "the same lines and points overlap, or do not");
    }
}
