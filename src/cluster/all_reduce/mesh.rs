//! Ranks that are processes, each connected with each other one over gRPC.

use std::net::SocketAddr;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

use bytes::{Bytes, BytesMut};
use paddle_engines::collective::{Collective, CollectiveError};
use prost::Message;
use tokio::net::TcpListener;
use tokio::runtime::Builder;
use tokio::sync::mpsc::{UnboundedSender, channel, unbounded_channel};
use tokio_stream::StreamExt;
use tokio_stream::wrappers::TcpListenerStream;
use tonic::Streaming;

use crate::cluster::ClusterError;
use crate::cluster::grpc::{Connection, LARGEST_FRAME, Packet, Talk, WINDOW, Way, dial, prepare};
use crate::cluster::tls::Tls;

/// The bytes of a packet; a message has as many packets as it needs.
const PACKET: usize = 1 << 20;
/// The bytes of a message, at most.
const LARGEST: u64 = 1 << 40;
/// The time in which all ranks have to be there. Each runs the program up to its first step before.
const TOGETHER_WITHIN: Duration = Duration::from_secs(600);
/// The time between two tries to reach a rank.
const PAUSE: Duration = Duration::from_millis(100);
/// The time in which what is sent has to get to the other end: a short interruption of the network is waited for.
const DELIVERED_WITHIN: Duration = Duration::from_secs(30);
/// The time that a rank waits for another one, which may be writing a checkpoint.
const PATIENCE: Duration = Duration::from_secs(600);

/// The time in which the others have to come to their end, too, before this rank closes its connections.
const FAREWELL: Duration = Duration::from_secs(5);
/// The length of a message by which a rank says that it has come to its end.
const BYE: u64 = u64::MAX;

/// A rank's place in the mesh.
pub(super) struct Mesh {
    rank: u32,
    /// None for the rank itself.
    peers: Vec<Option<Peer>>,
}

/// Another rank.
struct Peer {
    to: UnboundedSender<Bytes>,
    from: Receiver<Result<Bytes, String>>,
}

/// What a rank needs to find the others.
pub(super) struct Meeting {
    pub(super) rank: u32,
    pub(super) size: u32,
    /// Where rank 0 listens.
    pub(super) first: String,
    /// Where this rank is reached by the others.
    pub(super) address: String,
    pub(super) secret: String,
    /// What ranks show each other, if they do.
    pub(super) tls: Option<Tls>,
}

/// The first message over a connection.
#[derive(Clone, PartialEq, Message)]
struct Hello {
    #[prost(uint32, tag = "1")]
    rank: u32,
    #[prost(uint32, tag = "2")]
    size: u32,
    /// Where the rank listens.
    #[prost(string, tag = "3")]
    address: String,
}

/// Where all ranks listen; rank 0 says it when it has heard of all.
#[derive(Clone, PartialEq, Message)]
struct Addresses {
    #[prost(string, repeated, tag = "1")]
    of: Vec<String>,
}

impl Mesh {
    /// Meets the other ranks. `listener` is bound: that of rank 0 to the address that the others know. `is_alive` is asked now and then
    /// while ranks are missing.
    pub(super) fn meet(
        meeting: Meeting,
        listener: std::net::TcpListener,
        mut is_alive: impl FnMut() -> Result<(), ClusterError>,
    ) -> Result<Mesh, ClusterError> {
        let failed = |error: std::io::Error| ClusterError::Start { message: error.to_string() };
        listener.set_nonblocking(true).map_err(failed)?;
        let mut server = tonic::transport::Server::builder();
        if let Some(tls) = &meeting.tls {
            server = tls.on_server(server)?;
        }
        let runtime = Builder::new_current_thread().enable_all().build().map_err(failed)?;
        let (done, met) = mpsc::channel();
        let rank = meeting.rank;
        let run = move || {
            runtime.block_on(async move {
                let (accepted, connections) = channel(16);
                let talk = Talk::new(&meeting.secret, accepted);
                let Ok(listener) = TcpListener::from_std(listener) else { return };
                let incoming = TcpListenerStream::new(listener)
                    .map(|stream| stream.and_then(|stream| prepare(stream, DELIVERED_WITHIN)));
                let serving = server
                    .initial_stream_window_size(WINDOW)
                    .initial_connection_window_size(WINDOW)
                    .max_frame_size(LARGEST_FRAME)
                    .add_service(talk)
                    .serve_with_incoming(incoming);
                let working = async move {
                    let joined = tokio::time::timeout(TOGETHER_WITHIN, join(&meeting, connections)).await;
                    let late =
                        || ClusterError::Start { message: "not all ranks have come in time".to_string() };
                    match joined.unwrap_or_else(|_| Err(late())) {
                        Ok(ways) => {
                            let (peers, tasks): (Vec<_>, Vec<_>) = ways
                                .into_iter()
                                .map(|way| {
                                    way.map(Joined::serve)
                                        .map_or((None, None), |(peer, task)| (Some(peer), Some(task)))
                                })
                                .unzip();
                            // Whoever waits for the mesh may have given up.
                            let _ = done.send(Ok(Mesh { rank: meeting.rank, peers }));
                            for task in tasks.into_iter().flatten() {
                                // A task that panicked has nothing to wait for.
                                let _ = task.await;
                            }
                        }
                        Err(error) => {
                            let _ = done.send(Err(error));
                        }
                    }
                };
                tokio::select! {
                    _ = serving => {}
                    () = working => {}
                }
            });
        };
        thread::Builder::new().name(format!("rank {rank}")).spawn(run).map_err(failed)?;
        loop {
            match met.recv_timeout(PAUSE) {
                Ok(mesh) => return mesh,
                Err(RecvTimeoutError::Timeout) => is_alive()?,
                Err(RecvTimeoutError::Disconnected) => {
                    return Err(ClusterError::Start {
                        message: "the port cannot be listened at".to_string(),
                    });
                }
            }
        }
    }
}

