#!/usr/bin/perl

# `delay=` lets a part of the burst through at once; the later of `nodelay` and `delay=` counts.

use warnings;
use strict;

use Test::More;

use Test::Nginx;
use Test::RateLimit;

###############################################################################

my $t = Test::Nginx->new()->has(qw/http limit_req/)->plan(7);

# limit_req takes three arguments at most, and `burst` is one: with both `nodelay` and `delay=` it
# can only be asked in vain. rl_req can be asked.
write_both($t, <<'EOF', http => <<'EOF_OURS');
limit_req_zone $arg_k zone=part:1m rate=1r/s;
server {
    listen 127.0.0.1:8080;
    location /part.html { limit_req zone=part burst=3 delay=2; }
    location /vain.html { limit_req zone=part nodelay delay=1; }
}
EOF
rl_zone $arg_k zone=later:1m rate=1r/s;
server {
    listen 127.0.0.1:8082;
    location /delay.html   { rl_req zone=later burst=2 nodelay delay=1; }
    location /nodelay.html { rl_req zone=later burst=2 delay=1 nodelay; }
}
EOF_OURS

$t->write_file("$_.html", 'served') for qw/ part vain delay nodelay /;
$t->run();

###############################################################################

is_on_both('delay=2 holds the third of a burst', '200+0 200+0 200+0 200+1 503+0', sub {
	waits(1, at_once(shift, ('/part.html?k=a') x 5));
});
is_on_both('it is logged', 1, sub { scalar grep { /delaying request,/ } log_of($t, shift) });

is(waits(1, at_once(8082, ('/delay.html?k=a') x 3)), '200+0 200+0 200+1', 'delay= after nodelay');
is(waits(1, at_once(8082, ('/nodelay.html?k=b') x 3)), '200+0 200+0 200+0', 'nodelay after delay=');

log_is_calm($t);

###############################################################################
