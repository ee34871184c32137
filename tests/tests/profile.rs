//! Profiles: counts, bytes and operations of known programs, the peak of memory, the trace, and that nothing changes.

#[path = "../../paddle-kernels/tests/support/lacking.rs"]
mod lacking;
#[path = "../../paddle-kernels/tests/support/queued.rs"]
mod queued;

use std::time::Duration;

use lacking::Lacking;
use paddle::core::plan::Backend;
use paddle::profile::{self, LaunchProfile, MemoryKind, Profile};
use paddle::{
    Adam, Cpu, Error, Options, Parameters, Role, Sgd, Spec, TrainableInPart, Trainer, Updater, network,
};
use paddle_kernels::reference::Reference;
use queued::Queued;
use serde_json::Value;

/// The only launch whose first value has this name.
fn launch<'p>(profile: &'p Profile, value: &str) -> &'p LaunchProfile {
    let found: Vec<_> = profile.launches().filter(|launch| launch.value == value).collect();
    let [found] = found[..] else { panic!("{} launches compute `{value}`:\n{profile:#}", found.len()) };
    found
}

#[test]
fn counts_bytes_and_operations_are_those_of_the_program() {
    let net = network!(|x: Tensor<f32, _, 24>| {
        let hidden = fc(x, 8, bias = false);
        let out = fc(hidden, 2, bias = false);
        out
    });
    let parameters = Parameters::create(&net).unwrap();
    // The first batch is not measured, whatever its size; the others have 5 and 3 rows.
    let batch = |rows: usize| vec![[0.5; 24]; rows];
    let profile = profile::infer(&net, &parameters, [batch(7), batch(5), batch(3)]).unwrap();
    assert_eq!(profile.steps(), 2);
    assert_eq!(profile.launches().count(), 2);
    let rows = 5 + 3;
    let hidden = launch(&profile, "hidden");
    assert_eq!(hidden.operators, ["matmul_v2"]);
    assert_eq!(hidden.role, Some(Role::Forward));
    assert_eq!(hidden.calls, 2);
    assert_eq!(hidden.flops, 2 * rows * 24 * 8);
    assert_eq!(hidden.bytes, 4 * (rows * (24 + 8) + 2 * 24 * 8));
    let out = launch(&profile, "out");
    assert_eq!((out.calls, out.flops, out.bytes), (2, 2 * rows * 8 * 2, 4 * (rows * (8 + 2) + 2 * 8 * 2)));
    // A single batch is measured.
    assert_eq!(profile::infer(&net, &parameters, [batch(5)]).unwrap().steps(), 1);
}

#[test]
fn element_wise_operators_count_one_operation_each_and_what_is_looked_up_counts_once() {
    let net = network!(|ids: Tensor<i64, _>, x: Tensor<f32, _, 4>| {
        let found = embedding(ids, [1000, 4]);
        let chain = tanh(softmax(found) * x);
        chain
    });
    let parameters = Parameters::create(&net).unwrap();
    let rows = || (0..6).map(|i| net.row(i, [1.0; 4])).collect::<Vec<_>>();
    let profile = profile::infer(&net, &parameters, [rows()]).unwrap();
    let found = launch(&profile, "found");
    assert_eq!((found.flops, found.bytes), (0, 6 * 8 + 2 * 6 * 4 * 4));
    let chain = launch(&profile, "chain");
    assert_eq!(chain.operators, ["elementwise_mul", "tanh"]);
    assert_eq!((chain.flops, chain.bytes), (2 * 6 * 4, 3 * 6 * 4 * 4));
}

#[test]
fn convolutions_count_their_multiplications_also_backward() {
    let net = network!(|x: Tensor<f32, _, 2, 6, 6>| {
        let seen = conv2d(x, 4, 3, groups = 2, bias = false);
        mean(square(conv2d(seen, 1, 4, bias = false)))
    });
    let (mut parameters, mut trainer) = (Parameters::create(&net).unwrap(), Trainer::new(Sgd::new(0.1)));
    let rows = [[[[0.5; 6]; 6]; 2]; 3];
    let profile = trainer.profile(&net, &mut parameters, [rows], &Options::default()).unwrap();
    let of = |kind: &str| {
        let launches = profile.launches().filter(|launch| launch.operators.iter().any(|name| name == kind));
        let mut flops: Vec<u64> = launches.map(|launch| launch.flops).collect();
        flops.sort();
        flops
    };
    // The elements of the result, times those of a filter that each of them sees; a filter of the first sees one channel.
    let [first, second] = [2 * 3 * 4 * 16 * 9, 2 * 3 * 4 * 16];
    let sorted = |mut flops: [u64; 2]| {
        flops.sort();
        flops
    };
    assert_eq!(of("conv2d_grad_filter"), sorted([first, second]), "{profile:#}");
    assert_eq!(of("conv2d_grad_input"), [second]);
    // What follows in the same launch is one operation for each element.
    let forward = of("conv2d");
    assert!(forward[1] == first && (second..second + 10).contains(&forward[0]), "{forward:?}");
}

