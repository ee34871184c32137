//! What a user would test of the service `serve`: its answers, and what it does with clients that are wrong, slow or too many.

use std::net::TcpStream;
use std::thread;

use paddle::infer;
use serde_json::{Value, json};
use tokio::runtime::Runtime;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use super::load::Client;
use super::*;

/// Towers that have learned nothing, for names that are made up.
fn trained() -> Arc<Trained> {
    let catalogue = json!({
        "users": ["Ada", "Emmy"],
        "items": ["algebra", "logic", "music"],
        "words": ["at night", "science", "young"],
        "about_users": [["young"], []],
        "about_items": [["science"], ["science"], []],
    });
    let catalogue: Catalogue = serde_json::from_value(catalogue).unwrap();
    let net = catalogue.network().unwrap();
    let parameters = Parameters::create_with_seed(&net, 7).unwrap();
    Arc::new(Trained { net, parameters, catalogue })
}

fn settings() -> service::Settings {
    let settings = Settings::parse_from(["serve", "listen"]);
    let Some(Command::Listen { address, serving, .. }) = settings.command else { panic!("it listens") };
    // Other machines reach it only if that is asked for.
    assert!(address.is_loopback());
    service::Settings { timeout: Duration::from_secs(10), ..serving.settings() }
}

/// The settings if a row waits for others.
fn waiting(millis: u64) -> service::Settings {
    let limits = Limits { wait: Duration::from_millis(millis), ..settings().limits };
    service::Settings { limits, ..settings() }
}

/// A service on a free port.
struct Running {
    runtime: Runtime,
    trained: Arc<Trained>,
    address: SocketAddr,
    end: oneshot::Sender<()>,
    service: JoinHandle<()>,
}

impl Running {
    fn start(settings: service::Settings) -> Self {
        let runtime =
            tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
        let (trained, any) = (trained(), SocketAddr::new(Ipv4Addr::LOCALHOST.into(), 0));
        let service = runtime.block_on(Service::bind(Arc::clone(&trained), settings, any)).unwrap();
        let (address, (end, ended)) = (service.address(), oneshot::channel());
        let service = runtime.spawn(service.run(async { drop(ended.await) }));
        Running { runtime, trained, address, end, service }
    }

    fn client(&self) -> Client {
        Client::connect(self.address).unwrap()
    }

    fn rate(&self, body: &str) -> (u16, String) {
        self.client().ask("POST", "/rate", body.as_bytes()).unwrap()
    }

    /// What it says to be wrong.
    fn error(&self, body: &str) -> (u16, String) {
        let (status, body) = self.rate(body);
        let body: Value = serde_json::from_str(&body).unwrap();
        (status, body["error"].as_str().unwrap().to_string())
    }
}

fn ratings(body: &str) -> Vec<f32> {
    serde_json::from_value(serde_json::from_str::<Value>(body).unwrap()["ratings"].clone()).unwrap()
}

#[test]
fn answers_are_those_of_infer_bit_for_bit() {
    let running = Running::start(waiting(20));
    let catalogue = &running.trained.catalogue;
    let asked = ["Ada", "Emmy", "Nobody"].map(|user| ["algebra", "logic", "music"].map(|item| (user, item)));
    let asked = asked.concat();
    let words = ["at night".to_string()];
    // Each request by a client of its own, at the same time.
    let answers: Vec<_> = thread::scope(|scope| {
        let client = |&(user, item): &(&str, &str)| {
            let body = json!({ "rows": [{ "user": user, "item": item, "about": words }, { "user": user, "item": item }] });
            let running = &running;
            scope.spawn(move || running.rate(&body.to_string()))
        };
        let clients: Vec<_> = asked.iter().map(client).collect();
        clients.into_iter().map(|client| client.join().unwrap()).collect()
    });
    for ((user, item), (status, body)) in asked.into_iter().zip(answers) {
        let rows = [&words[..], &[]].map(|words| catalogue.question(user, item, words).ok().unwrap());
        let alone = rows.map(|row| infer(&running.trained.net, &running.trained.parameters, [row]).unwrap());
        let alone = alone.map(|outputs| outputs.at::<f32>(0).unwrap()[[0]].to_bits());
        assert_eq!(
            (status, ratings(&body).iter().map(|stars| stars.to_bits()).collect()),
            (200, alone.to_vec())
        );
    }
    // They were computed together: fewer runs than requests.
    let (_, metrics) = running.client().ask("GET", "/metrics", b"").unwrap();
    let count = |name: &str| -> u64 {
        let line =
            metrics.lines().find_map(|line| line.strip_prefix(&format!("recommender_{name} "))).unwrap();
        line.parse().unwrap()
    };
    assert!(count("batch_rows_count") < 9, "{metrics}");
    assert_eq!(
        (count("requests_total{status=\"200\"}"), count("request_seconds_bucket{le=\"+Inf\"}")),
        (9, 9)
    );
    assert_eq!((count("waiting_rows"), count("requests_total{status=\"429\"}")), (0, 0));
}

