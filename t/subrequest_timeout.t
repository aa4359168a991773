#!/usr/bin/perl

# A subrequest may be held for longer than send_timeout: the client has taken all that was sent, and
# gets the rest. And a client that goes away is noticed behind a held subrequest, also one that could
# not send yet when it was met.

use warnings;
use strict;

use Test::More;

use Test::Nginx;
use Test::RateLimit;

###############################################################################

my $t = Test::Nginx->new()->has(qw/http limit_req ssi addition proxy/)->plan(9);

write_both($t, <<'EOF');
limit_req_zone $request_uri zone=long:1m  rate=30r/m;
limit_req_zone $request_uri zone=ever:1m  rate=1r/m;
log_format limit_req '$request_uri $status';
server {
    listen 127.0.0.1:8080;
    send_timeout 1s;
    access_log %%TESTDIR%%/limit_req.log limit_req;
    location /long.html     { ssi on; }
    location /second.html   { ssi on; }
    location /addition.html { add_after_body /part.html; }
    location /gone.html     { ssi on; }
    location /part.html     { limit_req zone=long burst=5; }
    location /never.html    { limit_req zone=ever burst=5; }
}
EOF

$t->write_file('long.html', '{<!--#include virtual="/part.html" -->}');
$t->write_file('second.html', '{<!--#include virtual="/plain.html" --><!--#include virtual="/part.html" -->}');
$t->write_file('gone.html', '{<!--#include virtual="/plain.html" --><!--#include virtual="/never.html" -->}');
$t->write_file("$_.html", "{$_}") for qw/ addition part plain never /;
$t->run();

###############################################################################

my %expected = (
	long => '{{part}}',
	second => '{{plain}{part}}',
	addition => '{addition}{part}',
);
for my $name (sort keys %expected) {
	is_on_both("held for longer than send_timeout, $name", "$expected{$name} $expected{$name}", sub {
		my $client = connection(shift);
		return join ' ', map { body($client->get("/$name.html")->answer()) } 1 .. 2;
	});
}

is_on_both('gone while the second include is held', '/gone.html 499', sub {
	my ($side) = @_;
	statuses($side, '/gone.html');
	my $client = start($side, '/gone.html');
	wait_until { grep { /delaying/ && /gone/ } log_of($t, $side) };
	close $client;
	return join "\n", access_log_of($t, $side, qr/gone.html 499/, 1);
});

log_is_calm($t);

###############################################################################
