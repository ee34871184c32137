//! Ranks that train as equals: the bits of one machine, the same end for all, and errors that name the rank that differs.

use std::thread;

use paddle::best::{Best, KeepBest};
use paddle::cluster::{Cluster, ClusterError, collective};
use paddle::reader::{DataSet, Reader};
use paddle::{Adam, Clip, Error, Options, Parameters, Sgd, Trainer, checkpoint};

use super::networks::{control, normalised, ranking};
use super::{control_batches, normalised_batches, ranking_batches, train};

/// Runs something in each rank of a group of threads.
pub(super) fn in_ranks<T: Send>(ranks: u32, run: impl Fn(u32, Cluster) -> T + Sync) -> Vec<T> {
    thread::scope(|scope| {
        let ways = collective::threads(ranks).into_iter().map(Cluster::over);
        let run = &run;
        let threads: Vec<_> =
            ways.zip(0..).map(|(cluster, rank)| scope.spawn(move || run(rank, cluster))).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    })
}

#[test]
fn norms_of_all_gradients_are_sums_over_the_ranks() {
    let net = ranking();
    let (batches, options) = (ranking_batches(&net), Options::default().shards(8));
    let trainer = || Trainer::new(Adam::new(0.01)).clip(Clip::GlobalNorm(0.05));
    let alone = train(&net, &batches, trainer(), &options);
    assert_ne!(alone, train(&net, &batches, Trainer::new(Adam::new(0.01)), &options), "nothing is clipped");
    let all = in_ranks(3, |_, cluster| train(&net, &batches, trainer().on(&cluster), &options));
    assert!(all.into_iter().all(|together| together == alone));
}

#[test]
fn all_ranks_stop_together_and_one_of_them_writes_the_checkpoint() {
    let net = normalised();
    let rows: Vec<_> = normalised_batches(&net).into_iter().flatten().collect();
    let path = std::env::temp_dir().join(format!("paddle-equals-{}.safetensors", std::process::id()));
    let options = Options::default().shards(4).checkpoint(&path).checkpoint_every(2);
    let train = |cluster: Option<Cluster>, resume: bool, until: u64| {
        let mut parameters = Parameters::create_with_seed(&net, 7).unwrap();
        let mut trainer = Trainer::new(Adam::new(0.01)).seed(5).on(cluster.as_ref());
        if resume {
            trainer.resume(&net, &mut parameters, &path).unwrap();
        }
        let reader = rows.iter().passes(3).shuffle(3).batch(7);
        let mut steps = trainer.steps(&net).unwrap();
        let ended = trainer.train(&net, &mut parameters, reader, options.clone(), |event| {
            steps += u64::from(matches!(event.kind(), paddle::event::EventKind::EndIteration { .. }));
            if steps == until {
                event.stop();
            }
            Ok(())
        });
        ended.unwrap();
        let names: Vec<_> = parameters.names().map(str::to_string).collect();
        let state = trainer.state::<f32>(&parameters, "of_tokens.scale", "Moment1").unwrap();
        (names.iter().map(|name| parameters.get::<f32>(name).unwrap()).collect::<Vec<_>>(), state)
    };
    let alone = train(None, false, 15);
    in_ranks(3, |_, cluster| train(Some(cluster), false, 5));
    train(Some(Cluster::threads(2)), true, 9);
    for (rank, together) in in_ranks(2, |_, cluster| train(Some(cluster), true, 15)).into_iter().enumerate() {
        assert!(together == alone, "rank {rank}");
    }
    for path in [&path, &checkpoint::previous(&path)] {
        std::fs::remove_file(path).unwrap();
    }
}

