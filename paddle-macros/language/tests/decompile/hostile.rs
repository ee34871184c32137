//! Programs that nobody would write: they are printed, or what they lack is told, and nothing panics.

use paddle_core::text;
use paddle_language::decompile;

use crate::corpus;

/// Numbers that are the same in every run.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 33) as usize) % end.max(1)
    }
}

/// Texts of programs in which lines and words have changed places.
#[test]
fn changed_programs() {
    let mut numbers = Numbers(7);
    let (mut printed, mut lacking) = (0, 0);
    for (_, program) in corpus::programs() {
        let lines: Vec<String> = program.to_string().lines().map(str::to_string).collect();
        for _ in 0..12 {
            let mut lines = lines.clone();
            for _ in 0..1 + numbers.below(3) {
                let [from, to] = [numbers.below(lines.len()), numbers.below(lines.len())];
                let other = lines[to].clone();
                let words: Vec<&str> = other.split(' ').collect();
                let line = lines[from].clone();
                let mut own: Vec<&str> = line.split(' ').collect();
                match numbers.below(3) {
                    0 => {
                        lines.remove(from);
                    }
                    1 => {
                        let at = numbers.below(own.len());
                        own[at] = words[numbers.below(words.len())];
                        lines[from] = own.join(" ");
                    }
                    _ => lines.swap(from, to),
                }
            }
            let Ok(changed) = text::parse(&lines.join("\n")) else { continue };
            match decompile(&changed, "module") {
                Ok(_) => printed += 1,
                Err(error) => {
                    lacking += 1;
                    assert!(!error.lacks.is_empty());
                }
            }
        }
    }
    assert!(printed > 100, "{printed} were printed, {lacking} were not");
}

/// Chains and nests as long and as deep as programs may be.
#[test]
fn long_and_deep_programs() {
    let program = |body: &str| {
        let text = format!("program {{\n  rows _\n  block 0 (x: f32[_, 2], c: bool[]) {{\n{body}  }}\n}}\n");
        text::parse(&text).unwrap_or_else(|error| panic!("{error}\n{text}"))
    };
    let mut chains = Vec::new();
    for operator in ["relu", "assign", "share_data", "softmax"] {
        let mut body = String::new();
        let mut last = "x".to_string();
        for at in 0..20_000 {
            body.push_str(&format!("    y{at}: f32[_, 2] = {operator}({last})\n"));
            last = format!("y{at}");
        }
        chains.push(format!("{body}    return {last}\n"));
    }
    // Each value is read twice.
    let mut twice = String::new();
    let mut last = "x".to_string();
    for at in 0..2_000 {
        twice.push_str(&format!("    y{at}: f32[_, 2] = elementwise_add({last}, {last})\n"));
        last = format!("y{at}");
    }
    chains.push(format!("{twice}    return {last}\n"));
    for body in chains {
        assert!(decompile(&program(&body), "long").is_ok());
    }
    // An `if` in each branch of an `if`, as deep as it goes.
    fn nested(depth: usize, block: &mut usize) -> String {
        let mut text = String::new();
        let own = *block;
        if depth > 0 {
            text.push_str(&format!("i{own}: f32[_, 2] = if(c) {{\n"));
            *block += 1;
            text.push_str(&format!("block {block} {{\n"));
            text.push_str(&format!("{}}}\n", nested(depth - 1, block)));
            *block += 1;
            text.push_str(&format!("block {block} {{\nyield x\n}}\n}}\nyield i{own}\n"));
        } else {
            text.push_str("yield x\n");
        }
        text
    }
    let mut block = 0;
    let body = nested(60, &mut block);
    let at = body.rfind("yield").unwrap();
    assert!(decompile(&program(&format!("{}return{}", &body[..at], &body[at + 5..])), "deep").is_ok());
}
