//! `paddle serve`.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use ndarray_npy::NpzReader;
use paddle::network;
use serde_json::{Value, json};

use crate::support::{Folder, command, failed, fixtures, line};

/// A service on a free port, which is killed if a test fails.
struct Running {
    child: Child,
    out: BufReader<ChildStdout>,
    address: String,
}

impl Running {
    fn start(arguments: &str) -> Self {
        let mut child =
            command(&format!("serve --port 0 {arguments}")).stdout(Stdio::piped()).spawn().unwrap();
        let (mut out, mut first) = (BufReader::new(child.stdout.take().unwrap()), String::new());
        out.read_line(&mut first).unwrap();
        let address = first.strip_prefix("listening on http://").and_then(|rest| rest.split(';').next());
        let address = address.unwrap_or_else(|| panic!("{first}")).to_string();
        // Other machines reach it only if that is asked for.
        assert!(address.starts_with("127.0.0.1:"), "{address}");
        Running { child, out, address }
    }

    /// The status and the body of an answer.
    fn ask(&self, method: &str, path: &str, body: &str) -> (u16, String) {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        let length = body.len();
        let head = format!(
            "{method} {path} HTTP/1.1\r\nhost: h\r\nconnection: close\r\ncontent-length: {length}\r\n\r\n"
        );
        stream.write_all(head.as_bytes()).unwrap();
        // A request that is too large may be refused before it has been sent.
        let _ = stream.write_all(body.as_bytes());
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        let (head, body) = answer.split_once("\r\n\r\n").unwrap_or_else(|| panic!("{answer}"));
        (head.split(' ').nth(1).unwrap().parse().unwrap(), body.to_string())
    }

    fn run(&self, request: &Value) -> (u16, Value) {
        let (status, body) = self.ask("POST", "/run", &request.to_string());
        (status, serde_json::from_str(&body).unwrap())
    }

    /// What is said to be wrong with these rows.
    fn error(&self, rows: Value) -> (u16, String) {
        let (status, body) = self.run(&json!({ "rows": rows }));
        (status, body["error"].as_str().unwrap_or_else(|| panic!("{body}")).to_string())
    }

    #[track_caller]
    fn rows(&self, rows: Value) -> Value {
        let (status, body) = self.run(&json!({ "rows": rows }));
        assert_eq!(status, 200, "{body}");
        body["rows"].clone()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // It may have ended.
        let _ = self.child.kill();
        self.child.wait().unwrap();
    }
}

#[test]
fn rows_in_and_out() {
    let folder = Folder::new();
    let running = Running::start(&line(&folder));
    let rows = running.rows(json!([{ "x": [1, 1] }, { "x": [0.0, 3.0] }]));
    assert_eq!(rows, json!([{ "price": [3.5] }, { "price": [6.5] }]));
    assert_eq!(running.rows(json!([])), json!([]));
    let (status, page) = running.ask("GET", "/model", "");
    let page: Value = serde_json::from_str(&page).unwrap();
    assert_eq!((status, &page["inputs"][0]["type"]), (200, &json!("f32[_, 2]")));
    assert_eq!(running.ask("GET", "/health", ""), (200, "{\"status\":\"ok\"}".to_string()));
    let (status, metrics) = running.ask("GET", "/metrics", "");
    assert!(status == 200 && metrics.contains("\npaddle_requests_total{status=\"200\"} 4\n"), "{metrics}");
    assert_eq!(running.ask("GET", "/run", "").0, 405);
    assert_eq!(running.ask("POST", "/model", "").0, 405);
    assert_eq!(running.ask("GET", "/nothing", "").0, 404);
}

#[test]
fn what_is_wrong_is_said_with_its_place() {
    let folder = Folder::new();
    let running = Running::start(&line(&folder));
    let cases = [
        (json!([{ "x": [1] }]), "rows[0].x: found 1 elements, expected 2: `x` is f32[_, 2]"),
        (json!([{ "x": [1, 2] }, { "x": [1, "2"] }]), "rows[1].x[1]: found \"2\", expected a number"),
        (json!([{ "x": 1 }]), "rows[0].x: found 1, expected a list: `x` is f32[_, 2]"),
        (json!([{ "x": [[1], 2] }]), "rows[0].x[0]: found a list of 1, expected a number"),
        (json!([{ "y": [1, 2] }]), "rows[0]: there is no input `y`; the inputs are `x`"),
        (json!([{}]), "rows[0]: there is no value for `x`, which is f32[_, 2]"),
        (json!([[1, 2]]), "rows[0]: expected an object with a value for each input"),
        (json!(3), "expected {\"rows\": [..]}, with an object for each row"),
    ];
    for (rows, expected) in cases {
        assert_eq!(running.error(rows), (400, expected.to_string()));
    }
    let (status, body) = running.ask("POST", "/run", "{\"rows\": [");
    assert_eq!(
        (status, body.as_str()),
        (400, "{\"error\":\"EOF while parsing a list at line 1 column 10\"}")
    );
}