#[test]
fn an_update_changes_what_it_reads() {
    let net = network!(|x: Tensor<f32, _, 16>| mean(square(fc(x, 1, bias = false, param = "line"))));
    let (mut parameters, mut trainer) = (Parameters::create(&net).unwrap(), Trainer::new(Sgd::new(0.1)));
    let profile = trainer.profile(&net, &mut parameters, [[[0.5; 16]; 3]], &Options::default()).unwrap();
    let update = launch(&profile, "line.w");
    assert_eq!((update.role, update.calls), (Some(Role::Optimize), 1));
    // The parameter twice, the gradient, the rate.
    assert_eq!(update.bytes, 4 * (2 * 16 + 16 + 1));
}

#[test]
fn a_launch_in_a_loop_counts_each_iteration() {
    let net = network!(|xs: Seq<Tensor<f32, 4>>| {
        let mut h = zeros(4);
        for x in xs {
            h = tanh(fc([x, h], 4));
        }
        h
    });
    let parameters = Parameters::create(&net).unwrap();
    let sequence = |length: usize| vec![[0.1_f32; 4]; length];
    // 2 + 2 + 1 rows in three iterations.
    let profile = profile::infer(&net, &parameters, [vec![sequence(2), sequence(3)]]).unwrap();
    let products = profile.launches().filter(|launch| launch.operators[0] == "matmul_v2");
    let iterations: Vec<_> = products.filter(|launch| launch.calls == 3).collect();
    assert_eq!(iterations.len(), 1, "{profile:#}");
    assert_eq!(iterations[0].operators[0], "matmul_v2");
    assert!(iterations[0].flops >= 2 * 5 * 4 * 4);
}

#[test]
fn the_peak_of_a_chain_is_where_two_values_are_alive() {
    // No step of the ladder of capacities: the first layout is for exactly the first batch.
    const ROWS: usize = 17;
    let net = network!(|x: Tensor<f32, _, 16>| {
        let wide = fc(x, 64, bias = false);
        let narrow = fc(wide, 32, bias = false);
        let out = fc(narrow, 16, bias = false);
        out
    });
    let parameters = Parameters::create(&net).unwrap();
    let profile = profile::infer(&net, &parameters, [[[0.5; 16]; ROWS]]).unwrap();
    let [plan] = profile.plans() else { panic!("one plan") };
    let row = ROWS * 4;
    let peak = plan.memory.peak.unwrap();
    assert_eq!(peak.bytes, row * (64 + 32));
    assert_eq!(plan.launches[peak.launch as usize].value, "narrow");
    let alive: Vec<_> =
        plan.memory.at_peak().into_iter().map(|variable| (variable.name.as_str(), variable.bytes)).collect();
    assert_eq!(alive, [("wide", row * 64), ("narrow", row * 32)]);
    assert_eq!(plan.memory.arena, row * (64 + 32));
    assert_eq!(plan.memory.bytes(MemoryKind::Pool), row * 16);
    assert_eq!(plan.memory.bytes(MemoryKind::Parameter), 4 * (16 * 64 + 64 * 32 + 32 * 16));
    let wide = plan.memory.variables.iter().find(|variable| variable.name == "wide").unwrap();
    assert_eq!(
        [wide.first, wide.last].map(|at| plan.launches[at as usize].value.as_str()),
        ["wide", "narrow"]
    );
}

