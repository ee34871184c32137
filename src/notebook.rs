//! What a notebook of Jupyter shows, with [evcxr](https://github.com/evcxr/evcxr) as its kernel: a value that is the last line of a cell is a
//! picture or a text.
//!
//! ```
//! use paddle::notebook::Rich;
//!
//! let net = paddle::network!(|x: Tensor<f32, _, 2>| fc(x, 1));
//! // As a cell's last line `paddle::summary(&net)?` would do. Outside of notebooks this prints what the kernel reads.
//! paddle::summary(&net)?.evcxr_display();
//! # Ok::<(), paddle::Error>(())
//! ```
//!
//! `book/notebook.ipynb` is such a notebook.

use std::fmt::Display;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;

use crate::Summary;
use crate::plot::{Curve, Grid};

/// What shows itself in a notebook.
pub trait Rich {
    /// Prints the value for the kernel, which looks for a method of this name.
    fn evcxr_display(&self);
}

/// A text whose columns stay in line.
impl Rich for Summary {
    fn evcxr_display(&self) {
        text(self);
    }
}

/// A network's nested blocks.
impl Rich for paddle_core::ops::Program {
    fn evcxr_display(&self) {
        text(self);
    }
}

impl Rich for Curve {
    fn evcxr_display(&self) {
        match self.svg() {
            Ok(picture) => show("text/html", &picture),
            Err(error) => text(&error),
        }
    }
}

impl Rich for Grid {
    fn evcxr_display(&self) {
        show("image/png", &BASE64_STANDARD.encode(self.png()));
    }
}

fn text(value: &impl Display) {
    let text = value.to_string().replace('&', "&amp;").replace('<', "&lt;");
    show("text/html", &format!("<pre>{text}</pre>"));
}

/// What the kernel reads from a program's output.
fn show(kind: &str, content: &str) {
    println!("EVCXR_BEGIN_CONTENT {kind}\n{content}\nEVCXR_END_CONTENT");
}
