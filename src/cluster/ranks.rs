//! Processes that a launcher has started: what each is follows from its rank.

use std::env;
use std::net::{IpAddr, SocketAddr, ToSocketAddrs, UdpSocket};
use std::path::{Path, PathBuf};
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use paddle_cluster::machine::End;
use paddle_cluster::{Identity, Timing};
use paddle_engines::rank::{Launcher, Place, Role};

use super::ClusterError;
use super::coordination::{Etcd, Lock};
use super::devices;
use super::net::{Net, Peers};
use super::processes::{code, number};
use super::store::Store;
use super::tls::Tls;
use super::worker::{self, Setting};

/// What the master of such a job knows from its environment.
#[derive(Clone)]
pub(super) struct Ranks {
    pub(super) servers: u32,
    pub(super) trainers: u32,
    /// Where it listens.
    pub(super) listen: SocketAddr,
    pub(super) store: Store,
    pub(super) secret: Arc<str>,
    pub(super) tls: Option<Tls>,
    /// What it holds in etcd, if there is one.
    pub(super) lock: Option<Arc<Lock>>,
    pub(super) is_in_pod: bool,
}

/// Where the files of a job's secret are in a pod.
const SECRETS: &str = "/var/run/paddle";

/// Runs the role of a server or a trainer, and then ends the process. In the master it returns; in a process without a rank
/// it returns `None`.
pub(super) fn take_role(servers: u32) -> Result<Option<Ranks>, ClusterError> {
    let place = Place::of_this_process(servers as usize);
    let Some(place) = place.map_err(|error| ClusterError::Rank { message: error.to_string() })? else {
        return Ok(None);
    };
    let is_in_pod = place.launcher == Launcher::Kubernetes;
    if is_in_pod {
        supervise()?;
    }
    let nothing = |variable| ClusterError::Environment { variable, found: "nothing".to_string() };
    let store = store(is_in_pod)?.ok_or(nothing("PADDLE_STORE"))?;
    let (secret, trainers) = (secret_of(&place)?, place.trainers() as u32);
    let tls = tls_of(&place)?;
    let etcd = Etcd::of_environment()?;
    let (is_server, rank) = match place.role() {
        Role::Master => {
            let port = place.master.rsplit_once(':').and_then(|(_, port)| port.parse().ok());
            let port =
                port.ok_or(ClusterError::Rank { message: format!("`{}` has no port", place.master) })?;
            let listen = SocketAddr::from(([0, 0, 0, 0], port));
            let lock = match etcd {
                None => None,
                Some(etcd) => {
                    let failed = |error: std::io::Error| ClusterError::Start { message: error.to_string() };
                    let own = match env::var("PADDLE_ADDRESS") {
                        Ok(address) => address,
                        Err(_) => towards(etcd.at()).map_err(failed)?.to_string(),
                    };
                    Some(Arc::new(etcd.hold(format!("{own}:{port}"))?))
                }
            };
            return Ok(Some(Ranks { servers, trainers, listen, store, secret, tls, lock, is_in_pod }));
        }
        Role::Server(rank) => (true, rank as u32),
        Role::Trainer(rank) => (false, rank as u32),
    };
    let peers = Peers { master: Some(place.master), secret, tls };
    let ended = run(is_server, rank, trainers, peers, etcd, store);
    let role = if is_server { "server" } else { "trainer" };
    std::process::exit(code(&format!("{role} {rank}"), &ended));
}

/// What only the processes of the job know.
pub(super) fn secret_of(place: &Place) -> Result<Arc<str>, ClusterError> {
    let nothing = ClusterError::Environment { variable: "PADDLE_SECRET", found: "nothing".to_string() };
    let in_pod = (place.launcher == Launcher::Kubernetes).then(|| format!("{SECRETS}/secret"));
    let file = env::var("PADDLE_SECRET").ok().or(in_pod).ok_or(nothing)?;
    let secret = std::fs::read_to_string(&file)
        .map_err(|error| ClusterError::Start { message: format!("the secret in {file}: {error}") })?;
    Ok(secret.trim().into())
}

/// The certificates that the environment names, or those of the job's secret in a pod.
pub(super) fn tls_of(place: &Place) -> Result<Option<Tls>, ClusterError> {
    let is_in_pod = place.launcher == Launcher::Kubernetes && Path::new(SECRETS).join("cert.pem").exists();
    let folder = env::var_os("PADDLE_TLS").map(PathBuf::from);
    Tls::of(folder.or_else(|| is_in_pod.then(|| PathBuf::from(SECRETS))))
}

