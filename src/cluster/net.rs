//! Links between processes, over gRPC. A thread of its own runs all connections of a process.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender};
use std::thread;
use std::time::{Duration, Instant};

use bytes::Bytes;
use paddle_cluster::Event;
use paddle_cluster::message::{self, Process, To};
use tokio::net::TcpListener;
use tokio::runtime::Builder;
use tokio::sync::mpsc::{self, UnboundedReceiver, UnboundedSender};
use tokio_stream::StreamExt;
use tokio_stream::wrappers::TcpListenerStream;
use tonic::transport::Server;

use super::ClusterError;
use super::grpc::{Connection, DELIVERED_WITHIN, LARGEST_FRAME, Packet, Talk, WINDOW, Way, dial, prepare};
use super::link::{Frame, Input, Link};
use super::tls::Tls;
use super::traffic::{Counters, Traffic};

/// What the thread of the connections is to do.
enum Order {
    Send(To, Packet),
    Connect(Vec<(Process, String)>),
    Connected(To, Connection),
    Failed(To, ClusterError),
    /// The master is at another address now.
    Master(String),
    Accepted(Connection),
    /// Frames of this process come over a connection.
    Route(Process, Way),
    /// A connection has ended; these processes were at the other end.
    Gone(Vec<Process>),
}

/// The links of a process.
#[derive(Clone)]
pub(super) struct Net {
    orders: UnboundedSender<Order>,
    counters: Arc<Counters>,
}

/// What a process is told about the others.
#[derive(Clone)]
pub(super) struct Peers {
    /// Where the master listens; none in the master itself.
    pub(super) master: Option<String>,
    /// What every process of the job knows.
    pub(super) secret: Arc<str>,
    /// What processes show each other, if they do.
    pub(super) tls: Option<Tls>,
}

impl Net {
    /// Listens at an address, and gives what comes to `inputs`. Returns the address with the port that was chosen.
    pub(super) fn open(
        listen: SocketAddr,
        peers: Peers,
        inputs: Sender<Input>,
    ) -> Result<(Self, SocketAddr), ClusterError> {
        let failed = |error: std::io::Error| ClusterError::Start { message: format!("{listen}: {error}") };
        let listener = std::net::TcpListener::bind(listen).map_err(failed)?;
        listener.set_nonblocking(true).map_err(failed)?;
        let address = listener.local_addr().map_err(failed)?;
        let runtime = Builder::new_current_thread().enable_all().build().map_err(failed)?;
        let (orders, to_do) = mpsc::unbounded_channel();
        let own = orders.clone();
        let mut server = Server::builder();
        if let Some(tls) = &peers.tls {
            server = tls.on_server(server)?;
        }
        let counters = Arc::<Counters>::default();
        let counted = Arc::clone(&counters);
        let run = move || {
            runtime.block_on(async move {
                let Ok(listener) = TcpListener::from_std(listener) else { return };
                let (accepted, mut connections) = mpsc::channel(16);
                let talk = Talk::new(&peers.secret, accepted);
                // The settings of tonic's server do not reach streams that it is given.
                let incoming = TcpListenerStream::new(listener)
                    .map(|stream| stream.and_then(|stream| prepare(stream, DELIVERED_WITHIN)));
                let serving = server
                    .initial_stream_window_size(WINDOW)
                    .initial_connection_window_size(WINDOW)
                    .max_frame_size(LARGEST_FRAME)
                    .add_service(talk)
                    .serve_with_incoming(incoming);
                let to_self = own.clone();
                tokio::spawn(async move {
                    while let Some(connection) = connections.recv().await {
                        if to_self.send(Order::Accepted(connection)).is_err() {
                            return;
                        }
                    }
                });
                let routes = Routes {
                    peers,
                    own,
                    inputs,
                    counters: counted,
                    known: BTreeMap::new(),
                    addresses: BTreeMap::new(),
                    dialling: Vec::new(),
                    refused: BTreeMap::new(),
                };
                tokio::select! {
                    _ = serving => {}
                    () = routes.run(to_do) => {}
                }
            });
        };
        thread::Builder::new().name("connections".to_string()).spawn(run).map_err(failed)?;
        Ok((Net { orders, counters }, address))
    }
}

