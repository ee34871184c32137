//! Branches and loops.
//!
//! PaddlePaddle's are brought into the form of the language: a loop whose condition is computed in front of it and again at
//! the end of each iteration has the condition itself, and two halves of a condition are one `if`.

use paddle_core::ops::{Compare, CompareKind, Fill, Number, Op, Operator, While};
use paddle_core::program::{BlockId, DType, VarId};

use super::constants::literal;
use super::inline;
use super::statements::{Blocks, one_value};
use super::tree::{Body, Expr, Head, If, Loop, State, Statement};

/// The most operators of a condition that is compared with another one.
const MOST_OPERATORS: usize = 200;

impl Blocks<'_> {
    /// A branch or a loop, and the operators of the block that are parts of it; `None` for another operator.
    pub(super) fn control(&self, block: BlockId, operator: &Operator) -> Option<(Statement, Vec<usize>)> {
        let statement = match (&operator.op, &operator.blocks[..]) {
            (Op::If(_), &[_, _]) => return Some(self.branches(block, operator)),
            (Op::While(op), &[condition, body]) if op.limit == While::DEFAULT_LIMIT => {
                self.while_loop(operator, condition, body)
            }
            (Op::For(op), &[body]) => {
                let items = usize::try_from(op.items).unwrap_or_default().min(operator.inputs.len());
                let params = self.program().block(body).params.iter().copied();
                let sequences = self.values(&operator.inputs[..items]);
                let head = Head::For(params.zip(sequences).collect());
                self.repeated(operator, items, &[body], head, None)
            }
            _ => return None,
        };
        Some((statement, Vec::new()))
    }

    fn branches(&self, block: BlockId, operator: &Operator) -> (Statement, Vec<usize>) {
        // Results that nothing reads are not given.
        let read = |(at, output): (usize, &VarId)| (self.graph.reads(*output) > 0).then_some(at);
        let read: Vec<usize> = operator.outputs.iter().enumerate().filter_map(read).collect();
        let results = |block: &BlockId| -> Vec<VarId> {
            let results = &self.program().block(*block).results;
            read.iter().filter_map(|at| results.get(*at).copied()).collect()
        };
        let sides: Vec<(BlockId, Vec<VarId>)> =
            operator.blocks.iter().map(|block| (*block, results(block))).collect();
        let (condition, sides, parts) = self
            .halves(block, operator, &sides)
            .unwrap_or_else(|| (self.graph.resolve(operator.inputs[0]), sides, Vec::new()));
        let mut branches = sides.iter().map(|(block, results)| self.branch(*block, results));
        let branches = [branches.next().unwrap_or_default(), branches.next().unwrap_or_default()];
        let value = Expr::If(Box::new(If { condition: self.value(condition), branches }));
        let outputs = read.iter().map(|at| operator.outputs.get(*at).copied()).collect();
        (Statement::Let { outputs, value }, parts)
    }

    /// A block as a branch that gives these values.
    fn branch(&self, block: BlockId, results: &[VarId]) -> Body {
        let results = results.iter().map(|result| self.result(*result)).collect();
        let mut body = Body { results, ..self.body(block) };
        inline::drop_unread(&mut body, &|var| self.graph.is_counted(var));
        body
    }

    /// A value as the result of a branch. A number that is the same for all rows stands for itself.
    fn result(&self, var: VarId) -> Expr {
        match self.graph.writer(var) {
            Some((.., Operator { op: Op::Fill(op), .. })) if op.ty.rows.is_some() => {
                Expr::Word(literal(op.value, op.ty.dtype))
            }
            _ => self.whole(var),
        }
    }

    /// A value that a variable takes. An array of numbers would be as many values.
    pub(super) fn whole(&self, var: VarId) -> Expr {
        one_value(self.value(var))
    }

    /// The truth value that a condition is made from, and whether it is turned around.
    fn truth(&self, condition: VarId) -> (VarId, bool) {
        let (mut var, mut is_not) = (self.graph.resolve(condition), false);
        while let Some((.., operator)) = self.graph.writer(var) {
            let (of, turns) = match (&operator.op, &operator.inputs[..]) {
                (Op::Not(_), &[x]) => (x, true),
                (Op::Compare(Compare { kind: CompareKind::Equal }), &[x, number]) => {
                    let writer = |var| self.graph.writer(var).map(|(.., operator)| operator);
                    match (writer(x), writer(number).map(|number| &number.op)) {
                        (
                            Some(Operator { op: Op::Cast(_), inputs, .. }),
                            Some(Op::Fill(Fill { value: Number::Int(value @ (0 | 1)), .. })),
                        ) if self.program().ty(inputs[0]).dtype == DType::Bool => (inputs[0], *value == 0),
                        _ => break,
                    }
                }
                _ => break,
            };
            (var, is_not) = (self.graph.resolve(of), is_not != turns);
        }
        (var, is_not)
    }

    /// An `if` whose sides give what two others have computed, each for one half of the same condition: the condition, the
    /// sides, and the two others, whose place it takes.
    #[expect(clippy::type_complexity, reason = "what an `if` consists of")]
    fn halves(
        &self,
        block: BlockId,
        operator: &Operator,
        sides: &[(BlockId, Vec<VarId>)],
    ) -> Option<(VarId, Vec<(BlockId, Vec<VarId>)>, Vec<usize>)> {
        let (condition, turned) = self.truth(operator.inputs[0]);
        let (mut given, mut parts) = (Vec::new(), Vec::new());
        for (side, (_, results)) in sides.iter().enumerate() {
            let results: Vec<VarId> = results.iter().map(|result| self.graph.resolve(*result)).collect();
            let (of, at, half) = self.graph.writer(*results.first()?)?;
            let (Op::If(_), &[yes, no]) = (&half.op, &half.blocks[..]) else { return None };
            let (tested, is_not) = self.truth(half.inputs[0]);
            let is_plain = [yes, no].iter().all(|block| self.program().block(*block).rows.is_none());
            // Nothing else may read what it gives.
            let count = |output: &VarId| results.iter().filter(|result| *result == output).count();
            let is_own = half.outputs.iter().all(|output| self.graph.reads(*output) == count(output));
            if tested != condition || of != block || !is_plain || !is_own {
                return None;
            }
            // Which of its branches runs on this side.
            let is_yes = (side == 0) != turned;
            let chosen = if is_yes == is_not { no } else { yes };
            let place = |result: &VarId| half.outputs.iter().position(|output| output == result);
            let result = |result: &VarId| self.program().block(chosen).results.get(place(result)?).copied();
            given.push((chosen, results.iter().map(result).collect::<Option<Vec<_>>>()?));
            parts.push(at);
        }
        if turned {
            given.reverse();
        }
        Some((condition, given, parts))
    }

    fn while_loop(&self, operator: &Operator, condition: BlockId, body: BlockId) -> Statement {
        let [tested, iterated] = [condition, body].map(|block| self.program().block(block));
        // The state that is the condition itself.
        let state = tested.params.iter().position(|param| tested.results.first() == Some(param));
        let test = state.filter(|state| {
            let is_read = operator.outputs.get(*state).is_none_or(|output| self.graph.reads(*output) > 0);
            let again = iterated.results.get(*state);
            !is_read
                && again.is_some_and(|again| {
                    let of_loop = (operator, body, *state);
                    self.is_again(of_loop, operator.inputs[*state], *again, &mut { MOST_OPERATORS })
                })
        });
        match test {
            Some(state) => {
                let test = self.before((operator, body, state), condition, iterated.results[state]);
                self.repeated(operator, 0, &[condition, body], Head::While(test), Some(state))
            }
            None => {
                let test = inline::as_one(self.body(condition));
                self.repeated(operator, 0, &[condition, body], Head::While(test), None)
            }
        }
    }

    /// Whether a value at the end of an iteration is computed as another one is in front of the loop: of the next values of its
    /// states as that is of the first ones. One of the states is the condition, which is no value to compute it of.
    fn is_again(
        &self,
        of_loop: (&Operator, BlockId, usize),
        first: VarId,
        again: VarId,
        left: &mut usize,
    ) -> bool {
        let [one, other] = [first, again].map(|var| self.graph.resolve(var));
        let mut states = self.states_of(of_loop, again).peekable();
        if states.peek().is_some() {
            // Of several with the same next value, any may be read.
            let (operator, ..) = of_loop;
            return states.all(|state| self.graph.resolve(operator.inputs[state]) == one);
        }
        if one == other {
            return true;
        }
        let (Some((.., a)), Some((.., b))) = (self.graph.writer(one), self.graph.writer(other)) else {
            return false;
        };
        let place = |operator: &Operator, var| operator.outputs.iter().position(|output| *output == var);
        let is_alike = a.op == b.op && a.blocks.is_empty() && a.inputs.len() == b.inputs.len() && *left > 0;
        *left = left.saturating_sub(1);
        is_alike
            && !a.op.effects().random
            && place(a, one) == place(b, other)
            && a.inputs.iter().zip(&b.inputs).all(|(a, b)| self.is_again(of_loop, *a, *b, left))
    }

    /// The states whose next value this is, but for the condition.
    fn states_of(
        &self,
        (_, body, condition): (&Operator, BlockId, usize),
        next: VarId,
    ) -> impl Iterator<Item = usize> {
        let next = self.graph.resolve(next);
        let results = self.program().block(body).results.iter().enumerate();
        results
            .filter(move |(state, result)| *state != condition && self.graph.resolve(**result) == next)
            .map(|(state, _)| state)
    }

    /// What is computed at the end of an iteration, of the states as they are in front of one.
    fn before(&self, of_loop: (&Operator, BlockId, usize), tested: BlockId, var: VarId) -> Expr {
        if let Some(state) = self.states_of(of_loop, var).next()
            && let Some(param) = self.program().block(tested).params.get(state)
        {
            return Expr::Value(*param);
        }
        let (_, body, _) = of_loop;
        let var = self.graph.resolve(var);
        let Some((of, at, writer)) = self.graph.writer(var).filter(|(of, ..)| *of == body) else {
            return self.value(var);
        };
        let mut value = self.made(of, at, writer).value;
        value.replace(&mut |input| Some(self.before(of_loop, tested, input)));
        value
    }

    /// A loop. Variables that it does not change are none of its states, nor is its condition.
    fn repeated(
        &self,
        operator: &Operator,
        items: usize,
        blocks: &[BlockId],
        head: Head,
        condition: Option<usize>,
    ) -> Statement {
        let count = operator.inputs.len() - items;
        let (finals, collected) = operator.outputs.split_at(count.min(operator.outputs.len()));
        let mut body = blocks.last().map(|block| self.body(*block)).unwrap_or_default();
        let (mut states, mut next) = (Vec::new(), Vec::new());
        let results = blocks.last().map(|block| &self.program().block(*block).results);
        let mut results = results.into_iter().flatten().map(|result| self.whole(*result));
        for (at, (&after, result)) in finals.iter().zip(results.by_ref()).enumerate() {
            let params =
                blocks.iter().filter_map(|block| self.program().block(*block).params.get(items + at));
            let before: Vec<VarId> = params.copied().collect();
            if condition == Some(at) || before.iter().any(|param| self.graph.resolve(*param) != *param) {
                continue;
            }
            states.push(State { initial: self.whole(operator.inputs[items + at]), before, after });
            next.push(result);
        }
        let mut read = Vec::new();
        for (output, result) in collected.iter().zip(results) {
            if self.graph.reads(*output) > 0 {
                read.push(Some(*output));
                next.push(result);
            }
        }
        body.results = next;
        inline::drop_unread(&mut body, &|var| self.graph.is_counted(var));
        Statement::Loop(Loop { head, states, body, collected: read })
    }
}
