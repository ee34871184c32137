//! What the tests of all commands need: folders, models, and runs of the command.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};

use paddle::{Parameters, network};

/// A folder that is removed at the end of its test.
pub(crate) struct Folder(PathBuf);

impl Folder {
    pub(crate) fn new() -> Self {
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("paddle-command-{}-{number}", std::process::id()));
        fs::create_dir_all(&path).unwrap();
        Folder(path)
    }

    /// A path in it, as it is typed.
    pub(crate) fn path(&self, name: &str) -> String {
        self.0.join(name).to_str().unwrap().to_string()
    }

    pub(crate) fn write(&self, name: &str, content: impl AsRef<[u8]>) -> String {
        let path = self.path(name);
        fs::write(&path, content).unwrap();
        path
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        fs::remove_dir_all(&self.0).unwrap();
    }
}

/// What a command has written, and its exit code.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) code: i32,
    pub(crate) out: String,
    pub(crate) err: String,
}

/// The command with arguments, split at spaces: paths of these tests have none.
pub(crate) fn command(line: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_paddle"));
    command.args(line.split_whitespace()).stdin(Stdio::null());
    command
}

/// Runs the command.
pub(crate) fn paddle(line: impl AsRef<str>) -> Ran {
    let output = command(line.as_ref()).output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    Ran { code: output.status.code().unwrap(), out: text(output.stdout), err: text(output.stderr) }
}

/// Runs the command, which has to succeed, and returns what it has written.
#[track_caller]
pub(crate) fn done(line: impl AsRef<str>) -> String {
    let ran = paddle(&line);
    assert_eq!((ran.code, ran.err.as_str()), (0, ""), "{}\n{}", line.as_ref(), ran.out);
    ran.out
}

/// Runs the command, which has to fail, and returns its message.
#[track_caller]
pub(crate) fn failed(line: impl AsRef<str>) -> String {
    let ran = paddle(&line);
    assert_eq!((ran.code, ran.out.as_str()), (2, ""), "{}\n{}", line.as_ref(), ran.err);
    ran.err
}

/// The folder of models that the real PaddlePaddle saved, if it is beside the repository.
pub(crate) fn fixtures() -> Option<PathBuf> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/paddle/fixtures");
    if !path.is_dir() {
        eprintln!("skipped: the files of PaddlePaddle are not beside the repository");
    }
    path.is_dir().then_some(path)
}

/// Saves a line with the weights 1, 2 and the bias 0.5 as `line.pdmodel` and `line.pdiparams`; returns the model's path.
pub(crate) fn line(folder: &Folder) -> String {
    let net = network!(|x: Tensor<f32, _, 2>| {
        let price = fc(x, 1, param = "line");
        price
    });
    let mut parameters = Parameters::create(&net).unwrap();
    parameters.set("line.w", &ndarray::array![[1.0f32], [2.0]]).unwrap();
    parameters.set("line.b", &ndarray::array![0.5f32]).unwrap();
    let path = folder.path("line.pdmodel");
    net.save(&path, &parameters).unwrap();
    path
}

/// Saves the line as text, `line.txt`, with its parameters in `line.safetensors`; returns the text's path.
pub(crate) fn line_as_text(folder: &Folder) -> String {
    let net = network!(|x: Tensor<f32, _, 2>| {
        let price = fc(x, 1, param = "line");
        price
    });
    Parameters::create(&net).unwrap().save(folder.path("line.safetensors")).unwrap();
    folder.write("line.txt", net.program().unwrap().to_string())
}
