//! Programs print and parse back; what is not a program is an error at its place.

use paddle_core::ops::{Fill, Foreign, GaussianRandom, Number, Op, Program, Reshape, Scale, UniformRandom};
use paddle_core::program::{DType, Dim, Place, Role, Site, Type};
use paddle_core::text::{self, ParseError};

fn golden() -> Vec<(String, String)> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/golden");
    let files = std::fs::read_dir(folder).expect("the folder is in the repository");
    let read = |file: std::io::Result<std::fs::DirEntry>| {
        let path = file.expect("a readable folder").path();
        (path.display().to_string(), std::fs::read_to_string(&path).expect("a text file"))
    };
    let mut all: Vec<_> = files.map(read).collect();
    all.sort();
    all
}

/// Prints, parses and compares: by text, by what names stand for, and, once read, by every id.
#[track_caller]
fn round_trip(program: &Program) {
    let text = text::with_places(program).to_string();
    let parsed = match text::parse(&text) {
        Ok(parsed) => parsed,
        Err(error) => panic!("{error}\n{text}"),
    };
    assert_eq!(text::with_places(&parsed).to_string(), text);
    assert_eq!(by_name(&parsed), by_name(program), "{text}");
    let again = text::parse(&text).expect("it has been parsed before");
    assert_eq!(again, parsed);
}

/// Everything in a program, with names instead of ids that may be renumbered, not made by the printer.
fn by_name(program: &Program) -> Vec<String> {
    let names = |vars: &[_]| vars.iter().map(|&var| program.var(var).name.clone()).collect::<Vec<_>>();
    let mut all = vec![format!("{:?}", names(program.inputs())), format!("{:?}", names(program.outputs()))];
    for pair in program.gradients() {
        all.push(format!("{:?}", names(&[pair.parameter, pair.gradient])));
    }
    let mut vars: Vec<_> = program.vars().iter().collect();
    vars.sort_by_key(|var| &var.name);
    for var in vars {
        let ty = program.show(&var.ty);
        all.push(format!(
            "{} {ty} {:?} {:?} {:?}",
            var.name,
            var.ty.rows.is_some(),
            var.block,
            var.definition
        ));
    }
    for (id, block) in program.blocks().iter().enumerate() {
        let rows = block.rows.map(|rows| {
            let space = program.row_space(rows);
            (&space.name, space.parent.map(|parent| &program.row_space(parent).name), space.origin)
        });
        let (params, results) = (names(&block.params), names(&block.results));
        all.push(format!("{id} {:?} {:?} {rows:?} {params:?} {results:?}", block.parent, block.forward));
        let startup = program.startup().iter().filter(|_| id == 0);
        for operator in startup.chain(&block.ops) {
            let (inputs, outputs) = (names(&operator.inputs), names(&operator.outputs));
            let attributes: Vec<_> = operator.op.attributes().into_iter().collect();
            // Ids in sizes are shown by the types above.
            let attributes = match &operator.op {
                Op::Reshape(_) | Op::Fill(_) => Vec::new(),
                _ => attributes,
            };
            let place = operator.site.place.map(|place| program.locate(place));
            let (kind, role, blocks) = (operator.op.name(), operator.site.role, &operator.blocks);
            all.push(format!("{kind} {inputs:?} {outputs:?} {attributes:?} {blocks:?} {role:?} {place:?}"));
        }
    }
    all
}

#[test]
fn golden_programs_come_back() {
    let all = golden();
    assert!(all.len() >= 8);
    for (name, text) in all {
        let program = text::parse(&text).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(program.to_string(), text, "{name}");
        round_trip(&program);
    }
}

#[test]
fn samples_of_every_operator_come_back() {
    let samples = Op::samples();
    assert!(samples.len() > 50);
    for sample in samples {
        round_trip(&sample.program().expect("a sample is a program"));
    }
}