impl Net {
    /// Goes to other masters, as soon as it is told of them.
    pub(super) fn follow(&self, masters: Receiver<String>) -> std::io::Result<()> {
        let orders = self.orders.clone();
        let follow = move || {
            for address in masters {
                // The process may end.
                let _ = orders.send(Order::Master(address));
            }
        };
        thread::Builder::new().name("masters".to_string()).spawn(follow).map(drop)
    }
}

/// A frame as it goes over a connection.
fn packed(mut frame: Frame) -> Option<Packet> {
    let aside = frame.set_aside();
    Some(Packet::with(postcard::to_stdvec(&frame).ok()?.into(), aside))
}

/// The frame that has come in a packet; `None` if it was damaged, or is none.
fn unpacked(packet: Packet) -> Option<Frame> {
    let mut frame = packet.is_whole().then(|| postcard::from_bytes::<Frame>(&packet.frame).ok())??;
    frame.put_back(packet.aside).then_some(frame)
}

impl Link for Net {
    fn send(&mut self, to: To, frame: Frame) {
        // What cannot be written would never arrive either.
        if let Some(packet) = packed(frame) {
            let _ = self.orders.send(Order::Send(to, packet));
        }
    }

    fn connect(&mut self, servers: &[message::Server<Bytes>]) {
        let address = |server: &message::Server<Bytes>| {
            (server.process, String::from_utf8_lossy(&server.address).into_owned())
        };
        let _ = self.orders.send(Order::Connect(servers.iter().map(address).collect()));
    }

    fn traffic(&self) -> Traffic {
        self.counters.read()
    }
}

/// The connections of a process, by who is at the other end.
struct Routes {
    peers: Peers,
    own: UnboundedSender<Order>,
    inputs: Sender<Input>,
    counters: Arc<Counters>,
    known: BTreeMap<To, Way>,
    /// Where the servers listen.
    addresses: BTreeMap<Process, String>,
    dialling: Vec<To>,
    /// Since when others do not want this process.
    refused: BTreeMap<To, Instant>,
}

/// A process that the master has refused for so long ends, and so does one of equals that another one has.
pub(super) const REFUSED_FOR: Duration = Duration::from_secs(10);

impl Routes {
    async fn run(mut self, mut orders: UnboundedReceiver<Order>) {
        while let Some(order) = orders.recv().await {
            match order {
                Order::Send(to, packet) => self.send(to, packet),
                Order::Connect(servers) => {
                    self.addresses = servers.iter().cloned().collect();
                    for (process, address) in servers {
                        self.dial(To::Process(process), Some(address));
                    }
                }
                Order::Connected(to, connection) => {
                    self.dialling.retain(|other| *other != to);
                    self.refused.remove(&to);
                    self.known.insert(to, connection.to.clone());
                    self.listen(connection);
                }
                Order::Failed(to, error) => {
                    self.dialling.retain(|other| *other != to);
                    self.failed(to, error);
                }
                Order::Master(address) => {
                    self.known.remove(&To::Master);
                    self.dialling.retain(|other| *other != To::Master);
                    self.peers.master = Some(address.clone());
                    self.dial(To::Master, Some(address));
                }
                Order::Accepted(connection) => self.listen(connection),
                Order::Route(process, way) => {
                    self.known.insert(To::Process(process), way);
                }
                Order::Gone(processes) => {
                    for process in processes {
                        self.known.retain(|to, _| *to != To::Process(process));
                        if self.inputs.send(Input::Event(Event::Disconnected(process))).is_err() {
                            return;
                        }
                    }
                }
            }
        }
    }

    /// Sends a packet, or loses it.
    fn send(&mut self, to: To, packet: Packet) {
        match self.known.get(&to) {
            Some(way) if !way.is_closed() => {
                let length = packet.len();
                if way.send(packet) {
                    self.counters.sent(length);
                }
            }
            _ => {
                self.known.remove(&to);
                let address = match to {
                    To::Master => self.peers.master.clone(),
                    // Connections that others have opened they open again.
                    To::Process(process) => self.addresses.get(&process).cloned(),
                };
                self.dial(to, address);
            }
        }
    }

