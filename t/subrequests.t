#!/usr/bin/perl

# A client's request is judged once, also where it has subrequests.

use warnings;
use strict;

use Test::More;

use Test::Nginx;
use Test::RateLimit;

###############################################################################

my $t = Test::Nginx->new()->has(qw/http limit_req ssi mirror auth_request addition/)->plan(17);

write_both($t, <<'EOF');
# The client's own text, which a subrequest shares.
limit_req_zone $request_uri zone=z:1m rate=1r/m;
server {
    listen 127.0.0.1:8080;
    limit_req zone=z;
    location /ssi.html { ssi on; }
    location /auth.html { auth_request /ok.html; }
    location /mirror.html { mirror /part.html; mirror /ok.html; }
    location /addition.html {
        add_before_body /part.html;
        add_after_body /part.html;
    }
}
server {
    listen 127.0.0.1:8081;
    location /ssi.html { ssi on; }
    location /auth.html { auth_request /part.html; }
    location /addition.html { add_after_body /part.html; }
    location /part.html { limit_req zone=z; error_page 503 = /busy.html; }
}
EOF

my $include = '<!--#include virtual="/part.html" -->';
$t->write_file('ssi.html', "{$include$include}");
$t->write_file("$_.html", "{$_}") for qw/ auth mirror addition part ok busy /;
$t->run();

###############################################################################

my %expected = (
	ssi => '200 {{part}{part}} 503',
	auth => '200 {auth} 503',
	mirror => '200 {mirror} 503',
	addition => '200 {part}{addition}{part} 503',
);
for my $name (sort keys %expected) {
	is_on_both("once, $name", $expected{$name}, sub {
		my ($side) = @_;
		my $first = get($side, "/$name.html");
		return join ' ', status($first), body($first), statuses($side, "/$name.html");
	});
}

# The limit is first met in a subrequest.
%expected = (
	ssi => '200 {{part}{part}} 200 {{busy}{part}}',
	addition => '200 {addition}{part} 200 {addition}{busy}',
);
for my $name (sort keys %expected) {
	is_on_both("only in a subrequest, $name", $expected{$name}, sub {
		my ($side) = @_;
		return join ' ', map { status($_), body($_) }
			map { get($side eq 'rl_req' ? 8091 : 8081, "/$name.html?inner") } 1 .. 2;
	});
}
is_on_both('only in a subrequest, auth', '200 200', sub {
	statuses(shift eq 'rl_req' ? 8091 : 8081, ('/auth.html?inner') x 2);
});
is_on_both('refusals logged', 7, sub { scalar log_of($t, shift) });

log_is_calm($t);

###############################################################################
