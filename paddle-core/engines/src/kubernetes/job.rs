//! What a job is, before it is said in the words of Kubernetes.

use std::collections::BTreeMap;

use super::{KubernetesError, Manifests, job_set, manifests, train_job};
use crate::rank::DEFAULT_PORT;

/// A job: a master, servers and trainers, all of one image.
#[derive(Clone, Debug)]
pub struct Job {
    pub(super) name: String,
    pub(super) image: String,
    pub(super) servers: usize,
    pub(super) trainers: usize,
    /// The namespace; that of the credentials if it is none.
    pub namespace: Option<String>,
    /// The port of the master.
    pub port: u16,
    /// What each process may use.
    pub resources: Resources,
    /// Arguments of the program. They can be read by whoever may list pods: they are no place for secrets.
    pub arguments: Vec<String>,
    /// More variables of the environment, no place for secrets either.
    pub variables: BTreeMap<String, String>,
    /// Labels that nodes must have.
    pub nodes: BTreeMap<String, String>,
    /// How often the pod of one rank may fail. What the supervisor restarts in a pod does not count.
    pub retries: u16,
    /// A secret of the namespace with which the image is pulled.
    pub pull_secret: Option<String>,
    /// Where checkpoints are, an address without credentials. A process finds it in `PADDLE_STORE`, and in `PADDLE_RUN` the name of
    /// this run of the job, so that it takes no checkpoint of an earlier one.
    pub store: Option<String>,
}

/// What one process may use, in the quantities of Kubernetes: `500m`, `2Gi`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Resources {
    /// Cores.
    pub cpu: Option<String>,
    /// Memory. Beyond it the process is killed.
    pub memory: Option<String>,
    /// How many GPUs.
    pub gpus: u16,
}

/// Files that all processes of a job get, and nobody else: keys and certificates. They are not shown by `Debug`.
#[derive(Clone, Default)]
pub struct Secret {
    pub(super) files: BTreeMap<String, Vec<u8>>,
}

impl std::fmt::Debug for Secret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_set().entries(self.files.keys()).finish()
    }
}

impl Secret {
    /// Where processes find the files.
    pub const FOLDER: &str = "/var/run/paddle";

    /// Adds a file.
    #[must_use]
    pub fn file(mut self, name: &str, content: &[u8]) -> Secret {
        self.files.insert(name.into(), content.into());
        self
    }

    /// The files, by name.
    pub fn files(&self) -> impl Iterator<Item = (&str, &[u8])> {
        self.files.iter().map(|(name, content)| (&name[..], &content[..]))
    }
}

impl Job {
    /// A job of an image. Its parts can be changed; `namespace` and the like are fields.
    ///
    /// # Errors
    /// [`KubernetesError::Malformed`] if the name is no name, or if there is no trainer.
    pub fn new(name: &str, image: &str, servers: usize, trainers: usize) -> Result<Job, KubernetesError> {
        // Host names are `<job>-<index>`, of 63 characters at most; the index has up to 5 digits.
        label("the name of the job", name, 57)?;
        let malformed = |field, found: String, expected: &str| {
            Err(KubernetesError::Malformed { field, found, expected: expected.into() })
        };
        if image.is_empty() || image.contains(char::is_whitespace) {
            return malformed("the image", image.into(), "`registry/name@sha256:…`");
        }
        if trainers == 0 {
            return malformed("the number of trainers", "0".into(), "1 or more");
        }
        let size = servers.saturating_add(trainers);
        if size > 99_999 {
            return malformed("the number of processes", size.to_string(), "less than 100 000");
        }
        Ok(Job {
            name: name.into(),
            image: image.into(),
            servers,
            trainers,
            namespace: None,
            port: DEFAULT_PORT,
            resources: Resources::default(),
            arguments: Vec::new(),
            variables: BTreeMap::new(),
            nodes: BTreeMap::new(),
            retries: 5,
            pull_secret: None,
            store: None,
        })
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The same job of another image.
    #[must_use]
    pub fn of_image(mut self, image: &str) -> Job {
        self.image = image.into();
        self
    }

    /// How many processes it has.
    pub fn size(&self) -> usize {
        1 + self.servers + self.trainers
    }

    /// The objects of the job: one Indexed Job, and what it needs.
    ///
    /// # Errors
    /// [`KubernetesError::Malformed`] if a variable is reserved, or a name is none.
    pub fn manifests(&self, secret: &Secret) -> Result<Manifests, KubernetesError> {
        self.check(secret)?;
        Ok(manifests::of(self, secret))
    }

    /// The same job as a JobSet of `jobset.x-k8s.io/v1alpha2`, for clusters that have its controller: one replicated job per role.
    ///
    /// # Errors
    /// As of [`Job::manifests`].
    pub fn job_set(&self, secret: &Secret) -> Result<String, KubernetesError> {
        self.check(secret)?;
        let manifests = manifests::of(self, secret);
        // Its controller makes the service, by the name of the set.
        Ok(manifests.yaml_of_access()? + "---\n" + &manifests::text(&job_set::of(self))?)
    }

    /// The same job as a TrainJob of Kubeflow, `trainer.kubeflow.org/v1alpha1`, in a runtime of the cluster that has one replicated job
    /// called `node`.
    ///
    /// # Errors
    /// As of [`Job::manifests`].
    pub fn train_job(&self, runtime: &str, secret: &Secret) -> Result<String, KubernetesError> {
        self.check(secret)?;
        label("the runtime", runtime, 63)?;
        let manifests = manifests::of(self, secret);
        Ok(manifests.yaml_of_access()? + "---\n" + &manifests::text(&train_job::of(self, runtime))?)
    }

    fn check(&self, secret: &Secret) -> Result<(), KubernetesError> {
        let malformed = |field, found: &str, expected: &str| {
            Err(KubernetesError::Malformed { field, found: found.into(), expected: expected.into() })
        };
        if let Some(namespace) = &self.namespace {
            label("the namespace", namespace, 63)?;
        }
        for variable in self.variables.keys() {
            if variable.starts_with("PADDLE_") || variable == "JOB_COMPLETION_INDEX" {
                return malformed("a variable", variable, "another name: the rank is read from this one");
            }
            if variable.is_empty() || variable.contains(['=', '\0']) {
                return malformed("a variable", variable, "a name without `=`");
            }
        }
        for name in secret.files.keys() {
            let is_key = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
            if name.is_empty() || name.starts_with("..") || name == "." || !name.chars().all(is_key) {
                return malformed("a file of the secret", name, "letters, digits, `-`, `_` and `.`");
            }
        }
        Ok(())
    }
}

/// A label as RFC 1123 has it, which begins with a letter: it is the name of a service, too.
fn label(field: &'static str, found: &str, longest: usize) -> Result<(), KubernetesError> {
    let is_inner = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    let is_label = found.starts_with(|c: char| c.is_ascii_lowercase())
        && found.ends_with(|c: char| c.is_ascii_lowercase() || c.is_ascii_digit())
        && found.chars().all(is_inner)
        && found.len() <= longest;
    if is_label {
        return Ok(());
    }
    let expected =
        format!("up to {longest} of `a` to `z`, `0` to `9` and `-`, with a letter first and no `-` last");
    Err(KubernetesError::Malformed { field, found: found.into(), expected })
}
