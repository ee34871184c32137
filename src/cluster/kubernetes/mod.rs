//! Jobs on Kubernetes, as seen from outside: what describes one, and what can be asked of one.

mod launch;
mod terminal;
mod word;

use std::collections::BTreeMap;
use std::fmt;
use std::fs;
use std::future::Future;
use std::path::PathBuf;

use paddle_engines::image;
use paddle_engines::kubernetes::{
    Cluster as Api, Credentials, Job, KubernetesError, Outcome, Resources, Secret,
};

pub(super) use self::launch::Made;
use super::ClusterError;

/// A job on Kubernetes: what it is called, where its image and its checkpoints are, and what its processes may use. A
/// [cluster](super::Cluster::kubernetes) of it trains; the job itself tells of one that runs, and stops it.
///
/// ```
/// use paddle::cluster::{Cluster, KubernetesJob};
///
/// let job = KubernetesJob::new("ranking")
///     .trainers(4)
///     .image("registry.example/ranking")
///     .store("s3://bucket/jobs")
///     .resources("2", "4Gi");
/// let yaml = Cluster::kubernetes(job).servers(2).manifests()?;
/// assert!(yaml.contains("completionMode: Indexed") && yaml.contains("registry.example/ranking"));
/// # Ok::<(), paddle::cluster::ClusterError>(())
/// ```
#[derive(Clone)]
pub struct KubernetesJob {
    name: String,
    trainers: u32,
    image: Option<String>,
    store: Option<String>,
    /// What the store is told beside its address, credentials among it.
    store_options: BTreeMap<String, String>,
    credentials: Option<PathBuf>,
    server: Option<String>,
    namespace: Option<String>,
    pull_secret: Option<String>,
    resources: Resources,
    nodes: BTreeMap<String, String>,
    program: Option<PathBuf>,
    arguments: Option<Vec<String>>,
    by_docker: bool,
    pub(super) action: Action,
}

/// What is done with a job where it would be trained.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Action {
    /// It is started, and followed.
    #[default]
    Train,
    DryRun,
    Status,
    Logs,
    /// It goes on with so many trainers.
    Scale(u32),
    Stop,
}

impl fmt::Debug for KubernetesJob {
    // Not what the store is told.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let KubernetesJob { name, trainers, image, store, .. } = self;
        let mut shown = f.debug_struct("KubernetesJob");
        shown.field("name", name).field("trainers", trainers).field("image", image).field("store", store);
        shown.finish_non_exhaustive()
    }
}

impl From<&str> for KubernetesJob {
    fn from(name: &str) -> Self {
        Self::new(name)
    }
}

impl KubernetesJob {
    /// A job of one trainer.
    pub fn new(name: &str) -> Self {
        KubernetesJob {
            name: name.to_string(),
            trainers: 1,
            image: None,
            store: None,
            store_options: BTreeMap::new(),
            credentials: None,
            server: None,
            namespace: None,
            pull_secret: None,
            resources: Resources::default(),
            nodes: BTreeMap::new(),
            program: None,
            arguments: None,
            by_docker: false,
            action: Action::Train,
        }
    }

    /// Sets the number of trainers.
    pub fn trainers(mut self, trainers: u32) -> Self {
        self.trainers = trainers;
        self
    }

    /// Names the image that is built and pushed: `registry/name`, or `registry/name:tag`. The job gets it by its digest.
    pub fn image(mut self, name: &str) -> Self {
        self.image = Some(name.to_string());
        self
    }

    /// Says where checkpoints and parameters are kept, an address that this machine and the pods can reach: `s3://bucket/prefix`,
    /// `gs://bucket/prefix` or `az://container/prefix`. Each job, and each run of a job, has a folder of its own there.
    pub fn store(mut self, address: &str) -> Self {
        self.store = Some(address.to_string());
        self
    }

    /// Tells the store something, by the names of the environment variables of its cloud: `AWS_ENDPOINT`, `AWS_SECRET_ACCESS_KEY`. The
    /// processes of the job get it in a Secret. Where nodes have an identity of their own, no credentials are needed here.
    pub fn store_option(mut self, name: &str, value: &str) -> Self {
        self.store_options.insert(name.to_string(), value.to_string());
        self
    }

