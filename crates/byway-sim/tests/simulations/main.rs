//! Endpoints over simulated networks. One program holds all files: each of its own would be linked anew.

mod choice;
mod common;
mod concurrent;
mod dead_data;
mod fairness;
mod golden;
mod hour;
mod loss;
mod near;
mod own_policies;
mod policer;
mod probe_timeout;
mod proposed;
mod sender;
mod silent_death;
mod slow_links;
mod stalls;
mod transfer;
mod trial;
mod unequal_paths;
mod way_back;
mod windows;
