//! Building and pushing by Docker, where its daemon is, for registries whose passwords its helpers keep.

use std::io::Write;
use std::process::{Command, Stdio};

use super::{Image, ImageError, PROGRAM, Pushed, USER, layer};

/// Builds an image by `docker build`, and pushes it by `docker push`. The credentials are Docker's.
///
/// # Errors
/// [`ImageError::Docker`] with what Docker said.
pub fn push_by_docker(image: &Image, name: &str) -> Result<Pushed, ImageError> {
    // A name is never an option.
    if name.starts_with('-') {
        return Err(ImageError::Reference { reference: name.into(), reason: "it begins with `-`".into() });
    }
    let recipe = format!(
        "FROM scratch\nADD files.tar /\nUSER {USER}:{USER}\nWORKDIR /tmp\nENTRYPOINT [\"{PROGRAM}\"]\n"
    );
    let context = layer::pack(&[("Dockerfile", recipe.as_bytes()), ("files.tar", &image.files)])?;
    docker(&["build", "--quiet", "--tag", name, "-"], &context)?;
    docker(&["push", "--quiet", name], &[])?;
    let reference = docker(&["inspect", "--format", "{{index .RepoDigests 0}}", name], &[])?;
    Ok(Pushed { reference, there: 0 })
}

fn docker(arguments: &[&str], input: &[u8]) -> Result<String, ImageError> {
    let command = format!("docker {}", arguments.join(" "));
    let failed = |output: String| ImageError::Docker { command: command.clone(), output };
    let run = || {
        let mut child = Command::new("docker")
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()?;
        if let Some(mut pipe) = child.stdin.take() {
            // One that does not read to the end says why itself.
            let _ = pipe.write_all(input);
        }
        child.wait_with_output()
    };
    let output = run().map_err(|error| failed(error.to_string()))?;
    if !output.status.success() {
        return Err(failed(String::from_utf8_lossy(&output.stderr).trim().to_string()));
    }
    Ok(String::from_utf8_lossy(&output.stdout).trim().to_string())
}
