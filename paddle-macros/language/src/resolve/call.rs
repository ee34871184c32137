//! Calls: what is called, and whether the arguments fit.

use paddle_core::layers::{Argument, INITIALIZERS, Initializer, Kind, LIBRARY, Layer};

use super::items::{Argument as Parameter, Item};
use super::{Entry, Resolver};
use crate::ast::{Call, Choice, Expr, ExprKind, FunctionId, Keyword, Meaning, Named, text};
use crate::habits;
use crate::messages::{Message, did_you_mean, one_of};
use crate::report::Extent;
use crate::resolve::cycles::Edge;

/// The advice for an unknown function.
const NO_FUNCTION: &str = "; functions of Rust cannot be called in a network: write it as a closure here, or as a `fn` of a `#[network]` module";

const BY_POSITION: &str = "; it is given by its position, without a name";

impl Resolver<'_> {
    pub(super) fn call(&mut self, call: &mut Call) {
        let name = text(&call.ident);
        call.callee = self.callee(call, &name);
        match call.callee {
            Meaning::Layer(layer) => {
                self.layer_arguments(call, layer);
                if !layer.takes(call.positional.len()) {
                    call.callee = Meaning::Unresolved;
                }
            }
            Meaning::Unresolved => {
                for argument in &mut call.positional {
                    self.expr(argument);
                }
                // If the callee is unknown, its named arguments may be of any kind.
                for Named { value, .. } in &mut call.named {
                    match value.kind {
                        ExprKind::Text { .. } | ExprKind::Name { .. } => self.mention(value),
                        _ => self.expr(value),
                    }
                }
            }
            Meaning::Function(id) => self.function_arguments(call, id),
            Meaning::Variable(_)
            | Meaning::Activation(_)
            | Meaning::Initializer(_)
            | Meaning::Choice(_)
            | Meaning::Word
            | Meaning::Dimension => {
                for argument in &mut call.positional {
                    self.expr(argument);
                }
                self.param_only(&name, &mut call.named);
            }
        }
    }

    fn callee(&mut self, call: &Call, name: &str) -> Meaning {
        let at = call.ident.span();
        match self.find(name) {
            Some((Entry::Closure(id, arity), _)) => {
                let arguments = vec![String::new(); arity];
                self.count(call, name, &arguments, |named| named == "param");
                return Meaning::Variable(id);
            }
            // Whether the parameter is an activation is checked where it is bound.
            Some((Entry::Keyword(id), _)) => {
                self.bindings[id.0].read = true;
                self.count(call, name, &[String::new()], |_| false);
                return Meaning::Activation(id);
            }
            Some((Entry::Variable(_) | Entry::Constant(_), _)) => {
                self.sink.error(at, Message::NotCallable { name: name.into() });
                return Meaning::Unresolved;
            }
            Some((Entry::Unknown(_), _)) => return Meaning::Unresolved,
            None => {}
        }
        match self.items.find(self.unit, name) {
            Some(Item::Function(to)) => return self.function(call, to),
            Some(Item::Broken) => return Meaning::Unresolved,
            None => {}
        }
        if let Some(layer) = Layer::find(name) {
            let mut arguments: Vec<String> = layer.positional.iter().map(|a| a.name.to_string()).collect();
            if layer.takes(call.positional.len()) {
                arguments.truncate(call.positional.len());
            }
            if let Some(last) = arguments.last_mut().filter(|_| layer.has_operands()) {
                last.push_str(", ..");
                // The call accepts as many arguments as it has.
                arguments.resize(call.positional.len().max(arguments.len()), String::new());
            }
            self.count(call, name, &arguments, |named| layer.named(named).is_some());
            return Meaning::Layer(layer);
        }
        if let Some(Item::Function(to)) = self.items.in_library(name) {
            return self.function(call, to);
        }
        if self.items.may_have_others() {
            return Meaning::Unresolved;
        }
        let message = if self.defining.iter().any(|closure| closure == name) {
            Message::Recursion { cycle: format!("`{name}` calls itself") }
        } else if self.ended.iter().any(|(ended, _)| ended == name) {
            self.out_of_block(name.to_string())
        } else {
            let functions = self.items.names(self.unit);
            let closures = self.scopes.iter().flat_map(|scope| &scope.names);
            let closures = closures.filter(|(_, entry)| matches!(entry, Entry::Closure(..)));
            let layers = Layer::all().map(|layer| layer.name).chain(LIBRARY.iter().map(|layer| layer.name));
            let known = layers.chain(functions);
            let known = known.chain(closures.map(|(name, _)| name.as_str()));
            let hint = self.items.hint(name, known, habits::of_call(name), NO_FUNCTION);
            Message::UnknownLayer { name: name.into(), hint }
        };
        self.sink.error(at, message);
        Meaning::Unresolved
    }

    fn function(&mut self, call: &Call, to: FunctionId) -> Meaning {
        let signature = &self.functions[to.0];
        let name = signature.name.clone();
        let arguments = signature.positional.iter().map(|argument| argument.name.clone().unwrap_or_default());
        let arguments: Vec<String> = arguments.collect();
        let others: Vec<String> =
            signature.named.iter().filter_map(|argument| argument.name.clone()).collect();
        let param = signature.has_parameters.then_some("param");
        self.count(call, &name, &arguments, |named| {
            param == Some(named) || others.iter().any(|other| other == named)
        });
        let at = Extent { start: call.ident.span(), end: call.parens.end };
        self.edges.push(Edge { from: self.current, to, at });
        Meaning::Function(to)
    }

    /// Resolves the arguments of a sub-network: values, and names of activations.
    fn function_arguments(&mut self, call: &mut Call, to: FunctionId) {
        let callee = self.functions[to.0].name.clone();
        let keyword = |arguments: &[Parameter], at: usize| {
            let argument = arguments.get(at)?;
            Some((argument.keyword?, argument.name.clone().unwrap_or_default()))
        };
        for (at, argument) in call.positional.iter_mut().enumerate() {
            match keyword(&self.functions[to.0].positional, at) {
                Some((keyword, name)) => self.keyword(keyword, &callee, &name, argument),
                None => self.expr(argument),
            }
        }
        let mut seen: Vec<String> = Vec::new();
        for Named { ident, value } in &mut call.named {
            let name = text(ident);
            let named = &self.functions[to.0].named;
            let known = named.iter().position(|argument| argument.name.as_ref() == Some(&name));
            let param = self.functions[to.0].has_parameters.then_some("param");
            if known.is_none() && param != Some(name.as_str()) {
                let mut positional = self.functions[to.0].positional.iter();
                let hint = match positional.any(|argument| argument.name.as_ref() == Some(&name)) {
                    true => BY_POSITION.to_string(),
                    false => {
                        let names: Vec<&str> = named
                            .iter()
                            .filter_map(|argument| argument.name.as_deref())
                            .chain(param)
                            .collect();
                        match habits::of_argument(&name, |ours| names.contains(&ours)) {
                            Some(instead) => format!("; {instead}"),
                            None => did_you_mean(&name, names),
                        }
                    }
                };
                let callee = callee.clone();
                self.sink.error(ident.span(), Message::UnknownArgument { callee, name, hint });
                self.mention(value);
                continue;
            }
            if seen.contains(&name) {
                self.sink.error(ident.span(), Message::RepeatedArgument { name });
                continue;
            }
            seen.push(name);
            match known.map(|at| keyword(&self.functions[to.0].named, at)) {
                None => self.parameter_name(&callee, value),
                Some(Some((keyword, name))) => self.keyword(keyword, &callee, &name, value),
                Some(None) => self.expr(value),
            }
        }
    }

    /// Resolves an argument that is a name: an activation or word, or a parameter that holds one.
    pub(super) fn keyword(&mut self, keyword: Keyword, callee: &str, argument: &str, value: &mut Expr) {
        let ExprKind::Name { ident, meaning } = &mut value.kind else {
            if !matches!(value.kind, ExprKind::Invalid) {
                let message = Message::ArgumentKind {
                    callee: callee.into(),
                    name: argument.into(),
                    expected: match keyword {
                        Keyword::Activation => Kind::Activation.describe().into(),
                        Keyword::Word => "a word, without quotes".into(),
                    },
                    found: found(value),
                };
                self.refuse(value, message);
            }
            return;
        };
        let name = text(ident);
        if let Some((Entry::Keyword(id), _)) = self.find(&name) {
            *meaning = Meaning::Variable(id);
            return;
        }
        if keyword == Keyword::Word {
            *meaning = Meaning::Word;
            return;
        }
        match Layer::find(&name).filter(|layer| layer.activation) {
            Some(layer) => *meaning = Meaning::Layer(layer),
            None => {
                let activations = Layer::all().filter(|layer| layer.activation);
                let hint = one_of(&name, activations.map(|layer| layer.name));
                self.refuse(value, Message::UnknownActivation { name, hint });
            }
        }
    }

    /// Reports a mistake. The value of the expression becomes unknown.
    pub(super) fn refuse(&mut self, value: &mut Expr, message: Message) {
        self.sink.error(value.at, message);
        self.mention(value);
        match &mut value.kind {
            // Editors complete an unresolved name.
            ExprKind::Name { meaning, .. } => *meaning = Meaning::Unresolved,
            kind => *kind = ExprKind::Invalid,
        }
    }

    /// Checks the number of arguments. Arguments with empty names are not listed in messages.
    fn count(&mut self, call: &Call, callee: &str, arguments: &[String], has_named: impl Fn(&str) -> bool) {
        let (expected, found) = (arguments.len(), call.positional.len());
        // An argument under a wrong name is not reported as missing too.
        let misnamed = call.named.iter().filter(|named| !has_named(&text(&named.ident))).count();
        if found == expected || (found < expected && found + misnamed >= expected) {
            return;
        }
        let listed = match arguments.iter().any(|name| name.is_empty()) {
            true => String::new(),
            false => format!(" ({})", arguments.join(", ")),
        };
        let takes = match expected {
            0 => "no arguments".to_string(),
            1 => format!("1 argument{listed}"),
            n => format!("{n} arguments{listed}"),
        };
        let is = match found {
            0 => "none is given".to_string(),
            1 => "1 is given".to_string(),
            n => format!("{n} are given"),
        };
        let at = match (call.positional.get(expected), call.positional.last()) {
            (Some(extra), Some(last)) => Extent { start: extra.at.start, end: last.at.end },
            _ => call.parens,
        };
        self.sink.error(at, Message::ArgumentCount { callee: callee.into(), takes, found: is });
    }

    /// Checks the named arguments of a sub-network: it has only `param`, the name of its parameters.
    fn param_only(&mut self, callee: &str, named: &mut [Named]) {
        let mut seen = false;
        for Named { ident, value } in named {
            let name = text(ident);
            if name != "param" {
                let hint = did_you_mean(&name, ["param"]);
                self.sink.error(ident.span(), Message::UnknownArgument { callee: callee.into(), name, hint });
            } else if std::mem::replace(&mut seen, true) {
                self.sink.error(ident.span(), Message::RepeatedArgument { name });
            } else {
                self.parameter_name(callee, value);
            }
        }
    }

    fn layer_arguments(&mut self, call: &mut Call, layer: &'static Layer) {
        for (at, argument) in call.positional.iter_mut().enumerate() {
            match layer.at(at) {
                Some(known) => self.argument(layer, known, argument),
                None => self.expr(argument),
            }
        }
        let mut seen = Vec::new();
        for Named { ident, value } in &mut call.named {
            let name = text(ident);
            let Some(known) = layer.named(&name) else {
                let hint = match layer.positional.iter().any(|argument| argument.name == name) {
                    true => BY_POSITION.to_string(),
                    false => match habits::of_argument(&name, |ours| layer.named(ours).is_some()) {
                        Some(instead) => format!("; {instead}"),
                        None => did_you_mean(&name, layer.named.iter().map(|argument| argument.name)),
                    },
                };
                self.mention(value);
                let callee = layer.name.to_string();
                self.sink.error(ident.span(), Message::UnknownArgument { callee, name, hint });
                continue;
            };
            if seen.contains(&name) {
                self.sink.error(ident.span(), Message::RepeatedArgument { name });
                continue;
            }
            seen.push(name);
            self.argument(layer, known, value);
        }
    }

    fn argument(&mut self, layer: &'static Layer, known: &Argument, value: &mut Expr) {
        let wrong = |found: &str| Message::ArgumentKind {
            callee: layer.name.into(),
            name: known.name.into(),
            expected: known.kind.describe().into(),
            found: found.into(),
        };
        match (known.kind, &mut value.kind) {
            (_, ExprKind::Invalid) => {}
            (Kind::Name, ExprKind::Array(names)) if layer.has_parameters() && !names.is_empty() => {
                names.iter_mut().for_each(|name| self.whole_name(layer.name, name));
            }
            (Kind::Name, _) => self.parameter_name(layer.name, value),
            (Kind::Text, ExprKind::Text { .. } | ExprKind::Name { .. } | ExprKind::Index { .. }) => {
                self.expr(value);
            }
            (Kind::Text, _) => self.refuse(value, wrong(&found(value))),
            (Kind::Activation, _) => self.keyword(Keyword::Activation, layer.name, known.name, value),
            (Kind::Choice(words) | Kind::IntsOr(words), ExprKind::Name { ident, meaning }) => {
                let found = text(ident);
                match words.iter().find(|word| **word == found) {
                    Some(&word) => {
                        *meaning = Meaning::Choice(Choice { layer: layer.name, argument: known.name, word });
                    }
                    None => match self.find(&found) {
                        Some((Entry::Keyword(id), _)) => *meaning = Meaning::Variable(id),
                        Some(_) if matches!(known.kind, Kind::IntsOr(_)) => self.expr(value),
                        _ => {
                            let hint = one_of(&found, words.iter().copied());
                            self.refuse(value, wrong(&format!("`{found}`{hint}")));
                        }
                    },
                }
            }
            (Kind::Initializer, ExprKind::Call(call)) => self.initializer(call),
            (Kind::Initializer, ExprKind::Name { ident, .. })
                if Initializer::find(&text(ident)).is_some() =>
            {
                let name = text(ident);
                self.refuse(value, wrong(&format!("`{name}` without its arguments: `{name}(..)`")));
            }
            (Kind::Choice(_) | Kind::Initializer, _) | (Kind::IntsOr(_), ExprKind::Text { .. }) => {
                self.refuse(value, wrong(&found(value)));
            }
            (_, ExprKind::Text { .. }) => self.refuse(value, wrong("a text")),
            _ => self.expr(value),
        }
    }

    /// Resolves a call of an initialiser, whose arguments are numbers.
    fn initializer(&mut self, call: &mut Call) {
        let name = text(&call.ident);
        let Some(initializer) = Initializer::find(&name) else {
            let hint = match habits::of_initializer(&name) {
                Some(instead) => format!("; {instead}"),
                None => one_of(&name, INITIALIZERS.iter().map(|initializer| initializer.name)),
            };
            self.sink.error(call.ident.span(), Message::UnknownInitializer { name, hint });
            return;
        };
        if call.positional.len() == initializer.arguments.len() {
            call.callee = Meaning::Initializer(initializer);
        }
        let arguments: Vec<String> = initializer.arguments.iter().map(|name| name.to_string()).collect();
        self.count(call, &name, &arguments, |_| false);
        for argument in &mut call.positional {
            self.expr(argument);
        }
        for Named { ident, .. } in &call.named {
            let (callee, name) = (initializer.name.to_string(), text(ident));
            let hint = "; its arguments are given by their positions".to_string();
            self.sink.error(ident.span(), Message::UnknownArgument { callee, name, hint });
        }
    }
}

/// The words for an expression where an activation or word is expected.
fn found(value: &Expr) -> String {
    match &value.kind {
        ExprKind::Text { .. } => "a text; write it without quotes".to_string(),
        ExprKind::Call(call) => format!("a call of `{}`", text(&call.ident)),
        ExprKind::Number { .. } | ExprKind::Name { .. } => value.words(),
        _ => "something else".to_string(),
    }
}
