//! Training without servers: ranks that train as equals, by all-reduce.

mod children;
mod coming;
mod group;
mod mesh;
mod passing;
mod reading;
mod said;
mod stages;
mod tables;

use std::net::{SocketAddr, TcpListener};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use paddle_engines::collective::{Collective, CollectiveError};
use paddle_engines::rank::Place;

pub(super) use self::children::RANK_ROLE;
use self::children::{Children, Own};
pub(crate) use self::group::GroupJob;
use self::mesh::{Meeting, Mesh, address_of};
pub(super) use self::passing::Passing;
use super::ranks::{secret_of, tls_of, towards};
use super::tls::Tls;
use super::{Cluster, ClusterError, Kind};
use crate::Error;

/// A group of ranks, as one of them sees it.
pub(super) struct Group {
    rank: u32,
    size: u32,
    start: Mutex<Option<Start>>,
    /// The other ranks, if this one has started them.
    children: Mutex<Option<Children>>,
    /// Whether another rank has started this process.
    is_child: bool,
    /// How what was done last went, if the ranks have met: well, or what the fault is and which rank has it.
    went: Mutex<Option<Result<(), (u32, String)>>>,
    /// Whether the others went on when this rank had come to its end.
    is_missed: AtomicBool,
}

/// How ranks come together.
enum Start {
    /// They have.
    Together(Box<dyn Collective>),
    /// This process starts the others.
    Children,
    /// The process that started this one says where it is.
    Child(Own),
    /// A launcher has started all of them.
    Launched { place: Place, secret: String, tls: Option<Tls> },
}

impl Cluster {
    /// So many ranks that train as equals, as processes on this machine: **all of them run this program**, with the same arguments. Each
    /// computes some shards of every batch, and each updates some pieces of the parameters and gives them to all (all-reduce, as a
    /// reduce-scatter and an all-gather). So an updater's states are held once, in parts, and the parameters by every rank. No process hands
    /// out data: each rank reads it.
    ///
    /// Every rank has to do the same: read the same rows, with the same seeds. One that does not is told so. In other ranks than
    /// [the first](Self::rank), the standard output goes nowhere, no checkpoint is written and nothing is drawn, and the process ends with
    /// the cluster. The bits are those of one machine with as many [shards](crate::Options::shards). A rank that dies, or
    /// whose `main` returns an error, ends the training of all with an error that names it, and says what it has said; a [checkpoint](crate::Options::checkpoint) is where it goes on. A program has one such cluster.
    ///
    /// Tables that are only looked up, as those of `embedding`, are in parts, too: before a step each rank gets the rows that it looks up. So
    /// behind a step reading such a parameter is something that all ranks have to do, at the same place.
    ///
    /// Each process computes on one thread, unless the environment variable `PADDLE_THREADS` says how many.
    pub fn all_reduce(ranks: u32) -> Self {
        match Own::of_this_process() {
            Some(own) => Self::of_group(own.rank, own.size, Start::Child(own), true),
            None => Self::of_group(0, ranks.max(1), Start::Children, false),
        }
    }

    /// Ranks that train as equals, as [`all_reduce`](Self::all_reduce) says, which a launcher has started with a rank in the environment of each:
    /// torchrun's `RANK`, `WORLD_SIZE`, `MASTER_ADDR` and `MASTER_PORT`, mpirun, Slurm, or an Indexed Job of Kubernetes. `None` if there is no
    /// rank in the environment.
    ///
    /// `PADDLE_SECRET` is the same in all processes: a file whose content only they know. `PADDLE_ADDRESS` is the address at which a process can be
    /// reached, if that is not the one from which it reaches rank 0.
    ///
    /// # Errors
    /// [`ClusterError::Rank`] if the variables contradict each other; [`ClusterError::Environment`] if one is missing.
    pub fn all_reduce_ranks() -> Result<Option<Self>, ClusterError> {
        let place = Place::of_group().map_err(|error| ClusterError::Rank { message: error.to_string() })?;
        let Some(place) = place else { return Ok(None) };
        let secret = secret_of(&place)?.to_string();
        let (rank, size, tls) = (place.rank as u32, place.size as u32, tls_of(&place)?);
        Ok(Some(Self::of_group(rank, size, Start::Launched { place, secret, tls }, false)))
    }

