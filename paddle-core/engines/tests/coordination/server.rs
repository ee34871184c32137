//! An etcd of the test's own, and a wire to it that can be cut.

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use paddle_engines::coordination::{ConnectOptions, Etcd};
use tokio::net::{TcpListener, TcpStream};

pub(crate) struct Server {
    child: Child,
    folder: tempfile::TempDir,
    pub(crate) port: u16,
    peer: u16,
}

fn free_port() -> u16 {
    std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

fn run(folder: &Path, port: u16, peer: u16) -> Option<Child> {
    let (client, peer) = (format!("http://127.0.0.1:{port}"), format!("http://127.0.0.1:{peer}"));
    Command::new("etcd")
        .args(["--name", "test", "--data-dir"])
        .arg(folder)
        .args(["--listen-client-urls", &client, "--advertise-client-urls", &client])
        .args(["--listen-peer-urls", &peer, "--initial-advertise-peer-urls", &peer])
        .args(["--initial-cluster", &format!("test={peer}"), "--logger", "zap", "--log-level", "error"])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .ok()
}

impl Server {
    /// `None`, loudly, where there is no etcd.
    pub(crate) fn start() -> Option<Server> {
        let (folder, port, peer) = (tempfile::tempdir().unwrap(), free_port(), free_port());
        let Some(child) = run(folder.path(), port, peer) else {
            eprintln!("\n*** SKIPPED: no `etcd` can be run; Debian has it in `etcd-server` ***\n");
            return None;
        };
        Some(Server { child, folder, port, peer })
    }

    pub(crate) async fn connect(&self, lease: u64) -> Etcd {
        connect(self.port, lease).await
    }

    pub(crate) async fn client(&self) -> etcd_client::Client {
        etcd_client::Client::connect([format!("127.0.0.1:{}", self.port)], None).await.unwrap()
    }

    pub(crate) fn signal(&self, signal: &str) {
        let id = self.child.id().to_string();
        assert!(Command::new("kill").args([signal, &id]).status().unwrap().success());
    }

    pub(crate) fn stop(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    pub(crate) fn start_again(&mut self) {
        self.child = run(self.folder.path(), self.port, self.peer).unwrap();
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

pub(crate) async fn connect(port: u16, lease: u64) -> Etcd {
    let endpoint = format!("127.0.0.1:{port}");
    Etcd::connect(&[&endpoint], "test", Duration::from_secs(lease), ConnectOptions::new()).await.unwrap()
}

/// A port through which a server is reached while it is not cut.
pub(crate) struct Wire {
    pub(crate) port: u16,
    cut: Arc<AtomicBool>,
}

impl Wire {
    pub(crate) async fn to(server: u16) -> Wire {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let wire = Wire { port: listener.local_addr().unwrap().port(), cut: Arc::default() };
        let cut = wire.cut.clone();
        tokio::spawn(async move {
            while let Ok((mut client, _)) = listener.accept().await {
                let cut = cut.clone();
                tokio::spawn(async move {
                    let Ok(mut server) = TcpStream::connect(("127.0.0.1", server)).await else { return };
                    let is_cut = async {
                        while !cut.load(Ordering::SeqCst) {
                            tokio::time::sleep(Duration::from_millis(10)).await;
                        }
                    };
                    tokio::select! {
                        // Not even the first bytes of a new connection pass a wire that is cut.
                        biased;
                        () = is_cut => {}
                        _ = tokio::io::copy_bidirectional(&mut client, &mut server) => {}
                    }
                });
            }
        });
        wire
    }

    pub(crate) fn cut(&self, cut: bool) {
        self.cut.store(cut, Ordering::SeqCst);
    }
}
