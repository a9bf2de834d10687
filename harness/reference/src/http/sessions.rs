//! Sessions of revision 2025-11-25 over HTTP.

use std::collections::HashSet;
use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hasher};
use std::sync::{Mutex, MutexGuard};

use sha2::{Digest, Sha256};

use crate::paging::hex;

/// The sessions that are open.
#[derive(Debug, Default)]
pub(super) struct Sessions {
    open: Mutex<HashSet<String>>,
}

impl Sessions {
    /// Opens a session and gives its id, which cannot be guessed: the standard
    /// library seeds each hasher state from the system's randomness.
    pub fn open(&self) -> String {
        let mut digest = Sha256::new();
        for _ in 0..4 {
            digest.update(RandomState::new().build_hasher().finish().to_le_bytes());
        }
        let id = hex(&digest.finalize()[..16]);
        self.lock().insert(id.clone());
        id
    }

    pub fn is_open(&self, id: &str) -> bool {
        self.lock().contains(id)
    }

    /// Ends a session; false if there is none.
    pub fn end(&self, id: &str) -> bool {
        self.lock().remove(id)
    }

    fn lock(&self) -> MutexGuard<'_, HashSet<String>> {
        self.open
            .lock()
            .unwrap_or_else(|poison| poison.into_inner())
    }
}

#[cfg(test)]
mod tests {
    use super::Sessions;

    #[test]
    fn a_session_lives_until_it_is_ended() {
        let sessions = Sessions::default();
        let (one, two) = (sessions.open(), sessions.open());
        assert_ne!(one, two);
        assert!(sessions.is_open(&one) && sessions.end(&one));
        assert!(!sessions.is_open(&one) && !sessions.end(&one) && sessions.is_open(&two));
    }
}
