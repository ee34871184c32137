//! Clipping by norms: that of all gradients together, and those of gradients of which each server has some pieces.

use paddle::{Adam, Clip, Decay, Momentum, Network, Options, Rows, Trainable, Trainer, Updater};

use crate::networks::{ranking, wide};
use crate::{number, ranking_batches, train};
use paddle::cluster::Cluster;

/// Trains alone and on clusters, clipped, and compares all bits. What is not clipped has other ones.
fn agrees_clipped<S: Trainable, U: Updater>(
    net: &Network<S>,
    batches: &[impl Rows<S>],
    updater: impl Fn() -> U,
    (clip, shards): (Clip, usize),
) {
    let options = Options::default().shards(shards);
    let trainer = || Trainer::new(updater()).decay(Decay::L2(1e-3));
    let alone = train(net, batches, trainer().clip(clip), &options);
    assert_ne!(alone, train(net, batches, trainer(), &options), "nothing is clipped");
    for trainers in [1, 3] {
        for servers in [1, 2, 3] {
            let cluster = Cluster::threads(trainers).servers(servers);
            let together = train(net, batches, trainer().clip(clip).on(&cluster), &options);
            assert_eq!(together.0, alone.0, "costs, {trainers} trainers, {servers} servers, {clip:?}");
            assert!(together.1 == alone.1, "parameters, {trainers} trainers, {servers} servers, {clip:?}");
        }
    }
}

#[test]
fn the_norm_of_all_gradients_is_that_of_one_machine() {
    let net = ranking();
    let batches = ranking_batches(&net);
    agrees_clipped(&net, &batches, || Adam::new(0.01), (Clip::GlobalNorm(0.05), 8));
    agrees_clipped(&net, &batches, || Momentum::new(0.1), (Clip::GlobalNorm(0.01), 1));
}

#[test]
fn the_norm_of_a_gradient_in_pieces_is_that_of_one_machine() {
    let net = ranking();
    agrees_clipped(&net, &ranking_batches(&net), || Momentum::new(0.1), (Clip::Norm(0.002), 8));
}

/// Pieces that are rows of 50,000 elements, and runs of a vector, whose last block is not full.
#[test]
fn norms_of_long_rows_and_of_vectors() {
    let net = wide();
    let float = |k: usize| number(k) as f32 / (1u64 << 30) as f32 - 1.0;
    let row = |k: usize| net.row(std::array::from_fn(|j| float(3 * k + j)));
    let batches: Vec<Vec<_>> = [5, 4].iter().map(|&rows| (0..rows).map(row).collect()).collect();
    for clip in [Clip::GlobalNorm(0.002), Clip::Norm(0.001)] {
        agrees_clipped(&net, &batches, || Momentum::new(0.1), (clip, 4));
    }
}