/// Of several types, with sequences of any length, and with sizes that differ between rows.
#[test]
fn inputs_of_all_kinds() {
    let folder = Folder::new();
    let net =
        network!(|text: Seq<Seq<i64>>, flag: Tensor<bool, _>, x: Tensor<f32, _, T>, d: Tensor<f64, _, 1>| {
            let next = text + 1;
            let count = sequence_length(text);
            let signed = if flag { sum(x, axis = 1) } else { -sum(x, axis = 1) };
            (next, count, signed, cast(d, f64))
        });
    let model = folder.write("kinds.txt", net.program().unwrap().to_string());
    let running = Running::start(&model);
    let rows = running.rows(json!([
        { "text": [[1, 2], []], "flag": true, "x": [0.1, 0.2], "d": 1e300 },
        { "text": [], "flag": false, "x": [1, 2, 3], "d": [0.1] },
        { "text": [[7]], "flag": false, "x": [1, 1], "d": [2] },
    ]));
    assert_eq!(rows[0]["next"], json!([[2, 3], []]));
    assert_eq!(rows[1]["next"], json!([]));
    assert_eq!(rows[2]["next"], json!([[8]]));
    let signed: Vec<_> = (0..3).map(|row| rows[row]["signed"].as_f64().unwrap() as f32).collect();
    assert_eq!(signed, [0.1f32 + 0.2, -6.0, -2.0]);
    let error = running.error(json!([{ "text": [[1.5]], "flag": 1, "x": [], "d": [0] }]));
    assert_eq!(error, (400, "rows[0].text[0][0]: found 1.5, expected a whole number".to_string()));
    let error = running.error(json!([{ "text": [], "flag": 1, "x": [1], "d": [0] }]));
    assert_eq!(error, (400, "rows[0].flag: found 1, expected true or false".to_string()));
}

/// A row that cannot be computed is no harm to those of others.
#[test]
fn a_row_that_fails() {
    let folder = Folder::new();
    let net = network!(|id: Tensor<i64, _>| {
        let row = embedding(id, [10, 2], init = constant(0.5));
        row
    });
    let parameters = paddle::Parameters::create(&net).unwrap();
    let model = folder.path("table.pdmodel");
    net.save(&model, &parameters).unwrap();
    let running = Running::start(&format!("{model} --wait-us 100000"));
    thread::scope(|scope| {
        let right = scope.spawn(|| running.rows(json!([{ "id": 3 }])));
        let wrong = scope.spawn(|| running.error(json!([{ "id": 3 }, { "id": 12 }])));
        assert_eq!(right.join().unwrap(), json!([{ "row": [0.5, 0.5] }]));
        let (status, error) = wrong.join().unwrap();
        assert!(status == 422 && error.starts_with("rows[1]: ") && error.contains("12"), "{error}");
    });
}

/// What is computed of all rows of a batch is computed of each row by itself.
#[test]
fn an_output_for_all_rows() {
    let folder = Folder::new();
    let net = network!(|x: Tensor<f32, _, 2>| {
        let mean = mean(x);
        mean
    });
    let running = Running::start(&folder.write("mean.txt", net.program().unwrap().to_string()));
    let rows = running.rows(json!([{ "x": [1, 3] }, { "x": [5, 5] }]));
    assert_eq!(rows, json!([{ "mean": 2.0 }, { "mean": 5.0 }]));
}

/// Rows that share a value are computed one by one.
#[test]
fn a_value_for_all_rows() {
    let folder = Folder::new();
    let net = network!(|x: Tensor<f32, _, 2>, by: Tensor<f32, 2>| {
        let scaled = x * by;
        (scaled, mean(x))
    });
    let model = folder.write("shared.txt", net.program().unwrap().to_string());
    let running = Running::start(&model);
    let rows = running.rows(json!([{ "x": [1, 3], "by": [1, 2] }, { "x": [1, 1], "by": [3, 4] }]));
    assert_eq!((&rows[0]["scaled"], &rows[1]["scaled"]), (&json!([1.0, 6.0]), &json!([3.0, 4.0])));
    let means: Vec<&Value> =
        (0..2).map(|row| rows[row].as_object().unwrap().values().find(|v| v.is_number()).unwrap()).collect();
    assert_eq!(means, [&json!(2.0), &json!(1.0)]);
}

