//! Which cells there are. Pure.
//!
//! Repeats go round and round, so that what the machine does meanwhile meets all cells.

use super::cells::expected_ns;
use super::row::{Case, Direction, Load, Task};
use super::setting::Setting;
use super::{Extent, NAME, ShareSpec, settings};
use Direction::{Read, Write};
use baro_bench::experiment::{Cell, Plan};

/// The paper's sizes of I/O in MB: its tables 4 and 5, and those of the goal.
const READ_MB: [u64; 9] = [1, 4, 10, 30, 35, 40, 45, 50, 100];
const WRITE_MB: [u64; 8] = [1, 4, 8, 10, 15, 20, 30, 100];
const TWO_TO_ONE: &[u16] = &[2, 1];
const THREE_TO_TWO: &[u16] = &[3, 2];
const FOUR: &[u16] = &[3, 2, 2, 1];
/// The paper's tree (section 2.2) has 1:4:5, and 3:2 within the 5: so these are parts of ten.
pub(super) const NESTED_WEIGHTS: &[u16] = &[4, 3, 2, 1];

pub(super) fn plan(spec: &ShareSpec) -> Plan {
    let cases = match spec.extent {
        Extent::Quick => quick(),
        Extent::Default => default(),
        Extent::Full => full(),
    };
    let chosen = |id: &str| spec.only.iter().any(|prefix| id.starts_with(prefix.as_str()));
    // An I/O must fit into the file twice, or a loop through it would be one place.
    let fits =
        |case: &&Case| case.load.is_none_or(|load| load.block_bytes() * 2 <= spec.file_bytes);
    let cells = (1..=spec.repeats).flat_map(|repeat| {
        cases.iter().filter(fits).map(move |case| Cell {
            id: case.cell(repeat),
            expected_ns: expected_ns(case.task, spec.seconds * 1_000_000_000),
        })
    });
    let cells = cells.filter(|cell| spec.only.is_empty() || chosen(&cell.id));
    Plan { experiment: NAME, settings: settings(spec), cells: cells.collect() }
}

fn case(task: Task, weights: &[u16], setting: Setting, load: Load) -> Case {
    Case { task, weights: weights.to_vec(), setting, load: Some(load) }
}

fn pairs(setting: Setting, loads: &[(Direction, &[u64])]) -> Vec<Case> {
    let each = |(direction, sizes): &(Direction, &[u64])| -> Vec<Case> {
        let load = |mb: &u64| Load::direct(*direction, *mb);
        sizes.iter().map(|mb| case(Task::Pair, TWO_TO_ONE, setting, load(mb))).collect()
    };
    loads.iter().flat_map(each).collect()
}

fn four(weights: &[u16], setting: Setting, sizes_mb: &[u64]) -> Vec<Case> {
    let each = |mb: &u64| case(Task::Pair, weights, setting, Load::direct(Read, *mb));
    sizes_mb.iter().map(each).collect()
}

/// A group alone under `auto`, and the disk's own rate.
fn alone(direction: Direction, both: bool) -> Vec<Case> {
    let load = Load::direct(direction, 100);
    let mut cases = vec![
        case(Task::Device, &[1], Setting::Default, load),
        case(Task::Alone(0), TWO_TO_ONE, Setting::Auto, load),
    ];
    if both {
        cases.push(case(Task::Alone(1), TWO_TO_ONE, Setting::Auto, load));
    }
    cases
}

fn psync(setting: Setting, direction: Direction, block_mb: u64) -> Case {
    let load = Load { psync: true, ..Load::direct(direction, block_mb) };
    case(Task::Pair, TWO_TO_ONE, setting, load)
}

fn quick() -> Vec<Case> {
    let mut cases = pairs(Setting::Default, &[(Read, &[1, 100]), (Write, &[100])]);
    cases.extend(pairs(Setting::Auto, &[(Read, &[10, 100]), (Write, &[100])]));
    cases.extend(alone(Read, false));
    for task in [Task::Change, Task::Player] {
        cases.push(case(task, TWO_TO_ONE, Setting::Auto, Load::direct(Read, 100)));
    }
    cases
}

fn default() -> Vec<Case> {
    use Setting::{Auto, Default, FifoExpire, Fixed, MaxBudget, StrictGuarantees};
    let mut cases = pairs(Default, &[(Read, &[1, 100]), (Write, &[100])]);
    cases.extend(pairs(Auto, &[(Read, &[1, 10, 100]), (Write, &[10, 100])]));
    for setting in [FifoExpire, MaxBudget, StrictGuarantees] {
        cases.extend(pairs(setting, &[(Read, &[100])]));
    }
    cases.extend(pairs(Fixed, &[(Read, &[100])]));
    cases.push(psync(Auto, Read, 100));
    for setting in [Default, Auto] {
        cases.extend(four(FOUR, setting, &[100]));
    }
    cases.extend(four(THREE_TO_TWO, Auto, &[100]));
    for setting in [Default, Auto] {
        cases.push(case(Task::Nested, NESTED_WEIGHTS, setting, Load::direct(Read, 100)));
    }
    cases.extend(alone(Read, false));
    cases.push(case(Task::Change, TWO_TO_ONE, Auto, Load::direct(Read, 100)));
    for setting in [Default, Auto] {
        cases.push(case(Task::Player, TWO_TO_ONE, setting, Load::direct(Read, 100)));
    }
    cases.push(case(Task::Deadline, TWO_TO_ONE, Auto, Load::direct(Read, 100)));
    cases
}

fn full() -> Vec<Case> {
    let mut cases = Vec::new();
    for setting in Setting::ALL {
        cases.extend(pairs(setting, &[(Read, &READ_MB), (Write, &WRITE_MB)]));
        cases.extend(four(THREE_TO_TWO, setting, &[1, 30, 100]));
        cases.extend(four(FOUR, setting, &[1, 30, 100]));
    }
    for setting in [Setting::Default, Setting::Auto] {
        for (direction, block_mb) in
            [Read, Write].into_iter().flat_map(|d| [(d, 1), (d, 10), (d, 100)])
        {
            cases.push(psync(setting, direction, block_mb));
        }
        let weights = TWO_TO_ONE.to_vec();
        cases.push(Case { task: Task::Player, weights, setting, load: None });
        for direction in [Read, Write] {
            for block_mb in [1, 100] {
                for direct in [true, false] {
                    let load = Load { direct, ..Load::direct(direction, block_mb) };
                    cases.push(case(Task::Player, TWO_TO_ONE, setting, load));
                }
                let load = Load::direct(direction, block_mb);
                cases.push(case(Task::Deadline, TWO_TO_ONE, setting, load));
            }
            cases.push(case(Task::Change, TWO_TO_ONE, setting, Load::direct(direction, 100)));
        }
    }
    for direction in [Read, Write] {
        let load = Load::direct(direction, 100);
        cases.push(case(Task::Player, TWO_TO_ONE, Setting::Fixed, load));
        cases.extend(alone(direction, true));
    }
    cases
}
