//! Kubernetes: the manifests, as they were read by a person, and the exchanges with an API server.

mod client;
mod cluster;
mod credentials;
mod follow;
mod manifests;
mod scale;
mod script;
