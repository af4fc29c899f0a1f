//! SIGKILL at random moments, to the producer, the recorder, both, and to recorders that close or
//! recover: what a producer saw durable is in the log at once; what it was told to be taken is in
//! the log after the next recorder, once, in order, byte for byte; gaps are exactly what was
//! refused.

use super::process::{Role, sleep_ms, wait_for};
use super::reading::read;
use super::scene::{Owned, Scene};
use super::truth::{Told, Truth};
use baro_sys::sim::Rng;

const ROUNDS: u64 = 9;

fn seed() -> u64 {
    std::env::var("BARO_REAL_SEED").ok().and_then(|text| text.parse().ok()).unwrap_or(1)
}

/// One store with a recorder and a producer in processes of their own.
struct Play {
    scene: Owned,
    rng: Rng,
    recorder: Option<Role>,
    producer: Option<Role>,
    /// Producers started so far.
    lives: u64,
}

impl Play {
    fn start(name: &str, round: u64) -> Option<Self> {
        let scene = Owned(Scene::new(name, 40)?);
        let rng = Rng::new(seed() << 32 | round);
        let mut play = Play { scene, rng, recorder: None, producer: None, lives: 0 };
        play.start_recorder();
        play.start_producer();
        Some(play)
    }

    fn start_recorder(&mut self) {
        self.begin_recorder();
        wait_for("a recorder", || {
            assert!(!self.recorder.as_mut().unwrap().ended(), "the recorder has ended");
            self.scene.signalled("open").is_some()
        });
    }

    fn begin_recorder(&mut self) {
        for signal in ["open", "close", "closing", "closed"] {
            self.scene.clear(signal);
        }
        self.recorder = Some(Role::start("recorder", &self.scene));
    }

    fn start_producer(&mut self) {
        self.scene.clear("attached");
        self.lives += 1;
        self.producer = Some(Role::start("producer", &self.scene));
        wait_for("a producer", || {
            assert!(!self.producer.as_mut().unwrap().ended(), "the producer has ended");
            self.scene.signalled("attached").is_some()
        });
    }

    fn pause(&mut self, least_ms: u64, most_ms: u64) {
        sleep_ms(least_ms + self.rng.below(most_ms - least_ms));
    }

    fn kill_recorder(&mut self) {
        self.recorder.take().unwrap().kill();
    }

    fn kill_producer(&mut self) {
        self.producer.take().unwrap().kill();
    }

    fn stop_producer(&mut self) {
        self.scene.signal("stop", "");
        self.producer.take().unwrap().join();
    }

    fn close_recorder(&mut self) -> u64 {
        self.scene.signal("close", "");
        self.recorder.take().unwrap().join();
        self.scene.signalled("closed").unwrap().parse().unwrap()
    }

    fn told(&self) -> Told {
        Truth::open(self.scene.shared()).read()
    }

    /// What is in the log now, without any recorder having taken over.
    fn check(&self) {
        let told = self.told();
        told.check(&read(self.scene.store()), self.lives);
    }

    /// All processes have ended: a last recorder takes over what is left.
    fn finish(self) -> Told {
        drop((self.producer, self.recorder));
        let scene = self.scene;
        let told = Truth::open(scene.shared()).read();
        scene.drain();
        told.check_all(&read(scene.store()), self.lives);
        assert_eq!(scene.ring_files(), Vec::<std::path::PathBuf>::new());
        told
    }
}

/// Plays rounds; a failure names its round.
fn rounds(name: &str, mut round: impl FnMut(&mut Play)) -> Vec<Told> {
    let mut all = Vec::new();
    for number in 0..ROUNDS {
        let Some(mut play) = Play::start(name, number) else { return all };
        let label = format!("{name}, round {number}, seed {}", seed());
        let guard = Named(&label);
        round(&mut play);
        all.push(play.finish());
        std::mem::forget(guard);
    }
    let (pushed, refused) = (all.iter().map(Told::pushed), all.iter().map(Told::refused));
    let (pushed, refused): (u64, u64) = (pushed.sum(), refused.sum());
    println!("{name}: {ROUNDS} rounds, {pushed} pushed, {refused} refused");
    assert!(pushed > 100 * ROUNDS);
    all
}

struct Named<'a>(&'a str);

impl Drop for Named<'_> {
    fn drop(&mut self) {
        println!("in {}", self.0);
    }
}

#[test]
fn a_producer_is_killed_and_another_goes_on() {
    rounds("producer", |play| {
        for _ in 0..2 {
            play.pause(20, 150);
            play.kill_producer();
            play.check();
            play.start_producer();
        }
        play.pause(20, 100);
        play.stop_producer();
        assert_eq!(play.close_recorder(), 0);
        // Nothing is left for another recorder: the ring went with its last user.
        assert!(play.scene.ring_files().is_empty());
        play.told().check_all(&read(play.scene.store()), play.lives);
    });
}

#[test]
fn a_recorder_is_killed_and_the_next_takes_over_while_the_producer_pushes() {
    let told = rounds("recorder", |play| {
        play.pause(20, 300);
        play.kill_recorder();
        let refused = play.told().refused();
        play.check();
        if play.rng.chance(2, 3) {
            let truth = Truth::open(play.scene.shared());
            wait_for("a full ring", || truth.read().refused() > refused + 20);
        } else {
            play.pause(20, 60);
        }
        play.start_recorder();
        play.pause(20, 150);
        play.stop_producer();
        if play.rng.chance(1, 2) {
            assert_eq!(play.close_recorder(), 0);
        } else {
            play.kill_recorder();
        }
    });
    assert!(told.iter().any(|told| told.refused() > 0));
}

#[test]
fn both_are_killed_at_once() {
    rounds("both", |play| {
        play.pause(20, 300);
        Role::kill_all(vec![play.recorder.take().unwrap(), play.producer.take().unwrap()]);
        play.check();
        if play.rng.chance(1, 2) {
            play.start_recorder();
            play.start_producer();
            play.pause(20, 150);
            Role::kill_all(vec![play.producer.take().unwrap(), play.recorder.take().unwrap()]);
            play.check();
        }
    });
}

#[test]
fn recorders_are_killed_while_they_close_and_while_they_take_over() {
    rounds("closing", |play| {
        play.pause(20, 200);
        play.scene.signal("close", "");
        wait_for("the close", || play.scene.signalled("closing").is_some());
        play.pause(0, 6);
        play.kill_recorder();
        play.check();
        for _ in 0..3 {
            play.begin_recorder();
            play.pause(0, 25);
            play.kill_recorder();
            play.check();
        }
        play.start_recorder();
        play.pause(20, 80);
        play.stop_producer();
    });
}

#[test]
fn a_close_refuses_what_comes_later_and_keeps_what_came_before() {
    let told = rounds("orderly", |play| {
        play.pause(20, 100);
        let left = play.close_recorder();
        let truth = Truth::open(play.scene.shared());
        wait_for("a refusal", || truth.read().closed > 20);
        let told = truth.read();
        let next = told.check(&read(play.scene.store()), play.lives);
        // A push that was under way when the ring closed waits there for the next recorder.
        assert_eq!(told.known() - next, left);
        assert_eq!(told.durable, next);
        if play.rng.chance(1, 2) {
            play.start_recorder();
            wait_for("more", || truth.read().known() > told.known() + 20);
        }
        play.stop_producer();
    });
    assert!(told.iter().all(|told| told.closed > 0));
}
