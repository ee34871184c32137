//! The ghost: a function that never runs, made of the user's tokens, each once and with its place. Editors get hover,
//! completion and definitions from it, and rustc its lints on unused variables and `mut`.
//!
//! Variables have the types that editors show, everything else is a `Var`, and functions take anything. So the ghost
//! never reports a mistake of the network a second time.

mod call;
mod choice;
mod editor_types;
mod quiet;

use paddle_language::ast::{
    Block, Choice, Closure, Constant, CustomOperator, DimExpr, DimKind, Expr, ExprKind, Function, Import,
    Infix, Meaning, Network, Param, Pattern, PatternKind, Piece, Statement, Target, TargetKind, TypeExpr,
    TypeKind,
};
use proc_macro2::{Delimiter, Group, Ident, Span, TokenStream, TokenTree};
use quote::{ToTokens, quote, quote_spanned};

use paddle_core::ops::{BinaryKind, CompareKind, LogicalKind};

pub(crate) use quiet::quiet;

/// The ghosts of all functions of an invocation.
pub(crate) fn ghost(network: &Network) -> TokenStream {
    let here = network.functions.iter().filter(|function| network.is_here(function.unit));
    let functions = here.map(|function| self::function(function, network));
    let imports = network.imports().filter(|import| !network.is_constant(import)).map(import);
    // Sizes of the caller have no value here, and nothing made of them is evaluated.
    let by_caller =
        network.constants.iter().filter(|constant| network.is_here(constant.unit) && constant.by_caller);
    let sizes = by_caller.filter(|constant| !constant.is_captured()).map(
        |Constant { ident, .. }| quote!(#[allow(dead_code, non_upper_case_globals)] const #ident: usize = 0;),
    );
    let types = editor_types::types(network);
    let scope = language_scope();
    // Editors complete incomplete names with layers, so these are in scope.
    quote! {
        #[cfg(rust_analyzer)]
        #[allow(unused_imports)]
        use #scope::{*, library::*};
        #(#imports)*
        #(#sizes)*
        #(#functions)*
        #types
    }
}

/// The stand-in for an imported sub-network.
fn import(import: &Import) -> TokenStream {
    let (name, var, none) = (&import.ident, var(), helper("v", quote!(())));
    quote!(fn #name<T>(_: T) -> #var { #none })
}

/// A path to a function of `paddle::ghost`. The last segment has the place of the tokens that it stands for.
fn language(name: &str, at: Span) -> TokenStream {
    let name = Ident::new(name, at);
    let here = Span::mixed_site();
    quote_spanned!(here=> ::paddle::ghost::#name)
}

fn language_scope() -> TokenStream {
    let here = Span::mixed_site();
    quote_spanned!(here=> ::paddle::ghost)
}

fn helper(name: &str, argument: impl ToTokens) -> TokenStream {
    let name = language(name, Span::mixed_site());
    quote!(#name(#argument))
}

/// A name without meaning. It may be the beginning of a variable, a layer, or a function of one of these modules of
/// `paddle::ghost`, which an editor completes. Only editors see the ghost of a network with mistakes.
fn unfinished(name: &Ident, modules: &[TokenStream]) -> TokenStream {
    if modules.is_empty() {
        return helper("v", name);
    }
    let scope = language_scope();
    let name = quote!({
        use #scope::{#(#modules::*),*};
        #name
    });
    helper("v", name)
}

fn var() -> TokenStream {
    language("Var", Span::mixed_site())
}

fn function(function: &Function, network: &Network) -> TokenStream {
    if let Some(operator) = &function.operator {
        return declared_operator(function, operator, network);
    }
    let Function { ident, public, generics, params, result, body, lints: wanted, .. } = function;
    let generics = generics.iter().map(|size| &size.tokens);
    let generics = (!function.generics.is_empty()).then(|| quote!(<#(#generics),*>));
    let lints = if *public {
        quote!(dead_code, unused_parens, overflowing_literals, unused_braces)
    } else {
        quote!(unused_parens, overflowing_literals, unused_braces)
    };
    let inputs = function.positional().map(|param| self::param(param, network));
    let named = function.named().map(|param| {
        let (name, ty) = (pattern(&param.pattern), pattern_type(&param.pattern, network));
        let default = param.default.as_ref().map(|value| helper("bound", expr(value, network)));
        quote!(let #name: #ty = #default;)
    });
    let types = params.iter().flat_map(|param| &param.ty).chain(result).map(|ty| constants(ty, network));
    // A local variable may hide a captured variable, but not an item.
    let captured = network.constants.iter().filter(|constant| constant.is_captured());
    let captured = captured.map(|Constant { ident, .. }| quote!(let #ident: usize = 0;));
    let body = value_block(body, network);
    let var = var();
    quote! {
        #[allow(#lints)]
        #wanted
        fn #ident #generics(#(#inputs),*) -> #var {
            #(#captured)*
            #(#named)*
            #(#types)*
            #body
        }
    }
}

/// The ghost of an operator: it has no body, but uses its gradient.
fn declared_operator(function: &Function, operator: &CustomOperator, network: &Network) -> TokenStream {
    let ident = &function.ident;
    let inputs = function.positional().map(|param| self::param(param, network));
    let gradient = operator
        .gradient
        .as_ref()
        .filter(|(_, to)| to.is_some_and(|to| network.is_here(network.functions[to.0].unit)));
    let gradient = gradient.map(|(gradient, _)| quote!(let _ = #gradient;));
    let (var, none) = (var(), helper("v", quote!(())));
    quote! {
        #[allow(dead_code, unused_variables)]
        fn #ident(#(#inputs),*) -> #var {
            #gradient
            #none
        }
    }
}

fn param(param: &Param, network: &Network) -> TokenStream {
    let (pattern, ty) = (pattern(&param.pattern), pattern_type(&param.pattern, network));
    quote!(#pattern: #ty)
}

fn pattern(pattern: &Pattern) -> TokenStream {
    match &pattern.kind {
        PatternKind::Name { ident, mutable, .. } => {
            let mutable = mutable.map(|span| Ident::new("mut", span));
            quote!(#mutable #ident)
        }
        PatternKind::Tuple(parts) | PatternKind::Invalid(parts) => {
            let parts = parts.iter().map(self::pattern);
            quote!((#(#parts,)*))
        }
        PatternKind::Wildcard => quote!(_),
    }
}

fn pattern_type(pattern: &Pattern, network: &Network) -> TokenStream {
    match &pattern.kind {
        PatternKind::Tuple(parts) | PatternKind::Invalid(parts) => {
            let parts = parts.iter().map(|part| pattern_type(part, network));
            quote!((#(#parts,)*))
        }
        PatternKind::Name { binding, .. } => editor_types::of(*binding, network).unwrap_or_else(var),
        PatternKind::Wildcard => var(),
    }
}

/// Statements that read the `const`s in a type.
fn constants(ty: &TypeExpr, network: &Network) -> TokenStream {
    match &ty.kind {
        TypeKind::Tensor { dims, .. } | TypeKind::Sequence { dims, .. } => {
            dims.iter().map(|dim| constants_of_dim(dim, network)).collect()
        }
        TypeKind::Tuple(parts) => parts.iter().map(|part| constants(part, network)).collect(),
        TypeKind::Infer
        | TypeKind::Constant(_)
        | TypeKind::Activation
        | TypeKind::Word
        | TypeKind::Invalid => TokenStream::new(),
    }
}

fn constants_of_dim(dim: &DimExpr, network: &Network) -> TokenStream {
    match &dim.kind {
        DimKind::Name { ident, constant: Some(_) } => {
            let read = helper("v", ident);
            quote!(#read;)
        }
        DimKind::Binary(_, x, y) => [x, y].map(|dim| constants_of_dim(dim, network)).into_iter().collect(),
        DimKind::Part(part) => {
            let part = expr(part, network);
            quote!(#part;)
        }
        // rustc reads paths where their values are used.
        DimKind::Name { .. } | DimKind::Any | DimKind::Size(_) | DimKind::Outside(_) => TokenStream::new(),
    }
}

/// A block, with the braces of its tokens.
fn block(block: &Block, network: &Network) -> TokenStream {
    let body = statements(block, network);
    let tail = block.tail.as_ref().map(|tail| expr(tail, network));
    quote!({ #body #tail })
}

/// A block that always has a value.
fn value_block(block: &Block, network: &Network) -> TokenStream {
    let body = statements(block, network);
    match &block.tail {
        Some(tail) => {
            let tail = valued(tail, network);
            quote!(#body #tail)
        }
        None => {
            let none = helper("v", quote!(()));
            quote!(#body #none)
        }
    }
}

fn statements(block: &Block, network: &Network) -> TokenStream {
    block.statements.iter().map(|statement| self::statement(statement, network)).collect()
}

fn statement(statement: &Statement, network: &Network) -> TokenStream {
    match statement {
        Statement::Const(Constant { ident, value, by_caller: true, .. }) => {
            let value = helper("v", expr(value, network));
            quote!(#[allow(non_snake_case)] let #ident = #value;)
        }
        Statement::Const(Constant { tokens, .. }) => tokens.clone(),
        Statement::Expr { value, semicolon } => {
            let ghost = expr(value, network);
            match value.kind {
                // Rust requires such a statement to have no value; the language does not.
                ExprKind::If { .. }
                | ExprKind::While { .. }
                | ExprKind::For { .. }
                | ExprKind::Match { .. }
                | ExprKind::Block(_)
                    if !value.is_statement() =>
                {
                    quote!(let _ = #ghost;)
                }
                ExprKind::If { .. }
                | ExprKind::While { .. }
                | ExprKind::For { .. }
                | ExprKind::Match { .. }
                | ExprKind::Block(_)
                    if !semicolon =>
                {
                    ghost
                }
                _ => quote!(#ghost;),
            }
        }
        Statement::Let { span, pattern: bound, ty, value } => {
            let keyword = Ident::new("let", *span);
            let constants = ty.as_ref().map(|ty| constants(ty, network));
            let (names, ty) = (pattern(bound), pattern_type(bound, network));
            match value.as_ref().map(|value| (&value.kind, expr(value, network))) {
                None => quote!(#constants #keyword #names: #ty;),
                Some((ExprKind::Closure(_), value)) => quote!(#constants #keyword #names = #value;),
                Some((_, value)) => {
                    let value = helper("bound", value);
                    quote!(#constants #keyword #names: #ty = #value;)
                }
            }
        }
    }
}

/// The ghost of an expression, always as a `Var`.
fn valued(expr: &Expr, network: &Network) -> TokenStream {
    let ghost = self::expr(expr, network);
    if expr.is_statement() {
        let none = helper("v", quote!(()));
        return quote!({ #ghost; #none });
    }
    match &expr.kind {
        ExprKind::Number { .. }
        | ExprKind::Text { .. }
        | ExprKind::Template { .. }
        | ExprKind::Name { meaning: Meaning::Variable(_) | Meaning::Activation(_), .. }
        | ExprKind::Paren(_)
        | ExprKind::Closure(_) => helper("v", ghost),
        ExprKind::Kept(inner) => valued(inner, network),
        ExprKind::Block(inner) => {
            let body = value_block(inner, network);
            quote!({ #body })
        }
        _ => ghost,
    }
}

fn expr(expr: &Expr, network: &Network) -> TokenStream {
    let ghost = |x: &Expr| self::expr(x, network);
    match &expr.kind {
        ExprKind::Number { literal, .. } => literal.clone(),
        ExprKind::Text { literal, .. } => literal.to_token_stream(),
        ExprKind::Template { pieces, literal } => {
            let is_variable = |piece: &Piece| matches!(piece, Piece::Variable(_));
            match pieces.iter().any(is_variable) {
                // `format_args!` reads the variables that the text names.
                true => helper("v", quote!(::core::format_args!(#literal))),
                false => literal.to_token_stream(),
            }
        }
        ExprKind::Repeated { x, times } => {
            let (x, times) = (ghost(x), ghost(times));
            helper("v", quote!((#x, #times)))
        }
        ExprKind::Index { x, index } => {
            let (x, index) = (ghost(x), ghost(index));
            helper("v", quote!((#x, #index)))
        }
        ExprKind::Cut { .. } | ExprKind::Method { .. } => {
            let parts = expr.parts().into_iter().map(ghost);
            helper("v", quote!((#(#parts,)*)))
        }
        ExprKind::Part { x, .. } => helper("v", ghost(x)),
        ExprKind::Range { start, op, end, .. } => {
            let (name, start, end) = (operator("range", *op), ghost(start), ghost(end));
            quote!(#name(#start, #end))
        }
        ExprKind::Name { ident, meaning } => match meaning {
            Meaning::Variable(_) | Meaning::Activation(_) => ident.to_token_stream(),
            // A generic function needs type arguments to be a value.
            Meaning::Layer(layer) => {
                let (name, arguments) =
                    (language(layer.name, ident.span()), layer.positional.iter().map(|_| quote!(())));
                quote!(#name(#(#arguments),*))
            }
            Meaning::Choice(Choice { layer, argument, word }) => {
                let [layer, argument] = [layer, argument].map(|name| Ident::new(name, Span::mixed_site()));
                let word = Ident::new(word, ident.span());
                let choice = language("choice", Span::mixed_site());
                quote!(#choice::#layer::#argument::#word())
            }
            Meaning::Word | Meaning::Dimension => helper("v", quote!(::core::stringify!(#ident))),
            Meaning::Unresolved => unfinished(ident, &[]),
            Meaning::Function(_) | Meaning::Initializer(_) => helper("v", quote!(())),
        },
        // rustc cannot infer the element type of an empty array.
        ExprKind::Array(parts) if parts.is_empty() => helper("v", quote!(())),
        ExprKind::Array(parts) | ExprKind::Tuple(parts) => {
            let parts = parts.iter().map(ghost);
            helper("v", quote!((#(#parts,)*)))
        }
        ExprKind::Paren(inner) => delimited(Delimiter::Parenthesis, ghost(inner), expr.at.end),
        ExprKind::Negate { op, x } => {
            let (name, x) = (operator("neg", *op), ghost(x));
            quote!(#name(#x))
        }
        ExprKind::Not { op, x } => {
            let (name, x) = (operator("not", *op), ghost(x));
            quote!(#name(#x))
        }
        ExprKind::Binary { kind, op, x, y } => {
            let (name, x, y) = (operator(function_of(*kind), first(op)), ghost(x), ghost(y));
            quote!(#name(#x, #y))
        }
        ExprKind::Assign { target, op, value } => {
            let (names, value) = (self::target(target), helper("bound", ghost(value)));
            // rustc shows a lint about a whole assignment at the user's source if the last token has its place.
            let value = delimited(Delimiter::Parenthesis, value, expr.at.end);
            quote!(#names #op #value)
        }
        ExprKind::Update { kind, op, target, value } => {
            let name = format!("{}_assign", function_of(Infix::Arithmetic(*kind)));
            let (name, names, value) = (operator(&name, first(op)), self::target(target), ghost(value));
            let changed = quote_spanned!(target.at.start=> &mut);
            // The value comes first, because it may read the variable.
            quote!(#name(#value, #changed #names))
        }
        ExprKind::Call(call) => call::call(call, network),
        ExprKind::Closure(Closure { params, result, body }) => {
            let inputs = params.iter().map(|param| self::param(param, network));
            let types =
                params.iter().flat_map(|param| &param.ty).chain(result).map(|ty| constants(ty, network));
            let (body, var) = (valued(body, network), var());
            quote!(move |#(#inputs),*| -> #var { #(#types)* #body })
        }
        ExprKind::If { span, condition, yes, no } => {
            let keyword = Ident::new("if", *span);
            let condition = helper("cond", ghost(condition));
            // An `if` that is decided at compile time may be a statement or a value.
            let (yes, no) = match expr.is_statement() {
                true => (block(yes, network), no.as_ref().map(|(span, no)| (span, ghost(no)))),
                false => {
                    let yes = value_block(yes, network);
                    (quote!({ #yes }), no.as_ref().map(|(span, no)| (span, valued(no, network))))
                }
            };
            let no = no.map(|(span, no)| {
                let keyword = Ident::new("else", *span);
                quote!(#keyword #no)
            });
            quote!(#keyword #condition #yes #no)
        }
        ExprKind::While { span, condition, body } => {
            let keyword = Ident::new("while", *span);
            let condition = helper("cond", ghost(condition));
            repeated(quote!(#keyword #condition), body, network)
        }
        ExprKind::For { span, pattern: bound, items, body } => {
            let keyword = Ident::new("for", *span);
            let (names, ty) = (pattern(bound), pattern_type(bound, network));
            let (each, items) = (language("each", Span::mixed_site()), ghost(items));
            repeated(quote!(#keyword #names in #each::<_, #ty>(#items)), body, network)
        }
        ExprKind::Match { span, value, arms } => choice::choice(*span, value, arms, network),
        ExprKind::Block(inner) => block(inner, network),
        ExprKind::Kept(inner) => ghost(inner),
        // rustc reads paths where their values are used.
        ExprKind::Outside(_) | ExprKind::Nothing | ExprKind::Invalid => helper("v", quote!(())),
    }
}

/// The ghost of a loop. In Rust a loop has no value; in the language it has the collected values.
fn repeated(head: TokenStream, body: &Block, network: &Network) -> TokenStream {
    if body.is_statement() {
        let body = block(body, network);
        return quote!(#head #body);
    }
    let (body, value) = (value_block(body, network), helper("v", quote!(())));
    quote!({ #head { let _ = { #body }; } #value })
}

/// A path to a function of `paddle::ghost::operator`, with the place of the operator's token.
fn operator(name: &str, at: Span) -> TokenStream {
    let (module, name) = (language("operator", Span::mixed_site()), Ident::new(name, at));
    quote!(#module::#name)
}

fn first(op: &TokenStream) -> Span {
    op.clone().into_iter().next().map_or_else(Span::mixed_site, |token| token.span())
}

fn function_of(kind: Infix) -> &'static str {
    match kind {
        Infix::Arithmetic(kind) => match kind {
            BinaryKind::Add => "add",
            BinaryKind::Sub => "sub",
            BinaryKind::Mul => "mul",
            BinaryKind::Div => "div",
            _ => "rem",
        },
        Infix::Compare(kind) => match kind {
            CompareKind::LessThan => "lt",
            CompareKind::LessEqual => "le",
            CompareKind::GreaterThan => "gt",
            CompareKind::GreaterEqual => "ge",
            CompareKind::Equal => "eq",
            CompareKind::NotEqual => "ne",
        },
        Infix::Logical(LogicalKind::And) => "and",
        // The language has no operator tokens of their own for these.
        Infix::Logical(LogicalKind::Or | LogicalKind::Xor) => "or",
    }
}

fn target(target: &Target) -> TokenStream {
    match &target.kind {
        TargetKind::Name { ident, .. } => ident.to_token_stream(),
        TargetKind::Tuple(parts) => {
            let parts = parts.iter().map(self::target);
            quote!((#(#parts,)*))
        }
        TargetKind::Invalid => quote!(_),
    }
}

fn delimited(delimiter: Delimiter, inner: TokenStream, at: Span) -> TokenStream {
    let mut group = Group::new(delimiter, inner);
    group.set_span(at);
    TokenTree::from(group).into()
}
