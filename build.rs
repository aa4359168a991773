//! Passes on what the nginx-sys crate found out about the nginx it was built against.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
}
