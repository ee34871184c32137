//! Images: what is in them, and that a real registry and a real Docker take them.
#![cfg(target_os = "linux")]

mod registry;

use std::io::Read;
use std::process::Command;

use oci_client::client::{ClientConfig, ClientProtocol};
use oci_client::secrets::RegistryAuth;
use oci_client::{Client, Reference};
use paddle_engines::image::{Credentials, File, Image, ImageError, Program, Registry, push_by_docker};
use registry::{Server, compile};

fn image() -> Image {
    let folder = tempfile::tempdir().unwrap();
    let program = Program::open(&compile(folder.path(), true)).unwrap();
    Image::of(&program, &[File { path: "/etc/ssl/certs/ca.crt".into(), content: b"trust".into() }]).unwrap()
}

#[test]
fn only_static_programs_are_taken() {
    let folder = tempfile::tempdir().unwrap();
    let path = compile(folder.path(), false);
    let error = Program::open(&path).unwrap_err();
    let ImageError::NotStatic { interpreter, command, .. } = &error else { panic!("{error}") };
    assert!(interpreter.starts_with("/lib") && interpreter.contains("ld-linux"), "{interpreter}");
    assert!(command.contains("cargo build") && command.contains("-musl"), "{command}");

    let whole = std::fs::read(compile(folder.path(), true)).unwrap();
    let broken = folder.path().join("broken");
    for content in [&b""[..], b"#!/bin/sh\n", &whole[..64], &whole[..20]] {
        std::fs::write(&broken, content).unwrap();
        let error = Program::open(&broken).unwrap_err();
        assert!(matches!(error, ImageError::NotAProgram { .. }), "{error}");
    }
    assert!(matches!(Program::open(&folder.path().join("none")), Err(ImageError::Read { .. })));
}

#[test]
fn the_same_contents_give_the_same_image() {
    let folder = tempfile::tempdir().unwrap();
    let program = Program::open(&compile(folder.path(), true)).unwrap();
    let file = |path: &str| File { path: path.into(), content: b"x".into() };
    let one = Image::of(&program, &[file("/a/b"), file("/a/c")]).unwrap();
    std::thread::sleep(std::time::Duration::from_millis(1100));
    let other = Image::of(&program, &[file("/a/c"), file("/a/b")]).unwrap();
    assert_eq!(one.digest(), other.digest());
    assert_ne!(one.digest(), Image::of(&program, &[file("/a/b")]).unwrap().digest());
    for path in ["a", "/", "/a/", "/../a", "//a"] {
        assert!(matches!(Image::of(&program, &[file(path)]), Err(ImageError::Archive { .. })), "{path}");
    }
}

#[tokio::test]
async fn what_is_pushed_can_be_pulled() {
    let Some(server) = Server::start(false) else { return };
    let image = image();
    let registry = Registry::new(Credentials::Anonymous);
    let name = server.name("jobs/mnist:1");
    let pushed = registry.push(&image, &name).await.unwrap();
    assert_eq!(pushed.reference, format!("{}@{}", server.name("jobs/mnist"), image.digest()));
    assert_eq!(pushed.there, 0);
    let again = registry.push(&image, &name).await.unwrap();
    assert_eq!((again.there, &again.reference), (2, &pushed.reference));

    let client = Client::new(ClientConfig { protocol: ClientProtocol::Http, ..ClientConfig::default() });
    let reference: Reference = name.parse().unwrap();
    let gzip = "application/vnd.oci.image.layer.v1.tar+gzip";
    // The client checks the digests of what it pulls.
    let pulled = client.pull(&reference, &RegistryAuth::Anonymous, vec![gzip]).await.unwrap();
    assert_eq!(pulled.digest.as_deref(), Some(image.digest()));
    let config: serde_json::Value = serde_json::from_slice(&pulled.config.data).unwrap();
    assert_eq!(config["config"]["User"], "65532:65532");
    assert_eq!(config["config"]["Entrypoint"], serde_json::json!(["/job"]));

    let mut archive = tar::Archive::new(flate2::read::GzDecoder::new(&pulled.layers[0].data[..]));
    let mut found = Vec::new();
    for entry in archive.entries().unwrap() {
        let mut entry = entry.unwrap();
        let (path, mode) = (entry.path().unwrap().display().to_string(), entry.header().mode().unwrap());
        assert_eq!(entry.header().mtime().unwrap(), 0);
        if path == "etc/passwd" {
            let mut text = String::new();
            entry.read_to_string(&mut text).unwrap();
            assert!(text.starts_with("paddle:x:65532:65532:"), "{text}");
        }
        found.push((path, mode));
    }
    let expected = [
        ("etc/", 0o755),
        ("etc/group", 0o644),
        ("etc/passwd", 0o644),
        ("etc/ssl/", 0o755),
        ("etc/ssl/certs/", 0o755),
        ("etc/ssl/certs/ca.crt", 0o644),
        ("job", 0o755),
        ("tmp/", 0o1777),
    ];
    assert_eq!(found, expected.map(|(path, mode)| (path.to_string(), mode)));
}

