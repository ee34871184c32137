//! `paddle serve`: a model over HTTP.

use std::collections::BTreeMap;
use std::error::Error;
use std::future::Future;
use std::io::Write;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use paddle::batcher::Limits;
use paddle::network::Variable;
use paddle::service::{Answers, Refusal, Service, Settings};
use paddle::{Batch, Dynamic, InferOptions, Network, Outputs, Parameters, Precision, infer_with};
use serde::ser::{Serialize, SerializeMap, Serializer};
use serde_json::{Map, Value, json};

use crate::failure::{Failure, Verdict};
use crate::info::listed_as_json;
use crate::json_rows::{Cell, RowOfOutputs};
use crate::model::Model;

/// Answers requests over HTTP, in JSON, until Ctrl-C or a signal to terminate; then those that have come.
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Serve {
    #[command(flatten)]
    model: Model,
    /// Where to listen: by default only this machine reaches it.
    #[arg(long, default_value_t = Ipv4Addr::LOCALHOST.into())]
    address: IpAddr,
    /// The port; 0 is any that is free.
    #[arg(long, default_value_t = 8080)]
    port: u16,
    /// What products and convolutions are computed in: `f32`; `bf16`, which is faster on processors with AMX; or `bf16x3`, between
    /// both.
    #[arg(long, default_value_t)]
    precision: Precision,
    /// The most rows that are computed together.
    #[arg(long, value_name = "ROWS", default_value_t = 256)]
    batch: usize,
    /// For how many microseconds a row waits for others; with 0, what came during a run is computed together in the next one.
    #[arg(long, value_name = "MICROSECONDS", default_value_t = 0)]
    wait_us: u64,
    /// The most rows that wait; more are refused with 429.
    #[arg(long, value_name = "ROWS", default_value_t = 4_096)]
    queue: usize,
    /// The most rows of a request; more are refused with 413.
    #[arg(long, value_name = "ROWS", default_value_t = 256)]
    rows: usize,
    /// The most bytes of a request; more are refused with 413.
    #[arg(long, value_name = "BYTES", default_value_t = 4 << 20)]
    bytes: usize,
    /// How many milliseconds a client may take for its request, or it is cut off with 408, and the service for the answer, or
    /// that is 504.
    #[arg(long, value_name = "MILLISECONDS", default_value_t = 10_000)]
    timeout_ms: u64,
    /// The most connections; others wait to be accepted.
    #[arg(long, value_name = "COUNT", default_value_t = 1_024)]
    connections: usize,
}

const EXAMPLES: &str = "\
Examples:
  paddle serve mlp
  curl localhost:8080/run -d '{\"rows\": [{\"x\": [0.5, 1.5]}, {\"x\": [1, 2]}]}'
  curl localhost:8080/model                                  # inputs and outputs
  curl localhost:8080/health
  curl localhost:8080/metrics                                # for Prometheus

A row has a value for each input, by its name: numbers in lists in lists, of the input's sizes behind that of the batch; of sequences,
a list of their tokens. The answer has a row for each, with the outputs. A mistake is answered with its place, as
rows[1].x[0], and the status 400; a row that cannot be computed, as for an id that a table lacks, with 422.
Rows of requests that come at the same time are computed together, unless the model has a value that all rows share.";

impl Serve {
    pub(crate) fn run(&self, out: &mut dyn Write) -> Result<Verdict, Failure> {
        let served = Arc::new(Served::new(self.model.load()?, self.precision)?);
        let address = SocketAddr::new(self.address, self.port);
        let failed = |why| Failure::Asked(format!("{address} cannot be listened on: {why}"));
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
        let runtime = runtime.map_err(failed)?;
        runtime.block_on(async {
            let service = Service::bind(served, self.settings(), address).await.map_err(failed)?;
            let end = end().map_err(failed)?;
            writeln!(out, "listening on http://{}; Ctrl-C ends", service.address())?;
            out.flush()?;
            service.run(end).await;
            writeln!(out, "all requests have been answered")?;
            Ok(Verdict::Fine)
        })
    }

    fn settings(&self) -> Settings {
        let wait = Duration::from_micros(self.wait_us);
        Settings {
            limits: Limits { batch: self.batch, wait, queue: self.queue },
            rows: self.rows,
            bytes: self.bytes,
            timeout: Duration::from_millis(self.timeout_ms),
            connections: self.connections,
            ..Settings::new("paddle")
        }
    }
}

/// Ready when the process is told to end.
#[cfg(unix)]
fn end() -> std::io::Result<impl Future<Output = ()>> {
    use tokio::signal::unix::{SignalKind, signal};
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    Ok(async move {
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
    })
}

/// Ready when the process is told to end.
#[cfg(not(unix))]
fn end() -> std::io::Result<impl Future<Output = ()>> {
    Ok(async { drop(tokio::signal::ctrl_c().await) })
}

/// A model that is served.
struct Served {
    net: Network<Dynamic>,
    parameters: Parameters,
    precision: Precision,
    outputs: Vec<Variable>,
    /// Whether each row is computed by itself, as a value is shared by all rows of a batch.
    is_alone: bool,
    /// What `/model` answers.
    page: String,
}

/// Where the outputs of a row are.
struct Computed {
    outputs: Arc<Outputs>,
    row: usize,
}

impl Served {
    fn new((net, parameters): (Network<Dynamic>, Parameters), precision: Precision) -> Result<Self, Failure> {
        let outputs = net.outputs()?;
        let is_alone = net.inputs()?.iter().chain(&outputs).any(|variable| !variable.batched);
        let page = json!({ "inputs": listed_as_json(net.inputs()?), "outputs": listed_as_json(&outputs) });
        Ok(Served { net, parameters, precision, outputs, is_alone, page: page.to_string() })
    }

