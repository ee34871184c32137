//! A real etcd, and its faults.

use std::sync::Arc;
use std::time::{Duration, Instant};

use paddle_engines::coordination::{ConnectOptions, Coordination, CoordinationError, Etcd};
use tokio::time::{sleep, timeout};

use crate::contract;
use crate::server::{Server, Wire, connect};

const LONG: Duration = Duration::from_secs(20);

#[tokio::test]
async fn etcd_keeps_the_contract() {
    let Some(server) = Server::start() else { return };
    contract::keeps(Arc::new(server.connect(2).await)).await;
}

#[tokio::test]
async fn a_restart_of_etcd_suspends_and_loses_nothing() {
    let Some(mut server) = Server::start() else { return };
    let etcd = server.connect(5).await;
    let lease = etcd.hold("master", "a:1").await.unwrap();
    etcd.put(&lease, "manifest", b"7").await.unwrap();
    let members = etcd.members().await.unwrap();
    server.stop();
    sleep(Duration::from_millis(4500)).await;
    let suspended = CoordinationError::Suspended { key: "master".into(), number: lease.number() };
    assert_eq!(lease.check(), Err(suspended));
    assert!(members.borrow().contains_key("master"), "an outage is no death");
    server.start_again();
    // Whoever asks meanwhile waits.
    assert_eq!(timeout(LONG, etcd.get("manifest")).await.unwrap().unwrap().unwrap(), b"7");
    let resumed = async {
        while lease.check().is_err() {
            sleep(Duration::from_millis(20)).await;
        }
    };
    timeout(LONG, resumed).await.expect("the lease is held again");
    etcd.put(&lease, "manifest", b"8").await.unwrap();
    let other = server.connect(2).await.hold("ps/0", "b:1").await.unwrap();
    let mut members = members;
    timeout(LONG, members.wait_for(|members| members.contains_key("ps/0"))).await.unwrap().unwrap();
    assert!(other.number() > lease.number());
}

#[tokio::test]
async fn an_etcd_that_is_frozen_beyond_the_lease_is_never_relied_on() {
    let Some(server) = Server::start() else { return };
    let etcd = server.connect(2).await;
    let lease = etcd.hold("master", "a:1").await.unwrap();
    server.signal("-STOP");
    let begin = Instant::now();
    while lease.check().is_ok() {
        assert!(begin.elapsed() < Duration::from_secs(2), "it is relied on when etcd might have ended it");
        sleep(Duration::from_millis(5)).await;
    }
    sleep(Duration::from_secs(3)).await;
    server.signal("-CONT");
    // etcd either renews the lease or ends it. Holder and service have to agree which.
    let other = server.connect(2).await;
    let settled = async {
        loop {
            match lease.check() {
                Err(CoordinationError::Suspended { .. }) => sleep(Duration::from_millis(20)).await,
                settled => break settled,
            }
        }
    };
    match timeout(LONG, settled).await.expect("it settles") {
        Ok(()) => etcd.put(&lease, "manifest", b"7").await.unwrap(),
        Err(_) => {
            let next = timeout(LONG, other.hold("master", "b:1")).await.unwrap().unwrap();
            assert!(next.number() > lease.number());
            assert!(etcd.put(&lease, "manifest", b"7").await.is_err());
        }
    }
}

/// The holder is cut off, and another takes over: at no time do both rely on the key, and the first writes nothing more.
#[tokio::test]
async fn of_two_campaigners_one_holds() {
    let Some(server) = Server::start() else { return };
    let wire = Wire::to(server.port).await;
    let cut_off = connect(wire.port, 2).await;
    let first = cut_off.hold("master", "a:1").await.unwrap();
    cut_off.put(&first, "manifest", b"first").await.unwrap();
    let other = server.connect(2).await;
    let second = tokio::spawn({
        let other = other.clone();
        async move { other.hold("master", "b:1").await.unwrap() }
    });
    sleep(Duration::from_secs(3)).await;
    assert!(first.check().is_ok() && !second.is_finished(), "the lease is renewed");

    wire.cut(true);
    while !second.is_finished() {
        sleep(Duration::from_millis(5)).await;
    }
    assert!(first.check().is_err(), "both rely on it");
    let second = second.await.unwrap();
    assert!(second.number() > first.number());
    other.put(&second, "manifest", b"second").await.unwrap();

    wire.cut(false);
    timeout(LONG, first.lost()).await.expect("it learns of its end");
    assert!(matches!(cut_off.put(&first, "manifest", b"late").await, Err(CoordinationError::Lost { .. })));
    assert_eq!(other.get("manifest").await.unwrap().unwrap(), b"second");
}

