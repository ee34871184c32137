//! The type of a network, and its program as data.

use paddle_core::convert::to_wire;
use paddle_language::lower::Lowered;
use paddle_language::report::Extent;
use paddle_language::training::{Refusal, refusal};
use proc_macro2::{Ident, Literal, Span, TokenStream};
use quote::quote;

use super::params;
use super::sizes::Sizes;
use crate::errors;

/// The type of a network.
pub(super) struct Spec<'a> {
    pub(super) ident: &'a Ident,
    /// The tokens to blame: its name, or its closure.
    pub(super) at: Extent,
    /// Its const parameters: their declarations, and as arguments.
    pub(super) generics: (TokenStream, TokenStream),
    /// The name of the topology.
    pub(super) name: &'a str,
    pub(super) row: TokenStream,
    pub(super) sizes: &'a Sizes<'a>,
    /// The user's operators that it may use; `None` if there are none.
    pub(super) operators: Option<TokenStream>,
    /// Whether a network of its module has mistakes. Then its parameters are not compared with others.
    pub(super) broken: bool,
}

impl Spec<'_> {
    /// The implementation of the type, with the program as data. The program of a network with mistakes is empty: the
    /// implementation is there so that code that uses the network is not in error too.
    pub(super) fn implementation(&self, lowered: &Lowered) -> TokenStream {
        let Spec { ident, generics: (declared, arguments), name, row, sizes, operators, .. } = self;
        let operators = operators
            .as_ref()
            .map(|operators| quote!(const OPERATORS: ::paddle::operator::Operators = #operators;));
        let wire = lowered.program.as_ref().map(to_wire).unwrap_or_default();
        // With `&*`, because a plain literal would be stored once more in the crate's metadata.
        let [main, startup] = [wire.main.encode_to_vec(), wire.startup.encode_to_vec()].map(|bytes| {
            let bytes = Literal::byte_string(&bytes);
            quote!(&*#bytes)
        });
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
        let constants = sizes.constants();
        let constants = (!constants.is_empty()).then(|| {
            quote!(
                const CONSTANTS: &'static [(&'static str, ::paddle::network::Elements)] = &[#(#constants),*];
            )
        });
        let params = params::constants(lowered.program.as_ref().filter(|_| !self.broken), sizes);
        let refusal = refusal(lowered).filter(|_| !self.broken);
        let training = self.training(refusal.as_ref());
        let untrainable = refusal.map(|refusal| refusal.why.to_string()).map(|why| {
            quote!(
                const UNTRAINABLE: ::core::option::Option<&'static str> = ::core::option::Option::Some(#why);
            )
        });
        let (beside, agreement) = self.beside();
        quote! {
            #items
            #agreement
            #training
            impl #declared ::paddle::Spec for #ident #arguments {
                type Row = #row;
                type Beside<Other: ::paddle::Spec> = #beside;
                const NAME: &'static str = #name;
                const PROGRAM: &'static [u8] = #main;
                const STARTUP: &'static [u8] = #startup;
                #params
                #untrainable
                #constants
                #operators
                #method
            }
        }
    }

    /// The comparison with another network, shown at this network's name: its type, and the items in front of the
    /// implementation.
    fn beside(&self) -> (TokenStream, TokenStream) {
        let beside = Ident::new("Beside", Span::mixed_site());
        let params = quote!(&[Other::PARAMS], &This::PARAMS);
        let agree = errors::call(self.at, &quote!(::paddle::sharing::agree_with), &params);
        let items = quote! {
            #[doc(hidden)]
            pub struct #beside<Other, This>(::core::marker::PhantomData<(Other, This)>);
            impl<Other: ::paddle::Spec, This: ::paddle::Spec> ::paddle::sharing::Agreeing for #beside<Other, This> {
                const AGREES: () = #agree;
            }
        };
        (quote!(#beside<Other, Self>), items)
    }

    /// Whether the network can be trained, as implementations of traits. If a required one does not hold, rustc shows
    /// the user's own line and the reason.
    fn training(&self, refusal: Option<&Refusal>) -> TokenStream {
        let Spec { ident, generics: (declared, arguments), name, .. } = self;
        let [whole, part] = [quote!(::paddle::Trainable), quote!(::paddle::TrainableInPart)];
        let Some(Refusal { why, unless_frozen }) = refusal else {
            return quote! {
                impl #declared #part for #ident #arguments {}
                impl #declared #whole for #ident #arguments {}
            };
        };
        // The attribute would fill in names in braces, so braces are doubled.
        let verbatim = |text: &str| text.replace('{', "{{").replace('}', "}}");
        let (message, label) = (verbatim(&why.message), format!("`{name}` cannot be trained like this"));
        let note = why.place.as_ref().map(|place| verbatim(&format!("see {place}")));
        let note = note.map(|note| quote!(, note = #note));
        // The bound never holds. `for<..>` makes rustc check it only where it is needed. It is not a bound on `Self`,
        // for which rustc would print what it prints for all networks.
        let possible = Ident::new("Possible", Span::mixed_site());
        let refused = quote!(where for<'never> ::paddle::Training: #possible);
        let part_refused = (!unless_frozen).then(|| refused.clone());
        quote! {
            #[diagnostic::on_unimplemented(message = #message, label = #label #note)]
            #[doc(hidden)]
            pub trait #possible {}
            impl #declared #part for #ident #arguments #part_refused {}
            impl #declared #whole for #ident #arguments #refused {}
        }
    }
}
