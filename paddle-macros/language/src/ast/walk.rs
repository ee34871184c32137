//! Walks over expressions: their parts, and what follows from these.

use std::collections::BTreeSet;

use super::{
    BindingId, Block, Call, ConstantType, Expr, ExprKind, FunctionId, Meaning, Network, Place, Statement,
};

impl ConstantType {
    /// The expressions in array types, which give the lengths.
    pub fn lengths(&self) -> Vec<&Expr> {
        match self {
            ConstantType::Array(element, length) => {
                let mut lengths = element.lengths();
                lengths.push(length);
                lengths
            }
            ConstantType::Tuple(parts) => parts.iter().flat_map(ConstantType::lengths).collect(),
            ConstantType::Number { .. } | ConstantType::Text | ConstantType::Invalid => Vec::new(),
        }
    }
}

impl Expr {
    /// Whether the expression is a statement, which has no value.
    pub fn is_statement(&self) -> bool {
        match &self.kind {
            ExprKind::Assign { .. } | ExprKind::Update { .. } => true,
            ExprKind::While { body, .. } | ExprKind::For { body, .. } => body.is_statement(),
            ExprKind::If { yes, no, .. } => {
                no.as_ref().is_none_or(|(_, no)| no.is_statement()) && yes.is_statement()
            }
            ExprKind::Match { arms, .. } => arms.iter().all(|arm| arm.body.is_statement()),
            ExprKind::Block(block) => block.is_statement(),
            ExprKind::Paren(inner) => inner.is_statement(),
            _ => false,
        }
    }

    /// Whether the expression is control flow.
    pub fn is_control_flow(&self) -> bool {
        match &self.kind {
            ExprKind::Assign { .. }
            | ExprKind::Update { .. }
            | ExprKind::While { .. }
            | ExprKind::For { .. }
            | ExprKind::If { .. }
            | ExprKind::Match { .. }
            | ExprKind::Block(_)
            | ExprKind::Kept(_) => true,
            ExprKind::Paren(inner) => inner.is_control_flow(),
            _ => false,
        }
    }

    /// Whether the expression reads a variable. Names have to be resolved.
    pub fn reads(&self, variable: BindingId) -> bool {
        let is_it =
            matches!(&self.kind, ExprKind::Name { meaning: Meaning::Variable(id), .. } if *id == variable);
        is_it || self.parts().into_iter().any(|part| part.reads(variable))
    }

    /// The direct sub-expressions, in the order of the source.
    pub fn parts(&self) -> Vec<&Expr> {
        match &self.kind {
            ExprKind::Number { .. }
            | ExprKind::Text { .. }
            | ExprKind::Template { .. }
            | ExprKind::Name { .. }
            | ExprKind::Outside(_)
            | ExprKind::Nothing
            | ExprKind::Invalid => Vec::new(),
            ExprKind::Tuple(parts) | ExprKind::Array(parts) => parts.iter().collect(),
            ExprKind::Repeated { x, times: y }
            | ExprKind::Index { x, index: y }
            | ExprKind::Range { start: x, end: y, .. }
            | ExprKind::Binary { x, y, .. } => vec![x, y],
            ExprKind::Negate { x, .. }
            | ExprKind::Not { x, .. }
            | ExprKind::Part { x, .. }
            | ExprKind::Paren(x)
            | ExprKind::Kept(x) => vec![x],
            ExprKind::Cut { x, places } => {
                let places = places.iter().flat_map(Place::parts);
                [&**x].into_iter().chain(places).collect()
            }
            ExprKind::Method { x, method, .. } => [&**x].into_iter().chain(method.argument()).collect(),
            ExprKind::Assign { value, .. } | ExprKind::Update { value, .. } => vec![value],
            ExprKind::Call(call) => {
                let named = call.named.iter().map(|named| &named.value);
                call.positional.iter().chain(named).collect()
            }
            ExprKind::Closure(closure) => vec![&closure.body],
            ExprKind::If { condition, yes, no, .. } => {
                let no = no.iter().map(|(_, no)| &**no);
                [&**condition].into_iter().chain(yes.parts()).chain(no).collect()
            }
            ExprKind::While { condition: head, body, .. } | ExprKind::For { items: head, body, .. } => {
                [&**head].into_iter().chain(body.parts()).collect()
            }
            ExprKind::Match { value, arms, .. } => {
                let arms = arms.iter().flat_map(|arm| arm.guard.iter().chain([&arm.body]));
                [&**value].into_iter().chain(arms).collect()
            }
            ExprKind::Block(block) => block.parts(),
        }
    }
}

impl Network {
    /// Whether a call of the function creates parameters. Names have to be resolved.
    pub fn has_parameters(&self, function: FunctionId) -> bool {
        let mut left = self.functions[function.0].body.parts();
        while let Some(expr) = left.pop() {
            let has_some = match &expr.kind {
                ExprKind::Call(Call { callee: Meaning::Layer(layer), .. }) => layer.has_parameters(),
                ExprKind::Call(Call { callee: Meaning::Function(callee), .. }) => {
                    *callee != function && self.has_parameters(*callee)
                }
                _ => false,
            };
            if has_some {
                return true;
            }
            left.extend(expr.parts());
        }
        false
    }
}

impl Block {
    /// Whether the block has no value.
    pub fn is_statement(&self) -> bool {
        self.tail.as_ref().is_none_or(|tail| tail.is_statement())
    }

    /// The names of the variables that the block assigns.
    pub fn assigned_names(&self) -> BTreeSet<String> {
        let (mut names, mut left) = (BTreeSet::new(), self.parts());
        while let Some(expr) = left.pop() {
            if let ExprKind::Assign { target, .. } | ExprKind::Update { target, .. } = &expr.kind {
                target.names(&mut names);
            }
            left.extend(expr.parts());
        }
        names
    }

    /// The direct sub-expressions of the block.
    pub fn parts(&self) -> Vec<&Expr> {
        let statements = self.statements.iter().filter_map(|statement| match statement {
            Statement::Let { value, .. } => value.as_ref(),
            Statement::Const(constant) => Some(&constant.value),
            Statement::Expr { value, .. } => Some(value),
        });
        statements.chain(self.tail.as_deref()).collect()
    }
}
