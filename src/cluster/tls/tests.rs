//! Certificates, made by the program `openssl`, of which some are wrong.

use std::env;
use std::net::SocketAddr;
use std::process::Command;
use std::sync::mpsc::{Receiver, channel};

use tokio::runtime::Builder;

use super::*;
use crate::cluster::grpc::{DELIVERED_WITHIN, dial};
use crate::cluster::link::Input;
use crate::cluster::net::{Net, Peers};
use crate::cluster::processes::number;

/// A folder for certificates, which is deleted at the end.
struct Folder(PathBuf);

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn openssl(folder: &Path, arguments: &str) {
    let mut command = Command::new("openssl");
    let ran = command.current_dir(folder).args(arguments.split(' ')).output().unwrap();
    assert!(ran.status.success(), "openssl {arguments}: {}", String::from_utf8_lossy(&ran.stderr));
}

const KEY: &str = "-newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes";

impl Folder {
    /// With a CA; none, loudly, if there is no program for it.
    fn new(name: &str) -> Option<Self> {
        if Command::new("openssl").arg("version").output().is_err() {
            eprintln!("NOT RUN: tests of certificates need the program `openssl`");
            return None;
        }
        let folder = env::temp_dir().join(format!("paddle-tls-{:016x}", number()));
        fs::create_dir(&folder).unwrap();
        openssl(&folder, &format!("req -x509 {KEY} -keyout ca.key -out ca.pem -subj /CN={name} -days 30"));
        Some(Folder(folder))
    }

    /// Issues the certificate of a process.
    fn issue(self, name: &str, days: i32) -> Self {
        let request =
            format!("req {KEY} -keyout key.pem -out request -subj /CN=x -addext subjectAltName=DNS:{name}");
        openssl(&self.0, &request);
        let sign = "x509 -req -in request -CA ca.pem -CAkey ca.key -CAcreateserial -copy_extensions copy -out cert.pem";
        openssl(&self.0, &format!("{sign} -days {days}"));
        self
    }

    /// One with the same CA.
    fn beside(&self) -> Self {
        let folder = env::temp_dir().join(format!("paddle-tls-{:016x}", number()));
        fs::create_dir(&folder).unwrap();
        for file in ["ca.pem", "ca.key"] {
            fs::copy(self.0.join(file), folder.join(file)).unwrap();
        }
        Folder(folder)
    }

    fn tls(&self) -> Option<Tls> {
        Some(Tls::in_folder(&self.0).unwrap())
    }
}

fn open(tls: Option<Tls>) -> (Net, SocketAddr, Receiver<Input>) {
    let (inputs, came) = channel();
    let peers = Peers { master: None, secret: "secret".into(), tls };
    let (net, address) = Net::open(SocketAddr::from(([127, 0, 0, 1], 0)), peers, inputs).unwrap();
    (net, address, came)
}

/// Why a connection is not opened, if it is not.
fn refusal(address: SocketAddr, tls: Option<&Tls>) -> Option<String> {
    let runtime = Builder::new_current_thread().enable_all().build().unwrap();
    let error = runtime.block_on(dial(&address.to_string(), "secret", tls, DELIVERED_WITHIN)).err()?;
    assert!(matches!(error, ClusterError::Refused { .. }), "{error}");
    Some(error.to_string())
}

#[test]
fn what_is_wrong_with_a_certificate_is_said_and_the_port_goes_on() {
    let Some(ca) = Folder::new("ca") else { return };
    let good = ca.beside().issue("paddle", 30);
    let expired = ca.beside().issue("paddle", -1);
    let misnamed = ca.beside().issue("other", 30);
    let stranger = Folder::new("another").unwrap().issue("paddle", 30);
    let namesake = Folder::new("ca").unwrap().issue("paddle", 30);
    let (_net, secure, _came) = open(good.tls());
    let (_plain, plain, _came_there) = open(None);
    let (_late, late, _came_late) = open(expired.tls());
    let (_other, other, _came_other) = open(misnamed.tls());
    let (good, expired, stranger, namesake) = (good.tls(), expired.tls(), stranger.tls(), namesake.tls());
    assert_eq!(refusal(secure, good.as_ref()), None);
    for (address, tls, expected) in [
        (secure, &stranger, "its certificate is of another CA"),
        (secure, &namesake, "its certificate is of another CA"),
        (secure, &expired, "the certificate of this process"),
        (secure, &None, "it wants TLS: set `PADDLE_TLS`"),
        (plain, &good, "it speaks no TLS; set `PADDLE_TLS`"),
        (late, &good, "its certificate has expired"),
        (other, &good, "`subjectAltName=DNS:paddle`"),
    ] {
        let said = refusal(address, tls.as_ref()).expect("it is refused");
        assert!(said.contains(expected), "{said}, not {expected}");
        assert_eq!(refusal(secure, good.as_ref()), None);
    }
    // A server takes no client of another CA, even one that takes the server.
    for client in [stranger, namesake] {
        let mixed = Tls { ca: good.as_ref().unwrap().ca.clone(), ..client.unwrap() };
        let said = refusal(secure, Some(&mixed)).expect("it is refused");
        assert!(said.contains("the certificate of this process"), "{said}");
    }
    // Nor one without any.
    let mut without = Command::new("openssl");
    without.args(["s_client", "-connect", &secure.to_string(), "-alpn", "h2", "-ign_eof"]);
    let said = without.stdin(std::process::Stdio::null()).output().unwrap();
    let said = String::from_utf8_lossy(&said.stderr).into_owned();
    assert!(said.contains("certificate required"), "{said}");
    assert_eq!(refusal(secure, good.as_ref()), None);
}

/// What a job on Kubernetes has in its secret.
#[cfg(feature = "kubernetes")]
#[test]
fn the_processes_of_a_job_on_kubernetes_talk_to_each_other_and_to_no_other_job() {
    let [own, other] = [(); 2].map(|()| {
        let folder = Folder(env::temp_dir().join(format!("paddle-tls-{:016x}", number())));
        fs::create_dir(&folder.0).unwrap();
        let secret = paddle_engines::kubernetes::Secret::default().certificates().unwrap();
        for (name, content) in secret.files() {
            fs::write(folder.0.join(name), content).unwrap();
        }
        folder
    });
    let (_net, address, _came) = open(own.tls());
    assert_eq!(refusal(address, own.tls().as_ref()), None);
    let said = refusal(address, other.tls().as_ref()).expect("it is refused");
    assert!(said.contains("its certificate is of another CA"), "{said}");
    let said = refusal(address, None).expect("it is refused");
    assert!(said.contains("it wants TLS"), "{said}");
}

#[test]
fn what_is_no_certificate_is_an_error_at_the_beginning() {
    let Some(folder) = Folder::new("ca") else { return };
    let error = |folder: &Folder| Tls::in_folder(&folder.0).err().unwrap().to_string();
    let said = error(&folder);
    assert!(said.contains("`cert.pem`: No such file") && said.contains("`PADDLE_TLS` names"), "{said}");
    let folder = folder.issue("paddle", 30);
    fs::copy(folder.0.join("ca.key"), folder.0.join("key.pem")).unwrap();
    let said = error(&folder);
    assert!(said.contains("key"), "{said}");
    fs::write(folder.0.join("cert.pem"), "no certificate").unwrap();
    let said = error(&folder);
    assert!(said.contains("certificate"), "{said}");
}