    /// Opens a connection, unless there is one or it is being opened.
    fn dial(&mut self, to: To, address: Option<String>) {
        let is_open = self.known.get(&to).is_some_and(|way| !way.is_closed());
        let Some(address) = address.filter(|_| !is_open && !self.dialling.contains(&to)) else { return };
        self.dialling.push(to);
        let (own, Peers { secret, tls, .. }) = (self.own.clone(), self.peers.clone());
        tokio::spawn(async move {
            let order = match dial(&address, &secret, tls.as_ref(), DELIVERED_WITHIN).await {
                Ok(connection) => Order::Connected(to, connection),
                Err(error) => Order::Failed(to, error),
            };
            // The process may end.
            let _ = own.send(order);
        });
    }

    /// Who does not answer may later. Who does not want this process is told of, and it ends if that is the master, unless that one
    /// is about to end itself: at its address there may be another one soon.
    fn failed(&mut self, to: To, error: ClusterError) {
        let ClusterError::Refused { .. } = error else {
            self.refused.remove(&to);
            return;
        };
        let since = self.refused.entry(to).or_insert_with(|| {
            eprintln!("cluster: {error}");
            Instant::now()
        });
        if to == To::Master && since.elapsed() > REFUSED_FOR {
            // The process may have ended.
            let _ = self.inputs.send(Input::Refused(error));
        }
    }

