//! Tests of parameter names: the path of the calls around a layer, and its binding.

use super::programs::parameters;

/// The names of layers with weights, in the order of creation.
fn layers(functions: &str, body: &str) -> Vec<String> {
    let source = format!(
        "pub mod m {{ {functions} pub fn net(x: Tensor<f32, _, 3>, c: Tensor<bool, _>, n: Tensor<i64>) -> _ {{
            ({{ {body} }}, c, n)
        }} }}"
    );
    let names = parameters(&source);
    names.iter().filter_map(|name| name.strip_suffix(".w")).map(str::to_string).collect()
}

#[test]
fn names_follow_the_rules() {
    let part = "fn part(x: _) -> _ { let inner = fc(x, 3); fc(inner, 3) }";
    let outer = "fn part(x: _) -> _ { let inner = fc(x, 3); fc(inner, 3) } fn outer(x: _) -> _ { part(x) }";
    let shared = "fn part(x: _) -> _ { fc(x, 3, param = \"lookup.table\") }";
    let table: &[(&str, &str, &str, &[&str])] = &[
        ("a binding", "", "let hidden = fc(x, 3); hidden", &["hidden"]),
        ("no binding", "", "fc(x, 3)", &["fc"]),
        ("no binding, twice", "", "fc(x, 3) + fc(x, 3)", &["fc", "fc_1"]),
        ("two under one binding", "", "let h = fc(x, 3) + fc(x, 3); h", &["h", "h_1"]),
        ("an argument", "", "let h = fc(fc(x, 3), 3); h", &["h_fc", "h"]),
        ("arguments", "", "let h = fc(tanh(fc(fc(x, 3), 3)) + x, 3); h", &["h_fc", "h_fc_1", "h"]),
        ("an argument without binding", "", "fc(fc(x, 3), 3)", &["fc", "fc_1"]),
        ("an argument of a named layer", "", "let h = fc(fc(x, 3), 3, param = \"a\"); h", &["h_fc", "a"]),
        ("an argument of a part", part, "let h = part(fc(x, 3)); h", &["h", "part.inner", "part.fc"]),
        ("an argument of a layer of the library", "", "let h = mse_loss(fc(x, 3), x); h", &["h"]),
        ("inside of an expression", "", "let h = tanh(fc(x, 3) + 1.0); h", &["h"]),
        ("shadowing", "", "let h = fc(x, 3); let h = fc(h, 3); h", &["h", "h_1"]),
        ("assignment", "", "let mut h = x; h = fc(h, 3); h", &["h"]),
        ("a tuple", "", "let (a, b) = (fc(x, 3), fc(x, 3)); a + b", &["a", "b"]),
        ("a tuple in a tuple", "", "let (a, (b, _)) = (x, (fc(x, 3), fc(x, 3))); a + b", &["b", "fc"]),
        ("a tuple under a name", "", "let p = (fc(x, 3), fc(x, 3)); let (a, b) = p; a + b", &["p", "p_1"]),
        (
            "an assigned tuple",
            "",
            "let (mut a, mut b) = (x, x); (a, b) = (fc(b, 3), fc(a, 3)); a + b",
            &["a", "b"],
        ),
        ("an absolute name", "", "let h = fc(x, 3, param = \"a.b\"); h", &["a.b"]),
        ("a shared name", "", "fc(x, 3, param = \"a\") + fc(x, 3, param = \"a\")", &["a"]),
        ("a call", part, "let y = part(x); y", &["part.inner", "part.fc"]),
        (
            "two calls",
            part,
            "part(part(x), param = \"again\")",
            &["part.inner", "part.fc", "again.inner", "again.fc"],
        ),
        ("two calls of what has names", shared, "part(part(x))", &["lookup.table"]),
        (
            "relative names",
            "fn part(x: _) -> _ { fc(fc(x, 3, param = \".in\"), 3, param = \".a.out\") }",
            "part(fc(part(x), 3, param = \".top\"), param = \"q\")",
            &["part.in", "part.a.out", "top", "q.in", "q.a.out"],
        ),
        (
            "relative names in a loop",
            "fn part(x: _) -> _ { let mut h = x; for i in 0..2 { h = fc(h, 3, param = \".h{i}\"); } h }",
            "part(part(x), param = \"q\")",
            &["part.h0", "part.h1", "q.h0", "q.h1"],
        ),
        (
            "one sub-network in two others",
            "fn part(x: _) -> _ { fc(x, 3) } fn one(x: _) -> _ { part(x) } fn other(x: _) -> _ { part(x) }",
            "one(other(x))",
            &["other.part.fc", "one.part.fc"],
        ),
        ("a call in a call", outer, "outer(x)", &["outer.part.inner", "outer.part.fc"]),
        ("a named call", part, "part(x, param = \"first\")", &["first.inner", "first.fc"]),
        ("two calls of one name", part, "part(part(x, param = \"p\"), param = \"p\")", &["p.inner", "p.fc"]),
        (
            "a named call does not count",
            part,
            "part(part(x, param = \"p\"))",
            &["p.inner", "p.fc", "part.inner", "part.fc"],
        ),
        ("what a part names is absolute", shared, "part(part(x), param = \"p\")", &["lookup.table"]),
        (
            "a layer bound to the name of a part",
            part,
            "let part = fc(part(x), 3); part",
            &["part.inner", "part.fc", "part"],
        ),
        ("a closure", "", "let f = |x| { let h = fc(x, 3); h }; f(f(x), param = \"g\")", &["f.h", "g.h"]),
        (
            "two closures of one name",
            "",
            "let f = |x| fc(x, 3); let y = f(x); let f = |x| fc(x, 3); f(y)",
            &["f.fc", "f_1.fc"],
        ),
        ("branches", "", "if c { let h = fc(x, 3); h } else { let h = fc(x, 3); h }", &["h", "h_1"]),
        ("the value of a branch", "", "let y = if c { fc(x, 3) } else { x }; y", &["y"]),
        ("a loop", "", "let (mut h, mut i) = (x, 0); while i < n { h = fc(h, 3); i += 1; } h", &["h"]),
        (
            "the branch that is taken",
            "",
            "let y = if 1 == 1 { fc(x, 3) } else { fc(fc(x, 3), 3) }; y",
            &["y"],
        ),
        ("an arm", "", "let y = match 2 { 1 => x, _ => fc(x, 3) }; y", &["y"]),
        (
            "an unrolled loop",
            "",
            "let mut h = x; for i in 0..2 { h = fc(h, 3, param = \"h{i}\"); } h",
            &["h0", "h1"],
        ),
        (
            "an unrolled loop that shares",
            "",
            "let mut h = x; for _ in 0..2 { h = fc(h, 3, param = \"h\"); } h",
            &["h"],
        ),
        (
            "calls in an unrolled loop",
            part,
            "let mut h = x; for i in 0..2 { h = part(h, param = \"p{i}\"); } h",
            &["p0.inner", "p0.fc", "p1.inner", "p1.fc"],
        ),
    ];
    for (what, functions, body, expected) in table {
        assert_eq!(layers(functions, body), *expected, "{what}");
    }
}

#[test]
fn a_layer_under_another_binding_renames_nothing() {
    let plain = layers("", "let a = fc(x, 3); let b = fc(a, 3); b");
    let more = layers("", "let a = fc(x, 3); let new = fc(fc(a, 3), 3); let b = fc(new, 3); b");
    assert!(plain.iter().all(|name| more.contains(name)), "{more:?}");
}

#[test]
fn roles() {
    assert_eq!(parameters("|x: Tensor<f32, _, 3>| { let h = fc(x, 3); h }"), ["h.w", "h.b"]);
}
