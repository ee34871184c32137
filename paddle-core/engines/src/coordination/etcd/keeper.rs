//! Keeping a lease of etcd alive.

use std::time::Duration;

use etcd_client::{Client, Error};
use tokio::time::{Instant, sleep, timeout};

use super::within;
use crate::coordination::lease::{Keeper, State};

/// How long a holder relies on its lease: four fifths, because clocks differ in speed and effects take time.
pub(super) fn safe(lease: Duration) -> Duration {
    lease * 4 / 5
}

/// Renews a lease until it is released or has ended. An outage does not end it here: etcd says whether it has ended there.
pub(super) async fn keep(mut client: Client, id: i64, lease: Duration, mut keeper: Keeper) {
    tokio::select! {
        () = renew(&client, id, lease, &keeper.state) => {}
        _ = &mut keeper.released => {
            // If it fails, the lease ends by itself.
            let _ = within(client.lease_revoke(id)).await;
        }
    }
    keeper.state.send_replace(State::Ended);
}

async fn renew(client: &Client, id: i64, lease: Duration, state: &tokio::sync::watch::Sender<State>) {
    loop {
        match renew_by_one_stream(client, id, lease, state).await {
            Ok(()) => return,
            Err(_) => sleep(lease / 10).await,
        }
    }
}

/// Renews until the lease has ended. Each request is followed by its answer, so no answers pile up, and after a failure the stream is
/// left together with answers that are late: a late answer must not count for a later request.
async fn renew_by_one_stream(
    client: &Client,
    id: i64,
    lease: Duration,
    state: &tokio::sync::watch::Sender<State>,
) -> Result<(), Error> {
    let mut client = client.clone();
    // The first renewal is part of opening the stream.
    let mut begin = Instant::now();
    let (mut requests, mut answers) = match within(client.lease_keep_alive(id)).await {
        Ok(stream) => stream,
        Err(Error::LeaseKeepAliveError(_)) => return Ok(()),
        Err(error) => return Err(error),
    };
    state.send_replace(State::Until(begin + safe(lease)));
    loop {
        sleep(lease / 3).await;
        begin = Instant::now();
        within(requests.keep_alive()).await?;
        let answer = match timeout(lease / 2, answers.message()).await {
            Ok(answer) => answer?,
            Err(_) => return Err(Error::LeaseKeepAliveError("no answer in time".into())),
        };
        match answer {
            Some(answer) if answer.ttl() <= 0 => return Ok(()),
            Some(_) => state.send_replace(State::Until(begin + safe(lease))),
            None => return Err(Error::LeaseKeepAliveError("the stream has ended".into())),
        };
    }
}
