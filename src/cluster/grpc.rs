//! The service by which processes of a job talk: one method, `/paddle.Cluster/Talk`, a stream of packets each way.

use std::collections::BTreeSet;
use std::convert::Infallible;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;
use tokio::sync::mpsc::{Receiver, Sender, channel};
use tokio_stream::wrappers::ReceiverStream;
use tonic::codegen::http::uri::PathAndQuery;
use tonic::codegen::{Body, BoxFuture, BoxStream, Service, StdError, http};
use tonic::metadata::MetadataValue;
use tonic::server::{Grpc, NamedService, StreamingService};
use tonic::transport::Endpoint;
use tonic::{Request, Response, Status, Streaming};
use tonic_prost::ProstCodec;

use super::tls::Tls;
use super::{ClusterError, refusal};

/// The version of what processes say to each other. Processes of different versions do not talk.
const PROTOCOL: &str = "5";
const PATH: &str = "/paddle.Cluster/Talk";
/// The bytes of a packet, at most.
const LARGEST: usize = 1 << 30;
/// The bytes that may be on their way over a connection. HTTP/2's own default, 64 KiB, would have a larger packet wait for the
/// other end to say, again and again, that it has taken so many; TCP has a window of its own.
pub(super) const WINDOW: u32 = 16 << 20;
/// The bytes of a frame of HTTP/2: a packet of a few hundred kilobytes goes as one.
pub(super) const LARGEST_FRAME: u32 = 1 << 20;
/// The packets that wait to be sent to one process; further ones are lost, and sent again by who needs an answer.
const WAITING: usize = 1024;

/// A frame in bytes.
#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct Packet {
    #[prost(bytes = "bytes", tag = "1")]
    pub(super) frame: bytes::Bytes,
    /// The CRC-32 of all of it.
    #[prost(fixed32, tag = "2")]
    pub(super) checksum: u32,
    /// What was set aside of the frame.
    #[prost(bytes = "bytes", repeated, tag = "3")]
    pub(super) aside: Vec<bytes::Bytes>,
}

impl Packet {
    pub(super) fn of(frame: Vec<u8>) -> Self {
        Packet::of_bytes(frame.into())
    }

    pub(super) fn of_bytes(frame: bytes::Bytes) -> Self {
        Packet::with(frame, Vec::new())
    }

    /// A frame, and what was set aside of it.
    pub(super) fn with(frame: bytes::Bytes, aside: Vec<bytes::Bytes>) -> Self {
        let mut packet = Packet { checksum: 0, frame, aside };
        packet.checksum = packet.computed();
        packet
    }

    fn computed(&self) -> u32 {
        let mut hasher = crc32fast::Hasher::new_with_initial(crc32fast::hash(&self.frame));
        self.aside.iter().for_each(|bytes| hasher.update(bytes));
        hasher.finalize()
    }

    /// The bytes of it, without what gRPC adds.
    pub(super) fn len(&self) -> usize {
        self.frame.len() + self.aside.iter().map(bytes::Bytes::len).sum::<usize>()
    }

    fn key(&self) -> (u32, usize) {
        (self.checksum, self.len())
    }

    /// Whether it is what was sent.
    pub(super) fn is_whole(&self) -> bool {
        self.computed() == self.checksum
    }
}

/// The way to another process.
#[derive(Clone)]
pub(super) struct Way {
    packets: Sender<Packet>,
    waiting: Waiting,
}

/// The checksums and lengths of the packets that wait.
type Waiting = Arc<Mutex<BTreeSet<(u32, usize)>>>;

impl Way {
    /// A way, and the packets that are to go over it.
    fn new() -> (Self, impl tokio_stream::Stream<Item = Packet> + Send + 'static) {
        let (packets, waits): (_, Receiver<Packet>) = channel(WAITING);
        let waiting = Waiting::default();
        let own = Arc::clone(&waiting);
        let waits = tokio_stream::StreamExt::map(ReceiverStream::new(waits), move |packet| {
            own.lock().unwrap_or_else(PoisonError::into_inner).remove(&packet.key());
            packet
        });
        (Way { packets, waiting }, waits)
    }

    /// Whether nothing gets to the other end any more.
    pub(super) fn is_closed(&self) -> bool {
        self.packets.is_closed()
    }

    /// Sends a packet when there is room for it. False if the connection has ended.
    pub(super) async fn deliver(&self, packet: Packet) -> bool {
        self.packets.send(packet).await.is_ok()
    }

    /// Sends a packet, or loses it if too many wait. One that waits already is not sent again: over a slow link, what is sent
    /// again for want of an answer would only make the others wait longer. Whether it was taken.
    pub(super) fn send(&self, packet: Packet) -> bool {
        let key = packet.key();
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        if !waiting.insert(key) {
            return false;
        }
        let taken = self.packets.try_send(packet).is_ok();
        if !taken {
            waiting.remove(&key);
        }
        taken
    }
}

/// A connection: what is sent to the other process, and what comes from it.
pub(super) struct Connection {
    pub(super) to: Way,
    pub(super) from: Streaming<Packet>,
}

/// Takes the connections that other processes open.
#[derive(Clone)]
pub(super) struct Talk {
    secret: Arc<str>,
    accepted: Sender<Connection>,
}

impl Talk {
    pub(super) fn new(secret: &str, accepted: Sender<Connection>) -> Self {
        Talk { secret: secret.into(), accepted }
    }