#[test]
fn what_is_wrong_is_said_with_its_place() {
    let running = Running::start(settings());
    let cases = [
        ("{\"rows\": [", "EOF while parsing a list at line 1 column 10"),
        ("rows", "expected value at line 1 column 1"),
        ("{\"rows\": [{\"user\": 1}]}", "invalid type: integer `1`, expected a string at line 1 column 20"),
        ("{\"rows\": [{\"user\": \"Ada\"}]}", "missing field `item` at line 1 column 25"),
        (
            "{\"rows\": [{\"user\": \"Ada\", \"item\": \"logic\"}, {\"user\": \"Ada\", \"item\": \"latin\"}]}",
            "rows[1].item: there is no `latin`",
        ),
        (
            "{\"rows\": [{\"user\": \"Ada\", \"item\": \"logic\", \"about\": [\"young\", \"dull\"]}]}",
            "rows[0].about[1]: nothing is known of `dull`",
        ),
    ];
    for (body, expected) in cases {
        assert_eq!(running.error(body), (400, expected.to_string()), "{body}");
    }
    assert_eq!(running.rate("{\"rows\": []}"), (200, "{\"ratings\":[]}".to_string()));
    assert_eq!(running.client().ask("GET", "/rate", b"").unwrap().0, 405);
    assert_eq!(running.client().ask("GET", "/nothing", b"").unwrap().0, 404);
    assert_eq!(
        running.client().ask("GET", "/health", b"").unwrap(),
        (200, "{\"status\":\"ok\"}".to_string())
    );
    // What is no HTTP is told that, or cut off.
    let mut client = running.client();
    client.send(b"\x16\x03\x01 hello\r\n\r\n").unwrap();
    assert!(client.answer().map_or(true, |(status, _)| status == 400));
    assert_eq!(running.client().ask("GET", "/health", b"").unwrap().0, 200);
}

#[test]
fn what_is_too_large_is_refused() {
    let running = Running::start(service::Settings { bytes: 500, rows: 2, ..settings() });
    let rows = |count| json!({ "rows": vec![json!({ "user": "Ada", "item": "logic" }); count] }).to_string();
    assert_eq!(running.rate(&rows(2)).0, 200);
    assert_eq!(running.error(&rows(3)), (413, "found 3 rows, expected 2 at most".to_string()));
    assert_eq!(running.error(&rows(100)), (413, "the request has more than 500 bytes".to_string()));
}

#[test]
fn a_full_queue_is_said_to_be_full() {
    let running =
        Running::start(service::Settings { limits: Limits { queue: 2, ..settings().limits }, ..settings() });
    let rows = |count| json!({ "rows": vec![json!({ "user": "Ada", "item": "logic" }); count] }).to_string();
    assert_eq!(running.error(&rows(3)), (429, "0 rows wait already, and no more may".to_string()));
    assert_eq!(running.rate(&rows(2)).0, 200);
}

#[test]
fn who_is_slow_is_cut_off() {
    let running = Running::start(service::Settings { timeout: Duration::from_millis(100), ..settings() });
    let mut slow_body = running.client();
    slow_body.send(b"POST /rate HTTP/1.1\r\nhost: localhost\r\ncontent-length: 50\r\n\r\n{\"rows\"").unwrap();
    assert_eq!(slow_body.answer().unwrap().0, 408);
    let mut slow_head = running.client();
    slow_head.send(b"POST /rate HTTP/1.1\r\nhost: loc").unwrap();
    assert!(slow_head.answer().map_or(true, |(status, _)| status == 408));
}

/// The one connection that there may be is free again when its client has gone.
#[test]
fn further_connections_wait() {
    let running = Running::start(service::Settings { connections: 1, ..settings() });
    let mut first = running.client();
    assert_eq!(first.ask("GET", "/health", b"").unwrap().0, 200);
    let mut second = running.client();
    second.send(b"GET /health HTTP/1.1\r\nhost: localhost\r\n\r\n").unwrap();
    assert_eq!(first.ask("GET", "/health", b"").unwrap().0, 200);
    drop(first);
    assert_eq!(second.answer().unwrap().0, 200);
}

// ANCHOR: exercise_2
#[test]
fn it_ends_when_all_are_answered() {
    let running = Running::start(waiting(200));
    let mut client = running.client();
    let body = json!({ "rows": [{ "user": "Ada", "item": "logic" }] }).to_string();
    let head = format!("POST /rate HTTP/1.1\r\nhost: localhost\r\ncontent-length: {}\r\n\r\n", body.len());
    client.send(format!("{head}{body}").as_bytes()).unwrap();
    // The row waits for others when the service is told to end.
    while !running.client().ask("GET", "/metrics", b"").unwrap().1.contains("recommender_waiting_rows 1") {}
    running.end.send(()).unwrap();
    assert_eq!(client.answer().unwrap().0, 200);
    running.runtime.block_on(running.service).unwrap();
    assert!(TcpStream::connect(running.address).is_err());
}
// ANCHOR_END: exercise_2

// ANCHOR: exercise_1
/// Each request has what it costs in the sockets, however many rows it has: eight rows at a time are nearly eight times as many rows in a
/// second. That they are answered as one is what a test can say.
#[test]
fn rows_of_a_request_are_computed_at_once() {
    let running = Running::start(settings());
    let rows = json!({ "rows": vec![json!({ "user": "Ada", "item": "logic" }); 8] }).to_string();
    assert_eq!(ratings(&running.rate(&rows).1).len(), 8);
    let (_, metrics) = running.client().ask("GET", "/metrics", b"").unwrap();
    assert!(
        metrics.contains("recommender_batch_rows_sum 8\n")
            && metrics.contains("recommender_batch_rows_count 1\n")
    );
}
// ANCHOR_END: exercise_1

#[test]
fn a_load_is_bounded() {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    let settings = Settings::parse_from(["serve", "load", "--clients", "4", "--requests", "40"]);
    let Some(Command::Load(load)) = settings.command else { panic!("it is a load") };
    load::compare(&runtime, &trained(), &load).unwrap();
    assert!(Settings::try_parse_from(["serve", "load", "--seconds", "3600"]).is_err());
}
