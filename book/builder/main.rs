//! `cargo run -p paddle-book` builds the book; its first page is `target/book/index.html`. With `--release --features page`, one of its
//! pages has a network that runs in the browser.

use std::path::Path;
use std::process::ExitCode;

fn main() -> ExitCode {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    let destination = folder.with_file_name("target").join("book");
    if let Err(error) = paddle_book::build(folder, &destination) {
        eprintln!("error: {error:#}");
        return ExitCode::FAILURE;
    }
    #[cfg(feature = "page")]
    match paddle_book::page::write_script(&destination.join("draw.js")) {
        Ok(size) => {
            println!("a page with {} bytes of program, {} of parameters", size.program, size.parameters)
        }
        Err(error) => {
            eprintln!("error: {error}");
            return ExitCode::FAILURE;
        }
    }
    println!("{}", destination.join("index.html").display());
    ExitCode::SUCCESS
}