    async fn accept(
        self,
        request: Request<Streaming<Packet>>,
    ) -> Result<Response<BoxStream<Packet>>, Status> {
        let header = |name: &str| request.metadata().get(name).and_then(|value| value.to_str().ok());
        if header("authorization") != Some(&self.secret) {
            return Err(Status::unauthenticated("the secret is not that of the job"));
        }
        match header("paddle-protocol") {
            Some(PROTOCOL) => {}
            found => {
                let found = found.unwrap_or("none");
                return Err(Status::failed_precondition(format!(
                    "this process speaks version {PROTOCOL} of the protocol, the other one {found}"
                )));
            }
        }
        let (to, packets) = Way::new();
        let connection = Connection { to, from: request.into_inner() };
        self.accepted.send(connection).await.map_err(|_| Status::unavailable("the process ends"))?;
        let packets = tokio_stream::StreamExt::map(packets, Ok);
        Ok(Response::new(Box::pin(packets)))
    }
}

/// The method.
struct Method(Talk);

impl StreamingService<Packet> for Method {
    type Response = Packet;
    type ResponseStream = BoxStream<Packet>;
    type Future = BoxFuture<Response<Self::ResponseStream>, Status>;

    fn call(&mut self, request: Request<Streaming<Packet>>) -> Self::Future {
        Box::pin(self.0.clone().accept(request))
    }
}

impl<B> Service<http::Request<B>> for Talk
where
    B: Body + Send + 'static,
    B::Error: Into<StdError> + Send + 'static,
{
    type Response = http::Response<tonic::body::Body>;
    type Error = Infallible;
    type Future = BoxFuture<Self::Response, Self::Error>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: http::Request<B>) -> Self::Future {
        let method = Method(self.clone());
        Box::pin(async move {
            if request.uri().path() != PATH {
                return Ok(Status::unimplemented("there is no such method").into_http());
            }
            let codec = ProstCodec::default();
            let mut grpc =
                Grpc::new(codec).max_decoding_message_size(LARGEST).max_encoding_message_size(LARGEST);
            Ok(grpc.streaming(method, request).await)
        })
    }
}

impl NamedService for Talk {
    const NAME: &'static str = "paddle.Cluster";
}

/// The time within which a connection is opened.
pub(super) const CONNECTED_WITHIN: Duration = Duration::from_secs(1);
/// The time after which a connection ends over which nothing gets that was sent.
pub(super) const DELIVERED_WITHIN: Duration = Duration::from_secs(2);

/// Sets what all connections have. Small packets are sent at once: others wait for them. And a connection over which nothing
/// gets ends, so that another one is opened: its own next try may be further away than the end of what stopped it was.
pub(super) fn prepare(stream: TcpStream, delivered_within: Duration) -> std::io::Result<TcpStream> {
    stream.set_nodelay(true)?;
    #[cfg(target_os = "linux")]
    socket2::SockRef::from(&stream).set_tcp_user_timeout(Some(delivered_within))?;
    #[cfg(not(target_os = "linux"))]
    let _ = delivered_within;
    Ok(stream)
}

/// Opens the sockets of connections.
#[derive(Clone)]
struct Connect {
    delivered_within: Duration,
}

impl Service<http::Uri> for Connect {
    type Response = TokioIo<TcpStream>;
    type Error = std::io::Error;
    type Future = BoxFuture<Self::Response, Self::Error>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, address: http::Uri) -> Self::Future {
        let delivered_within = self.delivered_within;
        Box::pin(async move {
            let address = address.authority().map(|authority| authority.as_str()).unwrap_or_default();
            Ok(TokioIo::new(prepare(TcpStream::connect(address).await?, delivered_within)?))
        })
    }
}

/// Opens a connection to the process that listens at an address. It ends when what is sent does not get to the other end in time.
pub(super) async fn dial(
    address: &str,
    secret: &str,
    tls: Option<&Tls>,
    delivered_within: Duration,
) -> Result<Connection, ClusterError> {
    let failed = |message: String| ClusterError::Connection { address: address.to_string(), message };
    let scheme = if tls.is_some() { "https" } else { "http" };
    let endpoint = Endpoint::from_shared(format!("{scheme}://{address}"));
    let mut endpoint = endpoint
        .map_err(|error| failed(error.to_string()))?
        .initial_stream_window_size(WINDOW)
        .initial_connection_window_size(WINDOW)
        .max_frame_size(LARGEST_FRAME);
    if let Some(tls) = tls {
        endpoint = tls.on_client(endpoint)?;
    }
    let connecting =
        tokio::time::timeout(CONNECTED_WITHIN, endpoint.connect_with_connector(Connect { delivered_within }));
    let channel_to = match connecting.await {
        Ok(connected) => connected.map_err(|error| refusal::of_connection(address, &error, tls.is_some()))?,
        Err(_) => return Err(failed("it does not answer".to_string())),
    };
    let mut client = tonic::client::Grpc::new(channel_to)
        .max_decoding_message_size(LARGEST)
        .max_encoding_message_size(LARGEST);
    client.ready().await.map_err(|error| refusal::of_connection(address, &error, tls.is_some()))?;
    let (to, packets) = Way::new();
    let mut request = Request::new(packets);
    let secret = MetadataValue::try_from(secret).map_err(|error| failed(error.to_string()))?;
    request.metadata_mut().insert("authorization", secret);
    request.metadata_mut().insert("paddle-protocol", MetadataValue::from_static(PROTOCOL));
    let codec = ProstCodec::<Packet, Packet>::default();
    let response = client.streaming(request, PathAndQuery::from_static(PATH), codec).await;
    let response = response.map_err(|status| refusal::of_answer(address, &status, tls.is_some()))?;
    Ok(Connection { to, from: response.into_inner() })
}
