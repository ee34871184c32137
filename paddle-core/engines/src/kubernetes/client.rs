//! Applying and stopping jobs.

use std::fmt::Debug;

use k8s_openapi::NamespaceResourceScope;
use k8s_openapi::api::batch::v1::Job as IndexedJob;
use k8s_openapi::api::core::v1::{Secret, Service, ServiceAccount};
use k8s_openapi::api::rbac::v1::{Role, RoleBinding};
use kube::api::{Api, DeleteParams, Patch, PatchParams, ValidationDirective};
use kube::{Client, Resource};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::difference::difference;
use super::scale::{RUN, named_run, run_of};
use super::{Credentials, KubernetesError, Manifests, NAME};

/// A namespace of a cluster.
#[derive(Clone)]
pub struct Cluster {
    pub(super) client: Client,
    namespace: String,
}

impl Debug for Cluster {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Cluster(namespace {})", self.namespace)
    }
}

/// What applying a job has done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Applied {
    /// It was made.
    Made,
    /// The same job is there already, perhaps at its end; nothing was changed, its secret neither.
    There,
}

impl Cluster {
    /// A cluster by credentials. The namespace is that of the credentials if none is given. No request is made yet.
    ///
    /// # Errors
    /// If the credentials cannot be used.
    pub async fn connect(
        credentials: &Credentials,
        namespace: Option<&str>,
    ) -> Result<Cluster, KubernetesError> {
        let config = credentials.config().await?;
        let namespace = namespace.unwrap_or(&config.default_namespace).to_string();
        let client = Client::try_from(config).map_err(|error| KubernetesError::Credentials {
            place: "the client".into(),
            reason: super::error::root(&error),
        })?;
        Ok(Cluster::on(client, &namespace))
    }

    /// A namespace through a client that is there already.
    pub fn on(client: Client, namespace: &str) -> Cluster {
        Cluster { client, namespace: namespace.into() }
    }

    /// Makes a job and what it needs, if it is not there. It can be repeated: what is there is applied again, without an effect.
    ///
    /// # Errors
    /// [`KubernetesError::Differs`] if another job has this name, and whatever the API server refuses.
    pub async fn apply(&self, manifests: &Manifests) -> Result<Applied, KubernetesError> {
        let name = manifests.job.metadata.name.as_deref().unwrap_or_default();
        if let Some(there) = self.find(name).await? {
            if there.metadata.deletion_timestamp.is_some() {
                return Err(KubernetesError::Ending { job: name.into() });
            }
            let fields = difference(&of_run(&manifests.job, &there).spec, &there.spec);
            if fields.is_empty() {
                return Ok(Applied::There);
            }
            return Err(KubernetesError::Differs { job: name.into(), fields });
        }
        self.patch(name, &manifests.secret).await?;
        self.patch(name, &manifests.account).await?;
        self.patch(name, &manifests.role).await?;
        self.patch(name, &manifests.binding).await?;
        self.patch(name, &manifests.service).await?;
        self.patch(name, &manifests.job).await?;
        Ok(Applied::Made)
    }

    /// Deletes a job with its pods, then what it needed. What is not there is no error.
    ///
    /// # Errors
    /// Whatever the API server refuses.
    pub async fn stop(&self, job: &str) -> Result<(), KubernetesError> {
        // The job stays, marked, until its pods are gone.
        self.delete::<IndexedJob>(job, &DeleteParams::foreground()).await?;
        let now = DeleteParams::default();
        self.delete::<Service>(job, &now).await?;
        self.delete::<RoleBinding>(job, &now).await?;
        self.delete::<Role>(job, &now).await?;
        self.delete::<ServiceAccount>(job, &now).await?;
        self.delete::<Secret>(job, &now).await
    }

    /// What tells a job from others that had its name before, or have it later. It stays when the job is [scaled](Self::scale).
    ///
    /// # Errors
    /// [`KubernetesError::Missing`] if it is not there, and whatever the API server refuses.
    pub async fn id(&self, job: &str) -> Result<String, KubernetesError> {
        let found = self.find(job).await?.and_then(|found| run_of(&found));
        found.ok_or_else(|| KubernetesError::Missing { object: object::<IndexedJob>(job) })
    }

    pub(super) fn api<K>(&self) -> Api<K>
    where
        K: Resource<Scope = NamespaceResourceScope, DynamicType = ()>,
    {
        Api::namespaced(self.client.clone(), &self.namespace)
    }

    pub(super) async fn find(&self, name: &str) -> Result<Option<IndexedJob>, KubernetesError> {
        let found = self.api::<IndexedJob>().get_opt(name).await;
        found.map_err(|error| KubernetesError::of(object::<IndexedJob>(name), &error))
    }

    pub(super) async fn patch<K>(&self, name: &str, manifest: &K) -> Result<(), KubernetesError>
    where
        K: Resource<Scope = NamespaceResourceScope, DynamicType = ()>,
        K: Clone + Debug + DeserializeOwned + Serialize,
    {
        // What a server of another version would drop without a word is an error.
        let how =
            PatchParams { field_validation: Some(ValidationDirective::Strict), ..PatchParams::apply(NAME) };
        let patched = self.api::<K>().patch(name, &how, &Patch::Apply(manifest)).await;
        patched.map(|_| ()).map_err(|error| KubernetesError::of(object::<K>(name), &error))
    }

    pub(super) async fn delete<K>(&self, name: &str, how: &DeleteParams) -> Result<(), KubernetesError>
    where
        K: Resource<Scope = NamespaceResourceScope, DynamicType = ()>,
        K: Clone + Debug + DeserializeOwned,
    {
        match self.api::<K>().delete(name, how).await {
            Ok(_) => Ok(()),
            Err(kube::Error::Api(status)) if status.code == 404 => Ok(()),
            Err(error) => Err(KubernetesError::of(object::<K>(name), &error)),
        }
    }
}

/// A job as the one that is there, if it is another part of the same run.
fn of_run(wanted: &IndexedJob, there: &IndexedJob) -> IndexedJob {
    let mut wanted = wanted.clone();
    let (Some(spec), Some(run)) = (&mut wanted.spec, named_run(there)) else { return wanted };
    let containers = spec.template.spec.iter_mut().flat_map(|pod| &mut pod.containers);
    let variables = containers.filter_map(|container| container.env.as_mut()).flatten();
    for variable in variables.filter(|variable| variable.name == RUN) {
        (variable.value, variable.value_from) = (Some(run.to_string()), None);
    }
    wanted
}

/// `Job mnist`.
pub(super) fn object<K: Resource<DynamicType = ()>>(name: &str) -> String {
    format!("{} {name}", K::kind(&()))
}
