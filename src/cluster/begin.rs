//! The beginning of a job: its store, its first checkpoint, its master, and whoever is started with it.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::mpsc::{self, Sender};
use std::thread;
use std::time::Duration;

use bytes::Bytes;
use paddle_cluster::machine::{End, Writing};
use paddle_cluster::message::{Epoch, ManifestId};
use paddle_cluster::{Identity, Master, Mode, Settings, Timing};
use paddle_core::passes::distribute::{self, Placement};
use paddle_kernels::Cpu;

use super::all_reduce::GroupJob;
use super::any_job::{AnyJob, lock};
use super::devices::Devices;
use super::job::{Job, Placed};
use super::link::{Input, Threads};
use super::master::Answer;
use super::net::{Net, Peers};
use super::processes::{self, Folder, Processes};
use super::ranks::Ranks;
use super::record::Record;
use super::store::Store;
use super::worker::{self, Setting};
use super::{Cluster, ClusterError, Kind, Running, master};
use crate::Error;
use crate::device::Device;

/// Where a job begins.
pub(crate) struct Beginning {
    /// How many steps were done before.
    pub(crate) version: u64,
    /// What the first checkpoint says of the user's loop.
    pub(crate) note: Bytes,
    /// The pass, and the samples of it that were committed before.
    pub(crate) samples: (u64, u64),
    /// The rank that has each parameter, if ranks have parts of the network.
    pub(crate) homes: Option<BTreeMap<String, u32>>,
}

