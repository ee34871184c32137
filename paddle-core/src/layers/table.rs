//! Makes the layers of a family from its table.

/// Makes `LAYERS` from a table: `with_image_layers!(layers)`.
macro_rules! layers {
    ($($(#[doc = $doc:literal])*
       $name:ident($($arg:ident: $kind:ident $(($($word:ident),*))? $arg_doc:literal),*;
                   $($named:ident: $named_kind:ident $(($($named_word:ident),*))? $(= $default:literal)? $named_doc:literal),*)
       $($mark:ident)? => $build:expr;)*) => {
        /// The layers of this family.
        pub(super) const LAYERS: &[$crate::layers::Layer] = &[$($crate::layers::Layer {
            name: stringify!($name),
            doc: concat!($($doc, "\n"),*),
            positional: layers!(@arguments [$($arg: $kind $(($($word),*))? $arg_doc,)*]),
            named: layers!(@named $($mark)? [
                $($named: $named_kind $(($($named_word),*))? $(= $default)? $named_doc,)*
            ]),
            activation: layers!(@activation $($mark)?),
            build: layers!(@build $($mark)? ($build)),
        }),*];
    };
    (@build several ($build:expr)) => { $crate::layers::Build::Several($build) };
    (@build $($mark:ident)? ($build:expr)) => { $crate::layers::Build::One($build) };
    (@activation activation) => { true };
    (@activation $($mark:ident)?) => { false };
    (@named [$($named:tt)*]) => { layers!(@arguments [$($named)*]) };
    (@named $mark:ident [$($named:tt)*]) => {
        $crate::with_parameter_arguments!($mark layers! (@arguments) [$($named)*])
    };
    (@arguments [$($name:ident: $kind:ident $(($($word:ident),*))? $(= $default:literal)? $doc:literal,)*]) => {
        &[$($crate::layers::Argument {
            name: stringify!($name),
            kind: $crate::layers::Kind::$kind $((&[$(stringify!($word)),*]))?,
            default: layers!(@default $kind $($default)?),
            doc: $doc,
        }),*]
    };
    (@default $kind:ident) => { None };
    (@default Flag $default:literal) => { Some($crate::layers::LeftOut::Flag($default)) };
    (@default Number $default:literal) => { Some($crate::layers::LeftOut::Number($default)) };
    (@default Choice $default:literal) => { Some($crate::layers::LeftOut::Word($default)) };
    (@default $kind:ident $default:literal) => { Some($crate::layers::LeftOut::Int($default)) };
}
