//! Prints `barograph.h` as `crates/capi` asks for it. A program of its own, because cbindgen and
//! what it needs would make every start of xtask wait for their compilation.
//!
//! Invariant: the committed header is what this prints (`tidy generated`).

mod shape;

use std::path::Path;
use std::process::ExitCode;

fn main() -> ExitCode {
    let capi = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../crates/capi");
    let header = cbindgen::Config::from_file(capi.join("cbindgen.toml")).and_then(|mut config| {
        config.after_includes = Some(shape::version(
            env!("CARGO_PKG_VERSION_MAJOR"),
            env!("CARGO_PKG_VERSION_MINOR"),
            env!("CARGO_PKG_VERSION_PATCH"),
        ));
        let made = cbindgen::Builder::new().with_crate(&capi).with_config(config).generate();
        made.map_err(|error| error.to_string())
    });
    match header {
        Ok(header) => {
            let mut text = Vec::new();
            header.write(&mut text);
            print!("{}", shape::shaped(&String::from_utf8_lossy(&text)));
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("header: {error}");
            ExitCode::FAILURE
        }
    }
}
