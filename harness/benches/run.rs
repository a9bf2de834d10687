//! Whole runs, as a user starts them: process start, both revisions, all checks, report.

use std::net::TcpListener;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use criterion::{Criterion, criterion_group, criterion_main};

const PROGRAM: &str = env!("CARGO_BIN_EXE_sep2640-conform");

fn conforms(arguments: &[&str]) {
    let status = Command::new(PROGRAM)
        .args(arguments)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    assert!(status.is_ok_and(|status| status.success()), "{arguments:?}");
}

/// The reference server over HTTP, for as long as it is held.
struct Serving(Child, String);

impl Serving {
    fn start() -> Self {
        let port = TcpListener::bind("127.0.0.1:0")
            .and_then(|listener| listener.local_addr())
            .map(|addr| addr.port());
        let addr = format!("127.0.0.1:{}", port.expect("a free port"));
        let child = Command::new(PROGRAM)
            .args(["reference", "server", "--http", &addr])
            .stderr(Stdio::null())
            .spawn()
            .expect("the reference server");
        while std::net::TcpStream::connect(&addr).is_err() {
            std::thread::sleep(Duration::from_millis(5));
        }
        Self(child, format!("http://{addr}/mcp"))
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn built_in(criterion: &mut Criterion) {
    criterion.bench_function("built-in server, stdio, both revisions", |bencher| {
        bencher.iter(|| conforms(&["server", "--quiet"]));
    });
    let serving = Serving::start();
    criterion.bench_function("built-in server, HTTP, both revisions", |bencher| {
        bencher.iter(|| conforms(&["server", "--quiet", "--url", &serving.1]));
    });
}

fn large(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("large");
    group.sample_size(10);
    let server = [
        "--",
        PROGRAM,
        "reference",
        "server",
        "--generate",
        "skills=2000,files=5",
        "--page-size",
        "100",
    ];
    let arguments = [
        &["server", "--quiet", "--protocol", "2026-07-28"][..],
        &server[..],
    ]
    .concat();
    group.bench_function("2,000 skills of 5 files, stdio, one revision", |bencher| {
        bencher.iter(|| conforms(&arguments));
    });
}

criterion_group!(benches, built_in, large);
criterion_main!(benches);
