# Turns a configuration for nginx's own limit_req into one for this module:
#
#       sed -f migrate.sed nginx.conf > nginx-rl.conf
#
# The order matters: the second line would turn limit_req_zone into rl_req_zone. It also covers
# limit_req_status, limit_req_log_level, limit_req_dry_run and $limit_req_status. Add the
# `load_module modules/ngx_http_rl_module.so;` line at the top of nginx.conf yourself.
s/limit_req_zone/rl_zone/g
s/limit_req/rl_req/g
