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
use crate::cluster::net::REFUSED_FOR;
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
/// The length of a message by which a rank says that it has come to its end. A fault follows, which is empty if there is none: the number of
/// the rank that cannot go on, and why.
const BYE: u64 = u64::MAX;

/// A rank's place in the mesh.
pub(super) struct Mesh {
    rank: u32,
    is_child: bool,
    /// None for the rank itself, and behind the end for all.
    peers: Vec<Option<Peer>>,
}

/// Another rank.
struct Peer {
    to: UnboundedSender<Going>,
    from: Receiver<Result<Bytes, Ended>>,
}

/// What goes to another rank.
enum Going {
    Message(Bytes),
    /// A fault, behind which nothing goes.
    Bye(Bytes),
}

/// Why nothing comes from another rank any more.
#[derive(Clone, Debug)]
struct Ended {
    /// The rank that cannot go on, if it is not this one.
    rank: Option<u32>,
    why: String,
}

impl From<String> for Ended {
    fn from(why: String) -> Self {
        Ended { rank: None, why }
    }
}

impl Ended {
    fn of(self, peer: u32) -> CollectiveError {
        CollectiveError::Gone { rank: self.rank.unwrap_or(peer), why: self.why }
    }
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
    /// Whether rank 0 has started this process, which ends with it and not before.
    pub(super) is_child: bool,
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
                            let &Meeting { rank, is_child, .. } = &meeting;
                            let _ = done.send(Ok(Mesh { rank, is_child, peers }));
                            // The connections stay until the other ends have closed them, too: what is sent last may wait in them.
                            for task in tasks.into_iter().flatten().flatten() {
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

    /// Carries messages both ways until the mesh is dropped and the other end has come to its end, too.
    fn serve(self) -> (Peer, [tokio::task::JoinHandle<()>; 2]) {
        let Joined { to, mut from } = self;
        let (sends, mut sent) = unbounded_channel::<Going>();
        let (receives, received) = mpsc::channel();
        let reads = tokio::spawn(async move {
            loop {
                let message = read(&mut from).await;
                let ends = message.is_err();
                // Nobody may wait for it any more.
                if receives.send(message).is_err() || ends {
                    return;
                }
            }
        });
        let writes = tokio::spawn(async move {
            let fault = loop {
                match sent.recv().await {
                    Some(Going::Message(message)) => {
                        if !write(&to, message).await {
                            return;
                        }
                    }
                    Some(Going::Bye(fault)) => break fault,
                    None => break Bytes::new(),
                }
            };
            // The other end has everything before this. Whether it is there does not matter any more.
            for packet in [Bytes::copy_from_slice(&BYE.to_le_bytes()), fault] {
                to.deliver(Packet::of_bytes(packet)).await;
            }
        });
        (Peer { to: sends, from: received }, [writes, reads])
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
    let mut refused: Option<Instant> = None;
    loop {
        match dial(address, &meeting.secret, meeting.tls.as_ref(), DELIVERED_WITHIN).await {
            Ok(connection) => {
                let ended = || ClusterError::Connection {
                    address: address.to_string(),
                    message: "it has ended".to_string(),
                };
                return Joined::introduce(connection, own).await.ok_or_else(ended);
            }
            Err(error) => {
                let is_refused = matches!(error, ClusterError::Refused { .. });
                refused = refused.filter(|_| is_refused).or(is_refused.then(Instant::now));
                let is_for_good =
                    is_final(&error) || refused.is_some_and(|since| since.elapsed() > REFUSED_FOR);
                if is_for_good || begun.elapsed() > TOGETHER_WITHIN {
                    return Err(error);
                }
                tokio::time::sleep(PAUSE).await;
            }
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
async fn read(from: &mut Streaming<Packet>) -> Result<Bytes, Ended> {
    let length = next(from).await?;
    let length = match <[u8; 8]>::try_from(&length[..]).map(u64::from_le_bytes) {
        Ok(BYE) => {
            let fault = next(from).await.unwrap_or_default();
            let ended = || Ended::from("it has come to its end".to_string());
            let Some((rank, why)) = fault.split_first_chunk() else { return Err(ended()) };
            let (rank, why) = (u32::from_le_bytes(*rank), String::from_utf8_lossy(why).into_owned());
            return Err(Ended { rank: Some(rank), why });
        }
        Ok(length) if length <= LARGEST => length as usize,
        _ => return Err("it has sent no length of a message".to_string().into()),
    };
    let mut parts: Option<BytesMut> = None;
    loop {
        if parts.as_ref().map_or(0, BytesMut::len) == length {
            return Ok(parts.unwrap_or_default().freeze());
        }
        let part = next(from).await?;
        if part.is_empty() || part.len() > length - parts.as_ref().map_or(0, BytesMut::len) {
            return Err("it has sent more than a message".to_string().into());
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
        self.peer(to)?.to.send(Going::Message(bytes)).map_err(|_| gone(to, "its process has ended"))
    }

    /// Stays until the others have come to their end, too: then they have everything that this rank has sent. A rank that another one has
    /// started stays for it as long as it takes, unless it has a fault to tell: it is to know whether the other one went on without it.
    fn end(&mut self, fault: Option<(u32, &str)>) -> bool {
        let until = Instant::now() + FAREWELL;
        let bye = match fault {
            Some((rank, why)) => [&rank.to_le_bytes(), why.as_bytes()].concat().into(),
            None => Bytes::new(),
        };
        let waiting = self.peers.iter_mut().zip(0..).filter_map(|(peer, rank)| Some((peer.take()?, rank)));
        let waiting = waiting.map(|(Peer { to, from }, rank)| {
            // Who has ended needs no farewell.
            let _ = to.send(Going::Bye(bye.clone()));
            (from, rank)
        });
        let waiting: Vec<(_, u32)> = waiting.collect();
        let stays = self.is_child && fault.is_none();
        let mut went_on = false;
        for (from, rank) in waiting {
            loop {
                let heard = match rank == 0 && stays {
                    true => from.recv().map_err(RecvTimeoutError::from),
                    false => from.recv_timeout(until.saturating_duration_since(Instant::now())),
                };
                match heard {
                    Ok(Ok(_)) if stays => return true,
                    Ok(Ok(_)) => went_on = true,
                    _ => break,
                }
            }
        }
        went_on
    }

    fn receive(&mut self, from: u32) -> Result<Bytes, CollectiveError> {
        match self.peer(from)?.from.recv_timeout(PATIENCE) {
            Ok(Ok(bytes)) => Ok(bytes),
            Ok(Err(ended)) => Err(ended.of(from)),
            Err(RecvTimeoutError::Timeout) => {
                Err(CollectiveError::Silent { rank: from, seconds: PATIENCE.as_secs() })
            }
            Err(RecvTimeoutError::Disconnected) => Err(gone(from, "its process has ended")),
        }
    }
}

impl Drop for Mesh {
    fn drop(&mut self) {
        self.end(None);
    }
}

/// The address of a listener of this machine that others reach as `host`.
pub(super) fn address_of(host: &str, listener: &std::net::TcpListener) -> std::io::Result<String> {
    Ok(SocketAddr::new(host.parse().map_err(std::io::Error::other)?, listener.local_addr()?.port())
        .to_string())
}
