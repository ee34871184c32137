//! Tables that are looked up: who has which rows, whatever networks read and update them.

use ndarray::ArrayD;
use paddle::attribute::network;
use paddle::cluster::{Cluster, ClusterError};
use paddle::{Adagrad, Adam, Error, Options, Parameters, Sgd, Trainer, Updater};

use super::equals::in_ranks;
use super::{agrees, number, train};

/// Networks that share a table.
#[network]
pub mod networks {
    /// Looked up by what is fed, and twice.
    pub fn looked_up(a: Seq<i64>, b: Tensor<i64, _>) -> Tensor<f32> {
        let words = sequence_pool(embedding(a, [600, 24], param = "table"), sum);
        mean(square(words - embedding(b, [600, 24], param = "table")))
    }

    /// Looked up by what is computed.
    pub fn computed(a: Seq<i64>) -> Tensor<f32> {
        mean(square(sequence_pool(embedding(minimum(a, 400), [600, 24], param = "table"), sum) - 0.1))
    }

    /// Read as a whole.
    pub fn whole(x: Tensor<f32, _, 600>) -> Tensor<f32> {
        mean(square(fc(x, 24, bias = false, param = "table")))
    }

    /// Of another table.
    pub fn other(a: Tensor<i64, _>) -> Tensor<f32> {
        mean(square(embedding(a, [50, 3], param = "other")))
    }
}

use networks::{computed, looked_up, other, whole};

fn ids(seed: usize) -> Vec<i64> {
    (0..number(seed) % 5).map(|k| (number(seed * 31 + k as usize) % 600) as i64).collect()
}

fn rows(count: usize) -> Vec<(Vec<i64>, i64)> {
    (0..count).map(|k| (ids(k), (number(k + 900) % 600) as i64)).collect()
}

#[test]
fn every_updater_that_leaves_rows_alone_does_so_anywhere() {
    let net = looked_up();
    let batches: Vec<Vec<looked_up::Row>> =
        [9, 2, 14].map(|count| rows(count).into_iter().map(|(a, b)| net.row(a, b)).collect()).into();
    agrees(&net, &batches, || Adagrad::new(0.1), &Options::default().shards(7));
    let computed = computed();
    let batches = [9, 2].map(|count| rows(count).into_iter().map(|(a, _)| a).collect::<Vec<_>>());
    agrees(&computed, &batches, || Adam::new(0.1).lazy(), &Options::default().shards(3));
}

/// Three networks that read a table in three ways take turns, and one that does not.
fn turns<U: Updater>(cluster: Option<Cluster>, updater: impl Fn() -> U) -> Vec<ArrayD<f32>> {
    let (by_rows, by_computed, all, none) = (looked_up(), computed(), whole(), other());
    let nets = (&by_rows, &by_computed, &all, &none);
    let mut parameters = Parameters::create_with_seed(nets, 7).unwrap();
    let mut trainer = Trainer::new(updater()).on(cluster.as_ref());
    let options = Options::default().shards(4);
    let mut seen = Vec::new();
    for round in 0..3 {
        for turn in 0..2 {
            let batch: Vec<_> = rows(8 + turn + round).into_iter().map(|(a, b)| by_rows.row(a, b)).collect();
            trainer.step_with(&by_rows, &mut parameters, &batch, &options).unwrap();
        }
        let batch: Vec<[f32; 600]> = vec![std::array::from_fn(|k| (k % 7) as f32 / 100.0); 3];
        match round {
            0 => drop(trainer.step_with(&all, &mut parameters, &batch, &options).unwrap()),
            1 => {
                let batch: Vec<_> = rows(5).into_iter().map(|(a, _)| a).collect();
                trainer.step_with(&by_computed, &mut parameters, &batch, &options).unwrap();
            }
            // All ranks look at it, in the middle of everything.
            _ => seen.push(parameters.get::<f32>("table.w").unwrap()),
        }
        trainer.step_with(&none, &mut parameters, [3, 4, 49], &options).unwrap();
    }
    seen.extend(["table.w", "other.w"].map(|name| parameters.get::<f32>(name).unwrap()));
    seen
}

#[test]
fn networks_that_read_a_table_in_different_ways_take_turns() {
    let alone = [turns(None, || Sgd::new(0.1)), turns(None, || Adam::new(0.1))];
    for (trainers, servers) in [(1, 1), (2, 3), (3, 2)] {
        let cluster = || Some(Cluster::threads(trainers).servers(servers));
        assert!(turns(cluster(), || Sgd::new(0.1)) == alone[0], "{trainers} trainers, {servers} servers");
        assert!(turns(cluster(), || Adam::new(0.1)) == alone[1], "{trainers} trainers, {servers} servers");
    }
    for ranks in [1, 2, 3] {
        for together in in_ranks(ranks, |_, cluster| turns(Some(cluster), || Sgd::new(0.1))) {
            assert!(together == alone[0], "{ranks} ranks");
        }
        for together in in_ranks(ranks, |_, cluster| turns(Some(cluster), || Adam::new(0.1))) {
            assert!(together == alone[1], "{ranks} ranks");
        }
    }
}

#[test]
fn a_look_at_a_table_in_one_rank_alone_is_an_error_in_all() {
    let net = looked_up();
    let batch: Vec<_> = rows(9).into_iter().map(|(a, b)| net.row(a, b)).collect();
    let options = Options::default().shards(3);
    let outcomes = in_ranks(2, |rank, cluster| {
        let mut parameters = Parameters::create_with_seed(&net, 7).unwrap();
        let mut trainer = Trainer::new(Adam::new(0.1)).on(&cluster);
        trainer.step_with(&net, &mut parameters, &batch, &options).unwrap();
        match rank {
            0 => parameters.get::<f32>("table.w").unwrap_err().to_string(),
            _ => match trainer.step_with(&net, &mut parameters, &batch, &options).unwrap_err() {
                Error::Cluster(error @ ClusterError::Apart { rank: 0, .. }) => error.to_string(),
                error => panic!("{error}"),
            },
        }
    });
    assert!(
        outcomes[0].contains("rank 1 has another step instead of a look at parameters"),
        "{}",
        outcomes[0]
    );
    assert!(outcomes[1].contains("rank 0 has something else to do"), "{}", outcomes[1]);
}

#[test]
fn a_row_that_does_not_exist_is_an_error_of_the_step() {
    let net = looked_up();
    let wrong = vec![net.row(vec![1, 600], 2), net.row(vec![3], 4)];
    let right: Vec<_> = rows(4).into_iter().map(|(a, b)| net.row(a, b)).collect();
    let options = Options::default().shards(2);
    let alone = train(&net, std::slice::from_ref(&right), Trainer::new(Sgd::new(0.1)), &options);
    let all = in_ranks(2, |_, cluster| {
        let mut parameters = Parameters::create_with_seed(&net, 7).unwrap();
        let mut trainer = Trainer::new(Sgd::new(0.1)).seed(5).on(&cluster);
        let error = trainer.step_with(&net, &mut parameters, &wrong, &options).unwrap_err().to_string();
        assert!(error.contains("600"), "{error}");
        for _ in 0..2 {
            trainer.step_with(&net, &mut parameters, &right, &options).unwrap();
        }
        parameters.get::<f32>("table.w").unwrap().iter().map(|x| x.to_bits()).collect::<Vec<_>>()
    });
    assert!(all.iter().all(|table| *table == alone.1["table.w"]));
}