    /// Ranks that train as equals, as [`all_reduce`](Self::all_reduce) says, which are together already.
    ///
    /// ```
    /// use paddle::cluster::{Cluster, collective};
    /// use paddle::{Adam, Options, Parameters, Trainer, network};
    ///
    /// let net = network!(|x: Tensor<f32, _, 2>, y: Tensor<f32, _, 1>| mean(square(fc(x, 1) - y)));
    /// let rows = [net.row([0.0, 1.0], 3.0), net.row([1.0, 0.0], 2.0), net.row([1.0, 1.0], 4.0)];
    /// let train = |cluster: Option<Cluster>| -> Result<Vec<f32>, paddle::Error> {
    ///     let mut parameters = Parameters::create(&net)?;
    ///     let mut trainer = Trainer::new(Adam::new(0.1)).on(cluster.as_ref());
    ///     trainer.step_with(&net, &mut parameters, &rows, &Options::default().shards(3))?;
    ///     Ok(parameters.get::<f32>("fc.w")?.iter().copied().collect())
    /// };
    ///
    /// // Two ranks, as threads of this process, and one machine.
    /// std::thread::scope(|scope| {
    ///     let ranks = collective::threads(2).into_iter();
    ///     let ranks: Vec<_> = ranks.map(|way| scope.spawn(|| train(Some(Cluster::over(way))))).collect();
    ///     for rank in ranks {
    ///         assert_eq!(rank.join().unwrap()?, train(None)?);
    ///     }
    ///     Ok::<(), paddle::Error>(())
    /// })?;
    /// # Ok::<(), paddle::Error>(())
    /// ```
    pub fn over(way: impl Collective + 'static) -> Self {
        let (rank, size) = (way.rank(), way.size());
        Self::of_group(rank, size, Start::Together(Box::new(way)), false)
    }

    fn of_group(rank: u32, size: u32, start: Start, is_child: bool) -> Self {
        let (start, children) = (Mutex::new(Some(start)), Mutex::new(None));
        let (went, is_missed) = (Mutex::new(None), AtomicBool::new(false));
        let group = Group { rank, size, start, children, is_child, went, is_missed };
        // Each rank has pieces, like a parameter server.
        Self::of(Kind::Group(Arc::new(group)), size).servers(size)
    }

    /// Has each rank compute the part of a network that is on the device of its number, as the layer `to_device` says, and hold the parameters
    /// that are used there: of ranks that train as equals. The shards of a batch go through the ranks one behind the other, so that all
    /// have something to do. Values go from one rank to another, and their gradients back. The bits are those of one machine.
    ///
    /// A network in which nothing says where is cut into parts of about equal work, but not between two uses of a parameter. Images are
    /// computed in other layouts on both sides of such a cut, so with images results differ in rounding from those of one machine.
    ///
    /// The parameters of the other ranks are known at the end of [`train`](crate::Trainer::train), at the end of each pass, and where a checkpoint
    /// is written; in between, and behind [`step`](crate::Trainer::step)s alone, reading them is an error.
    ///
    /// ```
    /// use paddle::cluster::{Cluster, collective};
    /// use paddle::{Adam, Options, Parameters, Trainer, network};
    ///
    /// let net = network!(|x: Tensor<f32, _, 2>, y: Tensor<f32, _, 1>| {
    ///     let hidden = fc(x, 8, act = tanh);
    ///     mean(square(fc(to_device(hidden, 1), 1) - y))
    /// });
    /// let rows = [net.row([0.0, 1.0], 3.0), net.row([1.0, 0.0], 2.0), net.row([1.0, 1.0], 4.0)];
    /// let train = |cluster: Option<Cluster>| -> Result<f32, paddle::Error> {
    ///     let mut parameters = Parameters::create(&net)?;
    ///     let mut trainer = Trainer::new(Adam::new(0.1)).on(cluster.as_ref());
    ///     let options = Options::default().shards(3);
    ///     trainer.step_with(&net, &mut parameters, &rows, &options)?;
    ///     Ok(trainer.step_with(&net, &mut parameters, &rows, &options)?.cost())
    /// };
    /// std::thread::scope(|scope| {
    ///     let ranks = collective::threads(2).into_iter();
    ///     let ranks: Vec<_> = ranks.map(|way| scope.spawn(|| train(Some(Cluster::over(way).stages())))).collect();
    ///     for rank in ranks {
    ///         assert_eq!(rank.join().unwrap()?, train(None)?);
    ///     }
    ///     Ok::<(), paddle::Error>(())
    /// })?;
    /// # Ok::<(), paddle::Error>(())
    /// ```
    pub fn stages(self) -> Self {
        self.inner().in_stages = true;
        self
    }

    /// Takes note of how what was done last went.
    pub(crate) fn went(&self, how: Result<(), &Error>) {
        if let Kind::Group(group) = &self.inner().kind {
            let fault = |error: &Error| match error {
                // The fault of another rank is told on.
                Error::Cluster(ClusterError::Group(CollectiveError::Gone { rank, why })) => {
                    (*rank, why.clone())
                }
                error => (group.rank, format!("it has failed: {error}")),
            };
            *group.went() = Some(how.map_err(fault));
        }
    }

