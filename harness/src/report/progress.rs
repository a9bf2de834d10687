//! One line of progress on standard error, where that is a terminal.

use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use super::escape;
use crate::event::Event;

/// The line. Nothing is drawn when standard error is not a terminal.
pub struct Progress {
    bar: ProgressBar,
    label: String,
    state: State,
}

#[derive(Debug, Default)]
struct State {
    protocol: String,
    scenarios: usize,
    scenario: Option<(usize, String)>,
    answered: usize,
    sent: usize,
}

impl Progress {
    /// A line that shows nothing yet; with `hidden` it never does.
    pub fn new(hidden: bool) -> Self {
        let target = if hidden {
            ProgressDrawTarget::hidden()
        } else {
            ProgressDrawTarget::stderr_with_hz(10)
        };
        let bar = ProgressBar::with_draw_target(None, target);
        if let Ok(style) = ProgressStyle::with_template("{spinner} {wide_msg}") {
            bar.set_style(style);
        }
        Self {
            bar,
            label: String::new(),
            state: State::default(),
        }
    }

    /// Names what the following runs are about.
    pub fn label(&mut self, label: &str) {
        self.label = format!("{} · ", escape(label));
    }

    /// Follows the run.
    pub fn event(&mut self, event: &Event) {
        if self.bar.is_hidden() {
            return;
        }
        match event {
            Event::RunStarted { .. } => {
                self.bar.reset();
                self.bar.enable_steady_tick(Duration::from_millis(100));
            }
            Event::RunFinished(_) => self.finish(),
            _ => {}
        }
        if self.state.apply(event) {
            self.bar
                .set_message(format!("{}{}", self.label, self.state.line()));
        }
    }

    /// Takes the line away, so that other things can be written.
    pub fn finish(&self) {
        self.bar.finish_and_clear();
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.finish();
    }
}

impl State {
    /// Takes over what an event says; whether there is something new to show.
    fn apply(&mut self, event: &Event) -> bool {
        match event {
            Event::RunStarted {
                protocol,
                scenarios,
                ..
            } => {
                *self = State {
                    protocol: protocol.clone(),
                    scenarios: *scenarios,
                    ..State::default()
                };
            }
            Event::ScenarioStarted { name, index } => self.scenario = Some((*index, name.clone())),
            Event::Progress { answered, sent } => {
                self.answered = *answered;
                self.sent = *sent;
            }
            Event::RevisionSkipped { .. } | Event::RunFinished(_) => return false,
        }
        true
    }

    fn line(&self) -> String {
        let mut line = self.protocol.clone();
        if let Some((index, name)) = &self.scenario {
            line.push_str(&format!(" · {index}/{} {}", self.scenarios, escape(name)));
        }
        line.push_str(&format!(" · {}/{} answered", self.answered, self.sent));
        line
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_follows_the_events() {
        let mut state = State::default();
        for event in [
            Event::RunStarted {
                protocol: "2026-07-28".into(),
                transport: "stdio".into(),
                scenarios: 3,
            },
            Event::ScenarioStarted {
                name: "server/catalog\u{1b}".into(),
                index: 2,
            },
            Event::Progress {
                answered: 4,
                sent: 5,
            },
        ] {
            assert!(state.apply(&event));
        }
        assert_eq!(
            state.line(),
            "2026-07-28 · 2/3 server/catalog\\u{1b} · 4/5 answered"
        );
        let mut hidden = Progress::new(true);
        hidden.event(&Event::Progress {
            answered: 1,
            sent: 1,
        });
        hidden.finish();
    }
}
