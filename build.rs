//! Compiles stock `limit_req` behind a shim for the differential test and the bench. The module
//! itself needs nothing from here.

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

    /// What is left out of nginx's objects: the shim includes it.
    const LEFT_OUT: &str = "ngx_http_limit_req_module.o";

    /// Names that would stand twice in a test: its own `main`, and the tables of modules, which our
    /// module exports too. Without new names the linker's order would decide which of them counts.
    const RENAMED: [&str; 3] = ["main", "ngx_modules", "ngx_module_names"];

    pub fn build() {
        println!("cargo::rerun-if-changed=tests/stock/shim.c");
        println!("cargo::rerun-if-changed=tests/stock/shim.h");
        let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets it"));
        let nginx = PathBuf::from(env::var_os("DEP_NGINX_BUILD_DIR").expect("nginx-sys sets it"));
        let includes = env::var_os("DEP_NGINX_INCLUDE").expect("nginx-sys sets it");
        let includes: Vec<_> = env::split_paths(&includes).collect();
        declare(&out);
        let object = compile(&includes);
        let archive = archive(&out, &nginx, &object);
        // Never to the module: in it, it would be a second copy of nginx's globals.
        for target in ["tests", "benches"] {
            println!("cargo::rustc-link-arg-{target}={}", archive.display());
            for argument in ["-lcrypt", "-lpcre2-8", "-lssl", "-lcrypto", "-lz"] {
                println!("cargo::rustc-link-arg-{target}={argument}");
            }
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
        // What nginx itself was compiled with, or its structs would have another layout.
        for define in env::var("DEP_NGINX_CFLAGS").unwrap_or_default().split_whitespace() {
            build.flag(define);
        }
        build.file("tests/stock/shim.c").includes(includes).opt_level(2).warnings(false);
        build.compile_intermediates().remove(0)
    }

    /// All of nginx's objects with the shim in place of the module.
    fn archive(out: &Path, nginx: &Path, shim: &Path) -> PathBuf {
        let mut objects = vec![shim.to_owned()];
        for folder in ["", "src"] {
            collect(&nginx.join(folder), folder == "src", &mut objects);
        }
        let archive = out.join("libstock.a");
        // `ar` would keep what an older archive has.
        let _ = std::fs::remove_file(&archive);
        run(Command::new("ar").arg("rcs").arg(&archive).args(&objects));
        let renamed = RENAMED.map(|name| format!("--redefine-sym={name}=nginx_own_{name}"));
        run(Command::new("objcopy").args(renamed).arg(&archive));
        archive
    }

    /// Objects of a folder, and of those in it if `deep`.
    fn collect(folder: &Path, deep: bool, objects: &mut Vec<PathBuf>) {
        let entries = std::fs::read_dir(folder).expect("nginx has been built there");
        for path in entries.map(|entry| entry.expect("the folder can be read").path()) {
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            if path.is_dir() && deep {
                collect(&path, true, objects);
            } else if name.ends_with(".o") && name != LEFT_OUT {
                objects.push(path);
            }
        }
    }

    fn run(command: &mut Command) {
        let status = command.status();
        assert!(status.is_ok_and(|status| status.success()), "failed: {command:?}");
    }
}