    /// Names the file with the credentials for the API server: a kubeconfig, or a PEM file with the certificate and the private key of a
    /// user, which also needs the [server](Self::server). By default they are those of `kubectl`.
    pub fn credentials(mut self, path: impl Into<PathBuf>) -> Self {
        self.credentials = Some(path.into());
        self
    }

    /// Says where the API server is, `https://host:port`, if the credentials do not.
    pub fn server(mut self, address: &str) -> Self {
        self.server = Some(address.to_string());
        self
    }

    /// Sets the namespace. The default is that of the credentials.
    pub fn namespace(mut self, namespace: &str) -> Self {
        self.namespace = Some(namespace.to_string());
        self
    }

    /// Names a Secret of the namespace with which nodes pull the image.
    pub fn pull_secret(mut self, name: &str) -> Self {
        self.pull_secret = Some(name.to_string());
        self
    }

    /// Sets what each process may use, in the quantities of Kubernetes: cores, `500m`, and memory, `2Gi`.
    pub fn resources(mut self, cpu: &str, memory: &str) -> Self {
        self.resources.cpu = Some(cpu.to_string());
        self.resources.memory = Some(memory.to_string());
        self
    }

    /// Takes nodes with this label only.
    pub fn node(mut self, label: &str, value: &str) -> Self {
        self.nodes.insert(label.to_string(), value.to_string());
        self
    }

    /// Names the program of the job. It has to be static, and is this program by default.
    pub fn program(mut self, path: impl Into<PathBuf>) -> Self {
        self.program = Some(path.into());
        self
    }

    /// Sets the arguments of the program. By default they are those of this process, without `--dry-run`. Whoever may list pods can
    /// read them: they are no place for secrets.
    pub fn arguments<A: Into<String>>(mut self, arguments: impl IntoIterator<Item = A>) -> Self {
        self.arguments = Some(arguments.into_iter().map(Into::into).collect());
        self
    }

    /// Has Docker build and push the image, with Docker's credentials. Without it no daemon is needed.
    pub fn by_docker(mut self) -> Self {
        self.by_docker = true;
        self
    }

    /// Where the job stands: whether it has ended, and its pods.
    ///
    /// # Errors
    /// [`ClusterError::Launch`] if there is no such job, or the API server refuses.
    pub fn status(&self) -> Result<JobStatus, ClusterError> {
        self.ask(async |api| api.progress(&self.name).await)
    }

    /// Tells the lines of the log of a rank, 0 for the master, from its begin to the end of its pod.
    ///
    /// # Errors
    /// [`ClusterError::Launch`] if no pod of the rank has begun, or the API server refuses.
    pub fn logs(&self, rank: usize, on_line: impl FnMut(&str) + Send) -> Result<(), ClusterError> {
        let mut on_line = on_line;
        self.ask(async |api| api.log(&self.name, rank, &mut on_line).await)
    }

    /// Ends the job: its pods and all that belongs to it are deleted, but what is in its store.
    ///
    /// # Errors
    /// [`ClusterError::Launch`] if the API server refuses. That there is no such job is no error.
    pub fn stop(&self) -> Result<(), ClusterError> {
        self.ask(async |api| api.stop(&self.name).await)
    }

    /// Has the job go on with so many trainers: it is ended, and made again where its newest checkpoint is. No bit depends on it. Who follows the
    /// job is told that it is not there, and follows it again by a call with the new number.
    ///
    /// # Errors
    /// [`ClusterError::Launch`] if there is no such job, if it has ended, or if the API server refuses.
    pub fn scale(&self, trainers: u32) -> Result<(), ClusterError> {
        self.ask(async |api| api.scale(&self.name, trainers as usize).await)
    }

    pub(super) fn trainers_wanted(&self) -> u32 {
        self.trainers
    }

    /// The manifests, as they would be applied, without the contents of the secret. The image has no digest yet.
    pub(super) fn manifests(&self, servers: u32) -> Result<String, ClusterError> {
        let image = self.image.as_deref().unwrap_or(&self.name);
        let names = ["secret"].into_iter().chain(Secret::CERTIFICATES);
        let secret = names.fold(self.secret(), |secret, name| secret.file(name, b""));
        Ok(self.job(image, servers)?.manifests(&secret).and_then(|manifests| manifests.yaml())?)
    }

