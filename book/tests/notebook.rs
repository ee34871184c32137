//! The notebook, run by Jupyter: `PADDLE_NOTEBOOK` names a Python that has `nbconvert`, and `evcxr_jupyter --install` was run.

use std::path::Path;
use std::process::Command;

use serde_json::Value;

#[test]
fn the_notebook_runs() {
    let Some(python) = std::env::var_os("PADDLE_NOTEBOOK") else {
        eprintln!("*** SKIPPED: PADDLE_NOTEBOOK does not say where a Python with nbconvert is ***");
        return;
    };
    let notebook = Path::new(env!("CARGO_MANIFEST_DIR")).join("notebook.ipynb");
    let executed = Path::new(env!("CARGO_TARGET_TMPDIR")).join("notebook.ipynb");
    let status = Command::new(python)
        .args([
            "-m",
            "nbconvert",
            "--to",
            "notebook",
            "--execute",
            "--ExecutePreprocessor.timeout=3600",
            "--output",
        ])
        .arg(&executed)
        .arg(notebook)
        .status()
        .unwrap();
    assert!(status.success());
    let executed: Value = serde_json::from_slice(&std::fs::read(executed).unwrap()).unwrap();
    let outputs = |cell: &Value| cell["outputs"].as_array().cloned().unwrap_or_default();
    let outputs: Vec<Value> = executed["cells"].as_array().unwrap().iter().flat_map(outputs).collect();
    let has = |what: &dyn Fn(&Value) -> bool| outputs.iter().any(what);
    let html = |output: &Value| output["data"]["text/html"].to_string();
    assert!(has(&|it| it["data"]["image/png"].is_string()), "the digits");
    assert!(
        has(&|it| it["output_type"] == "error" && it.to_string().contains("needs floating-point numbers")),
        "the mistake"
    );
    assert!(has(&|it| html(it).contains("elements in 4 parameters")), "the summary");
    assert!(has(&|it| html(it).contains("program {")), "the program");
    assert!(has(&|it| html(it).contains("<svg")), "the curve");
    assert!(has(&|it| it["text"].to_string().contains("are told apart")), "the result");
}
