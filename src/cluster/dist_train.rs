//! Training in one call.

use paddle_core::plan::Backend;

#[cfg(feature = "kubernetes")]
use super::kubernetes::{KubernetesJob, Made};
use super::processes::Folder;
use super::ranks::Ranks;
use super::{Cluster, ClusterError, Kind};
#[cfg(feature = "kubernetes")]
use crate::Load;
use crate::checkpoint;
use crate::network::{Network, TrainableInPart};
use crate::parameters::Parameters;
use crate::reader::IntoItem;
use crate::trainer::Trainer;
use crate::updater::Updater;
use crate::{Ended, Error, Options, Rows};

/// With this exit code a process says that another attempt would end the same way: the job fails at once.
const USER_ERROR: i32 = 42;

/// Trains on a cluster on all batches of a reader: [`Trainer::train`] of a trainer that is [on](Trainer::on) the cluster, with the
/// cluster's [options](Cluster::options).
///
/// ```
/// use paddle::cluster::{Cluster, dist_train};
/// use paddle::reader::{DataSet, Reader};
/// use paddle::{Ended, Options, Parameters, Sgd, Trainer, network};
///
/// let net = network!(|x: Tensor<f32, _, 1>, y: Tensor<f32, _, 1>| mean(square(fc(x, 1) - y)));
/// let rows = [net.row(0.0, 1.0), net.row(1.0, 3.0)];
/// let mut parameters = Parameters::create(&net)?;
/// let cluster = Cluster::threads(2).options(Options::default().shards(2));
/// let reader = rows.iter().passes(10).batch(2);
/// assert_eq!(dist_train(&net, &mut parameters, Trainer::new(Sgd::new(0.3)), reader, cluster)?, Ended::Finished);
/// # Ok::<(), paddle::Error>(())
/// ```
///
/// On a cluster of Kubernetes, the call starts the job and follows it. It returns [`Ended::Finished`] with the
/// parameters of the job's end, [`Ended::Interrupted`] if Ctrl-C left the job running, and [`Ended::Stopped`] if the job was ended or
/// nothing was started, as in a dry run. In the last two cases the parameters are what they were. In the pod of the
/// job's master it trains as on any other cluster, but **an error ends the process** if another attempt would end the same way, with
/// exit code 42, so that Kubernetes starts none.
///
/// Where a launcher has started the processes, and starts them again when they fail, the master goes on from the job's newest
/// checkpoint in `PADDLE_STORE`, or from the [checkpoint](crate::Options::checkpoint) of the options, if there is one that is not
/// older: on any other number of servers and trainers, and with the bits of a training that was never interrupted. The program and its
/// settings have to be the same; [`ClusterError::OtherJob`] if they are not. An asynchronous job goes on
/// from a checkpoint of the options only. Once a job has ended, the same call begins another one. On other clusters [`Trainer::resume`] goes on from a checkpoint.
///
/// # Errors
/// Those of [`Trainer::train`] and [`Trainer::resume`], and [`Error::Cluster`].
pub fn dist_train<S, U, B, R>(
    net: &Network<S>,
    parameters: &mut Parameters<B>,
    trainer: Trainer<U, B>,
    reader: R,
    cluster: Cluster,
) -> Result<Ended, Error>
where
    S: TrainableInPart,
    U: Updater,
    B: Backend + Clone,
    R: IntoIterator<Item: IntoItem<Data: Rows<S>>>,
{
    let options = cluster.inner().options.clone();
    #[cfg(feature = "kubernetes")]
    if let Some(job) = cluster.to_start()? {
        trainer.check_distributed(net, parameters, &options, &cluster)?;
        return start(&job, cluster.placed().0.get(), parameters);
    }
    let mut trainer = trainer.on(&cluster);
    let begun = cluster.go_on(net, parameters, &mut trainer, &options);
    let trained = begun.and_then(|()| trainer.train(net, parameters, reader, options, |_| Ok(())));
    let ended = trained.and_then(|ended| {
        // They are fetched now: at the end of this call the job is over.
        parameters.values()?;
        cluster.put_result(parameters)?;
        if ended != Ended::Interrupted {
            cluster.end_job()?;
        }
        Ok(ended)
    });
    if let Err(error) = &ended {
        cluster.end_pod(error);
    }
    ended
}

/// Starts a job, and takes its parameters at its end.
#[cfg(feature = "kubernetes")]
fn start<B: Backend>(
    job: &KubernetesJob,
    servers: u32,
    parameters: &mut Parameters<B>,
) -> Result<Ended, Error> {
    match job.act(servers)? {
        Made::Running => Ok(Ended::Interrupted),
        Made::Nothing => Ok(Ended::Stopped),
        Made::Parameters(content) => {
            let folder =
                Folder::create().map_err(|error| ClusterError::Start { message: error.to_string() })?;
            let file = folder.path().join("parameters.safetensors");
            std::fs::write(&file, content)
                .map_err(|error| ClusterError::Start { message: error.to_string() })?;
            parameters.load(&file, Load::Strict)?;
            Ok(Ended::Finished)
        }
    }
}

impl Cluster {
    /// In the master of a job that a launcher has started, goes on from the newest checkpoint: the user's, or the job's own.
    fn go_on<S, U, B>(
        &self,
        net: &Network<S>,
        parameters: &mut Parameters<B>,
        trainer: &mut Trainer<U, B>,
        options: &Options,
    ) -> Result<(), Error>
    where
        S: TrainableInPart,
        U: Updater,
        B: Backend + Clone,
    {
        if !matches!(&self.inner().kind, Kind::Ranks(_)) {
            return Ok(());
        }
        let left =
            options.checkpoint.as_ref().filter(|path| path.exists() || checkpoint::previous(path).exists());
        if let Some(path) = left {
            trainer.resume(net, parameters, path)?;
        }
        trainer.go_on(net, parameters, options, self, left.is_some())
    }

    /// Writes the parameters to the store of a job that a launcher has started, as a file.
    fn put_result<B: Backend>(&self, parameters: &Parameters<B>) -> Result<(), Error> {
        let Kind::Ranks(Ranks { store, is_in_pod: true, .. }) = &self.inner().kind else { return Ok(()) };
        let failed = |error: std::io::Error| ClusterError::Store { message: error.to_string() };
        let folder = Folder::create().map_err(failed)?;
        let file = folder.path().join("parameters.safetensors");
        parameters.save(&file)?;
        store.put_result(std::fs::read(&file).map_err(failed)?.into()).map_err(failed)?;
        Ok(())
    }

    /// In a pod, ends the process if an error is one that comes again.
    fn end_pod(&self, error: &Error) {
        let is_in_pod = matches!(&self.inner().kind, Kind::Ranks(Ranks { is_in_pod: true, .. }));
        let comes_again = match error {
            Error::Cluster(ClusterError::Step { .. } | ClusterError::OtherJob { .. }) => true,
            Error::Cluster(_) => false,
            _ => true,
        };
        if is_in_pod && comes_again {
            eprintln!("cluster: {error}");
            std::process::exit(USER_ERROR);
        }
    }
}
