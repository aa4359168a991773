# shellcheck shell=bash
# Shared by the scripts beside this file; source it, do not run it.
# Sets the working directory to the top of the tree: every path below is relative to it.

cd "$(dirname "${BASH_SOURCE[0]}")/.." || exit 1

# nginx's own makefile runs below cargo: flags and variables of our make are not meant for it.
unset MAKEFLAGS MFLAGS MAKELEVEL MAKEOVERRIDES

say() { printf '== %s\n' "$*"; }
die() { printf '!! %s\n' "$*" >&2; exit 1; }

# Puts a file in place by a rename: a running nginx may have the old one mapped, and writing
# into a mapped .so kills it.
place() { # FROM TO
    if cmp -s "$1" "$2"; then touch "$2"; return; fi
    mkdir -p "$(dirname "$2")"
    cp "$1" "$2.new"
    mv -f "$2.new" "$2"
}

# The nginx that `make system` builds for: NGINX_BINARY= (nginx itself reads NGINX= as a list of
# sockets), else the binary beside NGINX_BUILD_DIR's headers, else the one in PATH, else Debian's
# place, which only root has in PATH.
system_nginx() {
    local nginx=${NGINX_BINARY:-}
    if [ -z "$nginx" ] && [ -x "${NGINX_BUILD_DIR:-}/nginx" ]; then nginx=$NGINX_BUILD_DIR/nginx; fi
    [ -n "$nginx" ] || nginx=$(command -v nginx) || nginx=/usr/sbin/nginx
    [ -x "$nginx" ] || die "no nginx at $nginx: install one or name it by NGINX_BINARY="
    printf '%s\n' "$nginx"
}