#[test]
fn limits() {
    let folder = Folder::new();
    let running =
        Running::start(&format!("{} --rows 2 --bytes 300 --queue 1 --timeout-ms 200", line(&folder)));
    let rows = |count| json!(vec![json!({ "x": [1, 2] }); count]);
    assert_eq!(running.error(rows(3)), (413, "found 3 rows, expected 2 at most".to_string()));
    assert_eq!(running.error(rows(100)), (413, "the request has more than 300 bytes".to_string()));
    assert_eq!(running.error(rows(2)), (429, "0 rows wait already, and no more may".to_string()));
    assert_eq!(running.rows(rows(1)), json!([{ "price": [5.5] }]));
    let began = Instant::now();
    let mut slow = TcpStream::connect(&running.address).unwrap();
    slow.write_all(
        b"POST /run HTTP/1.1\r\nhost: h\r\nconnection: close\r\ncontent-length: 50\r\n\r\n{\"rows\"",
    )
    .unwrap();
    let mut answer = String::new();
    slow.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 408 "), "{answer}");
    assert!(began.elapsed() < Duration::from_secs(10), "{:?}", began.elapsed());
}

#[test]
fn many_requests_are_computed_together() {
    let folder = Folder::new();
    let running = Running::start(&format!("{} --wait-us 300000", line(&folder)));
    thread::scope(|scope| {
        let ask = |at: i32| {
            let running = &running;
            scope.spawn(move || {
                assert_eq!(running.rows(json!([{ "x": [at, 0] }])), json!([{ "price": [at as f32 + 0.5] }]))
            })
        };
        (0..8).map(ask).collect::<Vec<_>>().into_iter().for_each(|asked| asked.join().unwrap());
    });
    let (_, metrics) = running.ask("GET", "/metrics", "");
    let runs = metrics.lines().find_map(|line| line.strip_prefix("paddle_batch_rows_count ")).unwrap();
    assert!(runs.parse::<u32>().unwrap() < 8, "{metrics}");
}

/// What has come is answered before the process ends.
#[cfg(unix)]
#[test]
fn a_signal_ends_it() {
    let folder = Folder::new();
    for signal in ["-INT", "-TERM"] {
        let mut running = Running::start(&format!("{} --wait-us 400000", line(&folder)));
        let mut stream = TcpStream::connect(&running.address).unwrap();
        let body = "{\"rows\":[{\"x\":[1,1]}]}";
        let head = format!("POST /run HTTP/1.1\r\nhost: h\r\ncontent-length: {}\r\n\r\n", body.len());
        stream.write_all(format!("{head}{body}").as_bytes()).unwrap();
        while !running.ask("GET", "/metrics", "").1.contains("paddle_waiting_rows 1") {}
        assert!(
            Command::new("kill").args([signal, &running.child.id().to_string()]).status().unwrap().success()
        );
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        assert!(answer.ends_with("{\"rows\":[{\"price\":[3.5]}]}"), "{answer}");
        assert_eq!(running.child.wait().unwrap().code(), Some(0));
        let mut rest = String::new();
        running.out.read_to_string(&mut rest).unwrap();
        assert_eq!(rest, "all requests have been answered\n");
    }
}

#[test]
fn services_that_cannot_be_started() {
    let folder = Folder::new();
    let model = line(&folder);
    assert!(failed(format!("serve {}", folder.path("missing"))).contains("missing: No such file"));
    let running = Running::start(&model);
    let port = running.address.rsplit(':').next().unwrap();
    let error = failed(format!("serve {model} --port {port}"));
    assert!(
        error.contains(&format!("127.0.0.1:{port} cannot be listened on: Address already in use")),
        "{error}"
    );
    assert!(failed(format!("serve {model} --port 70000")).contains("70000 is not in 0..=65535"));
}

#[test]
fn a_model_of_the_real_paddlepaddle() {
    let Some(fixtures) = fixtures() else { return };
    let model = fixtures.join("lenet");
    let read = |file: &str, name: &str| -> ndarray::ArrayD<f32> {
        NpzReader::new(std::fs::File::open(model.join(file)).unwrap()).unwrap().by_name(name).unwrap()
    };
    let (images, expected) = (read("inputs.npz", "image"), read("outputs.npz", "out0"));
    let rows = images.outer_iter().map(|image| {
        let planes = image
            .outer_iter()
            .map(|plane| plane.outer_iter().map(|row| row.iter().copied().collect()).collect());
        json!({ "image": planes.collect::<Vec<Vec<Vec<f32>>>>() })
    });
    let running = Running::start(&model.display().to_string());
    let found = running.rows(rows.collect());
    for (row, expected) in expected.outer_iter().enumerate() {
        for (class, expected) in expected.iter().enumerate() {
            let found = found[row]["save_infer_model/scale_0.tmp_0"][class].as_f64().unwrap() as f32;
            assert!((found - expected).abs() <= 1e-5 + 1e-4 * expected.abs(), "{found} is not {expected}");
        }
    }
}
