//! `baro share install`: the service and the drop-ins, what is left alone, and what removing leaves.
#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "a test")]

mod calls;
mod place;

use calls::{run, stderr, text};
use place::Folder;
use std::path::PathBuf;
use std::process::{Command, Output};

const PROFILE: &str = "[[group]]
name = \"player\"
weight = 200
on = [\"/\"]
unit = \"player.service\"

[[group]]
name = \"plant/third\"
weight = 100
unit = \"third-party@1.service\"
";

struct Image {
    root: Folder,
    profile: String,
}

impl Image {
    fn new(name: &str) -> Image {
        let root = Folder::new(name);
        let profile = root.path("share.toml");
        std::fs::write(&profile, PROFILE).unwrap();
        Image { root, profile }
    }

    fn install(&self, more: &[&str]) -> Output {
        let root = self.root.0.to_str().unwrap();
        run(&[&["share", "install", &self.profile, "--root", root], more].concat())
    }

    fn unit(&self, name: &str) -> PathBuf {
        self.root.0.join("etc/systemd/system").join(name)
    }
}

#[test]
fn units_are_written_again_and_removed() {
    let image = Image::new("share-install");
    let said = text(&image.install(&[]), 0);
    for call in ["daemon-reload", "enable barograph-share", "restart player.service third-party"] {
        assert!(said.contains(&format!("systemctl {call}")), "{said}");
    }
    let service = std::fs::read_to_string(image.unit("barograph-share.service")).unwrap();
    for line in [
        &format!(" share hold {}\n", image.profile)[..],
        "\nBefore=player.service third-party@1.service\n",
        "\nWantedBy=multi-user.target\n",
    ] {
        assert!(service.contains(line), "{line}: {service}");
    }
    let drop_in = image.unit("third-party@1.service.d/50-barograph-share.conf");
    let written = std::fs::read_to_string(&drop_in).unwrap();
    assert!(written.contains(" BARO_SHARE=/run/barograph-share/plant+third\n"), "{written}");
    assert!(written.contains("Environment=LD_PRELOAD=/"), "{written}");
    // A group that left the profile loses its drop-in; another's file beside it stays.
    let other = image.unit("third-party@1.service.d/10-theirs.conf");
    std::fs::write(&other, "[Service]\n").unwrap();
    let first = PROFILE.split("\n\n").next().unwrap();
    std::fs::write(&image.profile, first).unwrap();
    text(&image.install(&[]), 0);
    assert!(!drop_in.exists() && other.exists());
    assert!(image.unit("player.service.d/50-barograph-share.conf").exists());
    text(&image.install(&["--remove"]), 0);
    assert!(!image.unit("player.service.d").exists());
    assert!(!image.unit("barograph-share.service").exists() && other.exists());
}

#[test]
fn what_somebody_else_wrote_stays() {
    let image = Image::new("share-foreign");
    let unit = image.unit("barograph-share.service");
    std::fs::create_dir_all(unit.parent().unwrap()).unwrap();
    std::fs::write(&unit, "[Unit]\n").unwrap();
    for more in [&[][..], &["--remove"]] {
        let output = image.install(more);
        assert_eq!(output.status.code(), Some(1));
        assert!(stderr(&output).contains("--replace"), "{}", stderr(&output));
        assert_eq!(std::fs::read_to_string(&unit).unwrap(), "[Unit]\n");
    }
    text(&image.install(&["--replace"]), 0);
    for bad in ["a b.service", "x.socket", "../x.service", "x\\nExecStart=y.service"] {
        let text = format!("[[group]]\nname = \"a\"\nweight = 1\nunit = \"{bad}\"\n");
        std::fs::write(&image.profile, text).unwrap();
        let output = image.install(&[]);
        assert!(stderr(&output).contains("expected the name of a service"), "{}", stderr(&output));
    }
}

/// An absolute link of an image means a folder of the image.
#[test]
fn a_link_in_an_image_leads_nowhere() {
    let image = Image::new("share-linked");
    let host = Folder::new("share-linked-host");
    std::os::unix::fs::symlink(&host.0, image.root.path("etc")).unwrap();
    let root = image.root.0.to_str().unwrap();
    let ours = "# Written by baro trace install, which replaces and removes it as long as this line is first.";
    let unit = host.0.join("systemd/system/barograph-trace.service");
    let installs = [&["share", "install", &image.profile][..], &["trace", "install"]];
    for install in installs {
        for remove in [false, true] {
            // A unit for a program that it would not see is refused before anything is looked at.
            if install[0] == "trace" && !remove && env!("CARGO_BIN_EXE_baro").starts_with("/tmp/") {
                println!("left out: the program is below /tmp, which the unit hides");
                continue;
            }
            let mut call = [install, &["--root", root]].concat();
            if remove {
                call.push("--remove");
                std::fs::create_dir_all(unit.parent().unwrap()).unwrap();
                std::fs::write(&unit, ours).unwrap();
            }
            let output = run(&call);
            let said = stderr(&output);
            assert!(
                output.status.code() == Some(1) && said.contains("no link is followed"),
                "{said}"
            );
            assert_eq!(host.0.join("systemd").exists(), remove, "{call:?}");
            assert_eq!(unit.exists(), remove, "{call:?}");
            let _ = std::fs::remove_dir_all(host.0.join("systemd"));
        }
    }
}

/// Commands of a profile are started as root, so nobody else may have written it.
#[test]
fn root_holds_no_profile_of_another_user() {
    if !baro_sys::schedule::is_root() {
        println!("skipped: needs root, to make what belongs to others");
        return;
    }
    let folder = Folder::new("share-theirs");
    let profile = folder.path("share.toml");
    let hold = || {
        let output = run(&["share", "hold", &profile]);
        assert_eq!(output.status.code(), Some(1));
        stderr(&output)
    };
    // A mistake: nothing is done, whoever reads it.
    std::fs::write(&profile, "[[group]]\nname = \"a\"\nweight = 2000\n").unwrap();
    assert!(hold().contains("found 2000"), "{}", hold());
    std::os::unix::fs::chown(&profile, Some(65_534), None).unwrap();
    assert!(hold().contains("65534's") && hold().contains("install -D -m 644"), "{}", hold());
    // By a link of root's too.
    let own = folder.path("own.toml");
    std::fs::rename(&profile, &own).unwrap();
    std::os::unix::fs::symlink(&own, &profile).unwrap();
    assert!(hold().contains("65534's"), "{}", hold());
    std::os::unix::fs::chown(&own, Some(0), None).unwrap();
    assert!(hold().contains("found 2000"), "{}", hold());
    std::os::unix::fs::chown(&folder.0, Some(65_534), None).unwrap();
    assert!(hold().contains("65534's"), "{}", hold());
}

#[test]
fn systemd_takes_the_unit() {
    let image = Image::new("share-verify");
    if Command::new("systemd-analyze").arg("--version").output().is_err() {
        println!("skipped: systemd-analyze is not installed");
        return;
    }
    text(&image.install(&[]), 0);
    let unit = image.unit("barograph-share.service");
    let checked = Command::new("systemd-analyze").args(["verify", "--man=no"]).arg(&unit).output();
    let said = stderr(&checked.unwrap());
    let about: Vec<&str> =
        said.lines().filter(|line| line.contains("barograph-share.service:")).collect();
    assert!(about.is_empty(), "{said}");
}
