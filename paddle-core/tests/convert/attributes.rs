//! Attributes with values of all kinds: the text and the wire hold the same programs, and refuse the same.

use paddle_core::convert::{from_wire, to_wire};
use paddle_core::ops::{Attribute, Number, Op};
use paddle_core::program::{DType, Dim, RowsId, Type};
use paddle_core::text;
use paddle_core::wire::OpAttr;

use crate::fuzz::survives;

const WHOLE: [i64; 15] = [
    0,
    1,
    2,
    -1,
    -2,
    3,
    16,
    17,
    i32::MAX as i64,
    i32::MAX as i64 + 1,
    i32::MIN as i64 - 1,
    1 << 53,
    (1 << 53) + 1,
    i64::MAX,
    i64::MIN,
];

const REAL: [f64; 14] = [
    0.0,
    -0.0,
    1.0,
    0.1,
    -2.5,
    1e-300,
    5e-324,
    1e39,
    f64::MAX,
    16_777_217.0,
    9.3e18,
    f64::INFINITY,
    f64::NEG_INFINITY,
    f64::NAN,
];

fn numbers() -> Vec<Number> {
    let truth = [true, false].map(Number::Bool);
    WHOLE.map(Number::Int).into_iter().chain(REAL.map(Number::Float)).chain(truth).collect()
}

fn types() -> Vec<Type> {
    let dims: [&[i64]; 12] = [
        &[],
        &[0],
        &[2, 3],
        &[-1],
        &[i64::MAX],
        &[i64::MIN],
        &[1 << 31, 1 << 31],
        &[1 << 40, 0],
        &[0, i64::MAX, i64::MAX],
        &[1; 16],
        &[1; 17],
        &[1 << 62],
    ];
    let plain = dims
        .into_iter()
        .flat_map(|dims| DType::ALL.into_iter().map(|dtype| Type::new(dtype, dims.iter().copied())));
    let of_rows = [0, 1, u32::MAX].map(|rows| Type::with_rows(DType::F32, RowsId(rows), [2]));
    plain.chain(of_rows).collect()
}

/// Values of the kind of `like`, most of which no operator is written with.
fn hostile(like: &Attribute) -> Vec<Attribute> {
    let texts = ["", "none", "\0", "a b\n\"\\\"", "é", "last", "sum", "3", "nan"];
    match like {
        Attribute::Number(_) => numbers().into_iter().map(Attribute::Number).collect(),
        Attribute::Text(_) => texts.map(|text| Attribute::Text(text.into())).into(),
        Attribute::Ints(ints) => {
            let lists = WHOLE.into_iter().flat_map(|number| {
                let first = ints.iter().skip(1).copied();
                [vec![number], [number].into_iter().chain(first).collect(), vec![1, number], vec![number; 4]]
            });
            lists.chain([vec![], vec![0; 17], vec![1; 300]]).map(Attribute::Ints).collect()
        }
        Attribute::Numbers(given) => {
            let lists = numbers().into_iter().flat_map(|number| [vec![number], vec![number; given.len()]]);
            lists.chain([vec![]]).map(Attribute::Numbers).collect()
        }
        Attribute::Dims(dims) => {
            let lists = WHOLE.into_iter().flat_map(|size| {
                let rest = dims.iter().skip(1).cloned();
                let size = Dim::from(size);
                [vec![size.clone()], [size].into_iter().chain(rest).collect()]
            });
            lists.chain([vec![], vec![Dim::from(1); 17]]).map(Attribute::Dims).collect()
        }
        Attribute::DType(_) => DType::ALL.map(Attribute::DType).into(),
        Attribute::Type(_) => types().into_iter().map(Attribute::Type).collect(),
        Attribute::Types(_) => types().into_iter().map(|ty| Attribute::Types(vec![ty])).collect(),
        Attribute::Bytes(_) => [vec![], vec![255; 9]].map(Attribute::Bytes).into(),
        Attribute::Rows(_) => [0, 1, u32::MAX].map(|rows| Attribute::Rows(RowsId(rows))).into(),
        Attribute::Program(_) => vec![Attribute::Program(paddle_core::ops::Program::new().into())],
    }
}

