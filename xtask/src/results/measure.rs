//! How each row is measured: a disk for the row, its runs on it one after another.
//!
//! Invariant: the text handed out with a result is the text that was run, on the disk that the
//! text before `--` makes; nothing else runs meanwhile. Held by `Shell`, which runs the text.

use super::rows::{Row, What};
use super::shell::Shell;
use super::stand::{Stand, typed};
use serde_json::{Value, json};
use std::path::PathBuf;
use std::process::Stdio;
use std::time::{Duration, Instant};

/// What measurements need to know.
#[derive(Debug)]
pub(super) struct Context {
    pub(super) shell: Shell,
    pub(super) media: PathBuf,
    /// Where backing files lie.
    pub(super) work: PathBuf,
    pub(super) runs: u32,
    /// Short runs that show only that a row can be measured.
    pub(super) quick: bool,
}

/// 1 GHz is a third of this kind of machine's clock; only cycles are compared, not what one does.
const BOARD: &str = "media board --memory 1G --cpu-percent 33 --period-us 5000 --processor 0";

/// Takes a result and the command that repeats it.
type Emit<'a> = dyn FnMut(Value, &str) -> Result<(), String> + 'a;

/// Measures a row; results before an error have been emitted.
pub(super) fn measure(context: &Context, row: &Row, emit: &mut Emit<'_>) -> Result<(), String> {
    if let What::Document(_) = row.what {
        return Ok(());
    }
    let stand = Stand::build(&context.media, &context.work, row.disk)?;
    let shell = stand.shell(&context.shell);
    let mut emit = |result: Value, text: &str| {
        let text = text.replace('\'', "'\\''");
        emit(result, &format!("{} -- sh -c '{text}'", typed(row.disk)))
    };
    let runs = match row.runs {
        _ if context.quick => 1,
        Some(runs) => runs,
        None => context.runs,
    };
    match row.what {
        What::Push(options) => {
            let text = push(options, context.quick);
            for _ in 0..runs {
                emit(parsed(&shell.output(&text)?)?, &text)?;
            }
        }
        What::PushOnBoard(options) => {
            let report = "$MEDIA_DIR/board.json";
            let text = format!("{BOARD} --report {report} -- {}", push(options, context.quick));
            for _ in 0..runs {
                let mut result = parsed(&shell.output(&text)?)?;
                let board = std::fs::read_to_string(stand.dir().join("board.json"));
                let board = board.map_err(|e| format!("the board's report: {e}"))?;
                result["board"] = serde_json::from_str(&board).map_err(|e| e.to_string())?;
                emit(result, &text)?;
            }
        }
        What::Keep(options) => {
            let text = keep(options, context.quick);
            for _ in 0..runs {
                emit(parsed(&shell.output(&text)?)?, &text)?;
            }
        }
        What::PushLoadElsewhere(options) => {
            let other = Stand::build(&context.media, &context.work, row.disk)?;
            let shell = shell.with("LOAD_DIR", other.dir());
            let text = format!("{} --load-dir $LOAD_DIR", push(options, context.quick));
            for _ in 0..runs {
                emit(parsed(&shell.output(&text)?)?, &text)?;
            }
        }
        What::Throughput { greedy, fio_file, log } => {
            let greedy = if context.quick { "1s" } else { greedy };
            throughput(&shell, runs, [greedy, fio_file, log], &mut emit)?;
        }
        What::Producers(options) => {
            let options = if context.quick { options.replace("30s", "3s") } else { options.into() };
            let text = format!("baro-lab producers --dir $MEDIA_DIR --format json {options}");
            for _ in 0..runs {
                emit(parsed(&shell.output(&text)?)?, &text)?;
            }
        }
        What::Store(options) => {
            let text = store(options, context.quick);
            for _ in 0..runs {
                emit(parsed(&shell.output(&text)?)?, &text)?;
            }
        }
        What::StoreSweep(all) => {
            // In turns, so that a change of the machine's mood meets all of them.
            for _ in 0..runs {
                for series in all {
                    let options = format!("--series {series} --samples 20000000 --seed 1");
                    let text = store(&options, context.quick);
                    emit(parsed(&shell.output(&text)?)?, &text)?;
                }
            }
        }
        What::StoreSteady(options) => {
            let text = store(options, context.quick);
            for _ in 0..runs {
                emit(parsed(&shell.output(&text)?)?, &text)?;
            }
        }
        What::StoreReal(record) => {
            let record = if context.quick { "3s" } else { record };
            real(&shell, runs, record, &mut emit)?;
        }
        What::Verify => verify(context, &shell, runs, &mut emit)?,
        What::Recovery => recovery(context, &shell, runs, &mut emit)?,
        What::Memory => memory(context, &shell, runs, &mut emit)?,
        What::IdleCpu => idle_cpu(context, &shell, &mut emit)?,
        What::Document(_) => {}
    }
    Ok(())
}