#[test]
fn the_trace_is_json_whose_events_are_nested_in_order() {
    let net = network!(|x: Tensor<f32, _, 3>, y: Tensor<f32, _, 1>| {
        let hidden = fc(x, 4, act = tanh);
        mean(square(fc(hidden, 1) - y))
    });
    let batch = net.batch((0..6).map(|i| net.row([i as f32, 1.0, 2.0], 1.0))).unwrap();
    let (mut parameters, mut trainer) = (Parameters::create(&net).unwrap(), Trainer::new(Adam::new(0.1)));
    for shards in [1, 3] {
        let options = Options::default().shards(shards);
        let profile = trainer.profile(&net, &mut parameters, [&batch; 4], &options).unwrap();
        let trace: Value = serde_json::from_str(&profile.chrome_trace()).unwrap();
        let events = trace["traceEvents"].as_array().unwrap();
        // What is open, by the time at which it ends.
        let mut open: Vec<(&str, f64)> = Vec::new();
        let (mut counts, mut before) = ([0; 3], 0.0);
        for event in events {
            assert_eq!(event["ph"], "X");
            let [begin, time] = ["ts", "dur"].map(|key| event[key].as_f64().unwrap());
            assert!(begin >= before && time >= 0.0);
            before = begin;
            while open.last().is_some_and(|&(_, end)| begin >= end) {
                open.pop();
            }
            let kind = event["cat"].as_str().unwrap();
            let (depth, inside) = match kind {
                "step" => (0, None),
                "part" => (1, Some("step")),
                _ => (2, Some("part")),
            };
            counts[depth] += 1;
            assert_eq!(open.last().map(|&(kind, _)| kind), inside, "{event}");
            assert!(open.last().is_none_or(|&(_, end)| begin + time <= end + 0.001), "{event}");
            open.push((if depth < 2 { kind } else { "launch" }, begin + time));
        }
        let calls: u64 = profile.launches().map(|launch| launch.calls).sum();
        assert_eq!(counts[0], 3);
        assert_eq!(counts[2] as u64, calls);
        assert!(events.iter().any(|event| event["args"]["place"].as_str().is_some_and(is_here)));
    }
}

/// Whether a place is in this file.
fn is_here(place: &str) -> bool {
    place.contains("tests/profile.rs:")
}

/// The bits of the parameters after four steps, with or without a profile.
fn trained<S: TrainableInPart, U: Updater, B: Backend + Clone>(
    net: &paddle::Network<S>,
    updater: U,
    backend: B,
    batches: &[paddle::Batch<S>],
    options: &Options,
    profiled: bool,
) -> Vec<u32> {
    let mut parameters = Parameters::create_on(backend, net, 0).unwrap();
    let mut trainer = Trainer::new(updater);
    if profiled {
        trainer.profile(net, &mut parameters, batches, options).unwrap();
    } else {
        for batch in batches {
            trainer.step_with(net, &mut parameters, batch, options).unwrap();
        }
    }
    // A step behind the profile, too.
    trainer.step_with(net, &mut parameters, &batches[0], options).unwrap();
    assert_eq!(trainer.steps(net).unwrap(), batches.len() as u64 + 1);
    let names: Vec<String> = parameters.names().map(str::to_string).collect();
    names
        .iter()
        .flat_map(|name| {
            parameters.get::<f32>(name.as_str()).unwrap().iter().map(|x| x.to_bits()).collect::<Vec<_>>()
        })
        .collect()
}

#[test]
fn a_profile_changes_no_bit_of_a_training() {
    let net = network!(|x: Tensor<f32, _, 3>, xs: Seq<Tensor<f32, 2>>, y: Tensor<f32, _, 1>| {
        let mut h = fc(dropout(x, 0.3), 4, act = tanh);
        for item in xs {
            h = tanh(fc([item, h], 4));
        }
        let answer = if y > 0.0 { fc(h, 1) } else { scale(fc(h, 1), 2.0) };
        mean(square(answer - y))
    });
    let row = |i: usize| {
        let sign = if i.is_multiple_of(3) { -1.0 } else { 1.0 };
        net.row([i as f32 / 7.0, 1.0, 2.0], vec![[0.1, 0.2]; i % 4], sign)
    };
    let batches: Vec<_> = [5, 8, 3].map(|rows| net.batch((0..rows).map(row)).unwrap()).into();
    let options = Options::default();
    let cpu = Cpu::with_threads(2).unwrap();
    let [plain, profiled] = [false, true]
        .map(|profiled| trained(&net, Adam::new(0.1), cpu.clone(), &batches, &options, profiled));
    assert_eq!(plain, profiled);
    let [plain, profiled] = [false, true]
        .map(|profiled| trained(&net, Adam::new(0.1), Reference::single(), &batches, &options, profiled));
    assert_eq!(plain, profiled);
    // A device that works off its queue late, and one that runs every other operator on its fallback.
    let late = Queued(cpu.clone());
    let [plain, profiled] = [false, true]
        .map(|profiled| trained(&net, Adam::new(0.1), late.clone(), &batches, &options, profiled));
    assert_eq!(plain, profiled);
    let split = Lacking { device: late, fallback: cpu };
    let [plain, profiled] = [false, true]
        .map(|profiled| trained(&net, Adam::new(0.1), split.clone(), &batches, &options, profiled));
    assert_eq!(plain, profiled);
}

