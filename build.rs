//! Compiles stock `limit_req` behind a shim for the differential test. The module itself needs
//! nothing from here.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    #[cfg(feature = "vendored")]
    stock::build();
}

#[cfg(feature = "vendored")]
mod stock {
    // A build script may end in a panic: cargo shows it.
    #![allow(clippy::expect_used)]

    use std::env;
    use std::path::{Path, PathBuf};
    use std::process::Command;

    /// What is left out of nginx's objects: what the shim includes, and what is renamed.
    const LEFT_OUT: [&str; 2] = ["ngx_http_limit_req_module.o", "nginx.o"];

    pub fn build() {
        println!("cargo::rerun-if-changed=tests/stock");
        let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets it"));
        let nginx = PathBuf::from(env::var_os("DEP_NGINX_BUILD_DIR").expect("nginx-sys sets it"));
        let includes = env::var_os("DEP_NGINX_INCLUDE").expect("nginx-sys sets it");
        let includes: Vec<_> = env::split_paths(&includes).collect();
        declare(&out);
        let object = compile(&includes);
        archive(&out, &nginx, &object);
        for argument in [
            &*format!("{}", out.join("libstock.a").display()),
            "-lcrypt",
            "-lpcre2-8",
            "-lssl",
            "-lcrypto",
            "-lz",
        ] {
            println!("cargo::rustc-link-arg-tests={argument}");
        }
    }

    /// Declares the shim to Rust.
    fn declare(out: &Path) {
        bindgen::Builder::default()
            .header("tests/stock/shim.h")
            .allowlist_item("stock_.*")
            .generate()
            .expect("the shim's header is plain C")
            .write_to_file(out.join("stock.rs"))
            .expect("the output folder can be written to");
    }

    fn compile(includes: &[PathBuf]) -> PathBuf {
        let mut build = cc::Build::new();
        build.file("tests/stock/shim.c").includes(includes).opt_level(2).warnings(false);
        build.compile_intermediates().remove(0)
    }

    /// All of nginx's objects with the shim in place of the module. `nginx.o` has nginx's `main`,
    /// which must not stand beside the test's.
    fn archive(out: &Path, nginx: &Path, shim: &Path) {
        let renamed = out.join("nginx.o");
        run(Command::new("objcopy")
            .arg("--redefine-sym=main=nginx_main")
            .arg(nginx.join("src/core/nginx.o"))
            .arg(&renamed));
        let mut objects = vec![shim.to_owned(), renamed];
        for folder in ["", "src"] {
            collect(&nginx.join(folder), folder == "src", &mut objects);
        }
        let archive = out.join("libstock.a");
        let _ = std::fs::remove_file(&archive);
        run(Command::new("ar").arg("rcs").arg(&archive).args(&objects));
    }

    fn collect(folder: &Path, deep: bool, objects: &mut Vec<PathBuf>) {
        let entries = std::fs::read_dir(folder).expect("nginx has been built there");
        for path in entries.map(|entry| entry.expect("the folder can be read").path()) {
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            if path.is_dir() && deep {
                collect(&path, true, objects);
            } else if name.ends_with(".o") && !LEFT_OUT.contains(&&*name) {
                objects.push(path);
            }
        }
    }

    fn run(command: &mut Command) {
        let status = command.status();
        assert!(status.is_ok_and(|status| status.success()), "failed: {command:?}");
    }
}
