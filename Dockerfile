# Debian's nginx with the module, not run as root, on port 8080.
#
#   docker build -t ngx-http-rl .        or `make image`, which also tries it
#   docker run --rm -p 8080:8080 ngx-http-rl
#
# BUILDER is any Debian 12 with cargo; RUNTIME any Debian 12. The module fits the nginx of both,
# which must be the same version.
ARG BUILDER=rust:1-bookworm
ARG RUNTIME=debian:bookworm-slim

FROM ${BUILDER} AS build
WORKDIR /src
# Apart, so that a change of the sources does not install the packages again.
COPY scripts scripts
RUN scripts/packages system
COPY . .
RUN make system && scripts/check-symbols build/system/ngx_http_rl_module.so /usr/sbin/nginx

FROM ${RUNTIME}
# curl is for the HEALTHCHECK.
RUN apt-get update \
    && DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends nginx curl \
    && rm -rf /var/lib/apt/lists/*
COPY --from=build /src/build/system/ngx_http_rl_module.so /usr/lib/nginx/modules/
COPY nginx-conf/ /usr/share/doc/ngx-http-rl/nginx-conf/
COPY nginx-conf/container.conf /etc/nginx/nginx.conf
USER www-data
# To a file of its own: the builder's output need not be one that www-data may open.
RUN nginx -t -e stderr >/tmp/stdout && rm /tmp/stdout
EXPOSE 8080
# Lets requests under way finish.
STOPSIGNAL SIGQUIT
HEALTHCHECK --interval=10s --timeout=3s --start-period=5s \
    CMD curl -fsS -o /dev/null http://127.0.0.1:8080/healthz
CMD ["nginx", "-e", "stderr", "-g", "daemon off;"]
