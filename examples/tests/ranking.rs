//! What a user would test of the model of `ranking`.

use paddle::testing::{assert_learns, assert_program, check_gradients};

use super::*;

fn run_with(seed: u64, passes: usize, pairs: usize) -> [f64; 2] {
    run(&Settings { seed, passes, pairs, ..Settings::parse_from([""]) }).unwrap().expect("it is trained here")
}

#[test]
fn a_small_model() {
    let net = ranking::cost::with(ranking::cost::Sizes { VOCABULARY: 9, WIDTH: 4 }).unwrap();
    let rows = [net.row(vec![0, 1], vec![2, 3, 4], vec![5]), net.row(vec![6, 6], vec![7], vec![8, 0, 2])];
    assert_learns(&net, &rows);
    assert_program(&net, "examples/golden/ranking.txt");
    check_gradients(&net, &rows).unwrap();
}

/// What a cluster of Kubernetes is told of the job. `UPDATE_GOLDEN=1` writes the file anew.
#[cfg(feature = "kubernetes")]
#[test]
fn a_job_on_kubernetes() {
    use paddle::cluster::KubernetesJob;

    let job = KubernetesJob::new("ranking")
        .trainers(4)
        .image("registry.example/ranking")
        .store("s3://bucket/jobs")
        .store_option("AWS_SECRET_ACCESS_KEY", "hunter2")
        .resources("2", "4Gi")
        .arguments(["--shards", "8", "--cluster", "kubernetes:ranking,servers=2,trainers=4"]);
    let yaml = Cluster::kubernetes(job).servers(2).manifests().unwrap();
    assert!(!yaml.contains("hunter2") && !yaml.contains("aHVudGVyMg"), "a secret is shown");
    let path = "examples/golden/ranking.yaml";
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(path, &yaml).unwrap();
    }
    assert!(std::fs::read_to_string(path).unwrap_or_default() == yaml, "{path} has changed to:\n{yaml}");
}

/// Nothing is started, and nothing is trained.
#[cfg(feature = "kubernetes")]
#[test]
fn a_dry_run() {
    let cluster: Cluster = "kubernetes:ranking,servers=2".parse().unwrap();
    let settings =
        Settings { pairs: 300, cluster: Some(cluster), dry_run: true, ..Settings::parse_from([""]) };
    assert!(run(&settings).unwrap().is_none());
}

#[test]
fn a_few_pairs_teach_something() {
    let [learned, _] = run_with(1, 2, 2000);
    assert!(learned > 0.7, "{learned}");
}

#[test]
#[ignore = "takes half a minute, in release"]
fn all_seeds_are_better_than_counting_words() {
    for seed in 1..=3 {
        let [learned, counted] = run_with(seed, 3, usize::MAX);
        assert!(learned >= counted + 0.01, "seed {seed}: {learned} {counted}");
    }
}