/// A program whose values, in order of creation, stand in the order of its text comes back with the same ids.
#[test]
fn ids_come_back() -> Result<(), Box<dyn std::error::Error>> {
    let mut program = Program::new();
    let rows = program.create_rows("_");
    let init = GaussianRandom {
        mean: 0.1,
        std: 2.5,
        fan: None,
        path: String::new(),
        ty: Type::new(DType::F64, [2, 3]),
    };
    program.create_parameter("w", init)?;
    let x = program.create_input("x", Type::with_rows(DType::F64, rows, [3]))?;
    let y = program.append_op(Program::GLOBAL, Scale { scale: 0.1, bias: 0.0 }, &[x], Site::default())?;
    program.set_outputs(&y)?;
    assert_eq!(text::parse(&program.to_string())?, program);
    assert_eq!(
        program.to_string(),
        "program {
  rows _
  parameter w: f64[2, 3] = gaussian_random(mean=0.1, std=2.5) [chosen]
  block 0 (x: f64[_, 3]) {
    scale: f64[_, 3] = scale(x, scale=0.1)
    return scale
  }
}
"
    );
    Ok(())
}

#[test]
fn names_of_any_kind_come_back() -> Result<(), Box<dyn std::error::Error>> {
    let names = [
        "plain",
        "_",
        "@LR_DECAY@",
        "fc_0.w_0",
        "x@GRAD@RENAME@0",
        "encoder/layer-1/w",
        "étage",
        "",
        " ",
        "a b",
        "a//b",
        "a->b",
        "a-",
        "/a",
        "1",
        "-1",
        "yield",
        "return",
        "block",
        "backward",
        "\"",
        "\\",
        "'",
        "\n\r\t\0\u{7}\u{200b}\u{10ffff}",
        "日本",
        "}",
        "a:b",
        "inf",
        "true",
        "f32",
    ];
    let mut program = Program::new();
    let place =
        Some(Place { file: program.create_file("C:\\a b.rs"), line: u32::MAX, column: 1, layer: None });
    for (i, name) in names.iter().enumerate() {
        program.create_rows(&format!("rows {name}"));
        let size = Dim::symbol(program.create_symbol(name));
        let x = program.create_input(
            &format!("in{name}"),
            Type { dtype: DType::F32, rows: None, dims: vec![size, 1.into()] },
        )?;
        let site = Site { role: Role::Optimize, place: place.filter(|_| i % 2 == 0) };
        let y = program.append_op(Program::GLOBAL, Scale { scale: 2.0, bias: 0.0 }, &[x], site)?[0];
        program.rename(y, name);
        program.set_outputs(&[y])?;
    }
    round_trip(&program);
    Ok(())
}

#[test]
fn numbers_come_back_exactly() -> Result<(), Box<dyn std::error::Error>> {
    let floats = [
        0.0,
        -0.0,
        0.1,
        1.0,
        -1.5,
        1e16,
        1e-7,
        f64::MAX,
        f64::MIN_POSITIVE,
        5e-324,
        f64::INFINITY,
        f64::NEG_INFINITY,
        1.0 / 3.0,
    ];
    let mut program = Program::new();
    let x = program.create_input("x", Type::new(DType::F64, [1]))?;
    for value in floats {
        for op in [Scale { scale: value, bias: value }, Scale { scale: 1.0, bias: value }] {
            program.append_op(Program::GLOBAL, op, &[x], Site::default())?;
        }
        let fill = Fill { value: Number::Float(value), ty: Type::scalar(DType::F64) };
        program.append_op(Program::GLOBAL, fill, &[], Site::default())?;
    }
    for value in [0, 1, -1, i64::MAX, i64::MIN] {
        for dtype in [DType::I64, DType::F32] {
            let fill = Fill { value: Number::Int(value), ty: Type::scalar(dtype) };
            program.append_op(Program::GLOBAL, fill, &[], Site::default())?;
        }
    }
    round_trip(&program);
    let bits = |program: &Program| -> Vec<u64> {
        let numbers = program.block(Program::GLOBAL).ops.iter().map(|operator| match &operator.op {
            Op::Scale(op) => vec![op.scale, op.bias],
            Op::Fill(op) => vec![op.value.as_f64()],
            _ => Vec::new(),
        });
        numbers.flatten().map(f64::to_bits).collect()
    };
    assert_eq!(bits(&text::parse(&program.to_string())?), bits(&program));
    Ok(())
}

