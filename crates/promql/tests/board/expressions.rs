//! What a dashboard asks: every `expr` of it, and the PromQL in its variables.
//!
//! `label_values(x, name)` and `query_result(x)` are words of Grafana, and `x` counts. What is asked of another
//! source, such as a store of logs, does not.

use serde_json::Value;

pub(crate) fn of(board: &Value) -> Vec<String> {
    let mut found = Vec::new();
    walk(board, false, &mut found);
    for variable in board["templating"]["list"].as_array().into_iter().flatten() {
        if variable["type"] != "query" || is_foreign(&variable["datasource"]) {
            continue;
        }
        let query = &variable["query"];
        let text = query.as_str().or_else(|| query["query"].as_str()).unwrap_or_default();
        found.extend(within_variable(text));
    }
    found
}

fn walk(of: &Value, foreign: bool, found: &mut Vec<String>) {
    match of {
        Value::Array(all) => all.iter().for_each(|one| walk(one, foreign, found)),
        Value::Object(fields) => {
            let foreign = match fields.get("datasource") {
                None | Some(Value::Null) => foreign,
                Some(source) => is_foreign(source),
            };
            match fields.get("expr") {
                Some(Value::String(text)) if !foreign && !text.trim().is_empty() => {
                    found.push(text.clone());
                }
                _ => {}
            }
            let rest = fields.iter().filter(|(name, _)| *name != "templating");
            rest.for_each(|(_, value)| walk(value, foreign, found));
        }
        _ => {}
    }
}

/// Whether a source is known to be no Prometheus.
fn is_foreign(source: &Value) -> bool {
    let said = source["type"].as_str().or(source.as_str()).unwrap_or_default();
    let said = said.to_ascii_lowercase();
    ["loki", "vali", "elasticsearch", "tempo", "jaeger"].iter().any(|name| said.contains(name))
}

/// The PromQL in what a variable asks.
fn within_variable(text: &str) -> Option<String> {
    let text = text.trim();
    let inner = |name: &str| {
        let rest = text.strip_prefix(name)?.trim_start().strip_prefix('(')?;
        rest.trim_end().strip_suffix(')').map(str::trim)
    };
    if let Some(inside) = inner("query_result") {
        return Some(inside.to_owned());
    }
    if let Some(inside) = inner("label_values") {
        // The last comma parts the selector from the name of the label.
        let (selector, label) = inside.rsplit_once(',')?;
        return label.contains('}').eq(&false).then(|| selector.trim().to_owned());
    }
    let others = ["label_names", "metrics"];
    let is_other = text.is_empty() || others.iter().any(|name| inner(name).is_some());
    (!is_other).then(|| text.to_owned())
}
