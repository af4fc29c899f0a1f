//! Versions of a table's log: lines of JSON, and the columns that they say the table has.

#[allow(dead_code, reason = "the program uses all of it")]
#[path = "../../../../crates/lake/src/delta/line.rs"]
mod line;
#[allow(dead_code, reason = "the program uses all of it")]
#[path = "../../../../crates/lake/src/delta/schema.rs"]
mod schema;

/// Reads all lines, and the columns of a table and its name where a line has them.
pub(super) fn version(bytes: &[u8]) {
    let lines = bytes.split(|byte| *byte == b'\n').count();
    let mut seen = 0;
    for line in line::all(bytes) {
        seen += 1;
        let line = match line {
            Ok(line) => line,
            Err((at, said)) => {
                assert!((1..=lines).contains(&at) && !said.is_empty());
                continue;
            }
        };
        let Some(metadata) = line.metadata else { continue };
        if let Some(id) = line::id_of(&metadata.id) {
            assert_eq!(line::id_of(&format!("{:032x}", u128::from_be_bytes(id))), Some(id));
        }
        match schema::check("version", &metadata.schema_string) {
            Ok(()) => {}
            Err(super::error::Error::Table { file, what, expected, found }) => {
                assert!(file == "version" && !what.is_empty() && expected.len() + found.len() > 0);
            }
        }
    }
    assert!(seen <= lines, "more actions than lines");
}

/// A first version.
pub(super) fn seed() -> Vec<u8> {
    let schema = schema::text().replace('"', "\\\"");
    let protocol = r#"{"protocol":{"minReaderVersion":1,"minWriterVersion":2}}"#;
    let metadata = format!(
        "{{\"metaData\":{{\"id\":\"abababab-abab-abab-abab-abababababab\",\"format\":{{\"provider\":\
         \"parquet\",\"options\":{{}}}},\"schemaString\":\"{schema}\",\"partitionColumns\":[],\
         \"configuration\":{{\"delta.enableExpiredLogCleanup\":\"false\"}}}}}}"
    );
    let txn = r#"{"txn":{"appId":"barograph/7","version":4}}"#;
    format!("{protocol}\n{metadata}\n{txn}\n\n{{\"add\":{{\"path\":\"x\"}}}}").into_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Else nothing but the refusal of the seed would be tried.
    #[test]
    fn the_seed_is_read() {
        let mut ids = 0;
        for line in line::all(&seed()) {
            let Some(metadata) = line.unwrap().metadata else { continue };
            assert!(schema::check("x", &metadata.schema_string).is_ok());
            ids += usize::from(line::id_of(&metadata.id).is_some());
        }
        assert_eq!(ids, 1);
    }
}