impl Cluster {
    /// Begins a job with these values.
    pub(crate) fn begin(
        &self,
        parameters: &[distribute::Placed<'_>],
        values: Vec<Placed>,
        Beginning { version, note, samples, homes }: Beginning,
    ) -> Result<(), Error> {
        let mut inner = self.inner();
        if inner.trainers == 0 {
            let message = "it has no trainer".to_string();
            return Err(ClusterError::Start { message }.into());
        }
        match &inner.kind {
            Kind::Ranks(ranks) if ranks.servers != inner.servers.get() => {
                let message =
                    format!("there are {} servers, but the job has {}", inner.servers, ranks.servers);
                return Err(ClusterError::Rank { message }.into());
            }
            #[cfg(feature = "kubernetes")]
            Kind::Kubernetes(_) => {
                let message = "a job on Kubernetes is started by `dist_train`".to_string();
                return Err(ClusterError::Start { message }.into());
            }
            _ => {}
        }
        let placed = parameters.iter().cloned();
        let placement = match &homes {
            // What the network does not use is anywhere.
            Some(homes) => {
                Placement::at_home(placed, inner.servers, |name| homes.get(name).copied().unwrap_or(0))
            }
            None => Placement::new(placed, inner.servers, inner.whole),
        };
        if let Kind::Group(group) = &inner.kind {
            if inner.staleness.is_some() {
                let message = "ranks that train as equals have no asynchronous steps; have parameter servers";
                return Err(ClusterError::Start { message: message.to_string() }.into());
            }
            let job = GroupJob::begin(Arc::clone(group), &inner.devices, homes.is_some(), placement, values)?;
            *lock(&inner.job) = Some(AnyJob::Group(Box::new(job)));
            return Ok(());
        }
        let (to_master, inputs) = mpsc::channel();
        let (answers, answered) = mpsc::channel();
        let mut running = Running { to_master: Some(to_master.clone()), ..Running::default() };
        let failed = |error: std::io::Error| ClusterError::Store { message: error.to_string() };
        let store = match &inner.kind {
            Kind::Ranks(ranks) => ranks.store.clone(),
            Kind::Processes => {
                let folder = running.folder.insert(Folder::create().map_err(failed)?);
                Store::in_folder(folder.path()).map_err(failed)?
            }
            _ => Store::in_memory().map_err(failed)?,
        };
        // The values are those with which this master goes on, whatever an earlier one has left.
        let held = match &inner.kind {
            Kind::Ranks(ranks) => ranks.lock.clone(),
            _ => None,
        };
        let last = store.last_election().map_err(failed)?;
        let election = held.as_ref().map_or(Ok(last.saturating_add(1)), |lock| lock.election(last))?;
        let id = ManifestId { version, epoch: Epoch { election, round: 0 } };
        let first = Job::first_manifest(&store, &placement, &values, id, note)?;
        if held.as_ref().is_some_and(|lock| lock.point(id) != Writing::Done) {
            let message = "it does not take the first checkpoint, perhaps of another master".to_string();
            return Err(ClusterError::Coordination { message }.into());
        }
        running.election = Some(election);
        if let Some(lock) = &held {
            let (answers, to_master) = (answers.clone(), to_master.clone());
            lock.when_lost(move || {
                // The job may be over.
                let _ = answers.send(Answer::Ended(End::Deposed));
                let _ = to_master.send(Input::Stop);
            });
        }
        let settings = Settings {
            servers: inner.servers.get(),
            trainers: inner.trainers,
            timing: Timing::default(),
            checkpoint_steps: 100,
            checkpoint_bytes: 64 << 20,
            deaths: 3,
            seed: 0,
            mode: match inner.staleness {
                None => Mode::Synchronous,
                Some(staleness) => Mode::Asynchronous { staleness },
            },
        };
        let of_master = store.clone();
        let mut record = Record::open(&settings, samples)?;
        match (&inner.kind, &running.folder) {
            (Kind::Ranks(ranks), _) => {
                let Ranks { secret, tls, .. } = ranks.clone();
                let peers = Peers { master: None, secret, tls };
                let (link, _) = Net::open(ranks.listen, peers, to_master.clone())?;
                let machine = Master::new(processes::number(), settings);
                spawn("master".to_string(), move || {
                    master::run(machine, link, (of_master, held), &inputs, &answers, &mut record);
                })?;
            }
            (Kind::Processes, Some(folder)) => {
                let failed = |error: std::io::Error| ClusterError::Start { message: error.to_string() };
                let secret = folder.secret().map_err(failed)?.into();
                let peers = Peers { master: None, secret, tls: None };
                let (link, address) =
                    Net::open(SocketAddr::from(([127, 0, 0, 1], 0)), peers, to_master.clone())?;
                let machine = Master::new(processes::number(), settings);
                let of_watcher = answers.clone();
                spawn("master".to_string(), move || {
                    master::run(machine, link, (of_master, held), &inputs, &answers, &mut record);
                })?;
                let (servers, trainers) = (inner.servers.get(), inner.trainers);
                let devices = inner.devices.clone();
                let started = Processes::start(servers, trainers, address, folder, devices, of_watcher)?;
                running.processes = Some(started);
            }
            _ => {
                // Nothing is started if a device is not there.
                let cpu = Cpu::new()?;
                let roles = (0..settings.servers).map(|rank| (true, rank));
                let roles = roles.chain((0..settings.trainers).map(|rank| (false, rank)));
                let workers = roles.map(|(is_server, rank)| {
                    let devices = inner.devices.clone();
                    let device = devices.of(rank, cpu.clone())?;
                    Ok(Worker { is_server, rank, device, devices, cpu: cpu.clone() })
                });
                let workers = workers.collect::<Result<Vec<_>, Error>>()?;
                let threads = Threads::default();
                threads.add(MASTER, true, to_master.clone());
                let link = threads.clone();
                spawn("master".to_string(), move || {
                    master::run(
                        Master::new(MASTER, settings),
                        link,
                        (of_master, held),
                        &inputs,
                        &answers,
                        &mut record,
                    );
                })?;
                start_threads(&threads, &store, workers, settings)?;
                running.threads = Some(threads);
            }
        }
        inner.running = running;
        let job = Job::begin(to_master, answered, placement, inner.staleness, (election, vec![first]))?;
        *lock(&inner.job) = Some(AnyJob::Servers(job));
        Ok(())
    }
}

/// A server or trainer that is a thread, and where its device is from.
struct Worker {
    is_server: bool,
    rank: u32,
    device: Device,
    devices: Devices,
    cpu: Cpu,
}

/// Starts servers and trainers as threads.
fn start_threads(
    threads: &Threads,
    store: &Store,
    workers: Vec<Worker>,
    settings: Settings,
) -> Result<(), Error> {
    let Settings { trainers, timing, .. } = settings;
    for (k, Worker { is_server, rank, mut device, devices, cpu }) in workers.into_iter().enumerate() {
        let (threads, store) = (threads.clone(), store.clone());
        let name = format!("{} {rank}", if is_server { "server" } else { "trainer" });
        let mut process = MASTER + 1 + k as u64;
        // A worker whose work fails is followed by another one, as a process is.
        spawn(name, move || {
            loop {
                let identity = Identity { rank, process, address: Bytes::new() };
                let ends: (Sender<Input>, _) = mpsc::channel();
                if !threads.add(process, false, ends.0.clone()) {
                    return;
                }
                let (link, store, backend) = (threads.clone(), store.clone(), device.clone());
                let setting = Setting { is_server, identity, trainers, timing, link, store, backend };
                if let Some(End::Finished | End::Left) = worker::run(setting, ends) {
                    return;
                }
                threads.remove(process);
                process = processes::number();
                thread::sleep(PAUSE);
                // A card that was lost stays lost to those who had it.
                device = devices.of(rank, cpu.clone()).unwrap_or(device);
            }
        })?;
    }
    Ok(())
}

/// The time before a thread is started again.
const PAUSE: Duration = Duration::from_millis(100);

/// The process number of a master that is a thread.
pub(super) const MASTER: u64 = 1;

fn spawn(name: String, run: impl FnOnce() + Send + 'static) -> Result<(), ClusterError> {
    let spawned = thread::Builder::new().name(name).spawn(run);
    spawned.map(drop).map_err(|error| ClusterError::Start { message: error.to_string() })
}