#[test]
fn sizes_come_back() -> Result<(), Box<dyn std::error::Error>> {
    let mut program = Program::new();
    let n = Dim::symbol(program.create_symbol("N"));
    let rows = program.create_rows("_");
    let count = Dim::symbol(program.row_space(rows).size);
    let t = Dim::symbol(program.create_symbol("T"));
    let two = Dim::from(2);
    let line = (&(&two * &t)? + &Dim::from(1))?;
    let square = (&(&line * &line)? - &n)?;
    let half = square.floor_div(&(&t + &n)?).expect("a positive divisor");
    let nested = (&half.floor_div(&Dim::from(3)).expect("a positive divisor") * &n)?;
    let least = (&Dim::from(i64::MIN) * &t)?;
    // The most elements that there is memory for.
    let most = Dim::from(i64::MAX / 4);
    let sizes = [line, square, half, nested, least, most, count.clone(), (&count * &t)?];
    for (i, size) in sizes.iter().enumerate() {
        let dims = vec![size.clone(), count.clone()];
        program.create_input(&format!("x{i}"), Type { dtype: DType::F32, rows: None, dims: dims.clone() })?;
        program.create_input(&format!("y{i}"), Type { dtype: DType::F32, rows: Some(rows), dims })?;
    }
    let dims = vec![(&t * &n)?, Dim::from(1)];
    let x = program.create_input("x", Type { dtype: DType::F32, rows: Some(rows), dims })?;
    program.append_op(Program::GLOBAL, Reshape { dims: vec![n, t] }, &[x], Site::default())?;
    let text = program.to_string();
    for expected in [
        "f32[2 * T + 1, _]",
        "f32[_, 4 * T * T - N + 4 * T + 1, _]",
        "f32[(_), _]",
        "f32[T * _, _]",
        "[-9223372036854775808 * T, _]",
        "reshape2(x, dims=[N, T])",
    ] {
        assert!(text.contains(expected), "{expected} in\n{text}");
    }
    round_trip(&program);
    let parsed = text::parse(&text)?;
    for name in ["x0", "x3", "y1", "x6"] {
        let ty = |program: &Program| program.ty(program.find(name).expect("an input")).clone();
        assert_eq!(ty(&parsed).rows.is_some(), name.starts_with('y'));
        assert_eq!(program.show(&ty(&program)), parsed.show(&ty(&parsed)));
    }
    Ok(())
}

#[test]
fn foreign_operators_come_back() -> Result<(), Box<dyn std::error::Error>> {
    let mut program = Program::new();
    let x = program.create_input("x", Type::scalar(DType::F32))?;
    let types = vec![Type::new(DType::I64, [2]), Type::scalar(DType::Bool)];
    let op = Foreign { name: "lod \"rank\"".into(), desc: vec![0, 10, 255], types };
    program.append_op(Program::GLOBAL, op, &[x, x], Site::default())?;
    let op = Foreign { name: "print".into(), desc: Vec::new(), types: Vec::new() };
    program.append_op(Program::GLOBAL, op, &[], Site::default())?;
    let text = program.to_string();
    let line = r#"foreign: i64[2], foreign_1: bool[] = foreign(x, x, name="lod \"rank\"", desc=0x000aff)"#;
    assert!(text.contains(line), "{text}");
    assert!(text.contains("    foreign(name=\"print\", desc=0x)\n"), "{text}");
    round_trip(&program);
    Ok(())
}