/// What is best is what the first rank takes for it; it writes, and if it cannot, nobody counts the value.
#[test]
fn one_rank_keeps_the_best_parameters_and_all_decide_alike() {
    let net = ranking();
    let batches = ranking_batches(&net);
    let folder = std::env::temp_dir().join(format!("paddle-best-of-{}", std::process::id()));
    let values = [3.0, 2.0, 2.5, 1.0, 1.5];
    let outcomes = in_ranks(3, |rank, cluster| {
        let mut parameters = Parameters::create_with_seed(&net, 7).unwrap();
        let mut trainer = Trainer::new(Adam::new(0.01)).on(&cluster);
        let mut keep = KeepBest::new(Best::lowest(), folder.join(format!("{rank}.safetensors")));
        let (mut news, mut best) = (Vec::new(), None);
        for (at, batch) in batches.iter().cycle().take(values.len()).enumerate() {
            trainer.step_with(&net, &mut parameters, batch, &Options::default().shards(4)).unwrap();
            // The folder is not there at first, and the other ranks take the opposite for best.
            if at == 1 && rank == 0 {
                std::fs::create_dir(&folder).unwrap();
            }
            let value = if rank == 0 { values[at] } else { -values[at] };
            let seen = keep.see(at, value, &parameters);
            assert_eq!(seen.is_err(), at == 0 && rank == 0, "{:?}", seen.err());
            news.push(seen.unwrap_or(false));
            if news.last() == Some(&true) {
                best = Some(parameters.get::<f32>("embedding.w").unwrap());
            }
        }
        assert_eq!((keep.best().at(), keep.best().value()), (Some(3), Some(1.0)));
        (news, best.unwrap(), keep)
    });
    let written: Vec<_> = std::fs::read_dir(&folder).unwrap().map(|file| file.unwrap().file_name()).collect();
    assert_eq!(written, ["0.safetensors"]);
    let mut restored = Parameters::create(&net).unwrap();
    outcomes[0].2.restore(&mut restored).unwrap();
    for (news, best, _) in &outcomes {
        assert_eq!(*news, [false, true, false, true, false]);
        assert_eq!(restored.get::<f32>("embedding.w").unwrap(), *best);
    }
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn networks_that_share_parameters_take_turns() {
    let (first, second) = (ranking(), ranking());
    let batches = ranking_batches(&first);
    let play = |cluster: Option<Cluster>| {
        let mut parameters = Parameters::create_with_seed((&first, &second), 7).unwrap();
        let trainer = || Trainer::new(Adam::new(0.01)).on(cluster.as_ref());
        let (mut left, mut right) = (trainer(), trainer());
        let options = Options::default().shards(4);
        let only_hidden = options.clone().freeze(super::networks::params::hidden);
        for batch in &batches {
            left.step_with(&first, &mut parameters, batch, &options).unwrap();
            right.step_with(&second, &mut parameters, batch, &only_hidden).unwrap();
        }
        let names: Vec<_> = parameters.names().map(str::to_string).collect();
        names.iter().map(|name| parameters.get::<f32>(name).unwrap()).collect::<Vec<_>>()
    };
    let alone = play(None);
    assert!(in_ranks(3, |_, cluster| play(Some(cluster))).into_iter().all(|together| together == alone));
}

#[test]
fn a_rank_that_differs_is_named() {
    let net = control();
    let batches = control_batches(&net);
    let step =
        |cluster: &Cluster, seed: u64, batch: &Vec<control::Row>, shards: usize| -> Result<f32, Error> {
            let mut parameters = Parameters::create_with_seed(&net, seed)?;
            let mut trainer = Trainer::new(Sgd::new(0.1)).on(cluster);
            Ok(trainer.step_with(&net, &mut parameters, batch, &Options::default().shards(shards))?.cost())
        };
    let told = |differs: &(dyn Fn(u32, &Cluster) -> Result<f32, Error> + Sync), what: &str| {
        for (rank, outcome) in in_ranks(3, |rank, cluster| differs(rank, &cluster)).into_iter().enumerate() {
            let error = outcome.unwrap_err();
            assert!(matches!(error, Error::Cluster(ClusterError::Apart { .. })), "rank {rank}: {error}");
            assert!(error.to_string().contains(what), "{error}");
            assert!(rank == 2 || error.to_string().starts_with("rank 2 has"), "rank {rank}: {error}");
        }
    };
    told(&|rank, cluster| step(cluster, if rank == 2 { 8 } else { 7 }, &batches[0], 4), "other parameters");
    told(
        &|rank, cluster| step(cluster, 7, &batches[if rank == 2 { 1 } else { 0 }], 4),
        "a batch of other size",
    );
    told(&|rank, cluster| step(cluster, 7, &batches[0], if rank == 2 { 5 } else { 4 }), "another network");
    let mut others = batches[0].clone();
    others.reverse();
    told(&|rank, cluster| step(cluster, 7, if rank == 2 { &others } else { &batches[0] }, 4), "other rows");
}

#[test]
fn what_fails_in_one_rank_fails_in_all_and_changes_nothing() {
    let net = control();
    let mut wrong = control_batches(&net)[0].clone();
    // The last shard is that of the last rank.
    *wrong.last_mut().unwrap() = net.row([0.0; 7], 9);
    let outcomes = in_ranks(3, |_, cluster| {
        let mut parameters = Parameters::create_with_seed(&net, 7).unwrap();
        let mut trainer = Trainer::new(Sgd::new(0.1)).on(&cluster);
        let options = Options::default().shards(3);
        let error = trainer.step_with(&net, &mut parameters, &wrong, &options).unwrap_err().to_string();
        let right = &control_batches(&net)[0];
        (error, trainer.step_with(&net, &mut parameters, right, &options).unwrap().cost())
    });
    let mut parameters = Parameters::create_with_seed(&net, 7).unwrap();
    let options = Options::default().shards(3);
    let right = &control_batches(&net)[0];
    let alone = Trainer::new(Sgd::new(0.1)).step_with(&net, &mut parameters, right, &options).unwrap().cost();
    for (rank, (error, cost)) in outcomes.into_iter().enumerate() {
        assert!(
            error.contains("class") && error.starts_with("rank 2: ") == (rank != 2),
            "rank {rank}: {error}"
        );
        assert_eq!(cost, alone);
    }
}

#[test]
fn a_rank_that_ends_ends_the_others() {
    let net = control();
    let outcomes = in_ranks(3, |rank, cluster| {
        let mut parameters = Parameters::create_with_seed(&net, 7).unwrap();
        let mut trainer = Trainer::new(Sgd::new(0.1)).on(&cluster);
        let steps = if rank == 1 { 1 } else { 3 };
        (0..steps).try_for_each(|_| {
            let batch = &control_batches(&net)[0];
            trainer.step_with(&net, &mut parameters, batch, &Options::default().shards(4)).map(drop)
        })
    });
    for rank in [0, 2] {
        let error = outcomes[rank].as_ref().unwrap_err().to_string();
        assert!(error.contains("rank 1 is gone") || error.contains("rank 0 is gone"), "{error}");
    }
    assert!(outcomes[1].is_ok());
}
