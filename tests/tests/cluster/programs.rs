//! The programs of a trainer and of servers, as text.

use std::collections::BTreeSet;
use std::num::NonZero;

use paddle::core::convert::{from_wire, to_wire};
use paddle::core::ops::{Op, Operator, Program};
use paddle::core::passes::accumulate::fed_by_rows;
use paddle::core::passes::clip::Clip;
use paddle::core::passes::distribute::{DistributedTraining, Placed, Placement};
use paddle::core::passes::optimize::{Settings, Update};
use paddle::core::passes::stages::{StagedTraining, homes};
use paddle::core::program::{Role, RowsId};
use paddle::core::text::parse;
use paddle::{Adam, Updater};

use crate::networks::{control, deep, ranking};
use crate::staged::networks::{returning, tagger};

fn rows_of_batch(program: &Program) -> Option<RowsId> {
    let rows = program.inputs().iter().find_map(|&input| program.ty(input).rows)?;
    std::iter::successors(Some(rows), |&rows| program.row_space(rows).parent).last()
}

/// The programs of a network on a cluster, and where its parameters are.
fn distributed(program: &Program, shards: u32, servers: u32) -> (DistributedTraining, Placement) {
    distributed_with(program, shards, servers, &Settings::default())
}

fn distributed_with(
    program: &Program,
    shards: u32,
    servers: u32,
    settings: &Settings,
) -> (DistributedTraining, Placement) {
    let mut network = program.clone();
    network.set_shards(NonZero::new(shards).unwrap());
    let of = |var| {
        let dims = program.ty(var).dims.iter().map(|dim| dim.constant().unwrap() as usize);
        (program.var(var).name.clone(), program.ty(var).dtype, dims.collect::<Vec<_>>())
    };
    let parameters: Vec<_> = program.parameters().map(of).collect();
    let placed = parameters.iter().map(|(name, dtype, dims)| Placed { name, dtype: *dtype, dims });
    let placement = Placement::new(placed, NonZero::new(servers).unwrap(), false);
    let updater = Adam::new(0.01);
    let rule = |update: &mut Update<'_>| updater.update(update);
    let batch = rows_of_batch(program);
    let training =
        DistributedTraining::new(&network, batch, settings, &|_| false, &rule, &placement).unwrap();
    (training, placement)
}

#[test]
fn the_programs_of_ranking() {
    let net = ranking();
    let (training, _) = distributed(net.program().unwrap(), 4, 2);
    let mut text = format!("// The trainer.\n{}", training.trainer);
    for (server, program) in training.servers.iter().enumerate() {
        text += &format!("\n// Server {server}.\n{program}");
    }
    is_golden("ranking.txt", &text);
}

/// What is computed last is sent first, while backward goes on to the layers below.
#[test]
fn gradients_of_large_layers_are_sent_as_soon_as_they_are_there() {
    let net = deep();
    let (training, _) = distributed(net.program().unwrap(), 4, 2);
    let operators = &training.trainer.block(Program::GLOBAL).ops;
    let sent_by = |operator: &Operator| -> Vec<String> {
        let inner = operator.blocks.iter().flat_map(|&block| &training.trainer.block(block).ops);
        let piece = |operator: &Operator| match &operator.op {
            Op::Send(op) => Some(op.piece.split(".block").next().unwrap_or_default().to_string()),
            _ => None,
        };
        inner.filter_map(piece).collect()
    };
    let bundles: Vec<_> =
        operators.iter().enumerate().map(|(at, operator)| (at, sent_by(operator))).collect();
    let bundles: Vec<_> = bundles.into_iter().filter(|(_, pieces)| !pieces.is_empty()).collect();
    let names: Vec<BTreeSet<_>> =
        bundles.iter().map(|(_, pieces)| pieces.iter().cloned().collect()).collect();
    let expected = [&["h.b", "h.w"][..], &["h_fc_1.b", "h_fc_1.w"], &["h_fc.b", "h_fc.w"]];
    assert_eq!(names, expected.map(|names| names.iter().map(|name| name.to_string()).collect()));
    // Between two of them is what computes the gradients of the next layer; what was computed forward is before all of them.
    let role = |at: usize| operators[at].site.role;
    for pair in bundles.windows(2) {
        assert!((pair[0].0..pair[1].0).any(|at| role(at) == Role::Backward));
    }
    assert!((bundles[0].0..operators.len()).all(|at| role(at) != Role::Forward));
}

/// The gradients' norm is computed before the update, from what both servers share.
#[test]
fn the_program_of_a_server_that_clips() {
    let net = ranking();
    let settings = Settings { clip: Some(Clip::GlobalNorm(5.0)), ..Settings::default() };
    let (training, _) = distributed_with(net.program().unwrap(), 4, 2, &settings);
    assert!(training.shares);
    is_golden("clipped.txt", &training.servers[1].to_string());
    assert!(!distributed_with(net.program().unwrap(), 4, 1, &settings).0.shares, "one server has all");
}

