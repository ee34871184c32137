//! Following who holds which key in etcd.

use etcd_client::{Client, Error, EventType, GetOptions, KeyValue, WatchOptions};
use tokio::sync::watch;
use tokio::time::sleep;

use super::{PAUSE, within};
use crate::coordination::{Member, Members};

/// The holders, and the revision at which they are that.
pub(super) async fn list(mut client: Client, prefix: &str) -> Result<(Members, i64), Error> {
    let found = client.get(prefix, Some(GetOptions::new().with_prefix())).await?;
    let revision = found.header().map_or(0, |header| header.revision());
    Ok((found.kvs().iter().filter_map(|pair| member(pair, prefix)).collect(), revision))
}

/// Keeps the holders current until nobody receives them. Whatever ends a watch, they are listed anew: the connection may have been cut,
/// or what happened since may have been compacted away.
pub(super) async fn follow(
    client: Client,
    prefix: String,
    mut revision: i64,
    members: watch::Sender<Members>,
) {
    let following = async {
        loop {
            let _ = changes(client.clone(), &prefix, revision, &members).await;
            sleep(PAUSE).await;
            if let Ok((listed, at)) = within(list(client.clone(), &prefix)).await {
                revision = at;
                members.send_if_modified(|members| {
                    let is_new = *members != listed;
                    *members = listed;
                    is_new
                });
            }
        }
    };
    tokio::select! {
        () = following => {}
        () = members.closed() => {}
    }
}

async fn changes(
    mut client: Client,
    prefix: &str,
    revision: i64,
    members: &watch::Sender<Members>,
) -> Result<(), Error> {
    let options = WatchOptions::new().with_prefix().with_start_revision(revision + 1);
    let mut stream = within(client.watch(prefix, Some(options))).await?;
    while let Some(answer) = stream.message().await? {
        if answer.canceled() {
            break;
        }
        if answer.events().is_empty() {
            continue;
        }
        members.send_modify(|members| {
            for event in answer.events() {
                let Some(pair) = event.kv() else { continue };
                match (event.event_type(), member(pair, prefix)) {
                    (EventType::Put, Some((key, member))) => _ = members.insert(key, member),
                    (EventType::Delete, Some((key, _))) => _ = members.remove(&key),
                    (_, None) => {}
                }
            }
        });
    }
    Ok(())
}

/// Keys that are no text are not ours.
fn member(pair: &KeyValue, prefix: &str) -> Option<(String, Member)> {
    let key = pair.key_str().ok()?.strip_prefix(prefix)?;
    // Deletions have no value.
    let address = pair.value_str().ok()?.to_string();
    Some((key.into(), Member { address, number: pair.create_revision() as u64 }))
}
