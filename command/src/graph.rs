//! Programs as graphs: a box for each operator, in SVG.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use dagre::graph::{Graph as Layered, GraphOptions};
use dagre::{EdgeLabel, LayoutOptions, NodeLabel, layout};
use paddle::core::ops::{Operator, Program};
use paddle::core::program::{BlockId, Definition, VarId};

/// The colours of boxes, by the depth of their block; deeper ones begin anew.
const DEPTHS: [&str; 4] = ["#ffffff", "#e3f0ff", "#fff0d9", "#e6f7e1"];

/// The colour of inputs and outputs.
const ENDS: &str = "#dddddd";

/// How wide a character is, and how high a line, in points: those of a font with characters of one width.
const CHARACTER: f64 = 7.3;
const LINE: f64 = 16.0;

/// A box: what stands in it, and its colour.
struct Node {
    lines: Vec<String>,
    colour: &'static str,
}

/// The graph of a program. Operators that own blocks have two boxes, and their blocks stand between them.
struct Graph<'a> {
    program: &'a Program,
    nodes: Vec<Node>,
    /// Edges by the numbers of nodes.
    edges: BTreeSet<(usize, usize)>,
    /// The node that gives each value.
    givers: BTreeMap<VarId, usize>,
}

/// Draws a program from its inputs, at the top, to its outputs. Parameters stand in the boxes of the operators that take them.
pub(crate) fn svg(program: &Program) -> String {
    let mut graph = Graph { program, nodes: Vec::new(), edges: BTreeSet::new(), givers: BTreeMap::new() };
    for &input in program.inputs() {
        let node = graph.add(vec![program.var(input).name.clone(), program.show(program.ty(input))], ENDS);
        graph.givers.insert(input, node);
    }
    graph.block(Program::GLOBAL, 0, None);
    for &output in program.outputs() {
        let node = graph.add(vec![program.var(output).name.clone(), program.show(program.ty(output))], ENDS);
        graph.edge_from(output, node);
    }
    graph.drawn()
}