/// What can be built and is well-formed is kept by text and wire.
#[test]
fn what_can_be_built_is_kept() {
    let (mut built, mut refused, mut wrong) = (0, 0, Vec::new());
    for sample in Op::samples() {
        let attributes = sample.op.attributes();
        for (at, (name, like)) in attributes.iter().enumerate() {
            for value in hostile(like) {
                let mut changed: Vec<(String, Attribute)> =
                    attributes.iter().map(|(name, value)| (name.to_string(), value.clone())).collect();
                changed[at].1 = value.clone();
                let mut sample = sample.clone();
                let Ok(op) = sample.op.with_attributes(changed) else {
                    refused += 1;
                    continue;
                };
                sample.op = op;
                let what = format!("{}: {name} = {value:?}", sample.op.name());
                let Ok(program) = sample.program() else {
                    refused += 1;
                    continue;
                };
                if program.verify().is_err() {
                    refused += 1;
                    continue;
                }
                built += 1;
                let shown = program.to_string();
                match text::parse(&shown) {
                    Ok(read) if read.to_string() == shown => {}
                    Ok(read) => wrong.push(format!("{what}: the text comes back as\n{read}")),
                    Err(error) => wrong.push(format!("{what}: the text is refused: {error}")),
                }
                let wire = to_wire(&program);
                match from_wire(&wire.main, Some(&wire.startup)) {
                    Ok(read) if read.to_string() == shown => {}
                    Ok(read) => wrong.push(format!("{what}: the wire comes back as\n{read}{shown}")),
                    Err(error) => wrong.push(format!("{what}: the wire is refused: {error}")),
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{} of {built}:\n{}", wrong.len(), wrong.join("\n"));
    assert!(built > 2_000 && refused > 2_000, "{built} were built, {refused} refused");
}

/// What is read from the wire, however an attribute was changed, is kept by text and wire.
#[test]
fn what_is_read_is_kept() {
    let mut read = 0;
    for sample in Op::samples() {
        let program = sample.program().expect("a sample is a program");
        let wire = to_wire(&program);
        let at =
            wire.main.blocks[0].ops.iter().position(|op| !matches!(&*op.r#type, "feed" | "rust.program"));
        let at = at.expect("the operator of the sample");
        for k in 0..wire.main.blocks[0].ops[at].attrs.len() {
            for changed in changes(&wire.main.blocks[0].ops[at].attrs[k]) {
                let mut main = wire.main.clone();
                main.blocks[0].ops[at].attrs[k] = changed;
                if let Ok(program) = from_wire(&main, Some(&wire.startup)) {
                    read += 1;
                    survives(&program);
                }
            }
        }
    }
    assert!(read > 2_000, "{read} were read");
}

/// The same attribute with other values.
fn changes(attr: &OpAttr) -> Vec<OpAttr> {
    let mut all = Vec::new();
    let mut push = |change: &dyn Fn(&mut OpAttr)| {
        let mut changed = attr.clone();
        change(&mut changed);
        if changed != *attr {
            all.push(changed);
        }
    };
    for number in WHOLE {
        push(&|attr| {
            attr.i = attr.i.map(|_| number as i32);
            attr.l = attr.l.map(|_| number);
            attr.b = attr.b.map(|_| number == 0);
            attr.ints.first_mut().into_iter().for_each(|int| *int = number as i32);
            attr.longs.first_mut().into_iter().for_each(|long| *long = number);
        });
        push(&|attr| {
            attr.ints.last_mut().into_iter().for_each(|int| *int = number as i32);
            attr.longs.last_mut().into_iter().for_each(|long| *long = number);
        });
    }
    for number in REAL {
        push(&|attr| {
            attr.f = attr.f.map(|_| number as f32);
            attr.float64 = attr.float64.map(|_| number);
            attr.floats.first_mut().into_iter().for_each(|float| *float = number as f32);
            attr.float64s.first_mut().into_iter().for_each(|double| *double = number);
        });
    }
    for text in
        ["", "0", "-1", "1e400", "nan", "inf", "-0.0", "f32[]", "i64[9223372036854775807]", "é", "mean"]
    {
        push(&|attr| {
            attr.s = attr.s.as_ref().map(|_| text.to_string());
            attr.strings.first_mut().into_iter().for_each(|string| *string = text.to_string());
        });
    }
    push(&|attr| {
        attr.ints.clear();
        attr.longs.clear();
        attr.floats.clear();
        attr.float64s.clear();
        attr.strings.clear();
        attr.bools.clear();
    });
    all
}
