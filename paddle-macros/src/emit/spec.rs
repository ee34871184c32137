//! The program of a network as data, and the type that stands for it.

use paddle_core::convert::to_wire;
use proc_macro2::{Ident, Literal, TokenStream};
use quote::quote;

use super::params;
use super::sizes::Sizes;
use crate::errors;
use crate::lower::Lowered;
use crate::training::{Refusal, refusal};

/// The type that stands for a network.
pub(super) struct Spec<'a> {
    pub(super) ident: &'a Ident,
    /// Its const parameters, as declared and as arguments.
    pub(super) generics: (TokenStream, TokenStream),
    /// The name of the topology.
    pub(super) name: &'a str,
    pub(super) row: TokenStream,
    pub(super) sizes: &'a Sizes<'a>,
    /// The operators of the user's own that it may use; none are left out.
    pub(super) operators: Option<TokenStream>,
}

impl Spec<'_> {
    /// The program as data. One that has mistakes is left empty: it is there so that its users are not in error too.
    pub(super) fn implementation(&self, lowered: &Lowered) -> TokenStream {
        let Spec { ident, generics: (declared, arguments), name, row, sizes, operators } = self;
        let operators = operators
            .as_ref()
            .map(|operators| quote!(const OPERATORS: ::paddle::operator::Operators = #operators;));
        let wire = lowered.program.as_ref().map(to_wire).unwrap_or_default();
        let main = Literal::byte_string(&wire.main.encode_to_vec());
        let startup = Literal::byte_string(&wire.startup.encode_to_vec());
        let values = sizes.values();
        let (items, method) = match (values.is_empty(), sizes.run_time().next().is_some()) {
            (true, _) => (None, None),
            (false, true) => (None, Some(quote!(&self.sizes))),
            (false, false) => {
                let items = quote! {
                    impl #declared #ident #arguments {
                        const SIZES: &'static [i64] = &[#(#values),*];
                    }
                };
                (Some(items), Some(quote!(Self::SIZES)))
            }
        };
        let method = method.map(|values| quote!(fn sizes(&self) -> &[i64] { #values }));
        let params = params::constants(lowered.program.as_ref(), sizes);
        let refusal = refusal(lowered).map(refuse);
        quote! {
            #items
            impl #declared ::paddle::Spec for #ident #arguments {
                type Row = #row;
                const NAME: &'static str = #name;
                const PROGRAM: &'static [u8] = #main;
                const STARTUP: &'static [u8] = #startup;
                #params
                #refusal
                #operators
                #method
            }
        }
    }
}

/// Has rustc refuse a training, at the tokens to blame.
fn refuse(refusal: Refusal) -> TokenStream {
    let Refusal { why, at, unless_frozen } = refusal;
    let panic = errors::call(at, &quote!(::paddle::refuse_training), &quote!(#why));
    let in_any_case = (!unless_frozen).then(|| {
        quote!(
            const TRAINED_IN_PART: () = #panic;
        )
    });
    quote! {
        const UNTRAINABLE: ::core::option::Option<&'static str> = ::core::option::Option::Some(#why);
        const TRAINED: () = #panic;
        #in_any_case
    }
}