#[tokio::test]
async fn a_registry_that_denies_or_is_down_is_a_typed_error() {
    let image = image();
    let registry = Registry::new(Credentials::Anonymous);
    let error = registry.push(&image, "127.0.0.1:1/mnist:1").await.unwrap_err();
    assert!(matches!(error, ImageError::Unreachable { .. }), "{error:?}");
    let error = registry.push(&image, "No Name").await.unwrap_err();
    assert!(matches!(error, ImageError::Reference { .. }), "{error:?}");

    let Some(server) = Server::start(true) else { return };
    let user = |password: &str| Credentials::User { name: "paddle".into(), password: password.into() };
    for credentials in [Credentials::Anonymous, user("hunter2"), Credentials::Token("hunter2".into())] {
        let registry = Registry::new(credentials);
        let error = registry.push(&image, &server.name("mnist:1")).await.unwrap_err();
        assert!(matches!(error, ImageError::Denied { .. }), "{error:?}");
        let shown = format!("{error} {error:?} {registry:?}");
        assert!(!shown.contains("hunter2"), "{shown}");
    }
    Registry::new(user("abc")).push(&image, &server.name("mnist:1")).await.unwrap();
}

#[test]
fn what_docker_knows_of_a_registry_is_found() {
    let folder = tempfile::tempdir().unwrap();
    let config = folder.path().join("config.json");
    let of = |registry: &str| Credentials::of_docker(&config, registry);
    assert!(matches!(of("r.example"), Ok(Credentials::Anonymous)));
    let text =
        r#"{"auths": {"r.example": {"auth": "cGFkZGxlOmFiYw=="}, "s.example": {}}, "credsStore": "pass"}"#;
    std::fs::write(&config, text).unwrap();
    let Ok(Credentials::User { name, password }) = of("r.example") else { panic!("not found") };
    assert_eq!((name.as_str(), password.as_str()), ("paddle", "abc"));
    assert!(matches!(of("s.example"), Err(ImageError::Read { .. })));
    assert!(matches!(of("t.example"), Ok(Credentials::Anonymous)));
}

/// A real Docker runs what was pushed without it, and what it has built itself.
#[tokio::test]
async fn docker_runs_the_image() {
    let is_there = Command::new("docker").arg("info").output().is_ok_and(|output| output.status.success());
    if !is_there {
        eprintln!("\n*** SKIPPED: no daemon of Docker answers ***\n");
        return;
    }
    let Some(server) = Server::start(false) else { return };
    let image = image();
    let direct = Registry::new(Credentials::Anonymous).push(&image, &server.name("direct:1")).await.unwrap();
    let by_docker = push_by_docker(&image, &server.name("by-docker:1")).unwrap();
    for reference in [direct.reference, by_docker.reference] {
        assert!(reference.contains("@sha256:"), "{reference}");
        let output =
            Command::new("docker").args(["run", "--rm", "--pull=always", &reference, "x"]).output().unwrap();
        let text = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        assert_eq!(text.trim(), "Uid:\t65532\t65532\t65532\t65532 in \"/tmp\", 1 arguments");
        let _ = Command::new("docker").args(["rmi", "--force", &reference]).output();
    }
    let _ = Command::new("docker").args(["rmi", "--force", &server.name("by-docker:1")]).output();
}
