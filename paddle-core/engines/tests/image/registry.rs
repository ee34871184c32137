//! A registry of the test's own, and a program to put into it.

use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

pub(crate) struct Server {
    child: Child,
    _folder: tempfile::TempDir,
    pub(crate) port: u16,
}

/// The password `abc`, by bcrypt: a test vector of OpenBSD.
const USERS: &str = "paddle:$2a$06$If6bvum7DFjUnE9p2uDeDu0YHzrHM6tf.iqN8.yx.jNN1ILEf7h0i\n";

impl Server {
    /// `None`, loudly, where there is no registry. With a password there is the user `paddle`, `abc`.
    pub(crate) fn start(with_password: bool) -> Option<Server> {
        let folder = tempfile::tempdir().unwrap();
        let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let root = folder.path().display();
        let mut config = format!(
            "version: 0.1\nlog: {{level: error}}\nstorage: {{filesystem: {{rootdirectory: {root}/data}}}}\n\
             http: {{addr: '127.0.0.1:{port}'}}\n"
        );
        if with_password {
            std::fs::write(folder.path().join("users"), USERS).unwrap();
            config += &format!("auth: {{htpasswd: {{realm: test, path: {root}/users}}}}\n");
        }
        let path = folder.path().join("config.yml");
        std::fs::write(&path, config).unwrap();
        let started = Command::new("docker-registry")
            .arg("serve")
            .arg(&path)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn();
        let Ok(child) = started else {
            eprintln!("\n*** SKIPPED: no `docker-registry` can be run; Debian has it ***\n");
            return None;
        };
        let server = Server { child, _folder: folder, port };
        let begin = Instant::now();
        while TcpStream::connect(("127.0.0.1", port)).is_err() {
            assert!(begin.elapsed() < Duration::from_secs(20), "the registry does not start");
            std::thread::sleep(Duration::from_millis(20));
        }
        Some(server)
    }

    pub(crate) fn name(&self, image: &str) -> String {
        format!("127.0.0.1:{}/{image}", self.port)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A program that says who it is and what is around it.
pub(crate) fn compile(folder: &Path, is_static: bool) -> PathBuf {
    let source = r#"fn main() {
        let status = std::fs::read_to_string("/proc/self/status").unwrap();
        let user = status.lines().find(|line| line.starts_with("Uid:")).unwrap().to_string();
        println!("{user} in {:?}, {} arguments", std::env::current_dir().unwrap(), std::env::args().count() - 1);
        std::fs::write("/tmp/written", "x").unwrap();
    }"#;
    std::fs::write(folder.join("job.rs"), source).unwrap();
    let path = folder.join(if is_static { "static" } else { "dynamic" });
    let feature = if is_static { "+crt-static" } else { "-crt-static" };
    let status = Command::new("rustc")
        .args(["-C", &format!("target-feature={feature}"), "-C", "strip=symbols", "-o"])
        .arg(&path)
        .arg(folder.join("job.rs"))
        .status();
    assert!(status.unwrap().success());
    path
}