/// A connection whose other end is known.
struct Joined {
    to: Way,
    from: Streaming<Packet>,
}

impl Joined {
    /// Says hello over a connection.
    async fn introduce(connection: Connection, hello: &Hello) -> Option<Joined> {
        let Connection { to, from } = connection;
        write(&to, hello.encode_to_vec().into()).await.then_some(Joined { to, from })
    }

    /// Hears who is at the other end of a connection.
    async fn hear(connection: Connection) -> Option<(Hello, Joined)> {
        let Connection { to, mut from } = connection;
        let hello = Hello::decode(read(&mut from).await.ok()?).ok()?;
        Some((hello, Joined { to, from }))
    }

    /// Carries messages both ways until the mesh is dropped, and what was sent is on its way.
    fn serve(self) -> (Peer, tokio::task::JoinHandle<()>) {
        let Joined { to, mut from } = self;
        let (sends, mut sent) = unbounded_channel::<Bytes>();
        let (receives, received) = mpsc::channel();
        tokio::spawn(async move {
            loop {
                let message = read(&mut from).await;
                let ends = message.is_err();
                // Nobody may wait for it any more.
                if receives.send(message).is_err() || ends {
                    return;
                }
            }
        });
        let task = tokio::spawn(async move {
            while let Some(message) = sent.recv().await {
                if !write(&to, message).await {
                    return;
                }
            }
            // The other end has everything before this. Whether it is there does not matter any more.
            to.deliver(Packet::of(BYE.to_le_bytes().to_vec())).await;
        });
        (Peer { to: sends, from: received }, task)
    }
}

/// The connections with all other ranks, by rank.
async fn join(
    meeting: &Meeting,
    mut connections: tokio::sync::mpsc::Receiver<Connection>,
) -> Result<Vec<Option<Joined>>, ClusterError> {
    let &Meeting { rank, size, .. } = meeting;
    let mut ways: Vec<Option<Joined>> = (0..size).map(|_| None).collect();
    let mut addresses = vec![String::new(); size as usize];
    let own = Hello { rank, size, address: meeting.address.clone() };
    if rank > 0 {
        let mut first = reach(meeting, &meeting.first, &own).await?;
        let ended =
            |_| ClusterError::Rank { message: "rank 0 has refused this rank, or has ended".to_string() };
        let table = read(&mut first.from).await.map_err(ended)?;
        addresses = Addresses::decode(table).map_err(|_| ClusterError::Message { what: "addresses" })?.of;
        if addresses.len() != ways.len() {
            return Err(ClusterError::Message { what: "addresses" });
        }
        ways[0] = Some(first);
        let before = ways.iter_mut().zip(&addresses).take(rank as usize).skip(1);
        for (way, address) in before {
            *way = Some(reach(meeting, address, &own).await?);
        }
    }
    // Rank 0 is reached by all others, and each other one by those behind it.
    while ways.iter().enumerate().any(|(other, way)| way.is_none() && other != rank as usize) {
        let ended = || ClusterError::Start { message: "the port is not listened at any more".to_string() };
        let connection = connections.recv().await.ok_or_else(ended)?;
        let Some((hello, joined)) = Joined::hear(connection).await else { continue };
        if hello.size != size {
            let message =
                format!("rank {} is one of {}, and rank {rank} one of {size}", hello.rank, hello.size);
            return Err(ClusterError::Rank { message });
        }
        let other = hello.rank as usize;
        match ways.get_mut(other) {
            Some(way) if way.is_none() && hello.rank > rank => {
                *way = Some(joined);
                addresses[other] = hello.address;
            }
            _ => {
                let message = format!("two processes have the rank {}; each has its own", hello.rank);
                return Err(ClusterError::Rank { message });
            }
        }
    }
    if rank == 0 {
        let table: Bytes = Addresses { of: addresses }.encode_to_vec().into();
        for (other, way) in ways.iter().enumerate() {
            if let Some(way) = way
                && !write(&way.to, table.clone()).await
            {
                return Err(gone(other as u32, "it has ended").into());
            }
        }
    }
    Ok(ways)
}