impl Graph<'_> {
    fn add(&mut self, lines: Vec<String>, colour: &'static str) -> usize {
        self.nodes.push(Node { lines, colour });
        self.nodes.len() - 1
    }

    /// An edge from the node that gives a value. Parameters have none.
    fn edge_from(&mut self, var: VarId, to: usize) -> bool {
        match self.givers.get(&var) {
            Some(&from) => {
                self.edges.insert((from, to));
                true
            }
            None => false,
        }
    }

    /// The operators of a block, which stand below the node of the operator that owns it.
    fn block(&mut self, id: BlockId, depth: usize, owner: Option<usize>) {
        for operator in &self.program.block(id).ops {
            let node = self.operator(operator, depth);
            // Nodes behind the owner's are of the block.
            let is_below = |owner: usize| {
                operator.inputs.iter().any(|input| self.givers.get(input).is_some_and(|&from| from >= owner))
            };
            if let Some(owner) = owner.filter(|&owner| !is_below(owner)) {
                self.edges.insert((owner, node));
            }
        }
    }

    /// Adds an operator, and returns the node that takes its inputs.
    fn operator(&mut self, operator: &Operator, depth: usize) -> usize {
        let (program, colour) = (self.program, DEPTHS[depth % DEPTHS.len()]);
        let types = operator.outputs.iter().map(|&output| program.show(program.ty(output)));
        let types: Vec<String> = types.collect();
        let parameters =
            operator.inputs.iter().filter(|&&input| program.var(input).definition == Definition::Parameter);
        let parameters = parameters.map(|&input| program.var(input).name.clone());
        let mut lines = vec![operator.op.name().to_string()];
        lines.extend(parameters);
        if operator.blocks.is_empty() {
            lines.extend(types);
            let node = self.add(lines, colour);
            for &input in &operator.inputs {
                self.edge_from(input, node);
            }
            self.givers.extend(operator.outputs.iter().map(|&output| (output, node)));
            return node;
        }
        let begin = self.add(lines, colour);
        for &input in &operator.inputs {
            self.edge_from(input, begin);
        }
        let mut results = Vec::new();
        for &id in &operator.blocks {
            let block = program.block(id);
            self.givers.extend(block.params.iter().map(|&param| (param, begin)));
            self.block(id, depth + 1, Some(begin));
            results.extend(&block.results);
        }
        let end =
            self.add([format!("end of {}", operator.op.name())].into_iter().chain(types).collect(), colour);
        for result in results {
            self.edge_from(result, end);
        }
        // Blocks may be empty, or give values from outside.
        if !self.edges.iter().any(|&(from, to)| to == end && from >= begin) {
            self.edges.insert((begin, end));
        }
        self.givers.extend(operator.outputs.iter().map(|&output| (output, end)));
        begin
    }

    /// The graph in layers, as SVG.
    fn drawn(&self) -> String {
        let options = GraphOptions { directed: true, multigraph: false, compound: false };
        let mut layered: Layered<NodeLabel, EdgeLabel> = Layered::with_options(options);
        for (number, node) in self.nodes.iter().enumerate() {
            let (width, height) = node.size();
            layered.set_node(number.to_string(), Some(NodeLabel { width, height, ..NodeLabel::default() }));
        }
        for (from, to) in &self.edges {
            layered.set_edge(from.to_string(), to.to_string(), Some(EdgeLabel::default()), None);
        }
        let options =
            LayoutOptions { ranksep: 30.0, nodesep: 20.0, edgesep: 10.0, ..LayoutOptions::default() };
        layout(&mut layered, Some(options));
        let (mut drawing, mut right, mut bottom) = (String::new(), 0f64, 0f64);
        for (from, to) in &self.edges {
            let Some(edge) = layered.edge(&from.to_string(), &to.to_string(), None) else { continue };
            let points = edge.points.iter().map(|point| format!("{:.1},{:.1}", point.x, point.y));
            let points: Vec<String> = points.collect();
            right = edge.points.iter().fold(right, |right, point| right.max(point.x));
            let _ = writeln!(drawing, "<polyline points=\"{}\"/>", points.join(" "));
        }
        for (number, node) in self.nodes.iter().enumerate() {
            let placed = layered.node(&number.to_string());
            let Some((x, y)) = placed.and_then(|placed| Some((placed.x?, placed.y?))) else { continue };
            let (width, height) = node.size();
            (right, bottom) = (right.max(x + width / 2.0), bottom.max(y + height / 2.0));
            node.draw(x, y, &mut drawing);
        }
        let (width, height) = (right + 2.0 * MARGIN, bottom + 2.0 * MARGIN);
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width:.0}\" height=\"{height:.0}\" \
             viewBox=\"-{MARGIN} -{MARGIN} {width:.0} {height:.0}\">\n{HEAD}{drawing}</svg>\n"
        )
    }
}

/// The space around a drawing.
const MARGIN: f64 = 10.0;

/// What lines, boxes and texts look like.
const HEAD: &str = "\
<style>
polyline { fill: none; stroke: #444444; marker-end: url(#arrow); }
rect { stroke: black; }
text { font: 12px monospace; text-anchor: middle; }
</style>
<marker id=\"arrow\" viewBox=\"0 0 8 8\" refX=\"8\" refY=\"4\" markerWidth=\"8\" markerHeight=\"8\" orient=\"auto\">
<path d=\"M 0 0 L 8 4 L 0 8 z\" fill=\"#444444\"/>
</marker>
";

impl Node {
    fn size(&self) -> (f64, f64) {
        let longest = self.lines.iter().map(|line| line.chars().count()).max().unwrap_or(0);
        (CHARACTER * (longest + 2) as f64, LINE * self.lines.len() as f64 + 8.0)
    }

    /// Draws the box around its middle.
    fn draw(&self, x: f64, y: f64, drawing: &mut String) {
        let (width, height) = self.size();
        let (left, top) = (x - width / 2.0, y - height / 2.0);
        let _ = writeln!(
            drawing,
            "<rect x=\"{left:.1}\" y=\"{top:.1}\" width=\"{width:.1}\" height=\"{height:.1}\" fill=\"{}\"/>",
            self.colour
        );
        for (at, line) in self.lines.iter().enumerate() {
            let baseline = top + LINE * (at + 1) as f64;
            let _ = writeln!(drawing, "<text x=\"{x:.1}\" y=\"{baseline:.1}\">{}</text>", escaped(line));
        }
    }
}

/// A text between the tags of XML, which has no characters for most of what controls terminals.
fn escaped(text: &str) -> String {
    let mut escaped = String::new();
    for c in text.chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            c if c.is_control() => escaped.push('\u{fffd}'),
            c => escaped.push(c),
        }
    }
    escaped
}
