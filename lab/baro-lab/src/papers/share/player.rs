//! A player: real H.264 in full HD through ffmpeg's decoder in real time, beside a load.
//!
//! The decoder is a program in the group; what it has decoded comes through a pipe into a queue of
//! half a second, from which a clock takes one frame at a time. A frame that is not in the queue at
//! its time is late, and the clock goes on with it at the next. Frames are made small after decoding,
//! so that the pipe costs nothing: the decoding is whole.
//!
//! Invariant: all of the video comes from the device, or a note says that it did not. What counts is
//! what of the file is in memory when the player begins: BFQ's own count of a group's bytes leaves out
//! what is added to a request that waits already.

use super::fio;
use super::row::{Case, Figures, Late};
use super::session::{Session, kill};
use super::site::Site;
use baro_bench::error::BenchError;
use baro_sys::{clock, files};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, SyncSender, TryRecvError, sync_channel};

/// Begins the reason why the video is not there, which is a result.
pub(super) const CANNOT: &str = "the video cannot be made";
const VIDEO: &str = "video-1080p30-h264.mp4";
const FRAMES_PER_S: u64 = 30;
const SECONDS: u64 = 16;
/// As long as a video of about 40 MB at 20 Mbit/s is.
pub(super) const LENGTH_NS: u64 = SECONDS * 1_000_000_000;
/// What a player has decoded in advance.
const QUEUE_FRAMES: usize = 15;
/// Of a decoded frame made small: 4:2:0.
const SHOWN: (usize, usize) = (160, 90);
/// The first frames may take their time: a player begins when its queue is full.
const BEGIN_NS: u64 = 30_000_000_000;
/// A player that falls behind for longer is given up.
const LATE_MAX: u64 = 60 * FRAMES_PER_S;

/// The encoded video, made once in the folder.
fn video(site: &Site) -> Result<PathBuf, BenchError> {
    let path = site.folder().join(VIDEO);
    if files::exists(&path) {
        return Ok(path);
    }
    let part = site.folder().join("video.part");
    let mut command = fio::bound_to_us("ffmpeg");
    command.args(["-nostdin", "-v", "error", "-y", "-f", "lavfi", "-i"]);
    command.arg(format!(
        "testsrc2=size=1920x1080:rate={FRAMES_PER_S}:duration={SECONDS},noise=alls=24:allf=t"
    ));
    command.args(["-c:v", "libx264", "-preset", "ultrafast", "-tune", "fastdecode"]);
    command.args(["-pix_fmt", "yuv420p", "-b:v", "20M", "-maxrate", "20M", "-bufsize", "20M"]);
    command.args(["-g", "60", "-f", "mp4"]).arg(&part);
    let cannot = |said: String| BenchError::Refused(format!("{CANNOT}: ffmpeg: {said}"));
    let output = command.output().map_err(|error| cannot(error.to_string()))?;
    if !output.status.success() {
        let _ = files::remove(&part);
        return Err(cannot(String::from_utf8_lossy(&output.stderr).trim().to_owned()));
    }
    baro_sys::files::rename(&part, &path).map_err(BenchError::file("name", &path))?;
    Ok(path)
}

pub(super) fn measure(site: &Site, case: &Case, stop: &AtomicBool) -> Result<Figures, BenchError> {
    let path = video(site)?;
    site.drop_cached(&path)?;
    let file_bytes = files::size_bytes(&path)?;
    let mut session = Session::begin(site, case, stop)?;
    case.load.map_or(Ok(()), |load| session.load(1, load))?;
    let before = session.warm_up()?;
    let mut command = fio::bound_to_us("ffmpeg");
    command.args(["-nostdin", "-v", "error", "-i"]).arg(&path);
    command.arg("-vf").arg(format!("scale={}:{}:flags=fast_bilinear", SHOWN.0, SHOWN.1));
    command.args(["-f", "rawvideo", "-pix_fmt", "yuv420p", "-"]);
    command.stdout(Stdio::piped()).stderr(Stdio::inherit());
    let read_bytes = file_bytes - site.cached_bytes(&path)?.min(file_bytes);
    let mut child = session.start(0, command)?;
    let shown = play(&mut session, &mut child);
    kill(&mut child);
    let shown = shown?;
    let mut figures = session.figures(case, &before)?;
    let late = Late { read_bytes, file_bytes, ..shown };
    if late.read_bytes < late.file_bytes {
        figures.notes.push(format!(
            "not all of the video came from the device: {read_bytes} of {file_bytes} bytes"
        ));
    }
    if late.frames < SECONDS * FRAMES_PER_S {
        figures.notes.push(format!(
            "the decoder gave {} frames, not {}",
            late.frames,
            SECONDS * FRAMES_PER_S
        ));
    }
    figures.late = Some(late);
    session.end(None, &mut figures)?;
    Ok(figures)
}

