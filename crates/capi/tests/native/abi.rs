//! C and C++ lay the structures out as Rust does.

use crate::layout::structures;
use crate::toolchain::{Folder, compile, compiler, run};
use std::fmt::Write as _;

/// A program that only compiles if every size and offset is Rust's.
fn program() -> String {
    let mut text = String::from(
        "#include <barograph.h>\n#include <stdio.h>\n#include <string.h>\n#ifdef __cplusplus\n\
         #define _Static_assert static_assert\n#endif\n\
         #if !BARO_VERSION_AT_LEAST(0, 1, 0) || BARO_VERSION_AT_LEAST(BARO_VERSION_MAJOR + 1, 0, 0)\n\
         #error \"no version\"\n#endif\n",
    );
    let mut initialised = String::new();
    for structure in structures() {
        let (name, bytes) = (structure.name, structure.bytes);
        writeln!(text, "_Static_assert(sizeof({name}) == {bytes}, \"size of {name}\");").unwrap();
        // Without padding, so that the bytes are all there is.
        let upper = name.to_uppercase();
        writeln!(
            initialised,
            "    {{ {name} a = {upper}_INIT, b; memset(&b, 0, sizeof b); b.type_size = sizeof b;\n\
             \x20     wrong += memcmp(&a, &b, sizeof a) != 0; }}"
        )
        .unwrap();
        for field in structure.fields {
            let (field, offset, bytes) = (field.name, field.offset, field.bytes);
            writeln!(
                text,
                "_Static_assert(offsetof({name}, {field}) == {offset}, \"{name}.{field}\");\n\
                 _Static_assert(sizeof((({name} *)0)->{field}) == {bytes}, \"{name}.{field}\");"
            )
            .unwrap();
        }
    }
    let version = env!("CARGO_PKG_VERSION");
    writeln!(
        text,
        "int main(void) {{\n    int wrong = baro_version() != BARO_VERSION;\n\
         \x20   wrong += strcmp(BARO_VERSION_TEXT, \"{version}\") != 0;\n\
         \x20   wrong += strcmp(BARO_VERSION_TEXT, baro_version_text()) != 0;\n\
         \x20   printf(\"%d.%d.%d \", BARO_VERSION_MAJOR, BARO_VERSION_MINOR, BARO_VERSION_PATCH);\n\
         {initialised}"
    )
    .unwrap();
    text.push_str(
        "\x20   baro_series series = {0, 0, 0, 0};\n\
         \x20   wrong += baro_reader_find(NULL, \"x\", &series) != BARO_EINVAL;\n\
         \x20   printf(\"wrong %d: %s\\n\", wrong, baro_last_error());\n\
         \x20   return wrong;\n}\n",
    );
    text
}

fn said() -> String {
    format!("{} wrong 0: reader is null\n", env!("CARGO_PKG_VERSION"))
}

#[test]
fn layouts_in_c_are_those_in_rust() {
    let Some(cc) = compiler("c") else { return };
    let folder = Folder::new("abi-c");
    let source = folder.write("abi.c", &program());
    compile(&cc, "-std=c99", &source, &folder.path("abi"));
    assert_eq!(run(&folder.path("abi"), &[]), said());
}

#[test]
fn the_header_serves_cplusplus() {
    let Some(cxx) = compiler("c++") else { return };
    let folder = Folder::new("abi-cpp");
    let source = folder.write("abi.cpp", &program());
    compile(&cxx, "-std=c++11", &source, &folder.path("abi"));
    assert_eq!(run(&folder.path("abi"), &[]), said());
}
