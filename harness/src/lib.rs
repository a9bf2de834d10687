//! Conformance suite for SEP-2640.
