//! What multiplies matrices is chosen by `PADDLE_MATMUL`, which a process reads once for all its networks. So each choice is a
//! process of its own.

use std::process::{Command, Output};

use paddle::attribute::network;
use paddle::{Error, Parameters, Sgd, Trainer};

/// The variable under test, and the one that tells the other process to work.
const VARIABLE: &str = "PADDLE_MATMUL";
const TASK: &str = "PADDLE_TEST_MULTIPLIER";

const ROWS: usize = 70;
const STEPS: usize = 12;

#[network]
mod nets {
    /// Products of one tile and of several, with more terms than `matrixmultiply` adds up at once, and with one column.
    pub fn cost(x: Tensor<f32, _, 300>, y: Tensor<f32, _, 1>) -> Tensor<f32> {
        let hidden = fc(fc(x, 130, act = tanh), 33, act = tanh);
        mean(square(fc(hidden, 1) - y))
    }
}

/// The costs of some steps, and the parameters behind them.
fn train() -> Result<Vec<f32>, Error> {
    let number = |i: usize| (i * 7919 % 1009) as f32 / 504.5 - 1.0;
    let row = |i: usize| {
        let x: [f32; 300] = std::array::from_fn(|j| number(300 * i + j));
        nets::cost::Row { x, y: x[0] * x[1] + x[2] }
    };
    let net = nets::cost();
    let batch = net.batch((0..ROWS).map(row))?;
    let mut parameters = Parameters::create_with_seed(&net, 7)?;
    let mut trainer = Trainer::new(Sgd::new(0.01));
    let mut numbers = Vec::new();
    for _ in 0..STEPS {
        numbers.push(trainer.step(&net, &mut parameters, &batch)?.cost());
    }
    let names: Vec<String> = parameters.names().map(str::to_string).collect();
    for name in names {
        numbers.extend(parameters.get::<f32>(&name)?.iter());
    }
    Ok(numbers)
}

#[test]
fn what_the_other_process_does() {
    if std::env::var_os(TASK).is_none() {
        return;
    }
    match train() {
        Ok(numbers) => numbers.iter().for_each(|number| println!("number {:08x}", number.to_bits())),
        Err(error) => println!("error {error}"),
    }
}

/// What a process with this choice, or without one, and with so many threads prints.
fn run(choice: Option<&str>, threads: usize) -> String {
    let mut program = Command::new(std::env::current_exe().unwrap());
    program.args(["--exact", "what_the_other_process_does", "--nocapture", "--test-threads=1"]);
    program.env(TASK, "train").env("PADDLE_THREADS", threads.to_string()).env_remove(VARIABLE);
    if let Some(choice) = choice {
        program.env(VARIABLE, choice);
    }
    let Output { status, stdout, stderr } = program.output().unwrap();
    assert!(status.success(), "{}", String::from_utf8_lossy(&stderr));
    String::from_utf8(stdout).unwrap()
}

/// The bits of costs and parameters.
fn trained(choice: Option<&str>, threads: usize) -> Vec<u32> {
    let text = run(choice, threads);
    // The harness begins the first line.
    let numbers = text.lines().filter_map(|line| Some(line.split_once("number ")?.1));
    let bits: Vec<u32> = numbers.map(|bits| u32::from_str_radix(bits, 16).unwrap()).collect();
    assert!(bits.len() > STEPS, "{text}");
    bits
}

#[test]
fn trainings_by_either_agree_and_have_the_same_bits_on_any_number_of_threads() {
    let [own, theirs] = ["own", "matrixmultiply"].map(|choice| {
        let one = trained(Some(choice), 1);
        for threads in [2, 3, 7] {
            assert!(
                trained(Some(choice), threads) == one,
                "{choice}: {threads} threads give other bits than one"
            );
        }
        one
    });
    assert!(own != theirs, "both have the same bits: is one of them used for both?");
    let mut costs = own[..STEPS].iter().map(|&bits| f32::from_bits(bits));
    assert!(costs.clone().next().unwrap() > 1.2 * costs.next_back().unwrap(), "the training does not learn");
    for (i, (own, theirs)) in own.iter().zip(&theirs).enumerate() {
        let (own, theirs) = (f32::from_bits(*own), f32::from_bits(*theirs));
        assert!((own - theirs).abs() < 2e-6, "number {i}: {own} by ours, {theirs} by matrixmultiply");
    }
}

#[test]
fn sets_with_kernels_of_our_own_use_them_if_nothing_is_chosen() {
    let best = paddle_kernels::cpu::isa::Isa::available().next().unwrap();
    if best.name() != "portable" {
        assert!(trained(None, 2) == trained(Some("own"), 2));
    }
}

#[test]
fn another_value_is_an_error_that_says_what_there_is() {
    for wrong in ["", "blas", "Own"] {
        let text = run(Some(wrong), 1);
        let message = text.lines().find_map(|line| Some(line.split_once("error ")?.1));
        let expected = format!(
            "PADDLE_MATMUL is `{wrong}`, but matrices are multiplied by own, matrixmultiply; name one of these, or unset it for the best"
        );
        assert_eq!(message, Some(&*expected), "{text}");
    }
}