/// In the first process of a pod, runs this program again, and again when it fails, and ends with it: Kubernetes replaces a pod after
/// ten seconds, and this a process within a tenth of one.
#[cfg(unix)]
fn supervise() -> Result<(), ClusterError> {
    let ran = paddle_engines::supervisor::Supervisor::default().run_this_program();
    match ran.map_err(|error| ClusterError::Start { message: error.to_string() })? {
        Some(code) => std::process::exit(code),
        None => Ok(()),
    }
}

#[cfg(not(unix))]
fn supervise() -> Result<(), ClusterError> {
    Ok(())
}

/// The store that the environment names, if it names one. Those of several jobs are in one place.
fn store(is_in_pod: bool) -> Result<Option<Store>, ClusterError> {
    let Ok(place) = env::var("PADDLE_STORE") else { return Ok(None) };
    let failed = |error: std::io::Error| ClusterError::Store { message: error.to_string() };
    let mut options: Vec<(String, String)> = env::vars().collect();
    if is_in_pod && let Ok(text) = std::fs::read_to_string(format!("{SECRETS}/store")) {
        let lines = text.lines().filter_map(|line| line.split_once('='));
        options.extend(lines.map(|(name, value)| (name.to_string(), value.to_string())));
    }
    let mut store = Store::at(&place, options).map_err(failed)?;
    for variable in ["PADDLE_JOB", "PADDLE_RUN"] {
        if let Ok(name) = env::var(variable) {
            store = store.below(&name);
        }
    }
    Ok(Some(store))
}

/// Like [`take_role`], in the pod of a job whose manifest says how many servers it has.
#[cfg(feature = "kubernetes")]
pub(super) fn take_role_in_pod() -> Result<Option<Ranks>, ClusterError> {
    let servers = env::var("PADDLE_SERVERS").ok().and_then(|servers| servers.parse().ok());
    let is_in_pod =
        env::var_os("KUBERNETES_SERVICE_HOST").is_some() && env::var_os("JOB_COMPLETION_INDEX").is_some();
    match servers.filter(|_| is_in_pod) {
        Some(servers) => take_role(servers),
        None => Ok(None),
    }
}

fn run(
    is_server: bool,
    rank: u32,
    trainers: u32,
    mut peers: Peers,
    etcd: Option<Etcd>,
    store: Store,
) -> Result<Option<End>, ClusterError> {
    let failed = |error: std::io::Error| ClusterError::Start { message: error.to_string() };
    let ends = mpsc::channel();
    let mut masters = None;
    if let Some(etcd) = etcd {
        let (tell, told) = mpsc::channel();
        etcd.follow(move |address| tell.send(address).is_ok())?;
        let nobody = || ClusterError::Start { message: "etcd knows no master of the job".to_string() };
        peers.master = Some(told.recv_timeout(NAMED_WITHIN).map_err(|_| nobody())?);
        masters = Some(told);
    }
    let master = peers.master.clone().unwrap_or_default();
    let own = match env::var("PADDLE_ADDRESS") {
        Ok(address) => address,
        Err(_) => towards(&master).map_err(failed)?.to_string(),
    };
    let (link, listening) = Net::open(SocketAddr::from(([0, 0, 0, 0], 0)), peers, ends.0.clone())?;
    if let Some(masters) = masters {
        link.follow(masters).map_err(failed)?;
    }
    let address = format!("{own}:{}", listening.port());
    let identity = Identity { rank, process: number(), address: address.into() };
    let backend = devices::of_process()?;
    let timing = Timing::default();
    Ok(worker::run(Setting { is_server, identity, trainers, timing, link, store, backend }, ends))
}

/// The time in which the name of the master has to become known. It is when its pod has a node.
const NAMED_WITHIN: Duration = Duration::from_secs(300);

/// The address of this machine on the way to another one. Nothing is sent.
pub(super) fn towards(other: &str) -> std::io::Result<IpAddr> {
    let begun = Instant::now();
    let addresses = loop {
        match other.to_socket_addrs() {
            Ok(addresses) => break addresses,
            Err(error) if begun.elapsed() > NAMED_WITHIN => return Err(error),
            Err(_) => thread::sleep(Duration::from_secs(1)),
        }
    };
    let socket = UdpSocket::bind(("0.0.0.0", 0))?;
    let mut addresses = addresses.filter(SocketAddr::is_ipv4);
    let no_address = || std::io::Error::other("the master has no IPv4 address");
    socket.connect(addresses.next().ok_or_else(no_address)?)?;
    Ok(socket.local_addr()?.ip())
}