#[test]
fn places_are_printed_on_demand() -> Result<(), Box<dyn std::error::Error>> {
    let mut program = Program::new();
    let x = program.create_input("x", Type::scalar(DType::F32))?;
    let place = Some(Place {
        file: program.create_file("src/main.rs"),
        line: 14,
        column: 17,
        layer: Some(program.create_layer("+")),
    });
    let site = Site { role: Role::Backward, place };
    program.append_op(Program::GLOBAL, Scale { scale: 1.0, bias: 0.0 }, &[x], site)?;
    assert!(program.to_string().contains("scale(x) [backward]\n"));
    let text = text::with_places(&program).to_string();
    assert!(text.contains("scale(x) [backward at src/main.rs:14:17 in \"+\"]\n"), "{text}");
    assert_eq!(text::parse(&text)?, program);
    Ok(())
}

fn error(text: &str) -> ParseError {
    match text::parse(text) {
        Ok(program) => panic!("it parsed: {program}"),
        Err(error) => error,
    }
}

/// Every `^` of the last line stands under the place of the error that the text before gives.
#[track_caller]
fn fails_at(text: &str, message: &str) {
    let (source, mark) = text.rsplit_once('\n').expect("a line with the mark");
    let error = error(source);
    let column = mark.chars().position(|c| c == '^').expect("a mark") + 1;
    let line = source.split('\n').count();
    assert_eq!((error.line as usize, error.column as usize), (line, column), "{error}\n{text}");
    assert_eq!(error.message, message);
}

#[test]
fn mistakes_of_form() {
    fails_at("\n^", "expected `program`, found the end of the text");
    fails_at("program {\n  rows 3\n       ^", "expected the name of a row space, found `3`");
    fails_at(
        "program {\n  bloc 0 {\n  ^",
        "expected `shards`, `rows`, `tokens`, `steps`, `rounds`, `size`, `check`, `parameter`, `state`, `gradient`, `tap` or `block`, found `bloc`",
    );
    fails_at("program { block 0 { }\n} more\n  ^", "expected the end of the text, found `more`");
    fails_at(
        "program { block 0 (x: f32[2] y\n                             ^",
        "expected `,` or `)`, found `y`",
    );
    fails_at(
        "program { block 0 (x: f16[2]\n                      ^",
        "expected an element type (`bool`, `i32`, `i64`, `f32` or `f64`), found `f16`",
    );
    fails_at("program { block 0 { # }\n                    ^", "unexpected character `#`");
    fails_at(
        "program { size \"T\\q\" }\n                 ^",
        "there is no such escape; write `\\\\` for `\\`",
    );
    fails_at("program { size \"T\n               ^", "the quote that begins here does not end");
    fails_at(
        "program { block 0 { a: f32[] = relu(b) [wrong] }\n                                        ^",
        "expected `forward`, `loss`, `backward`, `optimize` or `at`, found `wrong`",
    );
}