fn push(options: &str, quick: bool) -> String {
    let mut words = options.split_whitespace();
    let mut text = "baro bench push --dir $MEDIA_DIR --format json".to_owned();
    while let Some(word) = words.next() {
        let value = words.next().unwrap_or_default();
        let shorter = match word {
            "--records" => value.parse().map(|n: u64| (n / 20).max(500).to_string()).ok(),
            "--for" => Some("5s".to_owned()),
            "--greedy" if value != "0s" => Some("1s".to_owned()),
            "--log" if value == "4G" => Some("1G".to_owned()),
            _ => None,
        };
        let value = shorter.filter(|_| quick).unwrap_or_else(|| value.to_owned());
        text += &format!(" {word} {value}");
    }
    text
}

fn store(options: &str, quick: bool) -> String {
    let text = format!("baro bench store --dir $MEDIA_DIR --format json {options}");
    if quick {
        text.replace("--samples 20000000", "--samples 500000 --budget 100ms")
            .replace("--for 1h", "--for 1m")
    } else {
        text
    }
}

/// The set is fetched first; kernel counters are recorded by the bench itself.
fn real(shell: &Shell, runs: u32, record: &str, emit: &mut Emit<'_>) -> Result<(), String> {
    const FETCH: &str = "scripts/real-data.py";
    let fetch = crate::shell::root().join(FETCH);
    let path = shell.output(&format!("python3 '{}' $MEDIA_DIR", fetch.display()))?;
    let name = path.trim().rsplit('/').next().unwrap_or_default().to_owned();
    let public = store(&format!("--data $MEDIA_DIR/{name}"), false);
    let counters = store(&format!("--data proc --record {record}"), false);
    for _ in 0..runs {
        let text = format!("{FETCH} $MEDIA_DIR; {public}");
        emit(parsed(&shell.output(&public)?)?, &text)?;
        emit(parsed(&shell.output(&counters)?)?, &counters)?;
    }
    Ok(())
}

fn keep(options: &str, quick: bool) -> String {
    let text = format!("baro-lab keep --dir $MEDIA_DIR --format json {options}");
    if quick {
        text.replace("--rounds 1050", "--rounds 50")
            .replace("--log 4G", "--log 1G")
            .replace("2s", "200ms")
            .replace("1s", "200ms")
    } else {
        text
    }
}

fn parsed(output: &str) -> Result<Value, String> {
    let mut value: Value =
        serde_json::from_str(output).map_err(|e| format!("baro printed no JSON: {e}: {output}"))?;
    if let Some(object) = value.as_object_mut() {
        // Where the disk was mounted says nothing.
        object.remove("path");
    }
    Ok(value)
}

/// fio and we take turns, so that a change of the device's mood meets both.
fn throughput(
    shell: &Shell,
    runs: u32,
    [greedy, fio_file, log]: [&str; 3],
    emit: &mut Emit<'_>,
) -> Result<(), String> {
    let fio = |engine: &str| {
        format!(
            "fio --name=yardstick --filename=$MEDIA_DIR/fio --size={fio_file} --rw=write --bs=1M \
             --direct=1 --overwrite=1 --time_based --runtime=3 --output-format=json \
             --ioengine={engine}"
        )
    };
    let push = format!(
        "baro bench push --dir $MEDIA_DIR --format json --record-bytes 16384 --records 1000 \
         --greedy {greedy} --log {log}"
    );
    // The file is made and synced before anything is timed.
    shell.output(&format!("{} --create_only=1", fio("psync")))?;
    for _ in 0..runs {
        let psync = fio_bytes_per_s(&shell.output(&fio("psync"))?)?;
        let libaio = fio_bytes_per_s(&shell.output(&fio("libaio --iodepth=4"))?)?;
        let ours = parsed(&shell.output(&push)?)?;
        let bytes_per_s = ours["durable_records_per_s"].as_f64().map(|n| n * 16384.0);
        let result = json!({
            "fio_psync_bytes_per_s": psync,
            "fio_libaio4_bytes_per_s": libaio,
            "durable_bytes_per_s": bytes_per_s,
            "push": ours,
        });
        let text = format!("{}; {}; {push}", fio("psync"), fio("libaio --iodepth=4"));
        emit(result, &text)?;
    }
    Ok(())
}

