//! The page on which one draws, in a browser: `PADDLE_CHROMIUM=chromium cargo test --release -p paddle-book --features page --test browser`.

use std::fmt::Write;
use std::fs;
use std::path::Path;
use std::process::Command;

use paddle::data::{digits, split};
use paddle_book::page;
use paddle_draw::Digits;

/// Where the browser is. Without it there is nothing to test.
const BROWSER: &str = "PADDLE_CHROMIUM";

/// Set in the process that computes what the browser should.
const PORTABLE: &str = "PADDLE_TEST_PORTABLE";

/// Digits as people draw them, in strokes; x to the right, y down.
const DRAWN: [&[&[[f32; 2]]]; 10] = [
    &[&[
        [50., 4.],
        [28., 16.],
        [18., 45.],
        [24., 78.],
        [48., 96.],
        [72., 84.],
        [82., 52.],
        [74., 20.],
        [50., 4.],
    ]],
    &[&[[36., 22.], [52., 4.], [52., 96.]]],
    &[&[[20., 25.], [35., 8.], [60., 6.], [75., 22.], [70., 42.], [45., 65.], [18., 92.], [80., 92.]]],
    &[&[
        [20., 12.],
        [50., 5.],
        [72., 20.],
        [62., 40.],
        [40., 47.],
        [65., 52.],
        [76., 72.],
        [58., 92.],
        [20., 90.],
    ]],
    &[&[[50., 4.], [16., 62.], [84., 62.]], &[[62., 34.], [58., 97.]]],
    &[&[[75., 8.], [28., 8.], [24., 42.], [50., 38.], [75., 52.], [74., 78.], [50., 93.], [18., 86.]]],
    &[&[
        [65., 5.],
        [38., 25.],
        [22., 58.],
        [28., 85.],
        [52., 95.],
        [74., 80.],
        [70., 58.],
        [48., 50.],
        [26., 62.],
    ]],
    &[&[[15., 8.], [80., 8.], [56., 45.], [40., 96.]], &[[34., 50.], [74., 50.]]],
    &[&[
        [50., 48.],
        [25., 32.],
        [30., 10.],
        [52., 4.],
        [72., 14.],
        [68., 35.],
        [45., 50.],
        [22., 70.],
        [30., 92.],
        [55., 97.],
        [76., 84.],
        [70., 62.],
        [50., 48.],
    ]],
    &[&[
        [72., 24.],
        [52., 5.],
        [28., 15.],
        [25., 38.],
        [48., 50.],
        [70., 36.],
        [72., 24.],
        [68., 60.],
        [55., 96.],
    ]],
];

fn held_out() -> Vec<[f32; 64]> {
    let (_, testing) = split(digits::images(), 5);
    testing.iter().map(|image| image.pixels.as_flattened().try_into().unwrap()).collect()
}

fn bits(probabilities: &[f32]) -> String {
    probabilities.iter().map(|it| format!("{:08x}", it.to_bits())).collect::<Vec<_>>().join(" ")
}

#[test]
fn a_browser_reads_what_is_drawn_and_has_the_same_bits() {
    let network = || Digits::new(&fs::read(page::parameters().unwrap()).unwrap()).unwrap();
    if std::env::var_os(PORTABLE).is_some() {
        for image in held_out() {
            println!("answer {}", bits(&network().of_image(&image).unwrap()));
        }
        return;
    }
    let Some(browser) = std::env::var_os(BROWSER) else {
        eprintln!("*** SKIPPED: {BROWSER} does not say where a browser is ***");
        return;
    };
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("browser");
    let _ = fs::remove_dir_all(&folder);
    paddle_book::build(Path::new(env!("CARGO_MANIFEST_DIR")), &folder).unwrap();
    let size = page::write_script(&folder.join("draw.js")).unwrap();

    // The page of the book with a script behind it, which draws, and writes down what the page says.
    let mut images = String::new();
    for image in held_out() {
        write!(images, "{image:?},").unwrap();
    }
    let script = format!("const drawn = {DRAWN:?}, images = [{images}];\n{}", include_str!("browser.js"));
    let book = fs::read_to_string(folder.join("draw.html")).unwrap();
    let watched = book
        .replace("drawADigit(document", "watched = (answered) => drawADigit(document")
        .replace(r#"getElementById("draw"))"#, r#"getElementById("draw"), answered)"#);
    fs::write(folder.join("watched.html"), format!("{watched}<script>{script}</script>")).unwrap();
    let url = format!("file://{}", folder.join("watched.html").display());
    let run = |rest: &[&str]| {
        let flags = ["--headless", "--no-sandbox", "--disable-gpu", "--window-size=1100,900"];
        let browser = Command::new(&browser).args(flags).args(rest).arg(&url).output().unwrap();
        String::from_utf8_lossy(&browser.stdout).into_owned()
    };
    let dom = run(&["--dump-dom", "--timeout=60000", "--virtual-time-budget=60000"]);
    let said = dom.split("<pre id=\"said\">").nth(1).and_then(|rest| rest.split("</pre>").next());
    let said: Vec<&str> = said.unwrap_or_else(|| panic!("the page says nothing:\n{dom}")).lines().collect();

    // Each digit is read as what it is.
    let read: Vec<&str> = said.iter().filter_map(|line| line.strip_prefix("read ")).collect();
    assert_eq!(read, (0..10).map(|digit| format!("{digit}")).collect::<Vec<_>>());
    // The bits are those of the portable instruction set outside.
    let portable = Command::new(std::env::current_exe().unwrap())
        .args(["--nocapture", "a_browser_reads"])
        .envs([(PORTABLE, "1"), ("PADDLE_ISA", "portable")])
        .output()
        .unwrap();
    let portable = String::from_utf8(portable.stdout).unwrap();
    let lines = |text: &[&str]| -> Vec<String> {
        text.iter().filter_map(|line| line.split_once("answer ")).map(|(_, bits)| bits.to_string()).collect()
    };
    let (inside, outside) = (lines(&said), lines(&portable.lines().collect::<Vec<_>>()));
    assert_eq!((inside.len(), outside.len()), (held_out().len(), held_out().len()));
    let different = inside.iter().zip(&outside).filter(|(a, b)| a != b).count();
    assert_eq!(different, 0, "of {} images", inside.len());
    for line in said.iter().filter(|line| line.starts_with("ms ")) {
        println!("{line}");
    }
    println!("{size:?}");
}