    /// How many ranks have a part of a network each, if they have.
    pub(crate) fn stage_count(&self) -> Option<u32> {
        let inner = self.inner();
        match &inner.kind {
            Kind::Group(group) if inner.in_stages => Some(group.size),
            _ => None,
        }
    }

    /// The number of this process among ranks that train as equals; 0 on other clusters. What is printed or written once is
    /// printed and written by rank 0.
    pub fn rank(&self) -> u32 {
        match &self.inner().kind {
            Kind::Group(group) => group.rank,
            _ => 0,
        }
    }
}

impl Group {
    /// Whether this is the rank that writes and draws.
    pub(super) fn is_first(&self) -> bool {
        self.rank == 0
    }

    /// Meets the other ranks.
    pub(super) fn meet(&self) -> Result<Box<dyn Collective>, ClusterError> {
        let start = self.start.lock().unwrap_or_else(PoisonError::into_inner).take();
        let failed = |error: std::io::Error| ClusterError::Start { message: error.to_string() };
        let &Group { rank, size, .. } = self;
        match start {
            None => Err(ClusterError::Ended { why: "it is over".to_string() }),
            Some(Start::Together(way)) => Ok(way),
            Some(Start::Children) => {
                let listener = TcpListener::bind("127.0.0.1:0").map_err(failed)?;
                let first = address_of("127.0.0.1", &listener).map_err(failed)?;
                let children = Children::start(size, &first)?;
                let secret = children.secret().to_string();
                let mut held = self.children.lock().unwrap_or_else(PoisonError::into_inner);
                let children = held.insert(children);
                let (address, tls) = (first.clone(), None);
                let meeting = Meeting { rank, size, address, first, secret, tls, is_child: false };
                Ok(Box::new(Mesh::meet(meeting, listener, || children.check())?))
            }
            Some(Start::Child(Own { first, secret, .. })) => {
                let listener = TcpListener::bind("127.0.0.1:0").map_err(failed)?;
                let address = address_of("127.0.0.1", &listener).map_err(failed)?;
                let meeting = Meeting { rank, size, first, address, secret, tls: None, is_child: true };
                Ok(Box::new(Mesh::meet(meeting, listener, || Ok(()))?))
            }
            Some(Start::Launched { place, secret, tls }) => {
                let first = place.master;
                let port = first.rsplit_once(':').and_then(|(_, port)| port.parse().ok());
                let port = port.ok_or(ClusterError::Rank { message: format!("`{first}` has no port") })?;
                let port = if rank == 0 { port } else { 0 };
                let listener = TcpListener::bind(SocketAddr::from(([0, 0, 0, 0], port))).map_err(failed)?;
                let address = match std::env::var("PADDLE_ADDRESS") {
                    _ if rank == 0 => first.clone(),
                    Ok(host) => format!("{host}:{}", listener.local_addr().map_err(failed)?.port()),
                    Err(_) => {
                        let host = towards(&first).map_err(failed)?;
                        address_of(&host.to_string(), &listener).map_err(failed)?
                    }
                };
                let meeting = Meeting { rank, size, first, address, secret, tls, is_child: false };
                Ok(Box::new(Mesh::meet(meeting, listener, || Ok(()))?))
            }
        }
    }

    fn went(&self) -> MutexGuard<'_, Option<Result<(), (u32, String)>>> {
        self.went.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Says to the other ranks that this one has come to its end, and why if it has failed.
    pub(super) fn leave(&self, way: &mut dyn Collective) {
        let fault = match &*self.went() {
            _ if std::thread::panicking() => Some((self.rank, "it has panicked".to_string())),
            Some(Err(fault)) => Some(fault.clone()),
            _ => None,
        };
        let is_missed = way.end(fault.as_ref().map(|(rank, why)| (*rank, why.as_str())));
        self.is_missed.store(is_missed, Ordering::Release);
    }

    /// Adds to an error what the other ranks have said in the end, as far as this one has started them.
    pub(super) fn explain(&self, error: ClusterError) -> ClusterError {
        let held = self.children.lock().unwrap_or_else(PoisonError::into_inner);
        match &*held {
            Some(children) => children.explain(error),
            None => error,
        }
    }

    /// Ends the ranks that this one has started. A process that another one has started ends here, unless it has failed: by an error that is
    /// known, or by one of the program itself, which has left while others went on.
    pub(super) fn end(&self) {
        let is_well = matches!(*self.went(), Some(Ok(()))) && !self.is_missed.load(Ordering::Acquire);
        let goes_well = is_well && !std::thread::panicking();
        let children = self.children.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(children) = children.filter(|_| goes_well) {
            children.see_off();
        }
        // A program that has failed goes on to say why.
        if self.is_child && goes_well {
            std::process::exit(0);
        }
    }
}
