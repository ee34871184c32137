//! Coordination: what each service has to keep, and what etcd makes of faults.

mod contract;
#[cfg(feature = "etcd")]
mod etcd;
#[cfg(feature = "etcd")]
mod server;
