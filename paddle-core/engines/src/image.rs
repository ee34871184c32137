//! The image of a job: one static program and nothing else, the same bytes each time.
//!
//! ```no_run
//! # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
//! use std::path::Path;
//! use paddle_engines::image::{Credentials, Image, Program, Registry};
//!
//! let program = Program::open(Path::new("target/x86_64-unknown-linux-musl/release/mnist"))?;
//! let image = Image::of(&program, &[])?;
//! let registry = Registry::new(Credentials::Anonymous);
//! let pushed = registry.push(&image, "localhost:5000/mnist:1").await?;
//! println!("{}", pushed.reference); // localhost:5000/mnist@sha256:…
//! # Ok::<(), paddle_engines::image::ImageError>(())
//! # }).unwrap();
//! ```

mod credentials;
mod docker;
mod error;
mod layer;
mod program;
mod registry;

use oci_spec::image::{
    Arch, ConfigBuilder, DescriptorBuilder, ImageConfigurationBuilder, ImageManifestBuilder, MediaType, Os,
    RootFsBuilder, Sha256Digest,
};
use sha2::{Digest, Sha256};

pub use credentials::Credentials;
pub use docker::push_by_docker;
pub use error::ImageError;
pub use layer::File;
pub use program::{Machine, Program};
pub use registry::{Pushed, Registry};

/// Who the program runs as: neither root nor anybody whom a node knows.
pub const USER: u32 = 65532;
/// Where the program is in the image.
pub const PROGRAM: &str = "/job";

/// An image in the format of OCI, in memory.
#[derive(Clone, Debug)]
pub struct Image {
    layer: Blob,
    config: Blob,
    manifest: Blob,
    /// The layer before compression, which is what Docker adds by itself.
    files: Vec<u8>,
}

/// Bytes with their digest.
#[derive(Clone)]
struct Blob {
    bytes: Vec<u8>,
    /// `sha256:…`
    digest: String,
}

impl std::fmt::Debug for Blob {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} ({} bytes)", self.digest, self.bytes.len())
    }
}

impl Blob {
    fn of(bytes: Vec<u8>) -> Blob {
        Blob { digest: format!("sha256:{}", hex(&bytes)), bytes }
    }
}

fn hex(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

impl Image {
    /// An image of a program and files beside it, such as the certificates that it trusts. The same contents give the same digest.
    ///
    /// # Errors
    /// If a file has a path that is not absolute, or has `..` in it.
    pub fn of(program: &Program, files: &[File]) -> Result<Image, ImageError> {
        let files = layer::archive(program, files)?;
        let layer = Blob::of(layer::compress(&files)?);
        // The builders fail only where something required is missing.
        let inner = |error: oci_spec::OciSpecError| ImageError::Archive { reason: error.to_string() };
        let architecture = match program.machine() {
            Machine::X86_64 => Arch::Amd64,
            Machine::Aarch64 => Arch::ARM64,
        };
        let config = ConfigBuilder::default()
            .user(format!("{USER}:{USER}"))
            .entrypoint([PROGRAM.to_string()])
            .working_dir("/tmp")
            .build()
            .map_err(inner)?;
        let root = RootFsBuilder::default()
            .typ("layers")
            .diff_ids([format!("sha256:{}", hex(&files))])
            .build()
            .map_err(inner)?;
        let config = ImageConfigurationBuilder::default()
            .architecture(architecture)
            .os(Os::Linux)
            // A time would make each image another.
            .created("1970-01-01T00:00:00Z")
            .config(config)
            .rootfs(root)
            .build()
            .and_then(|config| config.to_string())
            .map_err(inner)?;
        let config = Blob::of(config.into_bytes());
        let descriptor = |kind: MediaType, blob: &Blob| {
            let digest: Sha256Digest = blob.digest[7..].parse()?;
            DescriptorBuilder::default().media_type(kind).size(blob.bytes.len() as u64).digest(digest).build()
        };
        let manifest = ImageManifestBuilder::default()
            .schema_version(2_u32)
            .media_type(MediaType::ImageManifest)
            .config(descriptor(MediaType::ImageConfig, &config).map_err(inner)?)
            .layers([descriptor(MediaType::ImageLayerGzip, &layer).map_err(inner)?])
            .build()
            .and_then(|manifest| manifest.to_string())
            .map_err(inner)?;
        Ok(Image { layer, config, manifest: Blob::of(manifest.into_bytes()), files })
    }

    /// The digest of the manifest, by which the image is known: `sha256:…`.
    pub fn digest(&self) -> &str {
        &self.manifest.digest
    }
}
