//! A real cluster, if `PADDLE_KUBECONFIG` names the file of one. Its current namespace gets a job, which is deleted at the end.

use std::time::{Duration, Instant};

use paddle_engines::kubernetes::{Applied, Cluster, Credentials, Job, KubernetesError};

use crate::manifests::secret;

#[tokio::test]
async fn a_real_cluster_takes_a_job_once() {
    let Some(path) = std::env::var_os("PADDLE_KUBECONFIG") else {
        eprintln!("\n*** SKIPPED: PADDLE_KUBECONFIG names no cluster ***\n");
        return;
    };
    let cluster = Cluster::connect(&Credentials::Kubeconfig(path.into()), None).await.unwrap();
    let job = |trainers| Job::new("paddle-test", "registry.invalid/none:1", 1, trainers).unwrap();
    let manifests = |trainers| job(trainers).manifests(&secret()).unwrap();
    cluster.stop("paddle-test").await.unwrap();
    let begin = Instant::now();
    while cluster.progress("paddle-test").await.is_ok() {
        assert!(begin.elapsed() < Duration::from_secs(120), "the job of an earlier test does not go");
        tokio::time::sleep(Duration::from_millis(200)).await;
    }

    assert_eq!(cluster.apply(&manifests(1)).await.unwrap(), Applied::Made);
    assert_eq!(cluster.apply(&manifests(1)).await.unwrap(), Applied::There);
    let error = cluster.apply(&manifests(2)).await.unwrap_err();
    let KubernetesError::Differs { fields, .. } = &error else { panic!("{error}") };
    assert!(fields.contains(&"spec.completions".to_string()), "{fields:?}");
    while cluster.progress("paddle-test").await.unwrap().pods.len() < 3 {
        assert!(begin.elapsed() < Duration::from_secs(120), "no pods are made");
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
    cluster.stop("paddle-test").await.unwrap();
}
