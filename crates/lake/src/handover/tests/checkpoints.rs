//! Hand-overs to a table that has a checkpoint behind each version.
#![allow(clippy::disallowed_methods, reason = "tests")]

use super::*;
use std::fs;

/// Makes the first version of a table with a checkpoint behind so many versions.
pub(super) fn table_with_interval(scene: &Scene, versions: u64) {
    let place = local(&scene.table());
    let first = String::from_utf8(created([0xab; 16], 1)).expect("text");
    let property = format!("\"configuration\":{{\"delta.checkpointInterval\":\"{versions}\"}}");
    let text = first.replace("\"configuration\":{}", &property);
    assert!(text.contains(&property));
    place.make_log().expect("made");
    assert!(place.put_new(&commit_name(0), text.as_bytes()).expect("written"));
}

fn names(scene: &Scene, ending: &str) -> Vec<String> {
    let mut names = local(&scene.table()).names(LOG).expect("listed");
    names.retain(|name| name.ends_with(ending));
    names.sort();
    names
}

fn log(scene: &Scene) -> Log {
    let mut log = Log::default();
    let app = format!("barograph/{}", scene.open().identity().store);
    log.begin(&local(&scene.table()), &app).expect("read");
    log
}

/// Removes the versions that stand in the newest checkpoint, and the checkpoints before it.
pub(super) fn tidy_up(scene: &Scene) {
    let folder = scene.table().join(LOG);
    let checkpoints = names(scene, ".checkpoint.parquet");
    let newest = checkpoints.last().expect("there is one").get(..20).expect("a version").to_owned();
    for name in names(scene, "").iter().filter(|name| name.as_bytes()[0] == b'0' && **name < newest)
    {
        fs::remove_file(folder.join(name)).expect("removed");
    }
}

#[test]
fn a_kill_while_a_checkpoint_is_made_costs_the_checkpoint_alone() {
    let (model, mut samples) = (Scene::new("pointed"), Samples::new());
    for from in [0, 10] {
        model.record("store", from, 10, &mut samples);
    }
    let mut without = 0;
    for dies in [Dies::Before, Dies::After] {
        for operations in 1.. {
            let scene = model.copy("pointed-life");
            table_with_interval(&scene, 1);
            let mut lake = lake_over(scene.open(), Mortal::over(&scene, operations, dies));
            lake.portion_bytes = 1;
            let first = lake.round().and_then(|done| done.then.map_or(Ok(done.warning), Err));
            scene.hand_over();
            let told = scene.told();
            assert_eq!(told.rows, 20 * SERIES, "{dies:?} at {operations}");
            assert_eq!(newest(&scene.rows()), samples, "{dies:?} at {operations}");
            // Whichever checkpoints there are, they say what the versions say.
            let by_checkpoint = log(&scene);
            without += u64::from(names(&scene, ".checkpoint.parquet").len() < 2);
            for name in names(&scene, ".checkpoint.parquet") {
                fs::remove_file(scene.table().join(LOG).join(name)).expect("removed");
            }
            let mut by_versions = log(&scene);
            by_versions.checkpoint = by_checkpoint.checkpoint;
            assert_eq!(by_checkpoint, by_versions, "{dies:?} at {operations}");
            if matches!(first, Ok(None)) {
                break;
            }
        }
    }
    assert!(without > 4, "{without}");
}

#[test]
fn a_table_whose_first_versions_were_cleaned_up_is_gone_on_with() {
    let (scene, mut samples) = (Scene::new("cleaned"), Samples::new());
    table_with_interval(&scene, 2);
    for from in [0, 10, 20, 30, 40] {
        scene.record("store", from, 10, &mut samples);
        assert_eq!(scene.hand_over(), 10 * SERIES);
    }
    assert_eq!(names(&scene, ".checkpoint.parquet").len(), 2);
    let before = log(&scene);
    tidy_up(&scene);
    assert_eq!(names(&scene, ".json").len(), 2);
    assert_eq!(log(&scene), before);
    scene.record("store", 50, 10, &mut samples);
    assert_eq!((scene.hand_over(), scene.hand_over()), (10 * SERIES, 0));
    // The next checkpoint is made of that one.
    assert_eq!(log(&scene).checkpoint, Some(6));
}
