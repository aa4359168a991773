# The targets do their own set-up, say what they do, and may be run again at any time.
# Each is a short script in scripts/; `make help` lists them.

.DEFAULT_GOAL := help
.PHONY: help run test test-all bench fuzz module system install lint image clean

help: ## This list
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1 \2/p' Makefile | awk '{ $$1 = $$1; c = $$1 " " $$2; $$1 = $$2 = ""; printf "  %-14s%s\n", c, $$0 }'

run: ## Build nginx and the module, and run a demo on 127.0.0.1:8080 (PORT=, CONF=nginx-conf/...)
	@scripts/run --port-only
	@scripts/tools cargo
	@scripts/packages vendored
	@scripts/build-vendored
	@scripts/run $(CONF)

test: ## Format, clippy, Rust tests, and t/ against the vendored and the system's nginx
	@scripts/test

test-all: ## test, and what takes long: long random runs, loom, AddressSanitizer, valgrind, the image
	@scripts/test --all

bench: ## Measure the module beside nginx's own limit_req; writes BENCHMARKS.md (RL_BENCH_QUICK=1)
	@scripts/bench

fuzz: ## The fuzz targets, one after the other, each for FUZZ_SECONDS= (60)
	@scripts/fuzz

module: ## build/vendored/ngx_http_rl_module.so and the nginx 1.28.3 it is for
	@scripts/tools cargo
	@scripts/packages vendored
	@scripts/build-vendored

system: ## build/system/ngx_http_rl_module.so for this machine's nginx (NGINX_SOURCE_DIR=, NGINX_BUILD_DIR=)
	@scripts/tools cargo
	@scripts/packages system
	@scripts/build-system

install: ## Put build/system/ngx_http_rl_module.so into nginx's module folder (NGINX_BINARY=, DESTDIR=)
	@test -f build/system/ngx_http_rl_module.so || $(MAKE) --no-print-directory system
	@scripts/install

lint: ## Format and clippy, warnings denied
	@scripts/tools cargo fmt clippy
	@scripts/packages vendored
	@scripts/lint

image: ## Build the Dockerfile's image and try it (a running docker, else buildah)
	@scripts/image

clean: ## Remove build/, target/ and fuzz/target/
	rm -rf build target fuzz/target
