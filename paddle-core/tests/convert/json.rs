//! Programs in the form that PaddlePaddle saves from version 3 on: what they are translated to, and what is wrong with damaged ones.

use std::path::Path;

use paddle_core::convert::{decode_program, load};
use serde_json::{Value, json};

use crate::changes::Random;
use crate::fuzz::survives;

/// The file of a model that the real PaddlePaddle 3.3.1 saved.
fn saved(name: &str) -> Vec<u8> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/tests/saved/json").join(name);
    std::fs::read(path.join("model.json")).expect("the file is in the repository")
}

const SAVED: [&str; 4] = ["api_assigned", "float_types", "own_cell", "words_until_a_break"];

/// A file with these operators.
fn file(ops: Value) -> Vec<u8> {
    let block = json!({ "#": "block_0", "args": [], "ops": ops });
    let regions = json!([{ "#": "region_0", "blocks": [block] }]);
    let whole = json!({ "base_code": { "magic": "pir", "version": 4 }, "program": { "regions": regions } });
    serde_json::to_vec(&whole).expect("it is JSON")
}

/// An operator of these operands and results, which are matrices.
fn op(name: &str, operands: &[i64], results: &[i64], attributes: Value) -> Value {
    let ty = json!({ "#": "0.t_dtensor", "D": [{ "#": "0.t_f32" }, [-1, 4], "NCHW", [], 0] });
    let operands: Vec<Value> = operands.iter().map(|id| json!({ "%": id })).collect();
    let results: Vec<Value> = results.iter().map(|id| json!({ "%": id, "TT": ty })).collect();
    json!({ "#": name, "A": attributes, "I": operands, "O": results, "OA": [] })
}

fn attribute(name: &str, kind: &str, data: Value) -> Value {
    json!({ "N": name, "AT": { "#": kind, "D": data } })
}

fn input(name: &str, id: i64) -> Value {
    op("1.data", &[], &[id], json!([attribute("name", "0.a_str", json!(name))]))
}

fn output(id: i64) -> Value {
    op("1.fetch", &[id], &[id + 1000], json!([attribute("col", "0.a_i32", json!(0))]))
}

fn refused(bytes: &[u8]) -> String {
    match decode_program(bytes) {
        Ok(desc) => load(&desc).expect_err("it is not read").to_string(),
        Err(error) => error.to_string(),
    }
}

#[test]
fn operators_become_those_of_before() {
    let slope = json!([attribute("negative_slope", "0.a_f64", json!(0.25))]);
    let ops = json!([
        input("x", 1),
        op("1.leaky_relu", &[1], &[2], slope),
        op("1.add_", &[2, 1], &[3], json!([])),
        output(2)
    ]);
    let program = load(&decode_program(&file(ops)).expect("it is JSON")).expect("it is read");
    let text = program.to_string();
    assert!(text.contains("leaky_relu(x, alpha=0.25)"), "{text}");
    // What is overwritten is fetched under its name.
    assert!(text.contains("= elementwise_add(leaky_relu_2, x)"), "{text}");
    assert!(!text.contains("return leaky_relu_2\n"), "{text}");
}

/// A constant of one element.
fn full(value: f64, id: i64) -> Value {
    let scalar = json!({ "#": "0.t_dtensor", "D": [{ "#": "0.t_f32" }, [1], "NCHW", [], 0] });
    let of = json!([
        attribute("shape", "1.a_intarray", json!([1])),
        attribute("value", "0.a_f64", json!(value)),
        attribute("dtype", "1.a_dtype", json!("float32")),
    ]);
    json!({ "#": "1.full", "A": of, "I": [], "O": [{ "%": id, "TT": scalar }], "OA": [] })
}

fn raised(operand: i64, id: i64) -> Value {
    op("1.increment_", &[operand], &[id], json!([attribute("value", "0.a_f32", json!(1.0))]))
}

