#!/usr/bin/perl

# `limit_req_status`: 400 to 599, inherited by itself.

use warnings;
use strict;

use Test::More;

use Test::Nginx;
use Test::RateLimit;

###############################################################################

my $t = Test::Nginx->new()->has(qw/http limit_req/)->plan(13);

write_both($t, <<'EOF');
limit_req_zone $uri zone=z:1m rate=1r/m;
server {
    listen 127.0.0.1:8080;
    limit_req zone=z;
    limit_req_status 429;
    location /400.html { limit_req_status 400; }
    location /444.html { limit_req_status 444; }
    location /599.html { limit_req_status 599; }
    location /page.html {
        limit_req_status 420;
        error_page 420 =402 /busy.html;
    }
    location /429.html { }
}
server {
    listen 127.0.0.1:8081;
    location /503.html { limit_req zone=z; }
}
EOF

$t->write_file("$_.html", 'served') for qw/ 400 429 444 503 599 page /;
$t->write_file('busy.html', 'busy');
$t->run();

###############################################################################

is_on_both('429 from the server', '200 429', sub { statuses(shift, ('/429.html') x 2) });
is_on_both('400', '200 400', sub { statuses(shift, ('/400.html') x 2) });
is_on_both('599', '200 599', sub { statuses(shift, ('/599.html') x 2) });
is_on_both('444 closes', '200 none', sub { statuses(shift, ('/444.html') x 2) });
is_on_both('a page of its own', 'served 402 busy', sub {
	my @answers = map { get($_[0], '/page.html') } 1 .. 2;
	return join ' ', body($answers[0]), status($answers[1]), body($answers[1]);
});
is_on_both('503 by itself', '200 503', sub {
	statuses(shift eq 'rl_req' ? 8091 : 8081, ('/503.html') x 2);
});

log_is_calm($t);

###############################################################################
