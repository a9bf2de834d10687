//! Serving a directory: what is read, what is left out, and the faults that
//! only show against the disk.

mod common;

use std::fs;
use std::path::{Path, PathBuf};

use common::{Client, MODERN};
use sep2640_reference::Options;
use serde_json::json;

/// A directory of its own for one test, removed afterwards.
struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str) -> Scratch {
        let path = std::env::temp_dir().join(format!("sep2640-{}-{name}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(&path).unwrap();
        Scratch(path)
    }

    fn write(&self, path: &str, bytes: &[u8]) {
        let path = self.0.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    }

    fn skill(&self, directory: &str) {
        let name = Path::new(directory).file_name().unwrap().to_str().unwrap();
        let text = format!("---\nname: {name}\ndescription: A skill.\n---\nBody\n");
        self.write(&format!("{directory}/SKILL.md"), text.as_bytes());
    }

    fn serve(&self, fault: Option<&str>) -> Client {
        let options = Options {
            skills: Some(self.0.join("skills")),
            fault: fault.map(str::to_owned),
            ..Options::default()
        };
        Client::new(MODERN, options)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn uris(client: &Client) -> Vec<String> {
    let skills = client.skills();
    skills
        .iter()
        .map(|entry| entry["uri"].as_str().unwrap().to_owned())
        .collect()
}

fn tree(name: &str) -> Scratch {
    let scratch = Scratch::new(name);
    scratch.skill("skills/alpha");
    scratch.write("skills/alpha/notes one.md", b"a\r\nb\r\n");
    scratch.write("skills/alpha/.hidden", b"h\n");
    scratch.skill("skills/team/beta");
    scratch.skill("skills/team/beta/inner");
    fs::create_dir_all(scratch.0.join("skills/team/beta/empty")).unwrap();
    scratch.write("skills/stray.txt", b"no skill's\n");
    scratch.write(
        "skills/bad/SKILL.md",
        b"---\nname: other\ndescription: x\n---\n",
    );
    scratch.write("secret.txt", b"outside\n");
    scratch
}

#[test]
fn skills_are_found_and_strays_are_not_served() {
    let client = tree("found").serve(None);
    assert_eq!(
        uris(&client),
        [
            "skill://alpha/SKILL.md",
            "skill://team/beta/SKILL.md",
            "skill://team/beta/inner/SKILL.md"
        ]
    );
    assert_eq!(
        client.read("skill://alpha/notes%20one.md").unwrap(),
        b"a\r\nb\r\n"
    );
    assert_eq!(client.read("skill://stray.txt"), None);
    assert_eq!(client.read("skill://bad/SKILL.md"), None);
    let empty = json!({"uri": "skill://team/beta/empty"});
    let empty = client.result("resources/directory/read", empty);
    assert_eq!(empty["resources"], json!([]));
}

#[cfg(unix)]
#[test]
fn links_are_followed_only_by_the_fault() {
    let scratch = tree("links");
    let link = scratch.0.join("skills/alpha/link.txt");
    std::os::unix::fs::symlink(scratch.0.join("secret.txt"), link).unwrap();
    std::os::unix::fs::symlink(&scratch.0, scratch.0.join("skills/alpha/loop")).unwrap();
    let uri = "skill://alpha/link.txt";
    assert_eq!(scratch.serve(None).read(uri), None);
    let fault = Some("sep-2640-root-no-escape");
    assert_eq!(scratch.serve(fault).read(uri).unwrap(), b"outside\n");
}

#[test]
fn faults_against_the_disk() {
    let scratch = tree("disk");
    let client = scratch.serve(Some("sep-2640-root-bytes-equal"));
    assert_eq!(
        client.read("skill://alpha/notes%20one.md").unwrap(),
        b"a\nb\n"
    );
    let client = scratch.serve(Some("sep-2640-root-files-served"));
    assert_eq!(client.read("skill://alpha/.hidden"), None);
    let client = scratch.serve(Some("sep-2640-root-skill-listed-or-served"));
    assert_eq!(
        uris(&client),
        [
            "skill://team/beta/SKILL.md",
            "skill://team/beta/inner/SKILL.md"
        ]
    );
    assert_eq!(
        client.code("skills/get", json!({"uri": "skill://alpha/SKILL.md"})),
        -32602
    );
}