    /// The job, of an image.
    fn job(&self, image: &str, servers: u32) -> Result<Job, KubernetesError> {
        let mut job = Job::new(&self.name, image, servers as usize, self.trainers as usize)?;
        let own = || std::env::args().skip(1).filter(|argument| argument != "--dry-run").collect();
        job.namespace = self.namespace.clone();
        job.resources = self.resources.clone();
        job.arguments = self.arguments.clone().unwrap_or_else(own);
        job.nodes = self.nodes.clone();
        job.pull_secret = self.pull_secret.clone();
        job.store = self.store.clone();
        Ok(job)
    }

    /// What only the processes of the job know, beside what is drawn for each job.
    fn secret(&self) -> Secret {
        let lines: String =
            self.store_options.iter().map(|(name, value)| format!("{name}={value}\n")).collect();
        Secret::default().file("store", lines.as_bytes())
    }

    /// Who asks the API server.
    fn who(&self) -> Result<Credentials, ClusterError> {
        let Some(path) = self.credentials.clone() else { return Ok(Credentials::Default) };
        let text = fs::read(&path).map_err(|error| KubernetesError::Credentials {
            place: path.display().to_string(),
            reason: error.to_string(),
        })?;
        let is_pem = text.windows(11).take(4096).any(|part| part == b"-----BEGIN ")
            && !text.windows(9).any(|part| part == b"clusters:");
        if !is_pem {
            return Ok(Credentials::Kubeconfig(path));
        }
        let advice = "a PEM file does not say where the API server is; give `KubernetesJob::server(\"https://host:6443\")`";
        let server = self.server.clone().ok_or(ClusterError::Unset { setting: "the API server", advice })?;
        Ok(Credentials::Pem { server, path })
    }

    /// Asks the API server.
    fn ask<T: Send>(
        &self,
        ask: impl AsyncFnOnce(&Api) -> Result<T, KubernetesError> + Send,
    ) -> Result<T, ClusterError> {
        let who = self.who()?;
        block_on(|| async {
            let api = Api::connect(&who, self.namespace.as_deref()).await?;
            Ok(ask(&api).await?)
        })
    }

    /// Who pushes to the registry of an image: what `docker login` has written, if it has.
    fn registry_credentials(&self, image: &str) -> Result<image::Credentials, image::ImageError> {
        let registry = image.split('/').next().unwrap_or_default();
        let folder = std::env::var_os("DOCKER_CONFIG").map(PathBuf::from);
        let folder = folder.or_else(|| Some(std::env::home_dir()?.join(".docker")));
        match folder {
            Some(folder) => image::Credentials::of_docker(&folder.join("config.json"), registry),
            None => Ok(image::Credentials::Anonymous),
        }
    }
}

/// Where a job on Kubernetes stands.
pub type JobStatus = paddle_engines::kubernetes::Progress;

/// Runs on a thread of its own: the caller may be within a runtime.
fn block_on<T: Send, F: Future<Output = Result<T, ClusterError>>>(
    work: impl FnOnce() -> F + Send,
) -> Result<T, ClusterError> {
    let failed = |message: String| ClusterError::Start { message };
    let run = || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        runtime.map_err(|error| failed(error.to_string()))?.block_on(work())
    };
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().name("kubernetes".to_string()).spawn_scoped(scope, run);
        let thread = thread.map_err(|error| failed(error.to_string()))?;
        thread.join().unwrap_or_else(|_| Err(failed("its thread has panicked".to_string())))
    })
}

/// A job's status, as lines.
pub(super) fn show(name: &str, status: &JobStatus) -> String {
    let outcome = match &status.outcome {
        None => "runs".to_string(),
        Some(Outcome::Succeeded) => "has succeeded".to_string(),
        Some(Outcome::Failed { reason, message }) => format!("has failed: {reason}: {message}"),
    };
    let mut text = format!("job {name} {outcome}\n");
    for pod in &status.pods {
        let rank = pod.rank.map_or("-".to_string(), |rank| rank.to_string());
        let reason = pod.reason.as_deref().unwrap_or_default();
        text += &format!("{rank:>5}  {:<10} {}  {reason}\n", pod.phase, pod.name);
    }
    text
}