#[test]
fn mistakes_of_meaning() {
    fails_at("program { shards 0 }\n                 ^", "a batch cannot be cut into 0 shards");
    fails_at(
        "program { block 0 (x: f32[T]) { } }\n                          ^",
        "there is no size named `T`",
    );
    fails_at(
        "program { size T size T block 0 { } }\n                      ^",
        "there is already a size or a row space named `T`",
    );
    fails_at(
        "program { block 0 { y: f32[] = reluu(x) } }\n                               ^",
        "there is no operator `reluu`",
    );
    fails_at(
        "program { block 0 { y: f32[] = relu(x) } }\n                                    ^",
        "there is no value named `x`",
    );
    fails_at(
        "program { block 0 (x: f32[]) { y: f32[] = scale(x, factor=2.0) } }\n                                                   ^",
        "operator `scale` has no attribute `factor`",
    );
    fails_at(
        "program { block 0 (x: f32[]) { y: f32[] = scale(x, bias=2.0, bias=3.0) } }\n                                                             ^",
        "attribute `bias` is given twice",
    );
    fails_at(
        "program { block 0 (x: f32[]) { y: f32[] = scale(x, bias=high) } }\n                                                        ^",
        "expected a number, `true` or `false`, found `high`",
    );
    fails_at(
        "program { block 0 (x: f32[2]) { y: f32[] = reduce_sum(x, keep_dim=1) } }\n                                           ^",
        "attribute `keep_dim` of operator `reduce_sum` has a value of the wrong kind",
    );
    fails_at(
        "program { block 0 { y: f32[2] = fill_constant() } }\n                                ^",
        "operator `fill_constant` needs the attribute `value`",
    );
    fails_at(
        "program { block 0 (x: f32[3], x: f32[]) { } }\n                              ^",
        "there is already a value named `x`",
    );
    fails_at(
        "program { block 0 (x: f32[3]) { y: f32[4] = tanh(x) } }\n                                ^",
        "`y` is f32[4] here, but `tanh` gives f32[3]",
    );
    fails_at(
        "program { block 0 (x: f32[3]) { y: f32[3] = elementwise_add(x, x, x) } }\n                                ^",
        "`elementwise_add` takes 2 inputs, not 3",
    );
    fails_at(
        "program { parameter w: f32[3] = relu(x) block 0 { } }\n                                     ^",
        "an initialiser has no inputs",
    );
    fails_at(
        "program { parameter w: f32[3] = fill_constant(value=1.0, ty=f32[4]) block 0 { } }\n                    ^",
        "`w` is f32[3] here, but its initialiser gives f32[4]",
    );
    fails_at("program { block 1 { } }\n          ^", "the global block is block 0");
    fails_at(
        "program { rows _ block 0 (c: bool[_]) { if(c) { block 1 on _.1 of N { } } } }\n                                                                  ^",
        "there is no row space `N` up to here",
    );
    fails_at(
        "program { block 0 (c: bool[]) { if(c) { block 1 { } block 3 { } } } }\n                                                    ^",
        "blocks are numbered without gaps, but there is no block 2",
    );
    fails_at(
        "program { block 0 (c: bool[]) { if(c) { block 1 { } block 1 { } } } }\n                                                    ^",
        "there is already a block 1",
    );
    fails_at(
        "program { block 0 (c: bool[]) { if(c) { block 1 { if(c) { block 0 { } } } } } }\n                                                          ^",
        "a block inside another one has a higher number",
    );
    fails_at(
        "program { block 0 (c: bool[]) { if(c) { block 1 of block 7 { } } } }\n                                                         ^",
        "block 1 cannot be of block 7, which does not come before it",
    );
}

#[test]
fn numbers_out_of_range() {
    fails_at(
        "program { block 0 (x: f32[9223372036854775808]) { } }\n                          ^",
        "the size is too large",
    );
    fails_at(
        "program { size T block 0 (x: f32[9223372036854775807 * T + 2 * T]) { } }\n                                                           ^",
        "a size overflows 64-bit integers",
    );
    fails_at(
        "program { size T block 0 (x: f32[((T) / (0))]) { } }\n                                 ^",
        "a size is divided by a number that is not positive",
    );
    fails_at(
        "program { block 99999999999 { } }\n                ^",
        "expected the number of the block, found `99999999999`",
    );
    fails_at(
        "program { block 0 { x: f32[] = fill_constant(value=1e999) } }\n                                                   ^",
        "the number is too large",
    );
    fails_at(
        "program { block 0 { x: i64[] = fill_constant(value=-9223372036854775809) } }\n                                                   ^",
        "the number is too large",
    );
    fails_at(
        "program { block 0 (x: f32[2]) { y: f32[] = reduce_sum(x, axes=[0.5]) } }\n                                                               ^",
        "expected a whole number",
    );
}

