//! Slots and attributes by name.

use paddle_core::wire::{AttrType, OpAttr, OpDesc, WireError};

#[test]
fn slots_by_name() {
    let op =
        OpDesc::new("sum").with_input("X", ["a", "b"]).with_input("Empty", [""; 0]).with_output("Out", ["c"]);
    assert_eq!(op.r#type, "sum");
    assert_eq!(op.input("X"), ["a", "b"]);
    assert_eq!(op.output("Out"), ["c"]);
    assert!(op.input("Empty").is_empty() && op.input("Out").is_empty() && op.output("X").is_empty());
}

#[test]
fn attributes_by_name_and_type() {
    let op = OpDesc::new("all")
        .with_attr(OpAttr::bool("bool", true))
        .with_attr(OpAttr::int("int", -1))
        .with_attr(OpAttr::long("long", 1 << 40))
        .with_attr(OpAttr::float("float", 0.5))
        .with_attr(OpAttr::string("string", "s"))
        .with_attr(OpAttr::ints("ints", [1, 2]))
        .with_attr(OpAttr::longs("longs", [3]))
        .with_attr(OpAttr::strings("strings", ["a", "b"]))
        .with_attr(OpAttr::block("block", 2));
    let op = OpDesc::decode(&op.encode_to_vec()).unwrap();
    assert_eq!(op.attr_bool("bool"), Ok(Some(true)));
    assert_eq!(op.attr_int("int"), Ok(Some(-1)));
    assert_eq!(op.attr_long("long"), Ok(Some(1 << 40)));
    assert_eq!(op.attr_long("int"), Ok(Some(-1)));
    assert_eq!(op.attr_float("float"), Ok(Some(0.5)));
    assert_eq!(op.attr_string("string"), Ok(Some("s")));
    assert_eq!(op.attr_ints("ints"), Ok(Some(&[1, 2][..])));
    assert_eq!(op.attr_longs("longs"), Ok(Some(vec![3])));
    assert_eq!(op.attr_longs("ints"), Ok(Some(vec![1, 2])));
    assert_eq!(op.attr_strings("strings"), Ok(Some(&["a".to_string(), "b".to_string()][..])));
    assert_eq!(op.attr_block("block"), Ok(Some(2)));
    assert_eq!(op.attr_block("absent"), Ok(None));
    assert_eq!(op.attr("int").map(|attr| attr.i), Some(Some(-1)));
}

#[test]
fn an_attribute_of_another_type_is_named() {
    let op = OpDesc::new("mean").with_attr(OpAttr::longs("dim", [0]));
    let error = op.attr_ints("dim").unwrap_err();
    assert_eq!(
        error,
        WireError::AttrType {
            op: "mean".into(),
            attr: "dim".into(),
            expected: AttrType::Ints,
            found: AttrType::Longs.into()
        }
    );
    assert_eq!(error.to_string(), "attribute `dim` of operator `mean` is LONGS, but INTS is expected");
    assert!(op.attr_bool("dim").is_err() && op.attr_long("dim").is_err() && op.attr_block("dim").is_err());

    // An attribute without a value has the default of its type, as in PaddlePaddle.
    let mut op = op.with_attr(OpAttr::int("axis", 3));
    op.attrs[1].i = None;
    assert_eq!(op.attr_int("axis"), Ok(Some(0)));
    op.attrs[1].r#type = 77;
    let error = op.attr_int("axis").unwrap_err().to_string();
    assert_eq!(error, "attribute `axis` of operator `mean` is of the unknown type 77, but INT is expected");
}