fn fio_bytes_per_s(output: &str) -> Result<u64, String> {
    // fio may say something before its JSON.
    let json = output.find('{').and_then(|at| output.get(at..)).unwrap_or_default();
    let value: Value = serde_json::from_str(json).map_err(|e| format!("fio's JSON: {e}"))?;
    let rate = value["jobs"][0]["write"]["bw_bytes"].as_u64();
    rate.filter(|rate| *rate > 0).ok_or_else(|| "fio tells no rate".to_owned())
}

fn verify(context: &Context, shell: &Shell, runs: u32, emit: &mut Emit<'_>) -> Result<(), String> {
    let (log, bytes) = if context.quick { ("288M", 256 << 20) } else { ("2304M", 2 << 30) };
    let steps = [
        format!("baro init $MEDIA_DIR/store --size {log}"),
        "baro record $MEDIA_DIR/store --format json --stdin raw --frame-bytes 16K".to_owned(),
        "baro verify $MEDIA_DIR/store --format json".to_owned(),
    ];
    shell.output(&steps[0])?;
    shell.fed(bytes, &steps[1])?;
    // The first brings the files into memory and does not count.
    shell.output(&steps[2])?;
    let text = format!(
        "{}; head -c {bytes} /dev/zero | {}; {}; {}",
        steps[0], steps[1], steps[2], steps[2]
    );
    for _ in 0..runs {
        emit(parsed(&shell.output(&steps[2])?)?, &text)?;
    }
    Ok(())
}

fn recovery(
    context: &Context,
    shell: &Shell,
    runs: u32,
    emit: &mut Emit<'_>,
) -> Result<(), String> {
    let (log, bytes): (_, u64) = if context.quick { ("1G", 1100) } else { ("4G", 4300) };
    // Recycled, so that it is full to the last segment and yet can be recorded into.
    let init = format!("baro init $MEDIA_DIR/store --size {log} --recycle");
    let fill = "baro record $MEDIA_DIR/store --format json --stdin raw --frame-bytes 16K";
    let record = "baro record $MEDIA_DIR/store --format json --generate --interval 200us";
    let open = "baro record $MEDIA_DIR/store --format json --generate --for 0.1s";
    shell.output(&init)?;
    shell.fed(bytes << 20, fill)?;
    let killed_then_opened = |drop_cache: bool| -> Result<Value, String> {
        let mut running = shell.start(record, Stdio::null())?;
        std::thread::sleep(Duration::from_millis(1500));
        if running.ended() {
            running.finish()?;
            return Err("the recorder to be killed ended by itself".to_owned());
        }
        // Dropping is killing, by SIGKILL.
        drop(running);
        if drop_cache {
            let find = "find $MEDIA_DIR/store -type f -exec dd if={} iflag=nocache count=0 ';'";
            shell.output(find)?;
        }
        let report = parsed(&shell.output(open)?)?;
        Ok(json!({"open_ns": report["open_ns"], "taken_over": report["records_taken_over"]}))
    };
    let text = format!(
        "{init}; head -c {bytes}M /dev/zero | {fill}; timeout -s KILL 1.5 {record}; find \
         $MEDIA_DIR/store -type f -exec dd if={{}} iflag=nocache count=0 \";\"; {open}; timeout -s \
         KILL 1.5 {record}; {open}"
    );
    for _ in 0..runs {
        let dropped = killed_then_opened(true)?;
        let warm = killed_then_opened(false)?;
        let bytes = folder_bytes(shell)?;
        emit(json!({"dropped": dropped, "warm": warm, "store_bytes": bytes}), &text)?;
    }
    Ok(())
}

