//! Honest reference server for SEP-2640 with named, switchable faults.
