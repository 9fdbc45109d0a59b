//! What the rules of the model make of whole transfers. One binary: what each test links and compiles is the same.

mod attachments;
mod calls;
mod conformance;
mod frames;
mod host_profiles;
mod link_rates;
mod linux;
mod scripted_processes;
mod several_connections;
mod solaris_flow;
mod study;
