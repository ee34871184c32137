//! What a cluster stands on: the rank of a process, the supervisor that keeps it alive, checkpoints in object stores, coordination,
//! collectives, images and Kubernetes.
//!
//! Each part is a module of its own and knows nothing of the others, but `launch`, which puts them together. Without features there are [`rank`] and `supervisor`, where there is Unix, which
//! need no engine.
#![forbid(unsafe_code)]

#[cfg(feature = "collective")]
pub mod collective;
#[cfg(feature = "coordination")]
pub mod coordination;
#[cfg(feature = "image")]
pub mod image;
#[cfg(feature = "kubernetes")]
pub mod kubernetes;
#[cfg(all(feature = "image", feature = "kubernetes", feature = "store"))]
pub mod launch;
pub mod rank;
#[cfg(feature = "store")]
pub mod store;
#[cfg(unix)]
pub mod supervisor;
