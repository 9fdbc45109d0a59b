//! Messages: what may be asked for, and what is generated of them.

mod codes;
mod path_spec;
mod trial_options;
