//! What each pass does: the plan of a network with all passes, and without the one, kept as files that state how many launches
//! each has, and why.
//!
//! A process reads once which passes are on, so each plan is printed by a process of its own.

use std::array;
use std::env;
use std::fmt::Write;
use std::path::Path;
use std::process::{Command, Output};

use paddle::attribute::network;
use paddle::core::ops::Program;
use paddle::core::passes::optimize::{Settings, Update};
use paddle::core::passes::{Pipeline, Switch};
use paddle::core::plan::{Arithmetic, Backend, Executor, Storage, stored_name};
use paddle::{Cpu, Error, Momentum, Parameters, Trainer, Updater, infer};

/// The variable that switches passes off, and the one that tells the other process which network it plans.
const VARIABLE: &str = "PADDLE_PASSES";
const TASK: &str = "PADDLE_TEST_PLAN";

#[network]
mod nets {
    // ANCHOR: mlp
    /// Two layers, and a loss of several element-wise operators.
    pub fn mlp(x: Tensor<f32, _, 13>, y: Tensor<f32, _, 1>) -> Tensor<f32> {
        let hidden = fc(x, 8, act = gelu);
        let wrong = fc(hidden, 1) - y;
        mean(log(1.0 + square(wrong)) + 0.1 * abs(wrong))
    }
    // ANCHOR_END: mlp

    /// Two convolutions, each with its statistics, and a shortcut.
    pub fn images(x: Tensor<f32, _, 4, 8, 8>) -> Tensor<f32, _, 16> {
        let first = relu(batch_norm(conv2d(x, 16, 3, padding = 1)));
        let second = batch_norm(conv2d(first, 16, 3, padding = 1));
        softmax(reshape(pool2d(relu(second + first), 8, kind = avg), [16]))
    }

    /// Images whose channels are normalised for each pixel, as the last axis.
    pub fn pixels(x: Tensor<f32, _, 4, 8, 8>) -> Tensor<f32> {
        let seen = conv2d(x, 16, 3, padding = 1);
        let normal = transpose(layer_norm(transpose(seen, [0, 2, 3, 1])), [0, 3, 1, 2]);
        mean(square(reshape(pool2d(relu(seen + normal), 8, kind = avg), [16])))
    }

    // ANCHOR: recurrent
    /// A recurrent network whose step is one product of what is read and what is remembered.
    pub fn recurrent(words: Seq<Tensor<f32, 3>>) -> Tensor<f32> {
        let (mut h, mut c) = (zeros(4), zeros(4));
        for x in words {
            let (i, f, g, o) = split(fc(concat([x, h], axis = 1), 16), [4, 4, 4, 4]);
            c = sigmoid(f) * c + sigmoid(i) * tanh(g);
            h = sigmoid(o) * tanh(c);
        }
        mean(square(h))
    }
    // ANCHOR_END: recurrent

    /// Tokens that look for others of their sequence.
    pub fn attentive(x: Seq<Tensor<f32, 4>>) -> Tensor<f32> {
        mean(square(sequence_pool(sequence_attention(x, x, x, 2, causal = true), average)))
    }

    /// A recurrent network along the words of each sentence, and one along the sentences.
    pub fn nested(text: Seq<Seq<Tensor<f32, 3>>>) -> Tensor<f32> {
        let mut h = zeros(4);
        for sentence in text {
            let mut s = zeros(4);
            for word in sentence {
                s = tanh(fc(concat([word, s], axis = 1), 4, param = "words"));
            }
            h = tanh(fc(concat([s, h], axis = 1), 4, param = "sentences"));
        }
        mean(square(h))
    }

    /// What is said by the matrix of words by which it was read.
    pub fn tied(x: Tensor<f32, _, 4>) -> Tensor<f32, _, 6> {
        let table = parameter([6, 4]);
        let seen = tanh(matmul(x, table, transpose_y = true));
        matmul(matmul(seen, table), table, transpose_y = true)
    }
}

/// Whether a network is trained or used.
#[derive(Clone, Copy)]
enum Use {
    Training,
    Inference,
}

/// The program that is planned.
fn program(network: &str) -> (Program, Use) {
    let training = |program: &Program| (program.clone(), Use::Training);
    let inference = |program: &Program| (program.clone(), Use::Inference);
    match network {
        "attentive" => training(nets::attentive().program().unwrap()),
        "mlp" => training(nets::mlp().program().unwrap()),
        "images" => inference(nets::images().program().unwrap()),
        "pixels" => training(nets::pixels().program().unwrap()),
        "nested" => training(nets::nested().program().unwrap()),
        "recurrent" => training(nets::recurrent().program().unwrap()),
        "tied" => inference(nets::tied().program().unwrap()),
        _ => unreachable!("{network}"),
    }
}

