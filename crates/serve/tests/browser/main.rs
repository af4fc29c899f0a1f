//! The page in a real browser: Chromium of this Debian, without a window. Where there is none the test says so
//! and is counted as skipped.
#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "a test")]

mod chromium;
#[path = "../api/scene.rs"]
#[allow(dead_code, reason = "the others use more of it")]
mod scene;

use barograph::{Recorder, Time};
use chromium::Chromium;
use scene::Scene;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;

const SERIES: usize = 20;
/// Looks at the page until it has what is waited for; a test that waits for longer has failed anyway.
const LOOKS_MAX: usize = 300;

fn wait_for(page: &mut Chromium, what: &str) {
    let came = (0..LOOKS_MAX).any(|_| {
        std::thread::sleep(Duration::from_millis(100));
        page.evaluate(what) == true
    });
    assert!(
        came,
        "expected {what}, found {} and {:?}",
        page.evaluate("document.body.innerText"),
        page.said
    );
}

#[test]
fn a_browser_draws_twenty_series() {
    let Some(mut page) = Chromium::start() else {
        println!("skipped: no chromium (apt-get install chromium)");
        return;
    };
    let scene = Scene::new("browser");
    let recorder = Recorder::create_or_open(scene.store()).size(64 << 20).recycle().open().unwrap();
    // One name is markup; if it were taken as such, the rules of the page would say so in the console.
    let name = |n: usize| match n {
        0 => "<img src=x onerror=alert(1)>".to_owned(),
        n => format!("level{{site=\"{n}\"}}"),
    };
    let unit = |n: usize| if n.is_multiple_of(2) { "m" } else { "<b>A</b>" };
    let series = (0..SERIES).map(|n| recorder.series::<f64>(&name(n), unit(n)).unwrap());
    let series: Vec<_> = series.collect();
    let mut push = recorder.producer().unwrap();
    let server = scene.serve(&[]);
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut turn = 0_u32;
            while !stop.load(Relaxed) {
                let now = Time::now();
                for (n, one) in series.iter().enumerate() {
                    let value = (f64::from(turn) / 300.0 + n as f64).sin() + n as f64;
                    let _ = push.sample(*one, now, value);
                }
                turn += 1;
                std::thread::sleep(Duration::from_millis(1));
            }
        });
        // A failure ends the thread too.
        let looked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            look(&mut page, &format!("http://{}/", server.address()));
        }));
        stop.store(true, Relaxed);
        if let Err(failed) = looked {
            std::panic::resume_unwind(failed);
        }
    });
    assert_eq!(page.said, Vec::<String>::new());
    drop((push, server));
    assert_eq!(recorder.close().lost(), 0);
}

/// Chooses all series by keyboard alone, looks back and comes back to live.
fn look(page: &mut Chromium, address: &str) {
    page.go(address);
    wait_for(page, "document.getElementById('plot') !== null");
    page.key("/");
    wait_for(page, "document.querySelectorAll('#found [role=option]').length === 20");
    for _ in 0..SERIES {
        page.key("Enter");
        page.key("ArrowDown");
    }
    page.key("Escape");
    wait_for(page, "document.getElementById('plot').dataset.series === '20'");
    assert!(
        page.evaluate("document.getElementById('chosen').textContent.includes('<img src=x')")
            == true
    );
    wait_for(page, INK);
    page.key("+");
    page.key("ArrowLeft");
    wait_for(
        page,
        "location.hash.includes('&from=') && document.getElementById('live').ariaPressed === 'false'",
    );
    wait_for(page, "document.getElementById('plot').dataset.series === '20'");
    wait_for(page, INK);
    page.key("l");
    wait_for(
        page,
        "location.hash.includes('&live=') && document.getElementById('live').ariaPressed === 'true'",
    );
    wait_for(page, "document.getElementById('plot').dataset.series === '20'");
    wait_for(page, "document.getElementById('say').hidden");
}

/// Whether the picture has the colors of many series.
const INK: &str = "(() => { const canvas = document.getElementById('plot'); \
    const copy = document.createElement('canvas'); \
    [copy.width, copy.height] = [canvas.width, canvas.height]; \
    const ink = copy.getContext('2d', { willReadFrequently: true }); \
    ink.drawImage(canvas, 0, 0); \
    const { data } = ink.getImageData(0, 0, canvas.width, canvas.height); \
    const found = new Map(); \
    for (let at = 0; at < data.length; at += 4) if (data[at + 3] > 200) { \
      const color = data[at] << 16 | data[at + 1] << 8 | data[at + 2]; \
      found.set(color, (found.get(color) || 0) + 1); } \
    return [...found.values()].filter((count) => count > 20).length >= 10; })()";