/// What etcd itself says, were a holder to skip its own check.
#[tokio::test]
async fn etcd_refuses_what_an_old_holder_writes() {
    let Some(server) = Server::start() else { return };
    let etcd = server.connect(60).await;
    let lease = etcd.hold("master", "a:1").await.unwrap();
    server.client().await.delete("/paddle/test/held/master", None).await.unwrap();
    lease.check().expect("the lease itself lives");
    assert!(matches!(etcd.put(&lease, "manifest", b"7").await, Err(CoordinationError::Lost { .. })));
    assert_eq!(etcd.get("manifest").await.unwrap(), None);
}

#[tokio::test]
async fn what_was_compacted_away_is_listed_anew() {
    let Some(server) = Server::start() else { return };
    let etcd = server.connect(60).await;
    let gone = etcd.hold("ps/0", "a:1").await.unwrap();
    let wire = Wire::to(server.port).await;
    let mut members = connect(wire.port, 60).await.members().await.unwrap();
    assert!(members.borrow().contains_key("ps/0"));
    wire.cut(true);
    gone.release().await;
    let next = etcd.hold("ps/1", "b:1").await.unwrap();
    let mut client = server.client().await;
    let revision = client.get("x", None).await.unwrap().header().unwrap().revision();
    client.compact(revision, None).await.unwrap();
    wire.cut(false);
    let expected = |members: &paddle_engines::coordination::Members| {
        members.keys().eq(["ps/1"]) && members["ps/1"].number == next.number()
    };
    timeout(LONG, members.wait_for(expected)).await.unwrap().unwrap();
}

#[tokio::test]
async fn the_death_of_a_holder_is_seen_when_its_lease_ends() {
    let Some(server) = Server::start() else { return };
    for seconds in [1, 2, 5] {
        let wire = Wire::to(server.port).await;
        let etcd = connect(wire.port, seconds).await;
        let lease = etcd.hold("ps/0", "a:1").await.unwrap();
        let mut members = server.connect(60).await.members().await.unwrap();
        sleep(Duration::from_millis(1500)).await;
        wire.cut(true);
        let begin = Instant::now();
        timeout(LONG, members.wait_for(|members| members.is_empty())).await.unwrap().unwrap();
        println!("a lease of {seconds} s: seen after {:.2} s", begin.elapsed().as_secs_f64());
        assert!(lease.check().is_err());
    }
}

#[tokio::test]
async fn nobody_there_and_a_wrong_password_are_told_apart() {
    let options = ConnectOptions::new().with_user("paddle", "hunter2");
    let etcd = Etcd::connect(&["127.0.0.1:1"], "test", Duration::from_secs(2), options).await;
    let shown = format!("{etcd:?}");
    assert!(!shown.contains("hunter2"), "{shown}");
    let error = match etcd {
        Ok(etcd) => etcd.get("manifest").await.unwrap_err(),
        Err(error) => error,
    };
    assert!(
        matches!(&error, CoordinationError::Unreachable { service, .. } if service == "etcd at 127.0.0.1:1"),
        "{error}"
    );

    let Some(server) = Server::start() else { return };
    let mut client = server.client().await;
    let ready = async { while client.user_add("root", "secret", None).await.is_err() {} };
    timeout(LONG, ready).await.unwrap();
    client.role_add("root").await.unwrap();
    client.user_grant_role("root", "root").await.unwrap();
    client.auth_enable().await.unwrap();
    let etcd = server.connect(2).await;
    let error = timeout(LONG, etcd.hold("master", "a:1")).await.unwrap().unwrap_err();
    assert!(matches!(error, CoordinationError::Refused { .. }), "{error}");
}
