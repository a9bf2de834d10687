//! Faults of the host: what each does is written where it acts, with
//! [`Switch::on`]; the lists here say what there is.

mod client;
mod content;
mod identity;
mod trust;

use std::sync::LazyLock;

use crate::faults::{Fault, find_in};
use crate::options::StartError;

/// Every fault of the host, by subject.
pub fn host_faults() -> &'static [Fault] {
    static ALL: LazyLock<Vec<Fault>> = LazyLock::new(|| {
        [
            client::FAULTS,
            identity::FAULTS,
            content::FAULTS,
            trust::FAULTS,
        ]
        .concat()
    });
    &ALL
}

/// The fault that is switched on, if any.
#[derive(Debug, Clone, Copy)]
pub(super) struct Switch(Option<&'static Fault>);

impl Switch {
    /// The switch for an id, or for none.
    pub fn new(id: Option<&str>) -> Result<Switch, StartError> {
        id.map(|id| find_in(host_faults(), id))
            .transpose()
            .map(Switch)
    }

    /// Whether this fault is switched on. The id is given without the prefix
    /// that all ids share.
    pub fn on(self, id: &str) -> bool {
        self.0
            .is_some_and(|fault| fault.id.strip_prefix("sep-2640-") == Some(id))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::path::Path;

    use super::*;

    fn sources(directory: &Path, text: &mut String) {
        for entry in std::fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            if path.ends_with("faults") {
                // Only the list itself, and this test.
            } else if path.is_dir() {
                sources(&path, text);
            } else {
                text.push_str(&std::fs::read_to_string(path).unwrap());
            }
        }
    }

    #[test]
    fn each_fault_acts_somewhere_and_nothing_else_does() {
        let mut text = String::new();
        sources(
            &Path::new(env!("CARGO_MANIFEST_DIR")).join("src/host"),
            &mut text,
        );
        let acting: BTreeSet<String> = text
            .split(".on(")
            .skip(1)
            .filter_map(|rest| rest.trim_start().strip_prefix('"'))
            .filter_map(|rest| rest.split('"').next())
            .map(|id| format!("sep-2640-{id}"))
            .collect();
        let listed: BTreeSet<String> = host_faults().iter().map(|f| f.id.to_owned()).collect();
        let dead: Vec<_> = listed.difference(&acting).collect();
        let unknown: Vec<_> = acting.difference(&listed).collect();
        assert!(
            dead.is_empty() && unknown.is_empty(),
            "act nowhere: {dead:#?}\nunknown: {unknown:#?}"
        );
        assert_eq!(listed.len(), host_faults().len(), "an id stands twice");
    }

    #[test]
    fn unknown_ids_are_met_with_a_suggestion() {
        let error = Switch::new(Some("host-verify-digets")).unwrap_err();
        assert!(error.to_string().contains("`sep-2640-host-verify-digest`"));
        assert!(host_faults().iter().all(|fault| fault.side == "host"));
    }
}
