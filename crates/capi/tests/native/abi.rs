//! C and C++ lay the structures out as Rust does.

use crate::layout::structures;
use crate::toolchain::{Folder, compile, compiler, run};
use std::fmt::Write as _;

/// A program that only compiles if every size and offset is Rust's.
fn program() -> String {
    let mut text = String::from(
        "#include <barograph.h>\n#include <stdio.h>\n#ifdef __cplusplus\n\
         #define _Static_assert static_assert\n#endif\n",
    );
    for structure in structures() {
        let (name, bytes) = (structure.name, structure.bytes);
        writeln!(text, "_Static_assert(sizeof({name}) == {bytes}, \"size of {name}\");").unwrap();
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
    text.push_str(
        "int main(void) {\n\
         \x20   int wrong = baro_version() != BARO_VERSION;\n\
         \x20   baro_series series = {0, 0, 0, 0};\n\
         \x20   wrong += baro_reader_find(NULL, \"x\", &series) != BARO_EINVAL;\n\
         \x20   printf(\"wrong %d: %s\\n\", wrong, baro_last_error());\n\
         \x20   return wrong;\n}\n",
    );
    text
}

#[test]
fn layouts_in_c_are_those_in_rust() {
    let Some(cc) = compiler("c") else { return };
    let folder = Folder::new("abi-c");
    let source = folder.write("abi.c", &program());
    compile(&cc, "-std=c99", &source, &folder.path("abi"));
    assert_eq!(run(&folder.path("abi"), &[]), "wrong 0: reader is null\n");
}

#[test]
fn the_header_serves_cplusplus() {
    let Some(cxx) = compiler("c++") else { return };
    let folder = Folder::new("abi-cpp");
    let source = folder.write("abi.cpp", &program());
    compile(&cxx, "-std=c++11", &source, &folder.path("abi"));
    assert_eq!(run(&folder.path("abi"), &[]), "wrong 0: reader is null\n");
}
