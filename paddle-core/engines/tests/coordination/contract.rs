//! What holds for each service.

use std::sync::Arc;
use std::time::Duration;

use paddle_engines::coordination::{Coordination, CoordinationError, Memory};
use tokio::time::timeout;

/// Long enough for a lease to end, on a busy machine.
const LONG: Duration = Duration::from_secs(20);

/// All that a service promises, step by step.
pub(crate) async fn keeps(service: Arc<dyn Coordination>) {
    let mut members = service.members().await.unwrap();
    let first = service.hold("master", "a:1").await.unwrap();
    assert_eq!(first.key(), "master");
    first.check().unwrap();
    timeout(LONG, members.wait_for(|members| members.contains_key("master"))).await.unwrap().unwrap();
    let seen = members.borrow()["master"].clone();
    assert_eq!((seen.address.as_str(), seen.number), ("a:1", first.number()));

    // Who else campaigns waits; other keys are free.
    let second = tokio::spawn({
        let service = service.clone();
        async move { service.hold("master", "b:1").await.unwrap() }
    });
    let server = service.hold("ps/0", "c:1").await.unwrap();
    tokio::time::sleep(Duration::from_millis(300)).await;
    assert!(!second.is_finished());

    assert_eq!(service.get("manifest").await.unwrap(), None);
    service.put(&first, "manifest", b"7").await.unwrap();
    service.put(&server, "incarnation", b"1").await.unwrap();
    assert_eq!(service.get("manifest").await.unwrap().unwrap(), b"7");

    let number = first.number();
    timeout(LONG, first.release()).await.unwrap();
    let second = timeout(LONG, second).await.unwrap().unwrap();
    assert!(second.number() > number, "{} after {number}", second.number());
    assert_eq!(service.get("manifest").await.unwrap().unwrap(), b"7", "values outlive their writers");
    service.put(&second, "manifest", b"8").await.unwrap();
    timeout(LONG, members.wait_for(|members| members.get("master").is_some_and(|m| m.address == "b:1")))
        .await
        .unwrap()
        .unwrap();

    // A lease that is dropped ends, too.
    drop(server);
    timeout(LONG, members.wait_for(|members| !members.contains_key("ps/0"))).await.unwrap().unwrap();
}

#[tokio::test]
async fn memory_keeps_the_contract() {
    keeps(Arc::new(Memory::default())).await;
}

#[tokio::test]
async fn a_holder_whose_lease_ended_writes_nothing() {
    let service = Memory::default();
    let old = service.hold("master", "a:1").await.unwrap();
    service.expire("master");
    timeout(LONG, old.lost()).await.unwrap();
    let lost = CoordinationError::Lost { key: "master".into(), number: old.number() };
    assert_eq!(old.check(), Err(lost.clone()));
    let new = service.hold("master", "b:1").await.unwrap();
    service.put(&new, "manifest", b"new").await.unwrap();
    assert_eq!(service.put(&old, "manifest", b"old").await, Err(lost));
    assert_eq!(service.get("manifest").await.unwrap().unwrap(), b"new");
    // Its end does not end the new one.
    drop(old);
    tokio::task::yield_now().await;
    assert!(new.check().is_ok());
}