/// Opens a connection to a rank, which may not be there yet.
async fn reach(meeting: &Meeting, address: &str, own: &Hello) -> Result<Joined, ClusterError> {
    let begun = Instant::now();
    loop {
        match dial(address, &meeting.secret, meeting.tls.as_ref(), DELIVERED_WITHIN).await {
            Ok(connection) => {
                let ended = || ClusterError::Connection {
                    address: address.to_string(),
                    message: "it has ended".to_string(),
                };
                return Joined::introduce(connection, own).await.ok_or_else(ended);
            }
            Err(error) if begun.elapsed() > TOGETHER_WITHIN || is_final(&error) => return Err(error),
            Err(_) => tokio::time::sleep(PAUSE).await,
        }
    }
}

/// Whether another try would end the same way: whoever listens there does not want this process.
fn is_final(error: &ClusterError) -> bool {
    matches!(error, ClusterError::Refused { why, .. } if why.contains("secret") || why.contains("protocol"))
}

/// Sends a message: its length, and then its bytes.
async fn write(to: &Way, message: Bytes) -> bool {
    let length = (message.len() as u64).to_le_bytes().to_vec();
    if !to.deliver(Packet::of(length)).await {
        return false;
    }
    for begin in (0..message.len()).step_by(PACKET) {
        let part = message.slice(begin..message.len().min(begin + PACKET));
        if !to.deliver(Packet::of_bytes(part)).await {
            return false;
        }
    }
    true
}

/// The next message, or why there is none.
async fn read(from: &mut Streaming<Packet>) -> Result<Bytes, String> {
    let length = next(from).await?;
    let length = match <[u8; 8]>::try_from(&length[..]).map(u64::from_le_bytes) {
        Ok(BYE) => return Err("it has come to its end".to_string()),
        Ok(length) if length <= LARGEST => length as usize,
        _ => return Err("it has sent no length of a message".to_string()),
    };
    let mut parts: Option<BytesMut> = None;
    loop {
        if parts.as_ref().map_or(0, BytesMut::len) == length {
            return Ok(parts.unwrap_or_default().freeze());
        }
        let part = next(from).await?;
        if part.is_empty() || part.len() > length - parts.as_ref().map_or(0, BytesMut::len) {
            return Err("it has sent more than a message".to_string());
        }
        match &mut parts {
            None if part.len() == length => return Ok(part),
            // The room grows with what has come, not with what was announced.
            None => parts = Some(BytesMut::from(&part[..])),
            Some(parts) => parts.extend_from_slice(&part),
        }
    }
}

/// The next packet.
async fn next(from: &mut Streaming<Packet>) -> Result<Bytes, String> {
    match from.message().await {
        Ok(Some(packet)) if packet.is_whole() => Ok(packet.frame),
        Ok(Some(_)) => Err("a packet was damaged on its way".to_string()),
        Ok(None) => Err("its process has ended".to_string()),
        Err(status) => Err(status.message().to_string()),
    }
}

fn gone(rank: u32, why: &str) -> CollectiveError {
    CollectiveError::Gone { rank, why: why.to_string() }
}

impl Mesh {
    fn peer(&self, rank: u32) -> Result<&Peer, CollectiveError> {
        let size = self.size();
        self.peers.get(rank as usize).and_then(Option::as_ref).ok_or(CollectiveError::NoRank { rank, size })
    }
}

impl Collective for Mesh {
    fn rank(&self) -> u32 {
        self.rank
    }

    fn size(&self) -> u32 {
        self.peers.len() as u32
    }

    fn send(&mut self, to: u32, bytes: Bytes) -> Result<(), CollectiveError> {
        self.peer(to)?.to.send(bytes).map_err(|_| gone(to, "its process has ended"))
    }

    fn receive(&mut self, from: u32) -> Result<Bytes, CollectiveError> {
        match self.peer(from)?.from.recv_timeout(PATIENCE) {
            Ok(Ok(bytes)) => Ok(bytes),
            Ok(Err(why)) => Err(gone(from, &why)),
            Err(RecvTimeoutError::Timeout) => {
                Err(CollectiveError::Silent { rank: from, seconds: PATIENCE.as_secs() })
            }
            Err(RecvTimeoutError::Disconnected) => Err(gone(from, "its process has ended")),
        }
    }
}

impl Drop for Mesh {
    /// Stays until the others have come to their end, too: then they have everything that this rank has sent.
    fn drop(&mut self) {
        let until = Instant::now() + FAREWELL;
        let waiting: Vec<_> =
            self.peers.iter_mut().filter_map(Option::take).map(|Peer { from, .. }| from).collect();
        for from in waiting {
            while let Ok(Ok(_)) = from.recv_timeout(until.saturating_duration_since(Instant::now())) {}
        }
    }
}

/// The address of a listener of this machine that others reach as `host`.
pub(super) fn address_of(host: &str, listener: &std::net::TcpListener) -> std::io::Result<String> {
    Ok(SocketAddr::new(host.parse().map_err(std::io::Error::other)?, listener.local_addr()?.port())
        .to_string())
}