    /// Takes what comes over a connection until it ends.
    fn listen(&self, Connection { to, mut from }: Connection) {
        let (own, inputs, counters) = (self.own.clone(), self.inputs.clone(), Arc::clone(&self.counters));
        tokio::spawn(async move {
            let mut heard: Vec<Process> = Vec::new();
            while let Ok(Some(packet)) = from.message().await {
                counters.received(packet.len());
                // What is damaged is lost. Whoever sent it sends it again.
                let Some(frame) = unpacked(packet) else { continue };
                let process = match &frame {
                    Frame::Machine(message) => Some(message.from.process),
                    Frame::Ask { from, .. } | Frame::Traffic { from, .. } => Some(*from),
                    Frame::Answer { .. } => None,
                };
                if let Some(process) = process.filter(|process| !heard.contains(process)) {
                    heard.push(process);
                    let _ = own.send(Order::Route(process, to.clone()));
                }
                if inputs.send(Input::Frame(frame)).is_err() {
                    return;
                }
            }
            let _ = own.send(Order::Gone(heard));
        });
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::TcpStream;
    use std::sync::mpsc::channel;

    use paddle_cluster::message::{
        Body, Epoch, Incarnation, Message, Part, Role, Sender as From, Step, Wanted,
    };
    use paddle_cluster::tree::Node;

    use super::*;

    fn frame(process: Process) -> Frame {
        let incarnation = Incarnation::default();
        let from = From { role: Role::Trainer, rank: 0, process, incarnation };
        let body = Body::Hello { sent: 7, address: Bytes::from_static(b"here") };
        Frame::Machine(Message { epoch: Epoch::default(), from, body })
    }

    fn open(master: Option<String>, secret: &str) -> (Net, SocketAddr, Receiver<Input>) {
        let (inputs, came) = channel();
        let peers = Peers { master, secret: secret.into(), tls: None };
        let (net, address) = Net::open(SocketAddr::from(([127, 0, 0, 1], 0)), peers, inputs).unwrap();
        (net, address, came)
    }

    /// Sends until something comes: what is sent while a connection is opened is lost.
    fn send_until(net: &mut Net, to: To, what: &Frame, came: &Receiver<Input>) -> Option<Input> {
        (0..50).find_map(|_| {
            net.send(to, what.clone());
            came.recv_timeout(Duration::from_millis(100)).ok()
        })
    }

    #[test]
    fn frames_go_both_ways_over_the_connection_of_one() {
        let (mut master, address, at_master) = open(None, "secret");
        let (mut worker, _, at_worker) = open(Some(address.to_string()), "secret");
        let came = send_until(&mut worker, To::Master, &frame(5), &at_master);
        let Some(Input::Frame(Frame::Machine(message))) = came else { panic!("no frame has come") };
        assert_eq!(message.from.process, 5);
        let Frame::Machine(sent) = frame(5) else { unreachable!() };
        assert_eq!(message, sent);
        let came = send_until(&mut master, To::Process(5), &frame(1), &at_worker);
        assert!(matches!(came, Some(Input::Frame(Frame::Machine(message))) if message.from.process == 1));
    }

    #[test]
    fn what_was_set_aside_is_where_it_was() {
        let Frame::Machine(Message { epoch, from, .. }) = frame(3) else { unreachable!() };
        let part = |piece: u32| Part { piece, node: Node::new(0, 2), sum: vec![piece as u8; 5].into() };
        let wanted = Wanted { plan: 1, version: Some(4), have: None };
        let bodies = [
            Body::Values { wanted, version: 4, part: [0, 1], values: vec![7; 9].into() },
            Body::Push {
                task: 1,
                step: Step { version: 2, attempt: 3 },
                plan: 4,
                leaves: 5,
                alone: None,
                header: vec![1].into(),
                number: 6,
                parts: [part(1), part(2)].into(),
            },
        ];
        for body in bodies {
            let sent = Message { epoch, from, body };
            let packet = packed(Frame::Machine(sent.clone())).unwrap();
            assert!(!packet.aside.is_empty() && packet.is_whole());
            let Some(Frame::Machine(came)) = unpacked(packet.clone()) else { panic!("no frame") };
            assert_eq!(came, sent);
            let mut damaged = packet;
            damaged.aside[0] = Bytes::from_static(b"other");
            assert!(unpacked(damaged).is_none());
        }
        let rows = Ok(vec![Bytes::from_static(b"rows"), Bytes::new()]);
        let packet = packed(Frame::Answer { question: 3, rows: rows.clone() }).unwrap();
        assert!(matches!(unpacked(packet), Some(Frame::Answer { question: 3, rows: came }) if came == rows));
    }

    #[test]
    fn another_secret_and_nonsense_are_refused_and_the_port_goes_on() {
        let (_master, address, at_master) = open(None, "secret");
        let runtime = Builder::new_current_thread().enable_all().build().unwrap();
        let refused = runtime.block_on(dial(&address.to_string(), "other", None, DELIVERED_WITHIN));
        let error = refused.err().unwrap().to_string();
        assert!(error.contains("the secret is not that of the job"), "{error}");
        let mut state = 1_u64;
        for length in [0, 1, 24, 300, 70_000] {
            let mut stream = TcpStream::connect(address).unwrap();
            let garbage: Vec<u8> = (0..length)
                .map(|_| {
                    state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                    (state >> 56) as u8
                })
                .collect();
            // The other side may close the connection at any byte.
            let _ = stream.write_all(&garbage);
            stream.set_read_timeout(Some(Duration::from_millis(200))).unwrap();
            let _ = stream.read(&mut [0; 64]);
        }
        // Packets that are no frames, and damaged ones, are passed over.
        let connection =
            runtime.block_on(dial(&address.to_string(), "secret", None, DELIVERED_WITHIN)).unwrap();
        let good = packed(frame(9)).unwrap();
        let more = Packet::with(good.frame.clone(), vec![Bytes::from_static(b"more")]);
        runtime.block_on(async {
            let mut damaged = good.clone();
            damaged.checksum ^= 1;
            for packet in [Packet::of(vec![255; 40]), Packet::of(Vec::new()), damaged, more, good] {
                assert!(connection.to.send(packet));
            }
            tokio::time::sleep(Duration::from_millis(300)).await;
        });
        let came = at_master.recv_timeout(Duration::from_secs(5)).unwrap();
        assert!(matches!(came, Input::Frame(Frame::Machine(message)) if message.from.process == 9));
        assert!(at_master.try_recv().is_err());
    }
}