fn folder_bytes(shell: &Shell) -> Result<u64, String> {
    let said = shell.output("du -sb $MEDIA_DIR/store")?;
    Ok(said.split_whitespace().next().and_then(|n| n.parse().ok()).unwrap_or(0))
}

fn memory(context: &Context, shell: &Shell, runs: u32, emit: &mut Emit<'_>) -> Result<(), String> {
    let init = "baro init $MEDIA_DIR/store --size 1G --recycle";
    let seconds = if context.quick { 2 } else { 10 };
    let record = format!(
        "baro record $MEDIA_DIR/store --format json --generate --ring 64M --for {seconds}s"
    );
    shell.output(init)?;
    for _ in 0..runs {
        let mut running = shell.start(&record, Stdio::null())?;
        let process = format!("/proc/{}", running.pid());
        let (status, rollup) = (format!("{process}/status"), format!("{process}/smaps_rollup"));
        let (mut peak_bytes, mut share_bytes, mut looks) = (0, None, 0_u32);
        while !running.ended() {
            // A peak only grows, and the last look is at most a tick before the end.
            peak_bytes = peak_bytes.max(field(&status, "VmHWM:").unwrap_or(0));
            // Walks the page tables: now and then only.
            looks += 1;
            if looks.is_multiple_of(10) {
                share_bytes = share_bytes.max(field(&rollup, "Pss:"));
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        let report = parsed(&running.finish()?)?;
        let result = json!({
            "ring_bytes": 64 << 20,
            "peak_resident_bytes": peak_bytes,
            // A page that is mapped twice, as those of the ring are, counts once.
            "proportional_bytes": share_bytes,
            "memory_bytes": report["memory_bytes"],
            "records": report["records"],
        });
        emit(
            result,
            &format!("{init}; {record}; VmHWM of its /proc/PID/status and Pss of its smaps_rollup"),
        )?;
    }
    Ok(())
}

fn field(path: &str, name: &str) -> Option<u64> {
    let text = std::fs::read_to_string(path).ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    Some(line.trim().strip_suffix(" kB")?.parse::<u64>().ok()? << 10)
}

fn idle_cpu(context: &Context, shell: &Shell, emit: &mut Emit<'_>) -> Result<(), String> {
    // USER_HZ: 100 wherever this runs.
    const TICKS_PER_S: f64 = 100.0;
    let seconds = if context.quick { 5 } else { 30 };
    let init = "baro init $MEDIA_DIR/store --size 64M";
    let record = "baro record $MEDIA_DIR/store --format json --stdin csv";
    shell.output(init)?;
    let begin = Instant::now();
    let mut running = shell.start(record, Stdio::piped())?;
    let stdin = running.stdin();
    std::thread::sleep(Duration::from_secs(seconds));
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", running.pid()));
    let elapsed_s = begin.elapsed().as_secs_f64();
    let stat = stat.map_err(|e| format!("the idle recorder is gone: {e}"))?;
    drop(stdin);
    running.finish()?;
    // The name may hold blanks; what follows its bracket does not.
    let fields: Vec<&str> = stat
        .rsplit_once(')')
        .map(|(_, rest)| rest.split_whitespace().collect())
        .unwrap_or_default();
    let ticks = |at: usize| fields.get(at).and_then(|text| text.parse::<u64>().ok()).unwrap_or(0);
    let cpu_s = (ticks(11) + ticks(12)) as f64 / TICKS_PER_S;
    let result = json!({"cpu_s": cpu_s, "elapsed_s": elapsed_s, "cpu_share": cpu_s / elapsed_s});
    emit(result, &format!("{init}; sleep {seconds} | {record}; utime and stime of /proc/PID/stat"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quick_runs_are_shorter_and_otherwise_the_same() {
        let options = "--records 100000 --for 10m --greedy 0s --load churn";
        let (long, short) = (push(options, false), push(options, true));
        assert!(long.ends_with(options), "{long}");
        assert!(short.ends_with("--records 5000 --for 5s --greedy 0s --load churn"), "{short}");
    }

    #[test]
    fn fio_is_understood_behind_its_remarks() {
        let output = "fio: note\n{\"jobs\": [{\"write\": {\"bw_bytes\": 5}}]}";
        assert_eq!(fio_bytes_per_s(output), Ok(5));
        assert!(fio_bytes_per_s("{}").is_err() && fio_bytes_per_s("").is_err());
    }
}
