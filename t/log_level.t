#!/usr/bin/perl

# A delay is logged one level below a refusal, but `info` stays `info`.

use warnings;
use strict;

use Test::More;

use Test::Nginx;
use Test::RateLimit;

###############################################################################

my $t = Test::Nginx->new()->has(qw/http limit_req/)->plan(13);

write_both($t, <<'EOF');
limit_req_zone $arg_k zone=default:1m rate=1r/m;
limit_req_zone $arg_k zone=error:1m rate=1r/m;
limit_req_zone $arg_k zone=warn:1m rate=1r/m;
limit_req_zone $arg_k zone=notice:1m rate=1r/m;
limit_req_zone $arg_k zone=info:1m rate=1r/m;
limit_req_dry_run on;
server {
    listen 127.0.0.1:8080;
    location /default.html { limit_req zone=default burst=1; }
    location /error.html   { limit_req zone=error  burst=1; limit_req_log_level error; }
    location /warn.html    { limit_req zone=warn   burst=1; limit_req_log_level warn; }
    location /notice.html  { limit_req zone=notice burst=1; limit_req_log_level notice; }
    location /info.html    { limit_req zone=info   burst=1; limit_req_log_level info; }
}
server {
    listen 127.0.0.1:8081;
    limit_req_log_level notice;
    location /default.html { limit_req zone=default burst=1; }
}
EOF

$t->write_file("$_.html", 'served') for qw/ default error warn notice info /;
$t->run();

###############################################################################

my %expected = (
	default => 'warn error', error => 'warn error', warn => 'notice warn',
	notice => 'info notice', info => 'info info',
);
for my $zone (sort keys %expected) {
	is_on_both("level of a delay and of a refusal, $zone", $expected{$zone}, sub {
		my ($side) = @_;
		statuses($side, ("/$zone.html?k=a") x 3);
		return join ' ', map { /^\[(\w+)\].*"$zone"/ } log_of($t, $side);
	});
}

is_on_both('inherited level', 'info notice', sub {
	my ($side) = @_;
	statuses($side eq 'rl_req' ? 8091 : 8081, ('/default.html?k=b') x 3);
	return join ' ', map { /^\[(\w+)\].*k=b/ } log_of($t, $side);
});

log_is_calm($t);

###############################################################################