    /// Reads one row of a request.
    fn row(&self, at: usize, row: &Value, inputs: &[Variable]) -> Result<Vec<Cell>, String> {
        let none = Map::new();
        let row = match row {
            Value::Object(row) => row,
            // A model without inputs has rows without values.
            Value::Null => &none,
            _ => return Err(format!("rows[{at}]: expected an object with a value for each input")),
        };
        let is_input = |name: &String| inputs.iter().any(|input| input.name == *name);
        if let Some(other) = row.keys().find(|name| !is_input(name)) {
            let names: Vec<&str> = inputs.iter().map(|input| input.name.as_str()).collect();
            let names = names.join("`, `");
            return Err(format!("rows[{at}]: there is no input `{other}`; the inputs are `{names}`"));
        }
        let cell = |input: &Variable| match row.get(&input.name) {
            Some(value) => Cell::read(value, input, format!("rows[{at}].{}", input.name)),
            None => {
                Err(format!("rows[{at}]: there is no value for `{}`, which is {}", input.name, input.shown))
            }
        };
        inputs.iter().map(cell).collect()
    }

    /// Computes rows of the same sizes.
    fn computed(&self, rows: &[&Vec<Cell>]) -> Result<Arc<Outputs>, Failure> {
        let mut batch = Batch::new(&self.net)?;
        for (k, input) in self.net.inputs()?.iter().enumerate() {
            let cells: Vec<&Cell> = rows.iter().map(|row| &row[k]).collect();
            Cell::feed(&cells, input, &mut batch)?;
        }
        let options = InferOptions::default().precision(self.precision);
        Ok(Arc::new(infer_with(&self.net, &self.parameters, &batch, options)?))
    }
}

impl Answers for Served {
    type Row = Vec<Cell>;
    type Result = Result<Computed, Refusal>;

    fn rows(&self, body: &[u8]) -> Result<Vec<Vec<Cell>>, Refusal> {
        let asked: Value = serde_json::from_slice(body).map_err(|error| Refusal::bad(error.to_string()))?;
        let rows = asked.get("rows").and_then(Value::as_array);
        let rows =
            rows.ok_or_else(|| Refusal::bad("expected {\"rows\": [..]}, with an object for each row"))?;
        let inputs = self.net.inputs().map_err(|error| Refusal::impossible(error.to_string()))?;
        let rows = rows.iter().enumerate().map(|(at, row)| self.row(at, row, inputs));
        rows.collect::<Result<_, String>>().map_err(Refusal::bad)
    }

    fn compute(&self, rows: Vec<Vec<Cell>>) -> Result<Vec<Self::Result>, Box<dyn Error + Send + Sync>> {
        // Rows of other sizes cannot be in one batch.
        let mut groups: BTreeMap<_, Vec<usize>> = BTreeMap::new();
        for (at, row) in rows.iter().enumerate() {
            let sizes: Vec<&[usize]> = row.iter().map(Cell::sizes).collect();
            groups.entry((self.is_alone.then_some(at), sizes)).or_default().push(at);
        }
        let mut results: Vec<Option<Self::Result>> = rows.iter().map(|_| None).collect();
        for group in groups.into_values() {
            let of_group: Vec<&Vec<Cell>> = group.iter().map(|&at| &rows[at]).collect();
            match self.computed(&of_group) {
                Ok(outputs) => {
                    for (row, &at) in group.iter().enumerate() {
                        results[at] = Some(Ok(Computed { outputs: Arc::clone(&outputs), row }));
                    }
                }
                // One row may be at fault, and the others are of other clients.
                Err(_) => {
                    for &at in &group {
                        let alone = self.computed(&[&rows[at]]);
                        let alone = alone.map(|outputs| Computed { outputs, row: 0 }).map_err(refusal);
                        results[at] = Some(alone);
                    }
                }
            }
        }
        Ok(results.into_iter().flatten().collect())
    }

    fn answer(&self, results: Vec<Self::Result>) -> Result<String, Refusal> {
        let mut computed = Vec::new();
        for (at, result) in results.into_iter().enumerate() {
            let of_row =
                |Refusal { status, error }| Refusal { status, error: format!("rows[{at}]: {error}") };
            computed.push(result.map_err(of_row)?);
        }
        let answer = Answer { computed: &computed, described: &self.outputs };
        serde_json::to_string(&answer).map_err(|error| Refusal::impossible(error.to_string()))
    }

    fn page(&self, path: &str) -> Option<String> {
        (path == "/model").then(|| self.page.clone())
    }
}

/// Why a row is not answered: it cannot be computed, or memory is lacking.
fn refusal(failure: Failure) -> Refusal {
    match &failure {
        Failure::Library(error) if error.out_of_memory().is_some() => {
            Refusal { status: 503, error: failure.to_string() }
        }
        _ => Refusal::impossible(failure.to_string()),
    }
}

struct Answer<'a> {
    computed: &'a [Computed],
    described: &'a [Variable],
}

impl Serialize for Answer<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let rows = self.computed.iter().map(|Computed { outputs, row }| RowOfOutputs {
            outputs,
            described: self.described,
            row: *row,
        });
        let rows: Vec<_> = rows.collect();
        let mut map = serializer.serialize_map(Some(1))?;
        map.serialize_entry("rows", &rows)?;
        map.end()
    }
}