/// The plan on the CPU.
fn plan(network: &str) -> String {
    let (mut program, how) = program(network);
    let (settings, updater) = (Settings::default(), Momentum::new(0.1));
    let rule = |update: &mut Update<'_>| updater.update(update);
    let pipeline = match how {
        Use::Training => Pipeline::training(&settings, &|_| false, &rule),
        Use::Inference => Pipeline::inference(),
    };
    let backend = Cpu::with_threads(1).unwrap();
    Pipeline::for_device(&|op, types| backend.supports(op, types)).run(&mut program).unwrap();
    pipeline.run(&mut program).unwrap();
    let (mut parameters, mut states) = (Storage::new(), Storage::new());
    let insert =
        |into: &mut Storage, var| into.insert(4, &stored_name(&program, var), program.ty(var)).unwrap();
    program.parameters().for_each(|var| insert(&mut parameters, var));
    program.states().iter().for_each(|state| insert(&mut states, state.var));
    Executor::with_states(backend, &program, &parameters, &states, Arithmetic::default())
        .unwrap()
        .plan()
        .to_string()
}

/// Numbers that look random.
fn number(i: usize) -> f32 {
    (i * 7919 % 1009) as f32 / 504.5 - 1.0
}

/// What the networks compute: costs of some steps, and the outputs of the one that is used.
fn results() -> Result<Vec<f32>, Error> {
    let mut results = Vec::new();
    let (mlp, recurrent, nested, images) = (nets::mlp(), nets::recurrent(), nets::nested(), nets::images());
    let (attentive, tied, pixels) = (nets::attentive(), nets::tied(), nets::pixels());
    let all = (&mlp, &recurrent, &nested, &images, &attentive, &tied, &pixels);
    let mut parameters = Parameters::create_with_seed(all, 3)?;
    let mut trainer = Trainer::new(Momentum::new(0.1));
    let rows = mlp.batch((0..9).map(|i| mlp.row(array::from_fn(|j| number(13 * i + j)), number(i))))?;
    let word = |i: usize| array::from_fn(|j| number(3 * i + j));
    let texts = recurrent
        .batch((0..5).map(|i| recurrent.row((0..i).map(|j| word(5 * i + j)).collect::<Vec<_>>())))?;
    let sentence = |i: usize| (0..i % 4).map(|j| word(5 * i + j)).collect::<Vec<_>>();
    let nested_texts =
        nested.batch((0..5).map(|i| nested.row((0..i).map(|j| sentence(i + j)).collect::<Vec<_>>())))?;
    let asking = |i: usize| (0..i).map(|j| array::from_fn(|k| number(7 * i + 4 * j + k))).collect::<Vec<_>>();
    let asking = attentive.batch((0..5).map(|i| attentive.row(asking(i))))?;
    let image =
        |i: usize| array::from_fn(|c| array::from_fn(|y| array::from_fn(|x| number(i + 64 * c + 8 * y + x))));
    let pictures = pixels.batch((0..3).map(|i| pixels.row(image(i))))?;
    for _ in 0..5 {
        results.push(trainer.step(&pixels, &mut parameters, &pictures)?.cost());
        results.push(trainer.step(&attentive, &mut parameters, &asking)?.cost());
        results.push(trainer.step(&nested, &mut parameters, &nested_texts)?.cost());
        results.push(trainer.step(&mlp, &mut parameters, &rows)?.cost());
        results.push(trainer.step(&recurrent, &mut parameters, &texts)?.cost());
    }
    let outputs = infer(&images, &parameters, [0, 1, 2].map(|i| images.row(image(i))))?;
    results.extend(outputs.at::<f32>(0)?.iter());
    let rows = [0, 1, 2].map(|i| tied.row(array::from_fn(|j| number(4 * i + j))));
    results.extend(infer(&tied, &parameters, rows)?.at::<f32>(0)?.iter());
    Ok(results)
}

#[test]
fn what_the_other_process_does() {
    match env::var(TASK).as_deref() {
        Ok("results") => results().unwrap().iter().for_each(|result| println!("result {result}")),
        Ok(network) => println!("\n{}", plan(network)),
        Err(_) => {}
    }
}

/// What a process prints in which a pass is off, or none.
fn printed(task: &str, off: Option<Switch>) -> String {
    let mut process = Command::new(env::current_exe().unwrap());
    process.args(["--exact", "what_the_other_process_does", "--nocapture", "--test-threads=1"]);
    process.env(TASK, task).env("PADDLE_ISA", "portable").env_remove(VARIABLE);
    if let Some(pass) = off {
        process.env(VARIABLE, format!("-{}", pass.name()));
    }
    let Output { status, stdout, stderr } = process.output().unwrap();
    assert!(status.success(), "{}", String::from_utf8_lossy(&stderr));
    String::from_utf8(stdout).unwrap()
}