#[test]
fn depth_is_limited() {
    let nested = |depth: usize| {
        let mut text = String::from("program { block 0 (c: bool[]) {");
        for level in 0..depth {
            text += &format!(" if(c) {{ block {} {{", level + 1);
        }
        text
    };
    let error = error(&nested(10_000));
    assert_eq!(error.message, "blocks nest deeper than 64 levels");
    let quotients = format!("program {{ size T block 0 (x: f32[{}", "((".repeat(10_000));
    assert_eq!(text::parse(&quotients).unwrap_err().message, "more than 64 divisions inside one another");
    for (many, what) in [("1, ", "dimensions"), ("1 + ", "terms"), ("T * ", "factors")] {
        let text = format!("program {{ size T block 0 (x: f32[{}", many.repeat(10_000));
        assert_eq!(text::parse(&text).unwrap_err().message, format!("more than 64 {what}"));
    }
}

/// A number generator of the test's own: the same mutations in every run.
struct Random(u64);

impl Random {
    fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        ((self.0 >> 33) as usize) % n
    }
}

/// Whatever the text, it is a program that verifies, or an error at a place inside it.
fn survives(text: &str) {
    match text::parse(text) {
        Ok(program) => {
            program.verify().expect("what parses is well-formed");
            let printed = program.to_string();
            let again = text::parse(&printed).unwrap_or_else(|error| panic!("{error}\n{printed}"));
            assert_eq!(again.to_string(), printed);
        }
        Err(error) => {
            let lines: Vec<&str> = text.split('\n').collect();
            let line = lines.get(error.line as usize - 1).expect("a line of the text");
            assert!(error.column as usize <= line.chars().count() + 1, "{error}\n{text}");
        }
    }
    if let Ok(program) = text::read(text) {
        let _ = (program.verify(), program.to_string());
    }
}

#[test]
fn truncated_anywhere() {
    for (_, text) in golden() {
        let ends = text.char_indices().map(|(at, _)| at).filter(|&at| at < text.trim_end().len());
        for end in ends {
            assert!(text::read(&text[..end]).is_err());
        }
    }
}

#[test]
fn mutated_anyhow() {
    let all = golden();
    let words: Vec<&str> =
        all.iter().flat_map(|(_, text)| text.split_inclusive([' ', '(', ',', '\n'])).collect();
    let signs = [
        "{",
        "}",
        "(",
        ")",
        "[",
        "]",
        "\"",
        "\\",
        "0x",
        "-",
        "1e9",
        "999999999999999999999",
        "é",
        "\u{0}",
        "",
    ];
    let mut random = Random(7);
    for round in 0..3_000 {
        let mut text = all[round % all.len()].1.clone();
        for _ in 0..1 + random.below(3) {
            let boundary = |random: &mut Random| {
                let at = random.below(text.len() + 1);
                (0..=at).rev().find(|&at| text.is_char_boundary(at)).unwrap_or(0)
            };
            let (a, b) = (boundary(&mut random), boundary(&mut random));
            let end = a.max(b).min(a.min(b) + random.below(12));
            let end = (end..=text.len()).find(|&at| text.is_char_boundary(at)).unwrap_or(text.len());
            let with = match random.below(3) {
                0 => signs[random.below(signs.len())],
                1 => "",
                _ => words[random.below(words.len())],
            };
            text.replace_range(a.min(b)..end, with);
        }
        survives(&text);
    }
}

/// Mutations of single words, most of which still parse: they reach the verifier.
#[test]
fn words_exchanged() {
    let all = golden();
    let mut random = Random(11);
    for round in 0..2_000 {
        let text = &all[round % all.len()].1;
        let mut words: Vec<&str> =
            text.split_inclusive(|c: char| !c.is_alphanumeric() && !"_.@".contains(c)).collect();
        let (a, b) = (random.below(words.len()), random.below(words.len()));
        words.swap(a, b);
        survives(&words.concat());
        let (a, b) = (random.below(words.len()), random.below(words.len()));
        words[a] = words[b];
        survives(&words.concat());
    }
}

