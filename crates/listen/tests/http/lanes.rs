//! Several lanes are one listener: what one has declared is no news to another, and a bound is one for all.

use crate::scene::Scene;
use crate::tokens::token;
use serde_json::Value;

const TIME: i64 = 1_700_000_000_000_000_000;

#[test]
fn a_bound_of_series_is_one_for_all_lanes() {
    let folder = std::env::temp_dir().join(format!("baro-lanes-{}", std::process::id()));
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).unwrap();
    let file = folder.join("tokens").to_str().unwrap().to_owned();
    let secrets = ["a_", ""].map(|prefix| token(&file, &["new", "x", "--prefix", prefix]));
    let options =
        ["--tokens", &file, "--require-token", "--series-per-token", "3", "--series", "5"];
    let Some(mut scene) = Scene::new("lanes-bound", &options) else { return };
    let write = |secret: &str, lines: &[&str], at: i64| {
        let lines: Vec<String> = lines.iter().map(|line| format!("{line} {}", TIME + at)).collect();
        let header = format!("Authorization: Token {secret}\r\n");
        scene.client().ask("POST /write", &header, lines.join("\n"))
    };
    let [a, all] = &secrets;
    // Requests take the two lanes in turn, so each of these comes to both.
    for at in 0..4 {
        let told = write(a, &["a_1 v=1", "a_2 v=1"], at);
        assert_eq!(told.status, 204, "{told:?}");
    }
    // Two of three are declared, whoever counts.
    for at in 4..8 {
        let told = write(a, &["a_1 v=1", "a_3 v=1"], at);
        assert_eq!(told.status, 204, "{told:?}");
    }
    for at in 8..10 {
        let told = write(a, &["a_1 v=1", "a_4 v=1"], at);
        assert_eq!(told.status, 400, "{told:?}");
        assert!(
            told.body.contains("line 2") && told.body.contains("--series-per-token"),
            "{told:?}"
        );
    }
    // The fourth and fifth of the store, and no sixth.
    for (at, status) in [(10, 204), (11, 204), (12, 204)] {
        assert_eq!(write(all, &["b_1 v=1", "b_2 v=1"], at).status, status);
    }
    for at in 13..15 {
        let told = write(all, &["b_2 v=1", "a_3 v=1", "b_3 v=1"], at);
        assert_eq!(told.status, 400, "{told:?}");
        assert!(told.body.contains("line 3") && told.body.contains("(--series)"), "{told:?}");
    }
    scene.end_recorder();
    let found = scene.samples();
    let counts: Vec<(&str, usize)> =
        found.iter().map(|(name, samples)| (name.as_str(), samples.len())).collect();
    assert_eq!(counts, [("a_1_v", 10), ("a_2_v", 4), ("a_3_v", 6), ("b_1_v", 3), ("b_2_v", 5)]);
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn the_type_of_a_series_is_one_for_all_lanes() {
    let Some(mut scene) = Scene::new("lanes-type", &[]) else { return };
    let write = |target: &str, lines: &[&str], at: i64| {
        let lines: Vec<String> = lines.iter().map(|line| format!("{line} {}", TIME + at)).collect();
        scene.client().post(target, lines.join("\n"))
    };
    assert_eq!(write("/write", &["m v=1.5"], 0).status, 204);
    // The other lane has not met it: an integer that f64 has is one.
    for at in 1..3 {
        let told = write("/write", &["m v=2i"], at);
        assert_eq!(told.status, 204, "{told:?}");
    }
    scene.end_recorder();
    let sample = |at: i64, value: &str| (TIME + at, value.to_owned());
    assert_eq!(scene.of("m_v"), [sample(0, "1.5"), sample(1, "2.0"), sample(2, "2.0")]);
}

#[test]
fn all_or_nothing_is_decided_before_anything_is_pushed() {
    let Some(mut scene) = Scene::new("lanes-all", &[]) else { return };
    let write = |target: &str, lines: &[&str], at: i64| {
        let lines: Vec<String> = lines.iter().map(|line| format!("{line} {}", TIME + at)).collect();
        scene.client().post(target, lines.join("\n"))
    };
    // The types of these two are known to one lane, and not to the other.
    assert_eq!(write("/write", &["m v=1.5", "k v=1i"], 0).status, 204);
    let all = "/api/v3/write_lp?accept_partial=false";
    for at in 3..5 {
        let told = write(all, &["m v=3", "n v=1", "k v=1.5"], at);
        let body: Value = serde_json::from_str(&told.body).unwrap();
        assert_eq!((told.status, &body["lines_refused"]), (400, &Value::from(1)), "{told:?}");
        assert_eq!(body["data"][0]["line_number"], 3, "{told:?}");
        assert!(told.body.contains("nothing is kept"), "{told:?}");
    }
    assert_eq!(write(all, &["m v=5", "k v=6i"], 6).status, 204);
    scene.end_recorder();
    let found = scene.samples();
    let sample = |at: i64, value: &str| (TIME + at, value.to_owned());
    assert_eq!(found["m_v"], [sample(0, "1.5"), sample(6, "5.0")]);
    assert_eq!(found["k_v"], [sample(0, "1"), sample(6, "6")]);
    assert!(found.get("n_v").is_none_or(Vec::is_empty), "{found:?}");
}

#[test]
fn two_names_of_one_series_are_refused_by_every_lane() {
    let Some(mut scene) = Scene::new("lanes-joint", &[]) else { return };
    let write =
        |line: &str, at: i64| scene.client().post("/write", format!("{line} {}", TIME + at));
    assert_eq!(write("m a_b=1", 0).status, 204);
    for at in 1..5 {
        let told = write("m_a b=2", at);
        assert_eq!(told.status, 400, "{told:?}");
        assert_eq!(write("m a_b=3", 10 + at).status, 204);
    }
    // Also where it has another type, which is found out first.
    for at in 1..3 {
        assert_eq!(write("m_a b=2i", at).status, 400);
    }
    scene.end_recorder();
    let times: Vec<i64> = scene.of("m_a_b").iter().map(|(time, _)| time - TIME).collect();
    assert_eq!(times, [0, 11, 12, 13, 14]);
}
