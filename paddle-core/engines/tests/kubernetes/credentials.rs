//! Credentials of each kind, and that none is shown.

use paddle_engines::kubernetes::{Cluster, Credentials, KubernetesError};

#[tokio::test]
async fn wrong_files_are_errors_that_show_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("kube_cluster_tls.pem");
    let server = || "https://10.0.0.1:6443".to_string();
    let certificate = "-----BEGIN CERTIFICATE-----\naHVudGVyMg==\n-----END CERTIFICATE-----\n";
    let cases = [
        ("", "it has no certificate"),
        (certificate, "it has no private key"),
        ("-----BEGIN RSA PRIVATE KEY-----\nhunter2", "`RSA PRIVATE KEY` has no end"),
    ];
    for (text, expected) in cases {
        std::fs::write(&path, text).unwrap();
        let credentials = Credentials::Pem { server: server(), path: path.clone() };
        let error = Cluster::connect(&credentials, None).await.unwrap_err();
        assert!(
            matches!(&error, KubernetesError::Credentials { reason, .. } if reason == expected),
            "{error}"
        );
    }
    std::fs::write(&path, "users: [{name: hunter2").unwrap();
    let error = Cluster::connect(&Credentials::Kubeconfig(path), None).await.unwrap_err();
    assert!(!format!("{error} {error:?}").contains("hunter2"), "{error}");

    let token = Credentials::Token { server: server(), token: "hunter2".into(), authority: None };
    assert!(!format!("{token:?}").contains("hunter2"));
    // No request is made.
    let cluster = Cluster::connect(&token, Some("research")).await.unwrap();
    assert_eq!(format!("{cluster:?}"), "Cluster(namespace research)");
}

#[tokio::test]
async fn a_server_that_is_not_there_is_unreachable() {
    let server = "http://127.0.0.1:1".to_string();
    let token = Credentials::Token { server, token: "hunter2".into(), authority: None };
    let error = Cluster::connect(&token, None).await.unwrap().progress("mnist").await.unwrap_err();
    assert!(matches!(error, KubernetesError::Unreachable { .. }), "{error:?}");
}
