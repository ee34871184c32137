//! Models that PaddlePaddle saved.

use std::fs;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

#[cfg(feature = "models")]
use paddle::{Dynamic, Network};

/// A model of a folder, and what a comparison runs of it.
pub(crate) struct Saved {
    pub(crate) name: String,
    /// Its `.pdmodel`, without the ending.
    pub(crate) prefix: PathBuf,
    /// The same model as it is exported to ONNX.
    pub(crate) onnx: PathBuf,
    /// The inputs, as `f32:3,224,224`, without the batch.
    pub(crate) inputs: Vec<String>,
}

/// Without the feature, no model is read.
#[cfg(not(feature = "models"))]
pub(crate) fn find(folder: &Path) -> Result<Vec<Saved>, String> {
    let folder = folder.display();
    Err(format!(
        "the feature `models` reads them: cargo bench --features models --bench compare -- --models {folder}"
    ))
}

/// The models in the folders of a folder, by name.
#[cfg(feature = "models")]
pub(crate) fn find(folder: &Path) -> Result<Vec<Saved>, String> {
    let entries = fs::read_dir(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let mut models = Vec::new();
    for entry in entries.filter_map(Result::ok).filter(|entry| entry.path().is_dir()) {
        let name = entry.file_name().to_string_lossy().into_owned();
        let failed = |error: paddle::Error| format!("{name}: {error}");
        let prefix = Network::<Dynamic>::file_of(entry.path()).map_err(failed)?.with_extension("");
        let onnx = std::env::temp_dir().join(format!("paddle-compare-{}-{name}.onnx", std::process::id()));
        let (net, parameters) = Network::load(&prefix).map_err(failed)?;
        net.save(&onnx, &parameters).map_err(failed)?;
        let program = net.program().map_err(failed)?;
        let inputs = program.inputs().iter().map(|&input| {
            let ty = program.ty(input);
            let dims: Vec<String> = ty.dims.iter().map(|dim| program.show_dim(dim)).collect();
            format!("{}:{}", ty.dtype, dims.join(","))
        });
        let inputs = inputs.collect();
        models.push(Saved { name, prefix, onnx, inputs });
    }
    models.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(models)
}

impl Saved {
    /// How a row of the table is called.
    pub(crate) fn row(&self, batch: NonZeroUsize) -> String {
        format!("{}@{batch}", self.name)
    }
}

impl Drop for Saved {
    fn drop(&mut self) {
        // It may be gone.
        let _ = fs::remove_file(&self.onnx);
    }
}