fn planned(network: &str, off: Option<Switch>) -> String {
    let text = printed(network, off);
    let (begin, end) = (text.find("plan {").unwrap(), text.find("\n}\n").unwrap());
    text[begin..end + 3].to_string()
}

#[test]
fn results_are_the_same_without_a_pass() {
    let results = |off| {
        let text = printed("results", off);
        let numbers =
            text.lines().filter_map(|line| Some(line.split_once("result ")?.1.parse::<f32>().unwrap()));
        numbers.collect::<Vec<_>>()
    };
    let all = results(None);
    assert_eq!(all.len(), 5 * 5 + 3 * 16 + 3 * 6);
    for &pass in Switch::ALL {
        for (k, (with, without)) in all.iter().zip(results(Some(pass))).enumerate() {
            let name = pass.name();
            assert!((with - without).abs() <= 2e-5 * with.abs().max(1.0), "{name}, {k}: {with}, {without}");
        }
    }
}

/// How many launches each part of a plan has, and how many are within loops: `compute 12, update 2, loops 5`.
fn launches(plan: &str) -> String {
    let (mut counts, mut open): (Vec<(&str, usize)>, _) = (Vec::new(), Vec::new());
    let mut looped = 0;
    for line in plan.lines().map(str::trim) {
        if line.starts_with('}') {
            open.pop();
        }
        if let Some(head) = line.strip_suffix(" {") {
            if open.len() == 1 {
                counts.push((head, 0));
            }
            open.push(["for", "while", "unwind", "}"].iter().any(|word| head.starts_with(word)));
        } else if line.contains("->") {
            counts.last_mut().unwrap().1 += 1;
            looped += usize::from(open.contains(&true));
        }
    }
    counts.push(("loops", looped));
    counts.iter().map(|(part, count)| format!("{part} {count}")).collect::<Vec<_>>().join(", ")
}

/// Compares both plans with a file.
fn check(pass: Switch, network: &str, why: &str) {
    let (with, without) = (planned(network, None), planned(network, Some(pass)));
    let mut text = format!("{} on `{network}`: {why}\n\n", pass.name());
    for (title, plan) in [("with it", &with), ("without it", &without)] {
        writeln!(text, "Launches {title}: {}\n{plan}", launches(plan)).unwrap();
    }
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/plans/{}.txt", pass.name()));
    if env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(&path, &text).unwrap();
    }
    let kept = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(text == kept, "{} has changed; if it should, run with UPDATE_GOLDEN=1\n{text}", path.display());
    assert!(with != without, "`{}` does nothing to `{network}`", pass.name());
}

macro_rules! passes {
    ($($name:ident $pass:ident $network:ident $why:literal,)*) => {
        $(
            #[test]
            fn $name() {
                check(Switch::$pass, stringify!($network), $why);
            }
        )*

        #[test]
        fn every_pass_has_a_plan() {
            let kept = [$(Switch::$pass),*];
            let missing: Vec<_> = Switch::ALL.iter().filter(|pass| !kept.contains(pass)).collect();
            assert!(missing.is_empty(), "no plan shows what these do: {missing:?}");
        }
    };
}

passes! {
    combine Combine attentive
        "the scores of attention, and their gradients, are nowhere as a whole: they are computed again backward",
    compose Compose images
        "normalisation by fixed statistics becomes a product and a sum, which end the launch of the convolution",
    turn Turn tied
        "the matrix that two products read as its transpose is turned once for each version of it",
    split Split recurrent
        "the product of what is read and what is remembered becomes two, of which one does not depend on the loop",
    map Map nested
        "the words of all sentences are read in one loop, in as many steps as the longest has words",
    hoist Hoist recurrent
        "the product of what is read leaves the loop, and is one for all words",
    sink Sink recurrent
        "the gradients of weights leave the loop backward, and are one product each for all words",
    prepare Prepare images
        "the factors of channels follow from parameters, and are computed once for each version of them",
    arrange Arrange images
        "channels are the fastest axis between the first convolution and the pooling",
    fuse Fuse mlp
        "neighbouring element-wise operators over one shape are one launch",
    epilogue Epilogue mlp
        "element-wise operators behind a product end its launch",
    views Views pixels
        "what is reshaped is in the memory of the value that it is made of, and so is what a transpose makes of images with channels last",
    updates Updates mlp
        "the updates of all parameters are one launch",
}