/// A list that was made one value is what its elements were then.
#[test]
fn elements_that_are_overwritten_are_others() {
    let stacked = op("1.stack", &[3], &[4], json!([attribute("axis", "0.a_i32", json!(0))]));
    let parts = [input("x", 1), full(4.0, 2), op("0.combine", &[2], &[3], json!([])), stacked];
    let reshaped = op("1.reshape", &[1, 4], &[5], json!([]));
    let shape = |between: &[Value]| {
        let ops = [&parts[..], between, &[reshaped.clone(), output(5)]].concat();
        let desc = decode_program(&file(json!(ops))).expect("it is JSON");
        let reshape =
            desc.blocks[0].ops.iter().find(|op| op.r#type == "reshape2").expect("it is there").clone();
        ["ShapeTensor", "Shape"].map(|slot| reshape.input(slot).len())
    };
    assert_eq!(shape(&[]), [1, 0]);
    assert_eq!(shape(&[raised(2, 6)]), [0, 1]);
}

/// Names stay short where many values have one number.
#[test]
fn numbers_that_are_given_again() {
    let again = (0..5000).map(|_| op("1.relu", &[1], &[2], json!([])));
    let ops: Vec<Value> = [input("x", 1)].into_iter().chain(again).chain([output(2)]).collect();
    let desc = decode_program(&file(json!(ops))).expect("it is JSON");
    assert!(desc.blocks[0].vars.iter().all(|var| var.name.len() < 16));
}

/// A factor that is raised in place is no constant.
#[test]
fn what_is_overwritten_is_no_constant() {
    let no_bias = json!([
        attribute("bias", "0.a_f32", json!(0.0)),
        attribute("bias_after_scale", "0.a_bool", json!(true))
    ]);
    let scaled = op("1.scale", &[1, 2], &[3], no_bias);
    let text =
        |ops: Value| load(&decode_program(&file(ops)).expect("it is JSON")).expect("it is read").to_string();
    let alone = text(json!([input("x", 1), full(2.0, 2), scaled, output(3)]));
    assert!(alone.contains("scale(x, scale=2.0)"), "{alone}");
    let changes = text(json!([input("x", 1), full(2.0, 2), scaled, raised(2, 4), output(3)]));
    assert!(changes.contains("elementwise_mul(x,"), "{changes}");
}

#[test]
fn all_that_is_not_supported() {
    let ops = json!([
        input("x", 1),
        op("1.a_new_one", &[1], &[2], json!([])),
        op("1.relu", &[2], &[3], json!([])),
        op("7.foreign", &[1], &[4], json!([])),
        output(3),
    ]);
    assert_eq!(
        refused(&file(ops)),
        "the program cannot be run, for 2 reasons:\n\
         - block 0, operator 1 `pd_op.a_new_one`: there is no such operator here\n\
         - block 0, operator 3 `other.foreign`: there is no such operator here"
    );
}

#[test]
fn errors_have_places() {
    let is = |bytes: &[u8], why: &str| {
        let found = refused(bytes);
        let expected = format!("this is no program of PaddlePaddle's as JSON, or a damaged one: {why}");
        assert_eq!(found, expected);
    };
    is(b"{}", "its `base_code` does not say `pir`");
    is(b"{\"a\": ", "EOF while parsing a value at line 1 column 6");
    let unknown = json!([input("x", 1), op("1.relu", &[7], &[2], json!([]))]);
    is(&file(unknown), "operator 1 of block 0, `relu`: it reads value 7, which is given nowhere before");
    let twice = json!([input("x", 1), input("x", 2)]);
    is(&file(twice), "operator 1 of block 0, `data`: there are two values `x`");
    let mut lacks = op("1.relu", &[1], &[2], json!([]));
    lacks.as_object_mut().expect("it is an object").remove("I");
    is(&file(json!([input("x", 1), lacks])), "operator 1 of block 0: it has no `I`");
    let lists = json!([
        input("x", 1),
        op("0.combine", &[1, 1], &[2], json!([])),
        op("0.split", &[2], &[3], json!([]))
    ]);
    is(&file(lists), "operator 2 of block 0, `split`: it gives 1 values of a list of 2");
    is(
        &file(json!([input("x", 1), op("1.if", &[1], &[2], json!([]))])),
        "operator 1 of block 0, `if`: it has 0 regions, and not two",
    );
    let deep = ["[".repeat(500), "]".repeat(500)].concat();
    assert!(refused(format!("{{\"a\": {deep}}}").as_bytes()).contains("recursion limit exceeded"));
}

/// Lists of lists would be exponentially long.
#[test]
fn few_bytes_cannot_ask_for_much() {
    let mut ops = vec![input("x", 1)];
    ops.extend((1..60).map(|k| op("0.combine", &[k; 4], &[k + 1], json!([]))));
    assert!(refused(&file(json!(ops))).contains("its operators have more operands than the file has bytes"));
}

#[test]
fn files_that_are_cut_off() {
    for name in SAVED {
        let bytes = saved(name);
        decode_program(&bytes).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert!(
            (0..bytes.len()).step_by(31).all(|end| decode_program(&bytes[..end]).is_err() || end == 0),
            "{name}"
        );
    }
}

/// The changed files for each file.
const ROUNDS: usize = 150;

/// Any part of a file is left out, or another: nothing panics, and what is read is well-formed.
#[test]
fn parts_that_are_others() {
    let mut random = Random::new(3, &[i64::MAX, i64::MIN, 1 << 31, 1 << 40]);
    for name in SAVED {
        let whole: Value = serde_json::from_slice(&saved(name)).expect("it is JSON");
        let mut read = 0;
        for _ in 0..ROUNDS {
            let mut changed = whole.clone();
            for _ in 0..=random.below(2) {
                change(&mut changed, &mut random);
            }
            let bytes = serde_json::to_vec(&changed).expect("it is JSON");
            if let Ok(program) =
                decode_program(&bytes).map_err(drop).and_then(|desc| load(&desc).map_err(drop))
            {
                read += 1;
                survives(&program);
            }
        }
        assert!((1..ROUNDS).contains(&read), "{name}: {read} of {ROUNDS} are read");
    }
}

/// Goes to a random part, and puts another there.
fn change(value: &mut Value, random: &mut Random) {
    let size = match value {
        Value::Array(parts) => parts.len(),
        Value::Object(parts) => parts.len(),
        _ => 0,
    };
    if size > 0 && random.below(40) > 0 {
        let at = random.below(size);
        match value {
            Value::Array(parts) if random.below(60) == 0 => drop(parts.remove(at)),
            Value::Array(parts) => change(&mut parts[at], random),
            Value::Object(parts) => {
                let key = parts.keys().nth(at).cloned().unwrap_or_default();
                match random.below(60) {
                    0 => drop(parts.remove(&key)),
                    _ => change(&mut parts[&key], random),
                }
            }
            _ => {}
        }
        return;
    }
    *value = match random.below(7) {
        0 => json!([]),
        1 => json!({}),
        2 => json!(""),
        3 => json!([1, 2]),
        4 => json!(0.5),
        5 => json!(true),
        _ => json!([0, 1, -1, 2, 5, i64::MAX, 1i64 << 31][random.below(7)]),
    };
}
