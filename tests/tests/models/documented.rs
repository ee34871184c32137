//! Documentation and attributes go with what they stand before.

paddle::network! {
    /// A module in the other form.
    #[allow(clippy::module_name_repetitions)]
    pub mod documented {
        //! Its documentation goes on inside.

        /// A size that others may read.
        pub(crate) const SIZE: usize = 3;

        /// A part.
        fn documented_part(x: _) -> _ {
            // A comment.
            fc(x, SIZE)
        }

        /// What is run.
        #[must_use]
        pub fn documented_network(x: Tensor<f32, _, 2>) -> Tensor<f32, _, SIZE> {
            documented_part(x)
        }
    }
}

pub(crate) fn networks() -> Vec<crate::Model> {
    assert_eq!(documented::SIZE, 3);
    vec![crate::model(documented::documented_network())]
}