/// Shows all frames in their time, and counts.
fn play(session: &mut Session<'_>, child: &mut std::process::Child) -> Result<Late, BenchError> {
    let Some(pipe) = child.stdout.take() else {
        return Err(BenchError::Refused("ffmpeg has no output".to_owned()));
    };
    let (frames, queue) = sync_channel(QUEUE_FRAMES);
    // A channel does not tell how full it is.
    let (queued, ended) = (AtomicU64::new(0), AtomicBool::new(false));
    let gone = AtomicBool::new(false);
    let shown = Mutex::new(Late::default());
    std::thread::scope(|scope| {
        scope.spawn(|| decode(pipe, &frames, &queued, &ended));
        let player = scope.spawn(|| {
            let late = show(queue, &queued, &ended, &gone);
            if let Ok(mut shown) = shown.lock() {
                *shown = late;
            }
        });
        let end_ns = clock::monotonic_ns() + BEGIN_NS + LENGTH_NS * 5;
        let result = session.run_until(end_ns, &mut |_| player.is_finished());
        gone.store(true, Relaxed);
        // Its pipe ends, so that its reader does.
        kill(child);
        result
    })?;
    shown.into_inner().map_err(|_| BenchError::ThreadLost("player"))
}

fn decode(mut pipe: impl Read, frames: &SyncSender<()>, queued: &AtomicU64, ended: &AtomicBool) {
    let mut frame = vec![0_u8; SHOWN.0 * SHOWN.1 * 3 / 2];
    while pipe.read_exact(&mut frame).is_ok() {
        queued.fetch_add(1, Relaxed);
        if frames.send(()).is_err() {
            break;
        }
    }
    ended.store(true, Relaxed);
}

/// The player's clock. Takes the queue, so that the decoder's reader ends when it is done.
fn show(queue: Receiver<()>, queued: &AtomicU64, ended: &AtomicBool, gone: &AtomicBool) -> Late {
    const STEP_NS: u64 = 1_000_000_000 / FRAMES_PER_S;
    let begin_ns = clock::monotonic_ns() + BEGIN_NS;
    while queued.load(Relaxed) < QUEUE_FRAMES as u64
        && !ended.load(Relaxed)
        && clock::monotonic_ns() < begin_ns
    {
        clock::sleep_ns(STEP_NS / 4);
    }
    let mut late = Late::default();
    let mut due_ns = clock::monotonic_ns();
    loop {
        // Asked first: what comes between the two questions is not missed.
        let is_ended = ended.load(Relaxed);
        match queue.try_recv() {
            Ok(()) => late.frames += 1,
            Err(TryRecvError::Empty) if is_ended => return late,
            Err(TryRecvError::Empty) => late.late_frames += 1,
            Err(TryRecvError::Disconnected) => return late,
        }
        if gone.load(Relaxed) || late.late_frames > LATE_MAX {
            return late;
        }
        due_ns += STEP_NS;
        clock::sleep_until_ns(due_ns);
    }
}

/// Where the encoded video is, which is kept for the next run.
#[must_use]
pub fn video_path(dir: &Path) -> PathBuf {
    dir.join(super::site::FOLDER).join(VIDEO)
}