#[test]
fn the_table_has_places_of_the_source_and_every_launch_once() {
    let net = network!(|x: Tensor<f32, _, 3>, y: Tensor<f32, _, 1>| {
        let hidden = fc(x, 4, act = tanh);
        mean(square(fc(hidden, 1) - y))
    });
    let line = line!() - 3;
    let batch = net.batch((0..6).map(|i| net.row([i as f32, 1.0, 2.0], 1.0))).unwrap();
    let (mut parameters, mut trainer) = (Parameters::create(&net).unwrap(), Trainer::new(Adam::new(0.1)));
    let profile = trainer.profile(&net, &mut parameters, [&batch; 4], &Options::default()).unwrap();
    let table = format!("{profile:#}");
    assert!(table.starts_with("3 steps, "), "{table}");
    let of_hidden = |line_of_table: &&str| line_of_table.contains(&format!("tests/profile.rs:{line}:22"));
    let lines: Vec<_> = table.lines().filter(of_hidden).collect();
    assert!(lines.iter().any(|line| line.contains("forward") && line.contains("matmul_v2")), "{table}");
    assert!(lines.iter().any(|line| line.contains("backward")), "{table}");
    assert_eq!(table.lines().filter(|line| line.contains(" -> ")).count(), profile.launches().count());
    // The longest is first.
    let longest = profile.launches().max_by_key(|launch| launch.time).unwrap();
    let first = table.lines().find(|line| line.contains(" -> ")).unwrap();
    assert!(first.contains(&format!("-> {}", longest.value)), "{table}");
    // Launches are within steps, and the floor is a share of their time.
    let in_launches: Duration = profile.launches().map(|launch| launch.time).sum();
    assert!(in_launches <= profile.time());
    assert!(profile.launches().all(|launch| profile.share_of_floor(launch).is_some_and(|share| share > 0.0)));
}

#[test]
fn a_device_with_a_clock_of_its_own_says_what_launches_take() {
    let net = network!(|x: Tensor<f32, _, 3>, y: Tensor<f32, _, 1>| mean(square(fc(x, 1) - y)));
    let batch = net.batch((0..6).map(|i| net.row([i as f32, 1.0, 2.0], 1.0))).unwrap();
    let cpu = Cpu::with_threads(1).unwrap();
    fn profiled<S: TrainableInPart, B: Backend + Clone>(
        net: &paddle::Network<S>,
        batch: &paddle::Batch<S>,
        backend: B,
    ) -> Profile {
        let mut parameters = Parameters::create_on(backend, net, 0).unwrap();
        Trainer::new(Sgd::new(0.1)).profile(net, &mut parameters, [batch; 20], &Options::default()).unwrap()
    }
    let profile = profiled(&net, &batch, cpu.clone());
    assert!(
        profile.plans().iter().all(|plan| !plan.by_device)
            && !format!("{profile}").contains("device's clock")
    );
    // By its clock each launch takes a nanosecond.
    let profile = profiled(&net, &batch, Queued(cpu));
    assert!(profile.plans().iter().all(|plan| plan.by_device), "{profile}");
    assert!(
        profile.launches().all(|launch| launch.time == Duration::from_nanos(launch.calls)),
        "{profile:#}"
    );
    let table = format!("{profile:#}");
    let shares = table.lines().filter(|line| line.contains(" -> ")).map(|line| {
        let share = line.split(" %").next().and_then(|before| before.split_whitespace().last());
        share.unwrap().parse::<f64>().unwrap()
    });
    // Each share is rounded to a tenth.
    let (shares, count) = (shares.sum::<f64>(), profile.launches().count());
    assert!((shares - 100.0).abs() < 0.1 * count as f64, "{shares}\n{table}");
}

#[test]
fn errors_are_those_of_steps_and_end_the_measurement() {
    let net = network!(|ids: Tensor<i64, _>| mean(embedding(ids, [10, 4])));
    let (mut parameters, mut trainer) = (Parameters::create(&net).unwrap(), Trainer::new(Sgd::new(0.1)));
    let options = Options::default();
    let none: [Vec<i64>; 0] = [];
    assert!(matches!(trainer.profile(&net, &mut parameters, none, &options), Err(Error::NoBatch(_))));
    let failed = trainer.profile(&net, &mut parameters, [[1, 2], [3, 12]], &options);
    let Err(Error::BatchFailed(failed)) = failed else { panic!("there is no row 12") };
    assert_eq!(failed.batch, 1);
    assert!(failed.error.to_string().contains("`embedding`"), "{failed}");
    assert_eq!(trainer.steps(&net).unwrap(), 1);
    assert_eq!(trainer.profile(&net, &mut parameters, [[1, 2]], &options).unwrap().steps(), 1);
    fn profile_of<S: Spec>(net: &paddle::Network<S>, parameters: &Parameters) -> Result<Profile, Error>
    where
        Vec<i64>: paddle::Rows<S>,
    {
        profile::infer(net, parameters, [vec![1], vec![12]])
    }
    assert!(matches!(profile_of(&net, &parameters), Err(Error::BatchFailed(_))));
}
