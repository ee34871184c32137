//! Clusters that compute on cards: their bits are those of one card with as many shards.
#![cfg(any(feature = "cuda", feature = "wgpu"))]

#[path = "../../../paddle-kernels/tests/support/card.rs"]
mod card;

use paddle::cluster::Cluster;
use paddle::core::plan::Backend;
use paddle::{Adam, Network, Options, Parameters, Rows, Trainable, Trainer};

use super::equals::in_ranks;
use super::networks::{control, normalised, ranking};
use super::{control_batches, normalised_batches, ranking_batches, train, train_from};

/// Trains on one card and on clusters of several, each of which is opened for itself.
fn trains_alike<S: Trainable + Sync>(backend: &str, net: &Network<S>, batches: &[impl Rows<S> + Sync]) {
    let Some(card) = card::of(backend) else { return };
    let name = format!("{}:0", card.name());
    let options = Options::default().shards(6);
    let parameters = Parameters::create_on(card.clone(), net, 7).unwrap();
    let alone = train_from(parameters, net, batches, Trainer::new(Adam::new(0.01)), &options);
    for (trainers, servers) in [(1, 1), (3, 2)] {
        let cluster = Cluster::threads(trainers).servers(servers).devices([&name, &name]);
        let together = train(net, batches, Trainer::new(Adam::new(0.01)).on(&cluster), &options);
        assert!(together == alone, "{trainers} trainers, {servers} servers");
    }
    let equals = in_ranks(2, |_, cluster| {
        train(net, batches, Trainer::new(Adam::new(0.01)).on(&cluster.devices([&name, &name])), &options)
    });
    assert!(equals.into_iter().all(|together| together == alone));
}

macro_rules! on_every_card {
    ($($check:ident($net:ident, $batches:ident);)*) => {
        $(fn $check(backend: &str) {
            let net = $net();
            trains_alike(backend, &net, &$batches(&net));
        })*

        #[cfg(feature = "cuda")]
        mod by_cuda {
            $(#[test]
            fn $check() {
                super::$check("cuda");
            })*
        }

        #[cfg(feature = "wgpu")]
        mod by_wgpu {
            $(#[test]
            fn $check() {
                super::$check("wgpu");
            })*
        }
    };
}
on_every_card! {
    tables_and_sequences(ranking, ranking_batches);
    branches_and_loops(control, control_batches);
    images_and_statistics(normalised, normalised_batches);
}
