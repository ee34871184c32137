//! Inputs whose first size may vary: the batch, or a size that only some of them have.

use paddle_core::wire::{OpAttr, OpDesc, VarDesc, VarKind};

use crate::build::{float, network, op, op2, var};
use crate::paddle::read;

/// The inputs of a program of these operators, as text.
fn inputs(inputs: &[VarDesc], others: &[&str], ops: &[OpDesc], outputs: &[&str]) -> String {
    let others: Vec<VarDesc> = others.iter().map(|name| float(name, &[])).collect();
    let text = read(&network(inputs, &others, ops, outputs));
    let line = text.lines().find_map(|line| line.trim().strip_prefix("block 0 ("));
    line.expect("there is a block").trim_end_matches(") {").to_string()
}

fn ids(name: &str) -> VarDesc {
    var(name, VarKind::Int64, &[-1])
}

fn gather(x: &str, index: &str, out: &str) -> OpDesc {
    OpDesc::new("gather").with_input("X", [x]).with_input("Index", [index]).with_output("Out", [out])
}

/// The ends of edges are as many as each other, not as there are nodes; what edges have is of their number, too.
#[test]
fn edges_of_a_graph() {
    let put = OpDesc::new("scatter_nd_add")
        .with_input("X", ["zeros"])
        .with_input("Index", ["column"])
        .with_input("Updates", ["sent"])
        .with_output("Out", ["out"]);
    let ops = [
        op("relu", "x", "h"),
        gather("h", "from", "taken"),
        op2("elementwise_mul", "taken", "weight", "sent"),
        op("fill_zeros_like", "h", "zeros"),
        op("unsqueeze2", "to", "column").with_attr(OpAttr::ints("axes", [1])),
        put,
    ];
    let all = [float("x", &[-1, 4]), ids("from"), ids("to"), float("weight", &[-1, 4])];
    let others = ["h", "taken", "sent", "zeros", "column", "out"];
    assert_eq!(
        inputs(&all, &others, &ops, &["out"]),
        r#"x: f32[_, 4], from: i64["from[0]"], to: i64["from[0]"], weight: f32["from[0]", 4]"#
    );
}

/// Numbers that are computed with the batch, or that choose from a table, are those of the batch.
#[test]
fn numbers_of_rows() {
    let all = [float("x", &[-1, 4]), float("table", &[9, 4]), ids("number")];
    let ops = [gather("table", "number", "taken"), op2("elementwise_add", "x", "taken", "out")];
    let text = "x: f32[_, 4], table: f32[9, 4], number: i64[_]";
    assert_eq!(inputs(&all, &["taken", "out"], &ops, &["out"]), text);
    // Inputs that nothing combines are of one batch.
    let ops = [op("relu", "x", "out"), op("relu", "table", "taken")];
    let all = [float("x", &[-1, 4]), float("table", &[-1, 4])];
    let text = "x: f32[_, 4], table: f32[_, 4]";
    assert_eq!(inputs(&all, &["taken", "out"], &ops, &["out", "taken"]), text);
}