/// A network in stages, with its parameters where they are used first.
fn staged(program: &Program, shards: u32, ranks: u32) -> StagedTraining {
    let mut network = program.clone();
    network.set_shards(NonZero::new(shards).unwrap());
    let of = |var| {
        let dims = program.ty(var).dims.iter().map(|dim| dim.constant().unwrap() as usize);
        (program.var(var).name.clone(), program.ty(var).dtype, dims.collect::<Vec<_>>())
    };
    let parameters: Vec<_> = program.parameters().map(of).collect();
    let placed = parameters.iter().map(|(name, dtype, dims)| Placed { name, dtype: *dtype, dims });
    let homes = homes(program, ranks).unwrap();
    let placement = Placement::at_home(placed, NonZero::new(ranks).unwrap(), |name| homes[name]);
    let updater = Adam::new(0.01);
    let rule = |update: &mut Update<'_>| updater.update(update);
    let batch = rows_of_batch(program);
    StagedTraining::new(&network, batch, &Settings::default(), &|_| false, &rule, &placement).unwrap()
}

#[test]
fn the_programs_of_two_stages() {
    let net = returning();
    let training = staged(net.program().unwrap(), 4, 2);
    let text: Vec<_> = training.stages.iter().map(|stage| stage.compute.to_string()).collect();
    is_golden("stages.txt", &text.join("\n"));
}

/// Programs of stages are well-formed and survive the wire. What one sends another one receives, and each parameter is on one.
#[test]
fn what_a_stage_sends_another_one_receives() {
    let net = tagger();
    let program = net.program().unwrap();
    for (shards, ranks) in [(2, 3), (5, 3), (8, 4)] {
        let training = staged(program, shards, ranks);
        let (mut sent, mut received, mut homes) = (BTreeSet::new(), BTreeSet::new(), Vec::new());
        for (device, stage) in (0..).zip(&training.stages) {
            stage.compute.verify().unwrap();
            let wire = to_wire(&stage.compute);
            assert_eq!(
                from_wire(&wire.main, Some(&wire.startup)).unwrap().to_string(),
                stage.compute.to_string()
            );
            let operators = stage.compute.blocks().iter().flat_map(|block| &block.ops);
            for operator in operators {
                match &operator.op {
                    Op::SendValue(op) => drop(sent.insert((op.value.clone(), device, op.to))),
                    Op::ReceiveValue(op) => drop(received.insert((op.value.clone(), op.from, device))),
                    _ => {}
                }
            }
            homes.extend(stage.compute.parameters().map(|var| stage.compute.var(var).name.clone()));
        }
        assert!(sent.len() > 8 && sent == received, "{sent:?} {received:?}");
        homes.sort();
        let mut all: Vec<_> = program.parameters().map(|var| program.var(var).name.clone()).collect();
        all.sort();
        assert_eq!(homes, all);
    }
}

fn is_golden(file: &str, text: &str) {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cluster").join(file);
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(&path, text).unwrap();
    }
    assert_eq!(std::fs::read_to_string(&path).unwrap(), text, "run with UPDATE_GOLDEN=1");
}

/// For all shapes of clusters: programs are well-formed, survive the wire, and every piece of a trained parameter is sent to
/// the server that updates it, and updated once.
#[test]
fn each_piece_is_sent_and_updated_once() {
    let (ranking, control) = (ranking(), control());
    for program in [ranking.program().unwrap(), control.program().unwrap()] {
        for (shards, servers) in (1..=16).flat_map(|shards| (1..=8).map(move |servers| (shards, servers))) {
            if shards > 4 && shards % 4 != 0 {
                continue;
            }
            let (training, placement) = distributed(program, shards, servers);
            training.trainer.verify().unwrap();
            let mut sent = BTreeSet::new();
            for operator in training.trainer.blocks().iter().flat_map(|block| &block.ops) {
                let (piece, to) = match &operator.op {
                    Op::Send(op) => (&op.piece, op.to),
                    Op::SendRows(op) => (&op.piece, op.to),
                    _ => continue,
                };
                assert!(sent.insert((to, piece.clone())), "`{piece}` is sent twice");
            }
            let expected =
                placement.pieces().iter().map(|piece| (i64::from(piece.server), piece.name.clone()));
            assert_eq!(sent, expected.collect::<BTreeSet<_>>());
            for (server, update) in training.servers.iter().enumerate() {
                update.verify().unwrap();
                assert_eq!(parse(&update.to_string()).unwrap().to_string(), update.to_string());
                let wire = to_wire(update);
                let read = from_wire(&wire.main, Some(&wire.startup)).unwrap();
                assert_eq!(fed_by_rows(&read), fed_by_rows(update));
                let tables = placement.of("embedding.w").filter(|piece| piece.server as usize == server);
                assert!(fed_by_rows(update).iter().eq(tables.map(|piece| &piece.name)));
                let operators = &update.block(Program::GLOBAL).ops;
                let changed = |piece: &str| {
                    let updates = operators.iter().filter(|operator| matches!(operator.op, Op::Update(_)));
                    updates.filter(|operator| update.var(operator.inputs[0]).name == piece).count()
                };
                for piece in placement.pieces() {
                    let expected = usize::from(piece.server as usize == server);
                    assert_eq!(
                        changed(&piece.name),
                        expected,
                        "updates of `{}` on server {server}",
                        piece.name
                    );
                }
            }
        }
    }
}