#[test]
fn initialisers_keep_their_bounds() -> Result<(), Box<dyn std::error::Error>> {
    let mut program = Program::new();
    for (i, (min, max)) in [(-1.0, 1.0), (-1.0, 2.0), (0.0, 1.0)].into_iter().enumerate() {
        let ty = Type::new(DType::F32, [2]);
        program.create_parameter(
            &format!("w{i}"),
            UniformRandom { min, max, fan: None, path: String::new(), ty },
        )?;
    }
    let text = program.to_string();
    assert!(text.contains("w0: f32[2] = uniform_random() [chosen]\n"), "{text}");
    assert!(text.contains("w1: f32[2] = uniform_random(max=2.0) [chosen]\n"), "{text}");
    assert!(text.contains("w2: f32[2] = uniform_random(min=0.0) [chosen]\n"), "{text}");
    round_trip(&program);
    Ok(())
}

/// The tokens of sequences are rows of their own; what has them is shown as a sequence.
#[test]
fn sequences() {
    let source = "\
program {
  rows _
  tokens _.words of _
  tokens _.more of _
  block 0 (words: f32[_.words, 2], more: i64[_.more]) {
    h: f32[_.words, 2] = tanh(words)
    pooled: f32[_, 2] = sequence_pool(h, pooltype=\"MAX\")
    return pooled, more
  }
}
";
    let program = text::parse(source).unwrap();
    assert_eq!(program.to_string(), source);
    let shown = |name: &str| program.show(program.ty(program.find(name).unwrap()));
    assert_eq!(["words", "more", "pooled"].map(shown), ["Seq<Tensor<f32, 2>>", "Seq<i64>", "f32[_, 2]"]);
    let error = |line: &str| {
        text::parse(&source.replace("h: f32[_.words, 2] = tanh(words)", line)).unwrap_err().to_string()
    };
    assert_eq!(
        error("h: f32[_.words, 2] = elementwise_add(words, more)"),
        "line 6, column 5: `more` is Seq<i64>, but `words` is Seq<Tensor<f32, 2>>; `elementwise_add` needs one element type"
    );
    let two = source.replace("more: i64", "more: f32");
    let error = |line: &str| {
        text::parse(&two.replace("h: f32[_.words, 2] = tanh(words)", line)).unwrap_err().to_string()
    };
    assert_eq!(
        error("h: f32[_.words, 2] = elementwise_add(words, more)"),
        "line 6, column 5: `more` is Seq<f32>, but `words` is Seq<Tensor<f32, 2>>: the tokens of `more` and the tokens \
         of `words` do not belong together"
    );
    let error = text::parse("program { rows _ tokens a of b block 0 (x: f32[a]) { return x } }").unwrap_err();
    assert_eq!(error.to_string(), "line 1, column 30: there is no row space `b` up to here");
    let error = text::parse(
        "program { rows _ block 0 (x: f32[_]) { y: f32[_] = sequence_pool(x, pooltype=\"SUM\") return y } }",
    );
    assert_eq!(
        error.unwrap_err().to_string(),
        "line 1, column 40: `x` is f32[_], but `sequence_pool` needs whole sequences: its rows are no tokens"
    );
}

#[test]
fn shards_come_back() {
    let source = "\
program {
  shards 4
  rows _
  block 0 (x: f32[_]) {
    return x
  }
}
";
    let program = text::parse(source).unwrap();
    assert_eq!((program.shards().get(), program.to_string().as_str()), (4, source));
    let whole = text::parse(&source.replace("shards 4", "shards 1")).unwrap();
    assert_eq!(whole.to_string(), source.replace("  shards 4\n", ""));
    assert!(text::parse(&source.replace("shards 4", "shards")).is_err());
}
